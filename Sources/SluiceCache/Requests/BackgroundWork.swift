import SluiceConcurrency
import SluiceLock

/// A cache's tasks that may outlive the callers that started them, at most one for each key. ``end()`` cancels them and waits for them.
final class BackgroundWork<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var tasks: [Key: Task<Void, Never>] = [:]
        var hasEnded = false
    }

    private let state = Lock(State())

    /// Starts `work` in a task and returns the task, unless work for the key is already running or the cache has ended.
    @discardableResult
    func start(
        _ key: Key, priority: TaskPriority = .background, _ work: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never>? {
        state.withLock { state in
            guard !state.hasEnded, state.tasks[key] == nil else { return nil }
            // The task can't remove itself before it is inserted, because that takes the lock.
            let task = Task(priority: priority) {
                await work()
                self.state.withLock { _ = $0.tasks.removeValue(forKey: key) }
            }
            state.tasks[key] = task
            return task
        }
    }

    /// Waits until the running work has ended, and cancels it if the calling task is cancelled.
    func finish() async {
        let tasks = running
        await withTaskCancellationHandler {
            for task in tasks { await task.value }
        } onCancel: {
            for task in tasks { task.cancel() }
        }
    }

    /// Cancels all work and waits until it has ended. No work starts afterwards.
    func end() async {
        state.withLock { $0.hasEnded = true }
        let tasks = running
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    var running: [Task<Void, Never>] { state.withLock { Array($0.tasks.values) } }
}

extension Task<Void, Never> {
    /// Waits for a promise that this task completes. Until then, the task is cancelled along with the calling task, and gets its priority,
    /// even if that is raised later. After a cancellation, the call doesn't wait for the task to end.
    func value<Value: Sendable>(of promise: Promise<Value, any Error>) async throws -> Value {
        try await withTaskCancellationHandler {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
                return try await promise.valueUnlessCancelled()
            }
            return try await withTaskPriorityEscalationHandler {
                // The calling task may have been raised before.
                escalatePriority(to: Task<Never, Never>.currentPriority)
                return try await promise.valueUnlessCancelled()
            } onPriorityEscalated: { _, priority in
                escalatePriority(to: priority)
            }
        } onCancel: {
            cancel()
        }
    }
}
