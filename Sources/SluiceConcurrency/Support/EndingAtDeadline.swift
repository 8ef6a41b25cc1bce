/// Waits, and calls `expire` to end the wait if a deadline passes first.
///
///     let granted = await ending(at: deadline, clock: clock) {
///         expire(ticket)                       // takes the waiter out of its line and resumes it
///     } wait: {
///         await suspend(ticket)
///     }
///
/// The clock sleeps in a child task, which has ended when the function returns. `expire` can be called at the same time as the
/// wait ends for another reason, and must then do nothing. It isn't called after `wait` has returned, or if the clock's sleep
/// fails, as it does in a cancelled task. So `wait` must handle cancellation itself.
///
/// Call it only if the task must wait, because it costs a child task.
func ending<C: Clock, Outcome>(
    at deadline: C.Instant, clock: C, expire: @escaping @Sendable () -> Void, wait: () async -> Outcome
) async -> Outcome {
    await withTaskGroup(of: Void.self) { group in
        group.addTask {
            guard (try? await clock.sleep(until: deadline, tolerance: nil)) != nil else { return }
            expire()
        }
        let outcome = await wait()
        group.cancelAll()
        return outcome
    }
}
