/// Suspends the task for a moment, so that other tasks run in between.
///
///     await limiter.run {
///         occupancy.enter()
///         await suspendOnce()             // a limiter that admits too many tasks admits them here
///         occupancy.leave()
///     }
///
/// It provokes a race, or on a ``ManualExecutor`` adds a point where the order of jobs may change. Don't use it to wait: the number of
/// suspensions that an operation takes depends on the machine. Wait for a ``Gate``, a condition or the task instead.
public nonisolated(nonsending) func suspendOnce() async {
    await Task.yield()
}

/// Suspends the task this many times, to move a cancellation or a write to another moment of a concurrent operation.
///
///     let task = Task { try await file.read() }
///     await suspend(times: attempt % 7)
///     task.cancel()
public nonisolated(nonsending) func suspend(times: Int) async {
    for _ in 0..<times { await suspendOnce() }
}
