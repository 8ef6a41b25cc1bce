import SluiceConcurrency

/// Says that something happened, once for any number of times until somebody has waited for it.
final class Pulse: Sendable {
    private let queue = AsyncQueue<Void>()

    func send() {
        // Two at the same time may leave two: one pulse too many does no harm.
        if queue.count == 0 { queue.enqueue(()) }
    }

    /// Waits for the pulse, or for as long as `limit` says; returns at once when the task is cancelled.
    func wait(atMost limit: Duration?, sleep: @escaping @Sendable (Duration) async throws -> Void) async {
        guard let limit else {
            _ = try? await queue.dequeue()
            return
        }
        if queue.tryDequeue() != nil { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await self.queue.dequeue() }
            group.addTask { try? await sleep(limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
