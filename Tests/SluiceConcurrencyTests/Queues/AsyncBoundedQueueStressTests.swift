import SluiceConcurrency
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `AsyncBoundedQueue: many tasks` {
    @Test(arguments: [0, 1, 5])
    func `each element is delivered exactly once, and those of one producer in order`(capacity: Int) async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: capacity)
        let (producers, consumers, each) = (4, 4, 1_000)

        let received = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<consumers {
                group.addTask {
                    var mine: [Int] = []
                    for await element in queue.elements { mine.append(element) }
                    return mine
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for producer in 0..<producers {
                    group.addTask { for number in 0..<each { try await queue.send(producer * each + number) } }
                }
                try await group.waitForAll()
            }
            queue.finish()
            return try await group.reduce(into: [[Int]]()) { $0.append($1) }
        }

        #expect(received.joined().sorted() == Array(0..<producers * each))
        for mine in received {
            for producer in 0..<producers {
                let ofOne = mine.filter { $0 / each == producer }
                #expect(ofOne == ofOne.sorted())
            }
        }
    }

    @Test
    func `cancel racing a free place delivers or throws, never both and never neither`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 1)
        var ends = (sent: 0, cancelled: 0)

        for round in 1...2_000 {
            #expect(queue.trySend(-round) == .enqueued)
            let (start, signal) = Condition.makeCondition()
            let producer = Task { try await queue.send(round) }
            let canceller = Task {
                await start.wait()
                producer.cancel()
            }
            let consumer = Task {
                await start.wait()
                return queue.tryDequeue()
            }
            signal.signal()
            await canceller.value
            #expect(await consumer.value == -round)

            switch await producer.result {
            case .success(let result):
                ends.sent += 1
                #expect(result == .enqueued)
                #expect(queue.tryDequeue() == round)
            case .failure(let error):
                ends.cancelled += 1
                #expect(error is CancellationError)
                #expect(queue.tryDequeue() == nil)
            }
            #expect(queue.count == 0)
        }
        #expect(ends.sent + ends.cancelled == 2_000)
    }

    @Test
    func `finish racing producers and cancel leaves no task waiting`() async {
        for round in 0..<500 {
            let queue = AsyncBoundedQueue<Int>(capacity: 1)
            _ = queue.trySend(-1)
            let sent = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<4 {
                    group.addTask { (try? await queue.send(number)) == nil ? nil : number }
                }
                group.addTask {
                    if round.isMultiple(of: 2) { _ = queue.tryDequeue() }
                    queue.finish()
                    return nil
                }
                return await group.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
            }
            #expect(Set(queue.snapshot).subtracting([-1]) == sent)
        }
    }

    @Test(arguments: 1...60)
    func `any order of jobs delivers an element or makes its send throw`(seed: UInt64) async {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let queue = AsyncBoundedQueue<Int>(capacity: Int.random(in: 0...2, using: &random))
        let taken = Recorder<Int>()
        let producers = (0..<30).map { number in
            executor.spawnThrowing { _ = try await queue.send(number) }
        }
        let consumers = (0..<3).map { _ in
            executor.spawn { [elements = queue.elements] in for await element in elements { taken.note(element) } }
        }

        for step in 0..<200 {
            if step.isMultiple(of: 5) { producers.randomElement(using: &random)?.cancel() }
            if step == 50 { consumers[0].cancel() }
            if step == 120 { queue.finish() }
            executor.runOne()
        }
        executor.runUntilIdle()

        var sent: Set<Int> = []
        for (number, producer) in producers.enumerated() {
            switch await producer.result {
            case .success: sent.insert(number)
            case .failure(let error): #expect(error is CancellationError || error is QueueFinished)
            }
        }
        #expect(Set(taken.values) == sent)
        #expect(taken.values.count == sent.count, "one was delivered twice")
        #expect(queue.count == 0)
    }

    @Test
    func `observers, producers and consumers on threads end together`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 4)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for await pending in queue.changes { #expect(pending.count <= 4) }
                }
            }
            group.addTask { for await _ in queue.elements {} }
            group.addTask {
                for number in 0..<2_000 { try await queue.send(number) }
                queue.finish()
            }
            try await group.waitForAll()
        }
        #expect(queue.count == 0)
    }
}
