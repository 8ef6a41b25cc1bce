import SluiceConcurrency
import TestSupport
import Testing

@Suite struct `A bounded queue` {
    let executor = ManualExecutor()
    let queue = AsyncBoundedQueue<Int>(capacity: 2)
    let recorder = Recorder<String>()

    /// Starts a producer that records the outcome of its `send`, and runs it until it waits or ends.
    @discardableResult
    private func produce(_ numbers: Int...) -> Task<Void, Never> {
        let task = executor.spawn { [recorder, queue] in
            for number in numbers {
                do {
                    let result = try await queue.send(number)
                    recorder.note("\(number) \(result)")
                } catch is QueueFinished {
                    recorder.note("\(number) finished")
                } catch {
                    recorder.note("\(number) cancelled")
                }
            }
        }
        executor.runUntilIdle()
        return task
    }

    private func take(_ wanted: Int) -> [Int] {
        (0..<wanted).compactMap { _ in
            defer { executor.runUntilIdle() }
            return queue.tryDequeue()
        }
    }

    // MARK: Waiting for space

    @Test
    func `send returns while there is room, and then waits for space`() {
        produce(1, 2, 3)
        #expect(recorder.values == ["1 enqueued", "2 enqueued"])
        #expect(queue.count == 2)
        #expect(queue.snapshot == [1, 2], "what is offered is not pending")

        #expect(take(1) == [1])
        #expect(recorder.values == ["1 enqueued", "2 enqueued", "3 enqueued"])
        #expect(queue.snapshot == [2, 3])
    }

