import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `A priority queue` {
    struct Request: Hashable, Sendable {
        var name: String
        var rank: Int

        init(_ name: String, _ rank: Int) { (self.name, self.rank) = (name, rank) }
    }

    let executor = ManualExecutor()
    let clock = ManualClock()
    let queue = AsyncPriorityQueue(priority: \Request.rank)

    private func names(_ requests: [Request]) -> String { requests.map(\.name).joined() }

    @Test
    func `the highest priority leaves first, and equals in order of arrival`() async throws {
        for (name, rank) in [("a", 1), ("b", 5), ("c", 1), ("d", 5), ("e", 9)] { queue.enqueue(Request(name, rank)) }

        #expect(names(queue.snapshot) == "ebdac")
        #expect(queue.count == 5)
        #expect(queue.tryDequeue()?.name == "e")
        #expect(try await queue.dequeue()?.name == "b")
        queue.enqueue(Request("f", 5))
        queue.finish()

        var rest: [Request] = []
        for await request in queue.elements { rest.append(request) }
        #expect(names(rest) == "dfac")
        #expect(try await queue.dequeue() == nil)
        #expect(queue.enqueue(Request("g", 1)) == .finished)
    }

    @Test(arguments: 1...20)
    func `random elements leave sorted, and equals in order of arrival`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let requests = (0..<200).map { Request("\($0)", Int.random(in: 0..<5, using: &random)) }
        for request in requests { queue.enqueue(request) }
        let sorted = requests.enumerated().sorted { ($1.element.rank, $0.offset) < ($0.element.rank, $1.offset) }

        var taken: [Request] = []
        while let request = queue.tryDequeue() { taken.append(request) }

        #expect(taken == sorted.map(\.element))
    }

    @Test
    func `comparable elements need no priority`() {
        let queue = AsyncPriorityQueue<Int, Int>()
        for number in [3, 1, 2] { queue.enqueue(number) }
        #expect(queue.snapshot == [3, 2, 1])
    }

    @Test
    func `a waiting consumer gets the next element, whatever its priority`() async throws {
        let consumer = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        executor.runUntilIdle()
        queue.enqueue(Request("a", 1))
        queue.enqueue(Request("b", 9))
        executor.runUntilIdle()

        #expect(try await consumer.value?.name == "a")
    }

    @Test
    func `a cancelled consumer loses no element`() async throws {
        let consumer = executor.spawnThrowing { [queue] in try await queue.dequeue() }
        executor.runUntilIdle()
        consumer.cancel()
        queue.enqueue(Request("a", 1))
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await consumer.value }
        #expect(names(queue.snapshot) == "a")
    }

    @Test
    func `removed elements are sorted, and the rest keep their order`() {
        for (name, rank) in [("a", 1), ("b", 5), ("c", 1), ("d", 5)] { queue.enqueue(Request(name, rank)) }

        #expect(names(queue.removeAll { $0.name == "a" || $0.name == "d" }) == "da")
        queue.enqueue(Request("e", 1))
        #expect(names(queue.removeAll()) == "bce")
        #expect(queue.count == 0)
    }

    @Test
    func `a pending element stays even if an equal one has a higher priority`() {
        let queue = AsyncPriorityQueue(unique: \Request.name, priority: \.rank)
        #expect(queue.enqueue(Request("a", 1)) == .enqueued)
        #expect(queue.enqueue(Request("a", 9)) == .alreadyPending)
        #expect(queue.tryDequeue() == Request("a", 1))
        #expect(queue.enqueue(Request("a", 9)) == .enqueued)
    }

    @Test
    func `an observer sees the queue sorted, and its end`() {
        let recorder = Recorder<String>()
        _ = executor.spawn { [changes = queue.changes] in
            for await pending in changes { recorder.note(pending.map(\.name).joined()) }
            recorder.note("end")
        }
        executor.runUntilIdle()
        queue.enqueue(Request("a", 1))
        queue.enqueue(Request("b", 2))
        executor.runUntilIdle()
        queue.finish()
        queue.removeAll()
        executor.runUntilIdle()

        #expect(recorder.values == ["", "ba", "", "end"])
    }

    @Test
    func `a deadline ends a consumer's wait`() async throws {
        let consumer = executor.spawnThrowing { [queue, clock] in
            try await queue.dequeue(until: clock.now.advanced(by: .seconds(1)), clock: clock)
        }
        executor.runUntilIdle()
        #expect(queue.waitingCount == 1)
        clock.advance(by: .seconds(1))
        executor.runUntilIdle()

        await #expect(throws: DeadlineExceeded.self) { try await consumer.value }
        await #expect(throws: DeadlineExceeded.self) { try await queue.dequeue(timeout: .zero) }
        queue.enqueue(Request("a", 1))
        #expect(queue.waitingCount == 0)
        #expect(try await queue.dequeue(timeout: .zero)?.name == "a")
    }

    @Test
    func `releasing the queue ends its consumers after the remaining elements`() async {
        var queue: AsyncPriorityQueue<Int, Int>? = AsyncPriorityQueue()
        let elements = queue!.elements
        queue!.enqueue(1)
        queue = nil

        var taken: [Int] = []
        for await element in elements { taken.append(element) }

        #expect(queue == nil)
        #expect(taken == [1])
    }

    /// A priority with a deinitializer that uses the queue: it deadlocks or traps under the lock.
    final class Rank: Comparable, Sendable {
        let number: Int
        let queue: AsyncPriorityQueue<Int, Rank>
        init(_ number: Int, _ queue: AsyncPriorityQueue<Int, Rank>) { (self.number, self.queue) = (number, queue) }
        deinit { _ = queue.count }
        static func < (first: Rank, second: Rank) -> Bool { first.number < second.number }
        static func == (first: Rank, second: Rank) -> Bool { first.number == second.number }
    }

    final class Holder: @unchecked Sendable {
        // Used by one thread.
        var queue: AsyncPriorityQueue<Int, Rank>?
    }

    @Test
    func `priorities aren't destroyed under the lock`() {
        let holder = Holder()
        let queue = AsyncPriorityQueue<Int, Rank> { Rank($0, holder.queue!) }
        holder.queue = queue

        for number in [1, 2, 3, 4, 0] { queue.enqueue(number) }
        _ = queue.tryDequeue()
        queue.removeAll { $0 == 2 }
        _ = queue.snapshot
        queue.removeAll()

        #expect(queue.count == 0)
        holder.queue = nil
    }
}
