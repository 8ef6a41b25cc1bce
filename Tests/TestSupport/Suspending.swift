/// Suspends the task for a moment, so that other tasks run in the middle of what it does.
///
///     await limiter.run {
///         occupancy.enter()
///         await suspendOnce()             // a limiter that lets too many in lets them in here
///         occupancy.leave()
///     }
///
/// It makes a race, or on a ``ManualExecutor`` one more place where the order of jobs may change. It isn't a way to wait: how many
/// turns something takes depends on the machine. Wait for a ``Gate``, a condition or the task instead.
public nonisolated(nonsending) func suspendOnce() async {
    await Task.yield()
}

/// Suspends the task that many times: moves a cancellation or a write to other moments of what runs beside it.
///
///     let task = Task { try await file.read() }
///     await suspend(times: attempt % 7)
///     task.cancel()
public nonisolated(nonsending) func suspend(times: Int) async {
    for _ in 0..<times { await suspendOnce() }
}
