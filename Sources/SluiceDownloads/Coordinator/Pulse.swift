import SluiceConcurrency

/// Says that something happened: once, however often it happens until a task has waited for it.
final class Pulse: Sendable {
    private let queue = AsyncBoundedQueue<Void>(capacity: 1, overflow: .dropNewest)

    func send() {
        // One that is pending suffices.
        _ = queue.trySend(())
    }

    /// Waits for the pulse, or for as long as `limit` says; returns immediately when the task is cancelled.
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
