import SluiceLock

/// The tasks whose bodies a limiter runs, to tell a task that runs a body inside of another one.
///
/// A task is known by its address, which no other task has as long as it lives, and it lives as long as its body runs.
final class LimiterHolders: Sendable {
    /// How many bodies each task runs: more than one only where the inner ones did not wait.
    private let tasks = Lock<[UInt: Int]>([:])

    /// Records that the calling task runs a body; stops the program if it runs one already.
    ///
    /// Called before it waits for a place: a task that waits forever could not tell.
    func enter() {
        guard let task = Self.currentTask else { return }
        let isNew = tasks.withLock { tasks in
            if tasks[task] != nil { return false }
            tasks[task] = 1
            return true
        }
        precondition(
            isNew,
            "A body of a ConcurrencyLimiter runs something on the same limiter. If every place is held this way, the "
                + "tasks deadlock. Use one limiter per level, or run both parts in one body.")
    }

    /// Records that the calling task runs a body, or another one, for which it did not wait.
    func enterWithoutWaiting() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { $0[task, default: 0] += 1 }
    }

    /// Its body has ended, or never ran.
    func leave() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { tasks in
            guard let bodies = tasks[task] else { return }
            tasks[task] = bodies == 1 ? nil : bodies - 1
        }
    }

    private static var currentTask: UInt? {
        withUnsafeCurrentTask { task in
            // It is nothing but a reference to the task, of which only the address is used.
            task.map { unsafeBitCast($0, to: UInt.self) }
        }
    }
}
