import SluiceLock
import Testing
import TestSupport

@testable import SluiceConcurrency

/// What a queue promises about isolation: that these compile is half of the test.
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
    func `an actor sends, takes and observes without leaving itself`() async throws {
        let entries = try await Worker().exchange(AsyncBoundedQueue(capacity: 2))
        #expect(entries == ["sent 1", "sent 2", "took 1", "took 2", "pending []"])
    }

    @Test @MainActor
    func `a producer that waited comes back to the main actor`() async throws {
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
    func `ten thousand waits of each kind that were cancelled leave no trace`() {
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
