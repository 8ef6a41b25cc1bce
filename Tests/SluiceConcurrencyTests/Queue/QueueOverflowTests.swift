import SluiceConcurrency
import Testing
import TestSupport

@Suite("AsyncQueue: overflow")
struct QueueOverflowTests {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// Starts a producer that notes how its `send` ends, and lets it come as far as it can.
    private func produce(_ numbers: Int..., to queue: AsyncQueue<Int>) {
        _ = executor.spawn { [recorder] in
            for number in numbers {
                do {
                    let result = try await queue.send(number)
                    recorder.note("\(number) \(result)")
                } catch let error as QueueError {
                    recorder.note("\(number) \(error.code)")
                } catch {
                    recorder.note("\(number) cancelled")
                }
            }
        }
        executor.runUntilIdle()
    }

    @Test(arguments: [AsyncQueue<Int>.Overflow.suspend, .reject])
    func `enqueue refuses what has no room, and says so`(overflow: AsyncQueue<Int>.Overflow) {
        let queue = AsyncQueue<Int>(capacity: 1, overflow: overflow)
        #expect(queue.enqueue(1) == .enqueued)

        let refused = queue.enqueue(2)

        #expect(refused == .rejected)
        #expect(!refused.isEnqueued)
        #expect(queue.snapshot == [1])
    }

    @Test
    func `dropOldest returns what it drops, and send does not wait`() {
        let queue = AsyncQueue<Int>(capacity: 2, overflow: .dropOldest)
        for number in 1...2 { queue.enqueue(number) }

        #expect(queue.enqueue(3) == .enqueuedDropping(1))
        #expect(queue.enqueue(3).isEnqueued)
        produce(4, to: queue)

        #expect(recorder.values == ["4 enqueuedDropping(3)"])
        #expect(queue.snapshot == [3, 4])
    }

    @Test
    func `dropNewest keeps what is there, and send takes that for no failure`() {
        let queue = AsyncQueue<Int>(capacity: 2, overflow: .dropNewest)
        for number in 1...2 { queue.enqueue(number) }

        #expect(queue.enqueue(3) == .dropped)
        produce(4, to: queue)

        #expect(recorder.values == ["4 dropped"])
        #expect(queue.snapshot == [1, 2])
    }

    @Test
    func `reject makes send throw`() {
        let queue = AsyncQueue<Int>(capacity: 1, overflow: .reject)
        produce(1, 2, to: queue)

        #expect(recorder.values == ["1 enqueued", "2 full"])
        #expect(queue.snapshot == [1])
    }

    @Test
    func `a queue that is never full never makes send wait`() {
        produce(1, 2, 3, to: AsyncQueue())
        #expect(recorder.values == ["1 enqueued", "2 enqueued", "3 enqueued"])
    }

    @Test
    func `without room send returns when a consumer has the element`() async throws {
        let queue = AsyncQueue<Int>(capacity: 0, overflow: .suspend)
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
        #expect(queue.enqueue(3) == .rejected)
    }

    @Test(arguments: [AsyncQueue<Int>.Overflow.dropOldest, .dropNewest])
    func `without room a dropping queue keeps nothing, but serves a consumer that waits`(
        overflow: AsyncQueue<Int>.Overflow
    ) async throws {
        let queue = AsyncQueue<Int>(capacity: 0, overflow: overflow)
        #expect(queue.enqueue(1) == .dropped)
        let consumer = executor.spawnThrowing { try await queue.dequeue() }
        executor.runUntilIdle()

        #expect(queue.enqueue(2) == .enqueued)

        executor.runUntilIdle()
        #expect(try await consumer.value == 2)
    }

    @Test
    func `a negative capacity traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = AsyncQueue<Int>(capacity: -1, overflow: .reject)
        }
    }
}