    @Test
    func `producers are admitted in order of arrival, even if one in between is cancelled`() {
        produce(1, 2)
        for number in 3...7 where number != 5 { produce(number) }
        let cancelled = produce(8)
        produce(9)
        recorder.forget()

        cancelled.cancel()
        executor.runUntilIdle()
        #expect(take(10) == [1, 2, 3, 4, 6, 7, 9])

        #expect(
            recorder.values == [
                "8 cancelled", "3 enqueued", "4 enqueued", "6 enqueued", "7 enqueued", "9 enqueued",
            ])
    }

    @Test
    func `trySend doesn't overtake a waiting producer`() {
        produce(1, 2)
        produce(3)

        #expect(queue.trySend(4) == .full(4))
        #expect(queue.tryDequeue() == 1)
        #expect(queue.trySend(5) == .full(5), "the place is given away immediately")

        #expect(take(3) == [2, 3])
    }

    @Test
    func `a cancelled producer's element is never delivered`() async {
        produce(1, 2)
        let first = produce(3)
        produce(4)

        first.cancel()
        executor.runUntilIdle()

        #expect(take(4) == [1, 2, 4])
        #expect(recorder.values.contains("3 cancelled"))
    }

    @Test
    func `a producer cancelled after it was admitted doesn't throw`() {
        produce(1, 2)
        let producer = produce(3)

        #expect(queue.tryDequeue() == 1)
        producer.cancel()
        executor.runUntilIdle()

        #expect(recorder.values.last == "3 enqueued")
        #expect(take(2) == [2, 3])
    }

    @Test
    func `a producer cancelled before it arrives adds nothing, even if there is room`() {
        let producer = executor.spawnThrowing { [queue] in try await queue.send(1) }
        producer.cancel()
        executor.runUntilIdle()

        #expect(queue.count == 0)
    }

    @Test
    func `send passes its element to a waiting consumer`() async throws {
        let consumer = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        executor.runUntilIdle()

        produce(1, 2, 3)

        #expect(try await consumer.value == 1)
        #expect(recorder.values.count == 3)
        #expect(queue.snapshot == [2, 3])
    }

    @Test
    func `after finish, waiting producers throw and consumers get the remaining elements`() async throws {
        produce(1, 2)
        produce(3)
        produce(4)
        recorder.forget()

        queue.finish()
        executor.runUntilIdle()
        produce(5)

        #expect(recorder.values == ["3 finished", "4 finished", "5 finished"])
        #expect(try await queue.dequeue() == 1)
        #expect(try await queue.dequeue() == 2)
        #expect(try await queue.dequeue() == nil)
    }

    @Test
    func `finish ends waiting consumers, and later producers throw`() {
        for _ in 0..<3 {
            _ = executor.spawn { [recorder, elements = queue.elements] in
                for await element in elements { recorder.note("took \(element)") }
                recorder.note("ended")
            }
        }
        executor.runUntilIdle()

        queue.finish()
        executor.runUntilIdle()
        produce(1)

        #expect(recorder.values == ["ended", "ended", "ended", "1 finished"])
    }

    @Test
    func `several consumers iterating elements admit the producers in order`() {
        produce(1, 2, 3, 4)
        produce(5, 6)
        let taken = Recorder<Int>()
        for _ in 0..<3 {
            _ = executor.spawn { [elements = queue.elements] in
                for await element in elements { taken.note(element) }
            }
        }
        executor.runUntilIdle()
        queue.finish()
        executor.runUntilIdle()

        #expect(Set(taken.values) == Set(1...6))
        #expect(taken.values.filter { $0 < 5 } == [1, 2, 3, 4])
    }

    @Test
    func `trySend returns the element if the queue is finished`() {
        #expect(queue.trySend(1) == .enqueued)
        queue.finish()

        #expect(queue.trySend(2) == .finished(2))
        #expect(queue.snapshot == [1])
    }

    @Test
    func `the error says what to do`() {
        #expect("\(QueueFinished())".contains("finish()"))
    }

    // MARK: Counts

    @Test
    func `waitingCount counts consumers of an empty queue and producers of a full one`() {
        let consumer = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        executor.runUntilIdle()
        #expect(queue.waitingCount == 1)
        consumer.cancel()
        executor.runUntilIdle()
        #expect(queue.waitingCount == 0)

        produce(1, 2)
        #expect(queue.waitingCount == 0)
        produce(3)
        produce(4)
        #expect(queue.waitingCount == 2)
        #expect((queue.count, queue.capacity) == (2, 2))

        queue.finish()
        #expect(queue.waitingCount == 0)
        executor.runUntilIdle()
    }

    // MARK: Removing

    @Test
    func `removeAll keeps the elements of waiting producers and admits the first of them`() {
        produce(1, 2)
        for number in 3...5 { produce(number) }

        #expect(queue.removeAll() == [1, 2])
        executor.runUntilIdle()

        #expect(queue.snapshot == [3, 4])
        #expect(recorder.values.suffix(2) == ["3 enqueued", "4 enqueued"])
        #expect(queue.removeAll { $0 == 3 } == [3])
        executor.runUntilIdle()
        #expect(queue.snapshot == [4, 5])
    }

    @Test
    func `a throwing predicate admits no producer`() {
        struct Unreadable: Error {}
        produce(1, 2)
        produce(3)

        #expect(throws: Unreadable.self) { try queue.removeAll { _ throws(Unreadable) in throw Unreadable() } }

        executor.runUntilIdle()
        #expect(queue.snapshot == [1, 2])
        #expect(recorder.values.count == 2)
    }

    // MARK: Users' values

    /// An element with a deinitializer that uses its queue: it deadlocks or traps under the lock.
    final class Meddler: Sendable {
        let queue: AsyncBoundedQueue<Meddler>
        init(_ queue: AsyncBoundedQueue<Meddler>) { self.queue = queue }
        deinit { _ = queue.count }
    }

    @Test
    func `elements of a full queue aren't destroyed under the lock`() async {
        for overflow in [AsyncBoundedQueue<Meddler>.Overflow.dropOldest, .dropNewest] {
            let queue = AsyncBoundedQueue<Meddler>(capacity: 1, overflow: overflow)
            for _ in 0..<3 { _ = queue.trySend(Meddler(queue)) }
            _ = try? await queue.send(Meddler(queue))
            queue.removeAll()
        }
        let queue = AsyncBoundedQueue<Meddler>(capacity: 1)
        #expect(queue.trySend(Meddler(queue)).isEnqueued)
        let producers = (0..<4).map { _ in
            executor.spawn { _ = try? await queue.send(Meddler(queue)) }
        }
        executor.runUntilIdle()
        producers[1].cancel()
        executor.runUntilIdle()
        _ = queue.tryDequeue()
        queue.finish()
        executor.runUntilIdle()
        queue.removeAll()

        #expect(queue.count == 0)
    }
}

// MARK: - Overflow

