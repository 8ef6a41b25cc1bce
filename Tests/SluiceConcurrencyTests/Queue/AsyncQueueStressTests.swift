import SluiceConcurrency
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `AsyncQueue: many tasks` {
    @Test
    func `each element is delivered exactly once, with several producers and consumers`() async {
        let queue = AsyncQueue<Int>()
        let (producers, consumers, each) = (4, 4, 5_000)

        let received = await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<consumers {
                group.addTask {
                    var mine: [Int] = []
                    for await element in queue.elements { mine.append(element) }
                    return mine
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for producer in 0..<producers {
                    group.addTask { for number in 0..<each { queue.enqueue(producer * each + number) } }
                }
            }
            queue.finish()
            return await group.reduce(into: [[Int]]()) { $0.append($1) }
        }

        #expect(received.joined().sorted() == Array(0..<producers * each))
        for mine in received {
            for producer in 0..<producers {
                let ofOne = mine.filter { $0 / each == producer }
                #expect(ofOne == ofOne.sorted(), "one consumer sees the elements of one producer in order")
            }
        }
    }

    @Test
    func `cancel racing enqueue loses no element`() async throws {
        let queue = AsyncQueue<Int>()

        for round in 0..<3_000 {
            let (start, signal) = Condition.makeCondition()
            let cancelled = Task { try await queue.dequeue() }
            let canceller = Task {
                await start.wait()
                cancelled.cancel()
            }
            let producer = Task {
                await start.wait()
                queue.enqueue(round)
            }
            signal.signal()
            await canceller.value
            await producer.value

            switch await cancelled.result {
            case .success(let element): #expect(element == round)
            case .failure: #expect(queue.tryDequeue() == round)
            }
            #expect(queue.count == 0)
        }
    }

    @Test(arguments: 1...50)
    func `any order of jobs delivers each element once, or leaves it in the queue`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let queue = AsyncQueue<Int>()
        let recorder = Recorder<Int>()
        let consumers = (0..<5).map { _ in
            executor.spawn { [elements = queue.elements] in for await element in elements { recorder.note(element) } }
        }

        for number in 0..<100 {
            queue.enqueue(number)
            for _ in 0..<Int.random(in: 0..<3, using: &random) { executor.runOne() }
            if number.isMultiple(of: 25) { consumers[number / 25].cancel() }
        }
        executor.runUntilIdle()

        #expect((recorder.values + queue.snapshot).sorted() == Array(0..<100))
        #expect(queue.snapshot == [], "one consumer was never cancelled")
        queue.finish()
        executor.runUntilIdle()
    }
}
