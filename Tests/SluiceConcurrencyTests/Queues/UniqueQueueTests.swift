import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `AsyncQueue and AsyncBoundedQueue: unique` {
    struct Song: Hashable, Sendable {
        var id: Int
        var title = ""
    }

    let executor = ManualExecutor()

    /// Resumes the waiting tasks: if the queue forgot some, the test should fail and not hang.
    private func finish<Element>(_ queue: AsyncBoundedQueue<Element>) {
        queue.finish()
        executor.runUntilIdle()
    }

    @Test
    func `an element isn't added while an equal one is pending`() {
        let queue = AsyncQueue(unique: \Song.id)

        #expect(queue.enqueue(Song(id: 1, title: "a")) == .enqueued)
        #expect(queue.enqueue(Song(id: 1, title: "b")) == .alreadyPending)
        #expect(queue.enqueue(Song(id: 2)) == .enqueued)

        #expect(queue.snapshot == [Song(id: 1, title: "a"), Song(id: 2)])
    }

    @Test
    func `an element that was taken or removed can be added again`() {
        let queue = AsyncQueue<Int>(unique: \.self)
        for number in 1...4 { queue.enqueue(number) }

        #expect(queue.tryDequeue() == 1)
        #expect(queue.enqueue(1) == .enqueued)
        #expect(queue.removeAll { $0 == 3 } == [3])
        #expect(queue.enqueue(3) == .enqueued)
        #expect(queue.enqueue(2) == .alreadyPending)
        queue.removeAll()
        for number in 1...4 { #expect(queue.enqueue(number) == .enqueued) }
    }

    @Test
    func `an element that isn't equal to itself is always added and leaves no key`() {
        let queue = AsyncQueue<Double>(unique: \.self)
        for _ in 0..<3 { #expect(queue.enqueue(.nan) == .enqueued) }
        #expect(queue.enqueue(1) == .enqueued)
        #expect(queue.storage.machine.withLock { $0.unique?.count } == 1)

        #expect(queue.removeAll(where: \.isNaN).count == 3)
        #expect(queue.tryDequeue() == 1)
        #expect(queue.storage.machine.withLock { $0.unique?.count } == 0)
    }

    @Test
    func `an element given to a consumer isn't pending`() async throws {
        let queue = AsyncQueue<Int>(unique: \.self)
        let consumer = executor.spawnThrowing { try await queue.dequeue() }
        executor.runUntilIdle()

        #expect(queue.enqueue(1) == .enqueued)
        #expect(queue.enqueue(1) == .enqueued)
        #expect(queue.enqueue(1) == .alreadyPending)

        executor.runUntilIdle()
        #expect(try await consumer.value == 1)
    }

    @Test
    func `a duplicate drops nothing, and a dropped element can be added again`() {
        let queue = AsyncBoundedQueue<Int>(capacity: 2, overflow: .dropOldest, unique: \.self)
        for number in 1...2 { #expect(queue.trySend(number) == .enqueued) }

        #expect(queue.trySend(2) == .alreadyPending)
        #expect(queue.trySend(3) == .enqueuedDropping(1))
        #expect(queue.trySend(1) == .enqueuedDropping(2))
        #expect(queue.snapshot == [3, 1])

        let keeping = AsyncBoundedQueue<Int>(capacity: 1, overflow: .dropNewest, unique: \.self)
        #expect(keeping.trySend(1) == .enqueued)
        #expect(keeping.trySend(2) == .dropped(2))
        #expect(keeping.tryDequeue() == 1)
        #expect(keeping.trySend(2) == .enqueued, "what was dropped is not pending")
    }

    @Test
    func `a producer of a duplicate doesn't wait`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 1, overflow: .suspend, unique: \.self)
        #expect(queue.trySend(1) == .enqueued)

        #expect(try await queue.send(1) == .alreadyPending)
    }

    @Test
    func `a waiting producer's key is looked up again when it is admitted`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 1, overflow: .suspend, unique: \.self)
        #expect(queue.trySend(1) == .enqueued)
        let producers = [2, 2, 2, 3].map { number in
            defer { executor.runUntilIdle() }
            return executor.spawnThrowing { try await queue.send(number) }
        }

        // If later 2s were refused as duplicates of the first producer's, which is now cancelled, no consumer would get a 2.
        producers[0].cancel()
        executor.runUntilIdle()
        #expect(queue.tryDequeue() == 1)
        executor.runUntilIdle()
        #expect(queue.snapshot == [2])
        #expect(queue.tryDequeue() == 2)
        executor.runUntilIdle()

        #expect(queue.tryDequeue() == 2)
        executor.runUntilIdle()
        finish(queue)
        await #expect(throws: CancellationError.self) { try await producers[0].value }
        #expect(try await producers[1].value == .enqueued)
        #expect(try await producers[2].value == .enqueued, "the one before it was taken by then")
        #expect(try await producers[3].value == .enqueued)
    }

    @Test
    func `a producer whose element is pending when its turn comes makes way for the next`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 2, overflow: .suspend, unique: \.self)
        for number in 1...2 { #expect(queue.trySend(number) == .enqueued) }
        let producers = [3, 3, 4].map { number in
            defer { executor.runUntilIdle() }
            return executor.spawnThrowing { try await queue.send(number) }
        }

        queue.removeAll()
        executor.runUntilIdle()

        #expect(queue.snapshot == [3, 4])
        finish(queue)
        #expect(try await producers[0].value == .enqueued)
        #expect(try await producers[1].value == .alreadyPending)
        #expect(try await producers[2].value == .enqueued)
    }

    /// A key with a deinitializer that uses the queue: it deadlocks or traps under the lock.
    final class Key: Hashable, Sendable {
        let number: Int
        let queue: AsyncBoundedQueue<Int>
        init(_ number: Int, _ queue: AsyncBoundedQueue<Int>) { (self.number, self.queue) = (number, queue) }
        deinit { _ = queue.count }
        static func == (first: Key, second: Key) -> Bool { first.number == second.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    @Test
    func `keys aren't destroyed under the lock`() {
        let other = AsyncBoundedQueue<Int>(capacity: 1)
        let holder = Holder()
        let queue = AsyncBoundedQueue<Int>(capacity: 3, overflow: .dropOldest) { Key($0, holder.queue ?? other) }
        holder.queue = queue

        for number in 0..<5 { _ = queue.trySend(number) }
        #expect(queue.trySend(4) == .alreadyPending)
        _ = queue.tryDequeue()
        queue.removeAll { $0 == 3 }
        queue.removeAll()

        #expect(queue.count == 0)
        holder.queue = nil
    }

    final class Holder: @unchecked Sendable {
        // Used by one thread.
        var queue: AsyncBoundedQueue<Int>?
    }
}
