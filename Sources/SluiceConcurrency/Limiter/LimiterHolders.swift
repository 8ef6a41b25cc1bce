import SluiceLock

/// The tasks that run bodies of a limiter, to detect a task that runs a body inside another one.
///
/// A task is identified by its address, which is unique while the task lives, and the task outlives its body.
final class LimiterHolders: Sendable {
    /// More than one only if the inner bodies didn't wait.
    private let tasks = Lock<[UInt: Int]>([:])

    /// Records that the calling task runs a body; traps if the task runs one already.
    ///
    /// Called before the task waits for a place, because a task that waits forever couldn't report it.
    func enter() {
        guard let task = Self.currentTask else { return }
        let isNew = tasks.withLock { tasks in
            if tasks[task] != nil { return false }
            tasks[task] = 1
            return true
        }
        precondition(
            isNew,
            "A limiter's body must not use the same limiter, because the tasks deadlock if every place is held this way. "
                + "Use one limiter per level, or do both parts in one body.")
    }

    /// Records that the calling task runs a body, or another body for which it didn't wait.
    func enterWithoutWaiting() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { $0[task, default: 0] += 1 }
    }

    func leave() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { tasks in
            guard let bodies = tasks[task] else { return }
            tasks[task] = bodies == 1 ? nil : bodies - 1
        }
    }

    private static var currentTask: UInt? {
        withUnsafeCurrentTask { task in
            // `UnsafeCurrentTask` holds only a reference to the task. Only the address is used.
            task.map { unsafeBitCast($0, to: UInt.self) }
        }
    }
}
