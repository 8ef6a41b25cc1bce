/// Waits, and lets `expire` end the wait when the deadline comes.
///
///     let granted = await ending(at: deadline, clock: clock) {
///         expire(ticket)                       // takes the waiter out of its line and resumes it
///     } wait: {
///         await suspend(ticket)
///     }
///
/// The clock sleeps in a child task, which has ended when this returns: nothing is left behind. `expire` may come at the
/// same time as what is waited for: it must do nothing for a waiter that is gone. It is not called once `wait` has
/// returned, nor if the clock's sleep fails, as it does in a cancelled task: `wait` must watch for that.
///
/// Costs a task; call it only when there is something to wait for.
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
