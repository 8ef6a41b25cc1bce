// MARK: - Until the task is cancelled

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

// MARK: - Until a deadline

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
    package func deadline(after timeout: Duration) -> Instant { deadline(after: timeout, from: now) }

    /// The same deadline, from a time that the caller has read.
    func deadline(after timeout: Duration, from start: Instant) -> Instant {
        start.advanced(by: min(max(timeout, .zero), .seconds(Int64.max / 4)))
    }
}

// MARK: - While the priority may be raised

/// Runs a wait, and calls `raised` with the new priority whenever the priority of the task is raised, for example because a task of
/// higher priority awaits it.
///
/// ```text
/// let priority = Task.currentPriority
/// let ticket = waitingLine.join(priority)
/// await withEscalations(from: priority) {
///     await suspend(ticket)
/// } raised: { priority in
///     waitingLine.raise(ticket, to: priority)
/// }
/// ```
///
/// `priority` is the task's priority when it was last read. If it was raised between then and this call, `raised` is called immediately.
/// `raised` can be called at any time until the function returns, and on any thread. On Apple's systems before version 26, it is never
/// called.
@inlinable
func withEscalations<Outcome>(
    from priority: TaskPriority, _ wait: () async -> Outcome, raised: @escaping @Sendable (TaskPriority) -> Void
) async -> Outcome {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        await withTaskPriorityEscalationHandler {
            let current = Task.currentPriority
            if current > priority { raised(current) }
            return await wait()
        } onPriorityEscalated: { _, new in
            raised(new)
        }
    } else {
        await wait()
    }
}

// MARK: - With a result

extension Result where Failure == any Error {
    package init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
