import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `AsyncBoundedQueue: overflow` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// Starts a producer that notes how its `send` ends, and lets it come as far as it can.
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
    func `trySend returns an element that has no room`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 1, overflow: .suspend)
        #expect(queue.trySend(1) == .enqueued)

        let refused = queue.trySend(2)

        #expect(refused == .full(2))
        #expect(!refused.isEnqueued)
        #expect(queue.snapshot == [1])
    }

    @Test
    func `dropOldest returns what it drops, and send does not wait`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 2, overflow: .dropOldest)
        for number in 1...2 { #expect(queue.trySend(number) == .enqueued) }

        #expect(queue.trySend(3) == .enqueuedDropping(1))
        #expect(queue.trySend(3).isEnqueued)
        produce(4, to: queue)

        #expect(recorder.values == ["4 enqueuedDropping(3)"])
        #expect(queue.snapshot == [3, 4])
    }

    @Test
    func `dropNewest keeps the elements of the queue, and send does not fail`() {
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
    func `without room send returns when a consumer has the element`() async throws {
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
    func `without room a dropping queue keeps nothing, but serves a consumer that waits`(
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
