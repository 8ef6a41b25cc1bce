import SluiceConcurrency

/// A signal for one waiting task. Signals that are sent before the task waits count as one.
final class Pulse: Sendable {
    private let queue = AsyncBoundedQueue<Void>(capacity: 1, overflow: .dropNewest)

    func send() {
        // If a pulse is pending, it suffices.
        _ = queue.trySend(())
    }

    /// Returns immediately if the task is cancelled.
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
