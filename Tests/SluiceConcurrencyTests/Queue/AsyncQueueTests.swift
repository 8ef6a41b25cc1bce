import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `A queue` {
    let executor = ManualExecutor()
    let queue = AsyncQueue<Int>()
    let recorder = Recorder<String>()

    /// Starts a consumer that notes what it gets, and lets it come as far as it can.
    @discardableResult
    private func consume(_ name: String) -> Task<Void, Never> {
        let task = executor.spawn { [recorder, elements = queue.elements] in
            for await element in elements { recorder.note("\(name)\(element)") }
            recorder.note("\(name) ended")
        }
        executor.runUntilIdle()
        return task
    }

    @Test
    func `elements leave in the order in which they came`() async throws {
        for number in 0..<5 { #expect(queue.enqueue(number) == .enqueued) }
        #expect(queue.count == 5)
        #expect(queue.snapshot == [0, 1, 2, 3, 4])

        #expect(queue.tryDequeue() == 0)
        #expect(try await queue.dequeue() == 1)
        consume("a")

        #expect(recorder.values == ["a2", "a3", "a4"])
        #expect(queue.count == 0)
        #expect(queue.tryDequeue() == nil)
    }

    @Test
    func `consumers that wait are served in turn, one element each`() {
        consume("a")
        consume("b")

        for number in 1...4 {
            queue.enqueue(number)
            executor.runUntilIdle()
        }

        #expect(recorder.values == ["a1", "b2", "a3", "b4"])
    }

    @Test
    func `an element that is kept for a waiting consumer cannot be taken by another`() {
        consume("a")

        queue.enqueue(1)

        #expect(queue.count == 0)
        #expect(queue.tryDequeue() == nil)
        executor.runUntilIdle()
        #expect(recorder.values == ["a1"])
    }

    @Test
    func `finish lets the rest be taken, and then ends every consumer`() async throws {
        consume("a")
        consume("b")
        queue.finish()
        executor.runUntilIdle()
        #expect(recorder.values == ["a ended", "b ended"])

        let other = AsyncQueue<Int>()
        other.enqueue(1)
        other.finish()
        other.finish()

        #expect(other.enqueue(2) == .finished)
        #expect(try await other.dequeue() == 1)
        #expect(try await other.dequeue() == nil)
        #expect(other.tryDequeue() == nil)
    }

    @Test
    func `dropping the last reference to the queue ends its consumers, after the rest`() {
        var dropped: AsyncQueue<Int>? = AsyncQueue()
        for name in ["a", "b"] {
            _ = executor.spawn { [recorder, elements = dropped!.elements] in
                for await element in elements { recorder.note("\(name)\(element)") }
                recorder.note("\(name) ended")
            }
        }
        executor.runUntilIdle()
        for number in 1...3 { dropped!.enqueue(number) }

        dropped = nil
        executor.runUntilIdle()

        #expect(dropped == nil)
        #expect(recorder.values.sorted() == ["a ended", "a1", "a3", "b ended", "b2"])
    }

    @Test
    func `a cancelled consumer stops, and the next element goes to another`() {
        let first = consume("a")
        consume("b")

        first.cancel()
        executor.runUntilIdle()
        queue.enqueue(1)
        executor.runUntilIdle()

        #expect(recorder.values == ["a ended", "b1"])
    }

    @Test
    func `a consumer that is cancelled after an element was handed to it still gets it`() {
        let consumer = consume("a")

        queue.enqueue(1)
        consumer.cancel()
        queue.enqueue(2)
        executor.runUntilIdle()

        #expect(recorder.values == ["a1", "a ended"])
        #expect(queue.snapshot == [2])
    }

    @Test
    func `a consumer that is cancelled before it comes leaves the elements to others`() async {
        queue.enqueue(1)
        let iterating = executor.spawn { [elements = queue.elements] in
            for await _ in elements { Issue.record("It took an element.") }
        }
        let dequeuing = executor.spawnThrowing { [queue] in try await queue.dequeue() }

        iterating.cancel()
        dequeuing.cancel()
        executor.runUntilIdle()

        #expect(queue.snapshot == [1])
        await #expect(throws: CancellationError.self) { try await dequeuing.value }
    }

    @Test
    func `dequeue waits, and throws CancellationError when cancelled`() async throws {
        let first = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        let second = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        executor.runUntilIdle()

        first.cancel()
        queue.enqueue(1)
        executor.runUntilIdle()

        // Ends the waits that are left, so that a queue that forgot the cancellation fails and does not hang.
        queue.finish()
        executor.runUntilIdle()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await second.value == 1)
    }

    @Test
    func `removeAll returns the elements, and consumers keep waiting for the next`() {
        for number in 1...3 { queue.enqueue(number) }
        #expect(queue.removeAll() == [1, 2, 3])
        #expect(queue.count == 0)
        consume("a")

        #expect(queue.removeAll() == [])
        queue.enqueue(4)
        executor.runUntilIdle()

        #expect(recorder.values == ["a4"])
    }

    @Test
    func `removeAll where returns the elements that satisfy the predicate and keeps the order of the rest`() {
        for number in 1...6 { queue.enqueue(number) }

        #expect(queue.removeAll { $0.isMultiple(of: 2) } == [2, 4, 6])

        #expect(queue.snapshot == [1, 3, 5])
    }

    @Test
    func `if the predicate throws nothing is removed`() {
        struct Unreadable: Error {}
        for number in 1...3 { queue.enqueue(number) }

        #expect(throws: Unreadable.self) {
            try queue.removeAll { (number) throws(Unreadable) in
                if number == 2 { throw Unreadable() }
                return true
            }
        }

        #expect(queue.snapshot == [1, 2, 3])
    }

    @Test
    func `a predicate that uses the queue traps`() async {
        await #expect(processExitsWith: .failure) {
            let queue = AsyncQueue<Int>()
            queue.enqueue(1)
            queue.removeAll { _ in queue.count == 0 }
        }
    }

    /// An element with a deinitializer that uses its queue: it deadlocks or traps under the lock.
    final class Meddler: Sendable {
        let queue: AsyncQueue<Meddler>
        init(_ queue: AsyncQueue<Meddler>) { self.queue = queue }
        deinit { _ = queue.count }
    }

    @Test
    func `elements are not destroyed under the lock`() {
        let queue = AsyncQueue<Meddler>()
        for _ in 0..<10 { queue.enqueue(Meddler(queue)) }

        _ = queue.tryDequeue()
        queue.removeAll { _ in true }
        for _ in 0..<10 { queue.enqueue(Meddler(queue)) }
        queue.removeAll()
        queue.finish()
        queue.enqueue(Meddler(queue))

        #expect(queue.count == 0)
    }

    @Test
    func `waitingCount counts the consumers that wait`() {
        let consumers = (0..<3).map { _ in executor.spawnThrowing { [queue] in try await queue.dequeue() } }
        executor.runUntilIdle()
        #expect(queue.waitingCount == 3)

        consumers[1].cancel()
        queue.enqueue(1)
        #expect(queue.waitingCount == 1)
        queue.finish()
        #expect(queue.waitingCount == 0)
        executor.runUntilIdle()
    }

    @Test @MainActor
    func `a consumer comes back to the actor from which it iterates`() async throws {
        let queue = AsyncQueue<Int>()
        let producer = Task { @concurrent in
            queue.enqueue(1)
            queue.enqueue(2)
            queue.finish()
        }
        var sum = 0

        for await element in queue.elements {
            MainActor.preconditionIsolated("A consumer must come back to its actor.")
            sum += element
        }

        await producer.value
        #expect(sum == 3)
        #expect(try await queue.dequeue() == nil)
    }
}
