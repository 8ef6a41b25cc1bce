/// Suspends the calling task, and lets `onCancel` end its wait if the task is cancelled.
///
///     await suspending { waiter in
///         machine.withLock { $0.suspend(ticket, waiter) }         // what has happened meanwhile, or nil
///     } onCancel: {
///         leave(ticket, .cancelled)                               // takes the waiter out of its line and resumes it
///     }
///
/// The task is in line before this is called. `suspend` stores the waiter, or returns what to resume it with immediately.
/// `onCancel` may come before, while and after that: it must do nothing for a waiter that is gone.
///
/// Always inlined: one more function between the caller and its continuation takes memory in each waiting task.
@inlinable @inline(__always)
func suspending<Outcome: Sendable>(
    _ suspend: (UnsafeContinuation<Outcome, Never>) -> Outcome?, onCancel: @Sendable () -> Void
) async -> Outcome {
    await withTaskCancellationHandler {
        await withUnsafeContinuation { waiter in
            if let known = suspend(waiter) { waiter.resume(returning: known) }
        }
    } onCancel: {
        onCancel()
    }
}