@Suite struct `AsyncBoundedQueue: overflow` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// Starts a producer that records the outcome of its `send`, and runs it until it waits or ends.
    private func produce(_ numbers: Int..., to queue: AsyncBoundedQueue<Int>) {
        _ = executor.spawn { [recorder] in
            for number in numbers {
                do {
                    let result = try await queue.send(number)
                    recorder.note("\(number) \(result)")
                } catch is QueueFinished {
                    recorder.note("\(number) finished")
                } catch {
                    recorder.note("\(number) cancelled")
                }
            }
        }
        executor.runUntilIdle()
    }

    @Test
    func `trySend returns the element if the queue is full`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 1, overflow: .suspend)
        #expect(queue.trySend(1) == .enqueued)

        let refused = queue.trySend(2)

        #expect(refused == .full(2))
        #expect(!refused.isEnqueued)
        #expect(queue.snapshot == [1])
    }

    @Test
    func `dropOldest returns the dropped element, and send doesn't wait`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 2, overflow: .dropOldest)
        for number in 1...2 { #expect(queue.trySend(number) == .enqueued) }

        #expect(queue.trySend(3) == .enqueuedDropping(1))
        #expect(queue.trySend(3).isEnqueued)
        produce(4, to: queue)

        #expect(recorder.values == ["4 enqueuedDropping(3)"])
        #expect(queue.snapshot == [3, 4])
    }

    @Test
    func `dropNewest keeps the pending elements, and send doesn't fail`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 2, overflow: .dropNewest)
        for number in 1...2 { #expect(queue.trySend(number) == .enqueued) }

        #expect(queue.trySend(3) == .dropped(3))
        produce(4, to: queue)

        #expect(recorder.values == ["4 dropped(4)"])
        #expect(queue.snapshot == [1, 2])
    }

    @Test
    func `a queue suspends its producers by default`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 1)
        produce(1, 2, to: queue)
        #expect(recorder.values == ["1 enqueued"])
        #expect(queue.waitingCount == 1)

        queue.finish()
        executor.runUntilIdle()
        #expect(recorder.values == ["1 enqueued", "2 finished"])
    }

    @Test
    func `with capacity 0, send returns when a consumer has the element`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 0, overflow: .suspend)
        produce(1, to: queue)
        produce(2, to: queue)
        #expect(recorder.values == [])
        #expect(queue.count == 0)

        #expect(queue.tryDequeue() == 1)
        executor.runUntilIdle()
        #expect(recorder.values == ["1 enqueued"])
        #expect(try await queue.dequeue() == 2)
        executor.runUntilIdle()
        #expect(recorder.values == ["1 enqueued", "2 enqueued"])
        #expect(queue.trySend(3) == .full(3))
    }

    @Test(arguments: [AsyncBoundedQueue<Int>.Overflow.dropOldest, .dropNewest])
    func `with capacity 0, a dropping queue keeps nothing but serves a waiting consumer`(
        overflow: AsyncBoundedQueue<Int>.Overflow
    ) async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 0, overflow: overflow)
        #expect(queue.trySend(1) == .dropped(1))
        let consumer = executor.spawnThrowing { try await queue.dequeue() }
        executor.runUntilIdle()

        #expect(queue.trySend(2) == .enqueued)

        executor.runUntilIdle()
        #expect(try await consumer.value == 2)
    }

    @Test
    func `a negative capacity traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = AsyncBoundedQueue<Int>(capacity: -1, overflow: .dropNewest)
        }
    }
}

// MARK: - Deadlines

@Suite struct `AsyncBoundedQueue: deadlines` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let queue = AsyncBoundedQueue<Int>(capacity: 1)

    private func dequeue() -> Task<Int?, any Error> {
        defer { executor.runUntilIdle() }
        return executor.spawnThrowing { [queue, clock] in
            try await queue.dequeue(until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
    }

    private func send(_ number: Int) -> Task<SendResult<Int>, any Error> {
        defer { executor.runUntilIdle() }
        return executor.spawnThrowing { [queue, clock] in
            try await queue.send(number, until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
    }

    private func pass(_ seconds: Int) {
        clock.advance(by: .seconds(seconds))
        executor.runUntilIdle()
    }

    @Test
    func `a consumer stops waiting at the deadline and takes no element`() async throws {
        let consumer = dequeue()
        pass(2)
        #expect(clock.sleeperCount == 1)
        pass(1)

        let error = await #expect(throws: DeadlineExceeded.self) { try await consumer.value }
        #expect(error != nil && error?.cause == nil)
        #expect(queue.trySend(1) == .enqueued)
        #expect(queue.snapshot == [1])
    }

    @Test
    func `a consumer that gets its element in time leaves no sleeping task`() async throws {
        let consumer = dequeue()
        #expect(queue.trySend(1) == .enqueued)
        executor.runUntilIdle()

        #expect(try await consumer.value == 1)
        #expect(clock.sleeperCount == 0)
        let other = dequeue()
        queue.finish()
        executor.runUntilIdle()
        #expect(try await other.value == nil)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a pending element is taken even after the deadline`() async throws {
        pass(10)
        #expect(try await queue.send(1, until: ManualClock.Instant(), clock: clock) == .enqueued)
        #expect(try await queue.dequeue(until: ManualClock.Instant(), clock: clock) == 1)
    }

    @Test
    func `a producer stops waiting at the deadline, and its element isn't delivered`() async throws {
        #expect(queue.trySend(1) == .enqueued)
        let producer = send(2)
        let patient = executor.spawnThrowing { [queue] in try await queue.send(3) }
        executor.runUntilIdle()
        pass(3)

        await #expect(throws: DeadlineExceeded.self) { try await producer.value }
        #expect(queue.tryDequeue() == 1)
        executor.runUntilIdle()
        #expect(try await patient.value == .enqueued)
        #expect(queue.snapshot == [3])
    }

    @Test
    func `a producer that is admitted in time leaves no sleeping task`() async throws {
        #expect(queue.trySend(1) == .enqueued)
        let producer = send(2)
        #expect(clock.sleeperCount == 1)

        #expect(queue.tryDequeue() == 1)
        executor.runUntilIdle()

        #expect(try await producer.value == .enqueued)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `cancellation and finish end a wait before its deadline`() async throws {
        #expect(queue.trySend(0) == .enqueued)
        let cancelled = send(1)
        let ended = send(2)
        cancelled.cancel()
        executor.runUntilIdle()
        queue.finish()
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await #expect(throws: QueueFinished()) { try await ended.value }
        #expect(queue.tryDequeue() == 0)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a cancelled consumer doesn't wait for its deadline`() async throws {
        let consumer = dequeue()
        consumer.cancel()
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await consumer.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a timeout of zero takes or sends immediately if possible, and otherwise throws`() async throws {
        #expect(try await queue.send(1, timeout: .zero) == .enqueued)
        await #expect(throws: DeadlineExceeded.self) { try await queue.send(2, timeout: .zero) }
        #expect(try await queue.dequeue(timeout: .zero) == 1)
        await #expect(throws: DeadlineExceeded.self) { try await queue.dequeue(timeout: .zero) }
        #expect((queue.count, queue.waitingCount) == (0, 0))
    }

    @Test
    func `an unbounded queue has the same deadlines`() async throws {
        let queue = AsyncQueue<Int>()
        let consumer = executor.spawnThrowing { [clock] in
            try await queue.dequeue(until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
        executor.runUntilIdle()
        #expect(queue.waitingCount == 1)
        pass(3)

        await #expect(throws: DeadlineExceeded.self) { try await consumer.value }
        await #expect(throws: DeadlineExceeded.self) { try await queue.dequeue(timeout: .zero) }
        queue.enqueue(1)
        #expect(try await queue.dequeue(timeout: .zero) == 1)
        #expect(queue.waitingCount == 0)
    }

    @Test(arguments: 1...50)
    func `if deadline and space come together, an element is delivered or its send throws`(seed: UInt64) async throws {
        let executor = ManualExecutor(seed: seed)
        #expect(queue.trySend(0) == .enqueued)
        let producer = executor.spawnThrowing { [queue, clock] in
            try await queue.send(1, until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
        executor.runUntilIdle()
        let consumer = executor.spawn { [queue] in queue.tryDequeue() }
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()

        #expect(await consumer.value == 0)
        let isSent = (try? await producer.value) == .enqueued
        #expect(queue.snapshot == (isSent ? [1] : []))
        #expect(clock.sleeperCount == 0)
    }
}

// MARK: - Many tasks

@Suite(.timeLimit(.minutes(15))) struct `AsyncBoundedQueue: many tasks` {
    @Test(arguments: [0, 1, 5])
    func `each element is delivered once, and each producer's elements in order`(capacity: Int) async throws {
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
    func `cancelling as space becomes free delivers or throws, never both or neither`() async throws {
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
    func `finishing during sends and cancellations leaves no task waiting`() async {
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
    func `in any order of jobs, an element is delivered or its send throws`(seed: UInt64) async {
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
    func `observers, producers and consumers on all threads end together`() async throws {
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
