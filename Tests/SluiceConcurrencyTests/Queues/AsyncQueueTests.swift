import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `A queue` {
    let executor = ManualExecutor()
    let queue = AsyncQueue<Int>()
    let recorder = Recorder<String>()

    /// Starts a consumer that records what it gets, and runs it until it waits or ends.
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
    func `elements leave in order of arrival`() async throws {
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
    func `waiting consumers are served in order, one element each`() {
        consume("a")
        consume("b")

        for number in 1...4 {
            queue.enqueue(number)
            executor.runUntilIdle()
        }

        #expect(recorder.values == ["a1", "b2", "a3", "b4"])
    }

    @Test
    func `an element reserved for a waiting consumer can't be taken by another`() {
        consume("a")

        queue.enqueue(1)

        #expect(queue.count == 0)
        #expect(queue.tryDequeue() == nil)
        executor.runUntilIdle()
        #expect(recorder.values == ["a1"])
    }

    @Test
    func `after finish, consumers get the remaining elements and then end`() async throws {
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
    func `releasing the queue ends its consumers after the remaining elements`() {
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
    func `a cancelled consumer stops, and the next element goes to another consumer`() {
        let first = consume("a")
        consume("b")

        first.cancel()
        executor.runUntilIdle()
        queue.enqueue(1)
        executor.runUntilIdle()

        #expect(recorder.values == ["a ended", "b1"])
    }

    @Test
    func `a consumer cancelled after it was given an element still gets it`() {
        let consumer = consume("a")

        queue.enqueue(1)
        consumer.cancel()
        queue.enqueue(2)
        executor.runUntilIdle()

        #expect(recorder.values == ["a1", "a ended"])
        #expect(queue.snapshot == [2])
    }

    @Test
    func `a consumer cancelled before it arrives takes no element`() async {
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

        // Ends any remaining waits: if the queue missed the cancellation, the test should fail and not hang.
        queue.finish()
        executor.runUntilIdle()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await second.value == 1)
    }

    @Test
    func `removeAll returns the elements, and consumers keep waiting`() {
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
    func `removeAll where returns the matching elements and keeps the order of the rest`() {
        for number in 1...6 { queue.enqueue(number) }

        #expect(queue.removeAll { $0.isMultiple(of: 2) } == [2, 4, 6])

        #expect(queue.snapshot == [1, 3, 5])
    }

    @Test
    func `a throwing predicate removes nothing`() {
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
    func `elements aren't destroyed under the lock`() {
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
    func `waitingCount counts waiting consumers`() {
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
    func `a consumer returns to the actor that it iterates on`() async throws {
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

// MARK: - Elements that aren't Sendable

/// Half of the test is that this compiles. Tests/Refusals has what must not compile.
@Suite struct `Queues of elements that aren't Sendable` {
    /// Not Sendable: only the task that has it may change it.
    final class Sketch {
        var number: Int
        var strokes: [String] = []
        init(_ number: Int) { self.number = number }
    }

    @Test
    func `a consumer can change an element that it receives`() async throws {
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
    func `a consumer can pass its element to another queue`() async throws {
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
    func `elements can be iterated`() async {
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
    func `a bounded queue returns the elements that it refuses or drops`() throws {
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

    /// Records that it is destroyed.
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
    func `the element of a cancelled or refused send is destroyed`() async {
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

// MARK: - Many tasks

@Suite(.timeLimit(.minutes(15))) struct `AsyncQueue: many tasks` {
    @Test
    func `each element is delivered once to several consumers from several producers`() async {
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
    func `cancelling during enqueue loses no element`() async throws {
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
    func `in any order of jobs, each element is delivered once or stays in the queue`(seed: UInt64) {
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

// MARK: - Isolation

/// The isolation that a queue promises. Half of the test is that this compiles.
@Suite struct `AsyncQueue: isolation` {
    /// Not Sendable, and used across waits.
    final class Log {
        var entries: [String] = []
    }

    actor Worker {
        let log = Log()

        func exchange(_ queue: AsyncBoundedQueue<Int>) async throws -> [String] {
            for number in 1...2 {
                try await queue.send(number)
                assertIsolated()
                log.entries.append("sent \(number)")
            }
            queue.finish()
            for await element in queue.elements {
                assertIsolated()
                log.entries.append("took \(element)")
            }
            for await pending in queue.changes {
                assertIsolated()
                log.entries.append("pending \(pending)")
            }
            return log.entries
        }
    }

    @Test
    func `an actor sends, takes and observes without leaving its isolation`() async throws {
        let entries = try await Worker().exchange(AsyncBoundedQueue(capacity: 2))
        #expect(entries == ["sent 1", "sent 2", "took 1", "took 2", "pending []"])
    }

    @Test @MainActor
    func `a producer that waited returns to the main actor`() async throws {
        let queue = AsyncBoundedQueue<Int>(capacity: 0)
        let log = Log()
        let consumer = Task { @concurrent in try await queue.dequeue() }

        try await queue.send(1)
        MainActor.preconditionIsolated("A producer must come back to its actor.")
        log.entries.append("sent")

        #expect(try await consumer.value == 1)
        #expect(log.entries == ["sent"])
    }

    @Test
    func `dequeue throws nothing but CancellationError`() async {
        let queue = AsyncQueue<Int>()
        queue.finish()
        do {
            #expect(try await queue.dequeue() == nil)
        } catch {
            let typed: CancellationError = error
            Issue.record(typed)
        }
    }

    @Test
    func `ten thousand cancelled waits of each kind leave no trace`() {
        let executor = ManualExecutor()
        let full = AsyncBoundedQueue<Int>(capacity: 0)
        let empty = AsyncQueue<Int>()
        for _ in 0..<100 {
            let tasks = (0..<100).map { number in
                [
                    executor.spawn { _ = try? await full.send(number) },
                    executor.spawn { _ = try? await empty.dequeue() },
                    executor.spawn { for await _ in empty.changes {} },
                ]
            }
            executor.runUntilIdle()
            for task in tasks.joined() { task.cancel() }
            executor.runUntilIdle()
        }

        #expect(full.storage.machine.withLock { $0.producers.line.slotCount + $0.producers.offers.count } == 0)
        #expect(empty.storage.machine.withLock { $0.consumers.slotCount } == 0)
        #expect(empty.storage.machine.withLock { $0.observers.slotCount } == 0)
        #expect(full.storage.machine.withLock { !$0.hasDeferredActions })
    }

    @Test
    func `a key that uses the queue traps`() async {
        await #expect(processExitsWith: .failure) {
            let trap = Trap()
            let queue = AsyncQueue<Int>(unique: { [trap] number in number + (trap.queue?.count ?? 0) })
            trap.queue = queue
            queue.enqueue(1)
        }
    }

    final class Trap: @unchecked Sendable {
        // Used by one thread.
        var queue: AsyncQueue<Int>?
    }
}
