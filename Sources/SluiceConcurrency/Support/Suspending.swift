/// Suspends the calling task, and calls `onCancel` to end the wait if the task is cancelled.
///
///     await suspending { waiter in
///         machine.withLock { $0.suspend(ticket, waiter) }         // the outcome if there is one, or nil
///     } onCancel: {
///         leave(ticket, .cancelled)                               // takes the waiter out of its line and resumes it
///     }
///
/// The task must be in line before the call. `suspend` stores the waiter, or returns the outcome to resume it with immediately.
/// `onCancel` can be called before, during and after that. It must do nothing if the waiter is no longer in line.
///
/// Always inlined: another function between the caller and its continuation takes memory in each waiting task.
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
