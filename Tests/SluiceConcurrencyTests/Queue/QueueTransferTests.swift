import SluiceConcurrency
import Testing
import TestSupport

/// That these compile is half of the test; Tests/Refusals has what must not compile.
@Suite struct `Queues of elements that aren't Sendable` {
    /// Not Sendable: only the task that has it may change it.
    final class Sketch {
        var number: Int
        var strokes: [String] = []
        init(_ number: Int) { self.number = number }
    }

    @Test
    func `an element goes from a producer to a consumer, which may change it`() async throws {
        let queue = AsyncQueue<Sketch>()
        let consumer = Task { @concurrent () -> [String] in
            guard let sketch = try await queue.dequeue() else { return [] }
            sketch.strokes.append("ear")
            return sketch.strokes
        }

        let sketch = Sketch(1)
        sketch.strokes.append("eye")
        #expect(queue.enqueue(sketch) == .enqueued)

        #expect(try await consumer.value == ["eye", "ear"])
    }

    @Test
    func `a consumer may hand its element on to another queue`() async throws {
        let (first, second) = (AsyncQueue<Sketch>(), AsyncBoundedQueue<Sketch>(capacity: 1))
        first.enqueue(Sketch(1))
        first.finish()

        while let sketch = try await first.dequeue() { try await second.send(sketch) }
        second.finish()
        let last = AsyncQueue<Sketch>()
        for await sketch in second.elements { last.enqueue(sketch) }

        #expect(last.tryDequeue()?.number == 1)
    }

    @Test
    func `elements are iterated`() async {
        let queue = AsyncQueue<Sketch>()
        for number in 1...3 { queue.enqueue(Sketch(number)) }
        queue.finish()

        var numbers: [Int] = []
        for await sketch in queue.elements {
            sketch.number *= 10
            numbers.append(sketch.number)
        }

        #expect(numbers == [10, 20, 30])
    }

    @Test
    func `a bounded queue gives back the elements that it refuses or drops`() throws {
        let queue = AsyncBoundedQueue<Sketch>(capacity: 1)
        #expect(queue.trySend(Sketch(1)).isEnqueued)
        guard case .full(let refused) = queue.trySend(Sketch(2)) else {
            Issue.record("A full queue took an element.")
            return
        }
        refused.strokes.append("again")
        #expect(refused.number == 2)

        let news = AsyncBoundedQueue<Sketch>(capacity: 1, overflow: .dropOldest)
        #expect(news.trySend(Sketch(3)).isEnqueued)
        guard case .enqueuedDropping(let oldest) = news.trySend(Sketch(4)) else {
            Issue.record("A full queue dropped nothing.")
            return
        }
        #expect(oldest.number == 3)
        #expect(queue.trySend(oldest).isEnqueued == false)
    }

    @Test
    func `a unique queue reads the keys of elements, and a priority queue their priorities`() {
        let unique = AsyncQueue<Sketch>(unique: \.number)
        #expect(unique.enqueue(Sketch(1)) == .enqueued)
        #expect(unique.enqueue(Sketch(1)) == .alreadyPending)
        #expect(unique.removeAll().map(\.number) == [1])

        let urgent = AsyncPriorityQueue<Sketch, Int>(priority: \.number)
        for number in [2, 3, 1] { urgent.enqueue(Sketch(number)) }
        #expect(urgent.tryDequeue()?.number == 3)
        #expect(urgent.removeAll().map(\.number) == [2, 1])
    }

    /// Tells of its end.
    final class Witness {
        let recorder: Recorder<String>
        init(_ recorder: Recorder<String>) { self.recorder = recorder }
        deinit { recorder.note("gone") }
    }

    @Test
    func `an element is destroyed once, by its consumer or with its queue`() {
        let recorder = Recorder<String>()
        var queue: AsyncQueue<Witness>? = AsyncQueue()
        queue?.enqueue(Witness(recorder))
        queue?.enqueue(Witness(recorder))

        _ = queue?.tryDequeue()
        #expect(recorder.values == ["gone"])
        queue = nil
        #expect(recorder.values == ["gone", "gone"])
    }

    @Test
    func `the element of a send that is cancelled or refused is destroyed`() async {
        let recorder = Recorder<String>()
        let executor = ManualExecutor()
        let queue = AsyncBoundedQueue<Witness>(capacity: 0)
        let cancelled = executor.spawnThrowing { _ = try await queue.send(Witness(recorder)) }
        let refused = executor.spawnThrowing { _ = try await queue.send(Witness(recorder)) }
        executor.runUntilIdle()
        cancelled.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["gone"])
        queue.finish()
        executor.runUntilIdle()

        #expect(recorder.values == ["gone", "gone"])
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await #expect(throws: QueueFinished.self) { try await refused.value }
    }
}
