import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `AsyncQueue: changes` {
    let executor = ManualExecutor()
    let queue = AsyncQueue<Int>()
    let recorder = Recorder<[Int]>()

    /// Starts an observer that records what it sees, and [-1] at the end. Runs it until it waits or ends.
    @discardableResult
    private func observe(_ changes: QueueChanges<Int>, into recorder: Recorder<[Int]>? = nil) -> Task<Void, Never> {
        let task = executor.spawn { [recorder = recorder ?? self.recorder] in
            for await pending in changes { recorder.note(pending) }
            recorder.note([-1])
        }
        executor.runUntilIdle()
        return task
    }

    @Test
    func `an observer sees the current elements first, and then each change`() {
        queue.enqueue(1)
        observe(queue.changes)
        #expect(recorder.values == [[1]])

        queue.enqueue(2)
        executor.runUntilIdle()
        _ = queue.tryDequeue()
        executor.runUntilIdle()
        queue.removeAll()
        executor.runUntilIdle()

        #expect(recorder.values == [[1], [1, 2], [2], []])
    }

    @Test
    func `a slow observer sees only the newest state, once`() {
        observe(queue.changes)
        for number in 1...5 { queue.enqueue(number) }
        executor.runUntilIdle()
        executor.runUntilIdle()

        #expect(recorder.values == [[], [1, 2, 3, 4, 5]])
    }

    @Test
    func `a change while the observer is busy isn't missed`() {
        let gate = AsyncQueue<Void>()
        _ = executor.spawn { [recorder, queue] in
            for await pending in queue.changes {
                recorder.note(pending)
                _ = try? await gate.dequeue()
            }
        }
        executor.runUntilIdle()
        queue.enqueue(1)
        queue.enqueue(2)
        executor.runUntilIdle()
        #expect(recorder.values == [[]])

        for _ in 0..<3 { gate.enqueue(()) }
        executor.runUntilIdle()
        _ = queue.tryDequeue()
        executor.runUntilIdle()

        #expect(recorder.values == [[], [1, 2], [2]])
    }

    @Test
    func `each of several observers sees everything`() {
        let others = [Recorder<[Int]>(), Recorder()]
        observe(queue.changes)
        for other in others { observe(queue.changes, into: other) }

        queue.enqueue(1)
        executor.runUntilIdle()
        queue.finish()
        _ = queue.tryDequeue()
        executor.runUntilIdle()

        for recorder in others + [recorder] { #expect(recorder.values == [[], [1], [], [-1]]) }
    }

    @Test
    func `changes end when the queue is finished and the last element is taken`() {
        queue.enqueue(1)
        observe(queue.changes)

        queue.finish()
        executor.runUntilIdle()
        #expect(recorder.values == [[1]])
        _ = queue.tryDequeue()
        executor.runUntilIdle()
        #expect(recorder.values == [[1], [], [-1]])

        recorder.forget()
        observe(queue.changes)
        #expect(recorder.values == [[], [-1]])
    }

    @Test
    func `changes end when an empty queue is finished`() {
        observe(queue.changes)
        queue.finish()
        executor.runUntilIdle()
        #expect(recorder.values == [[], [-1]])
    }

    @Test
    func `changes end when the queue is released, even with pending elements`() {
        var dropped: AsyncQueue<Int>? = AsyncQueue()
        observe(dropped!.changes)
        dropped!.enqueue(1)

        dropped = nil
        executor.runUntilIdle()

        #expect(dropped == nil)
        #expect(recorder.values == [[], [1], [-1]])
    }

    @Test
    func `a cancelled observer ends, and the others continue`() {
        let other = Recorder<[Int]>()
        let cancelled = observe(queue.changes)
        observe(queue.changes, into: other)

        cancelled.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [[], [-1]], "It ends immediately, and not with the next change.")
        queue.enqueue(1)
        executor.runUntilIdle()

        #expect(recorder.values == [[], [-1]])
        #expect(other.values == [[], [1]])
    }

    @Test
    func `an observer cancelled before it starts sees nothing`() {
        let observer = executor.spawn { [recorder, changes = queue.changes] in
            for await pending in changes { recorder.note(pending) }
        }
        observer.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
    }

    @Test
    func `a waiting producer's element isn't shown until it is admitted`() {
        let bounded = AsyncBoundedQueue<Int>(capacity: 1)
        observe(bounded.changes)
        for number in 1...2 {
            _ = executor.spawnThrowing { try await bounded.send(number) }
            executor.runUntilIdle()
        }
        #expect(recorder.values == [[], [1]])

        _ = bounded.tryDequeue()
        executor.runUntilIdle()

        #expect(recorder.values == [[], [1], [2]])
    }

    @Test
    func `an element that goes directly to a consumer is never shown`() {
        observe(queue.changes)
        _ = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        executor.runUntilIdle()

        queue.enqueue(1)
        executor.runUntilIdle()

        #expect(recorder.values == [[]])
    }

    @Test(arguments: 1...50)
    func `in any order of jobs, an observer sees the last state and never an older one after a newer`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let queue = AsyncBoundedQueue<Int>(capacity: 3)
        let seen = Recorder<[Int]>()
        _ = executor.spawn { [changes = queue.changes] in for await pending in changes { seen.note(pending) } }
        for number in 0..<20 {
            _ = executor.spawnThrowing { try await queue.send(number) }
        }
        for _ in 0..<60 {
            executor.runOne()
            if Int.random(in: 0..<3, using: &random) == 0 { _ = queue.tryDequeue() }
        }
        executor.runUntilIdle()

        #expect(seen.values.last == queue.snapshot)
        #expect(seen.values.allSatisfy { $0.count <= 3 })
        queue.finish()
        executor.runUntilIdle()
    }
}
