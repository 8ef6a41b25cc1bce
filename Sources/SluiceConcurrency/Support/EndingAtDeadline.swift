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
            guard (try? await clock.sleepInSteps(until: deadline)) != nil else { return }
            expire()
        }
        let outcome = await wait()
        group.cancelAll()
        return outcome
    }
}

// Every bounded wait computes its deadline and sleeps with these functions, because a caller can pass any duration.
extension Clock {
    /// Sleeps until a deadline, however far away it is. Returns immediately if the deadline has passed.
    ///
    /// It sleeps for at most a day at a time: `ContinuousClock` traps if the nanoseconds until the deadline don't fit into its numbers.
    func sleepInSteps(until deadline: Instant) async throws {
        while true {
            try Task.checkCancellation()
            let now = now
            if deadline <= now { return }
            let day = Swift.Duration.seconds(86_400)
            guard let wait = now.duration(to: deadline) as? Swift.Duration, wait > day, let step = day as? Duration
            else {
                return try await sleep(until: deadline, tolerance: nil)
            }
            try await sleep(until: now.advanced(by: step), tolerance: nil)
        }
    }
}

extension Clock where Duration == Swift.Duration {
    /// The deadline of a wait with a timeout, which can be longer than any clock can count, or negative.
    package func deadline(after timeout: Duration) -> Instant {
        now.advanced(by: min(max(timeout, .zero), .seconds(Int64.max / 4)))
    }
}
