extension Monitor {
    /// Waits until a claim succeeds, even in a cancelled task, and returns the claimed value.
    ///
    ///     let connection = await pool.wait(claiming: { $0.popLast() })
    ///
    /// The claim checks the state and takes something from it in one critical section, so each value goes to exactly one task. A claim that
    /// finds nothing to take returns `nil`. It must then leave the state unchanged, because no waiting task is notified of such a change.
    /// If the claim succeeds immediately, the method returns without suspending.
    ///
    /// - Throws: The claim's error, which ends the wait. Changes that the claim has made before it throws are kept.
    public func wait<Claimed: Sendable, Failure: Error>(
        claiming claim: @escaping @Sendable (inout State) throws(Failure) -> Claimed?
    ) async throws(Failure) -> Claimed {
        try await storage.wait(MonitorAttempt(claiming: claim)).get()
    }

    /// Waits until a claim succeeds, unless the task is cancelled, and returns the claimed value.
    ///
    /// If the claim succeeds immediately, the method returns, even in a cancelled task. See also ``wait(claiming:)``.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first. Nothing was claimed then.
    public func waitUnlessCancelled<Claimed: Sendable>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?
    ) async throws(CancellationError) -> Claimed {
        switch await storage.waitUnlessCancelled(MonitorAttempt(claiming: claim)) {
        case .completed(.success(let claimed)): return claimed
        case .cancelled, .expired: throw CancellationError()
        }
    }

    /// Waits until a claim succeeds, for up to `timeout` on the continuous clock, and returns the claimed value.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first. Nothing was claimed
    ///   then.
    public func wait<Claimed: Sendable>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?, timeout: Duration
    ) async throws -> Claimed {
        try await wait(claiming: claim, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until a claim succeeds or a deadline passes, and returns the claimed value.
    ///
    /// If the claim succeeds immediately, the method returns, even after the deadline and in a cancelled task.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first. Nothing was claimed
    ///   then.
    public func wait<Claimed: Sendable, C: Clock>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?, until deadline: C.Instant, clock: C
    ) async throws -> Claimed {
        switch await storage.wait(MonitorAttempt(claiming: claim), until: deadline, clock: clock) {
        case .completed(.success(let claimed)): return claimed
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }
}
