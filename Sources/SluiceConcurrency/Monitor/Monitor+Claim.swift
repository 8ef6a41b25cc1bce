extension Monitor {
    /// Waits until a claim succeeds, even in a cancelled task, and returns what was claimed.
    ///
    ///     let connection = await pool.wait(claiming: { $0.popLast() })
    ///
    /// The claim looks whether there is what it wants and takes it, in one critical section: of many waiters exactly
    /// one gets each thing. It returns nil if there is nothing for it yet, and must then leave the state as it was, as
    /// nobody is told of a change that a claim made in vain. It runs under the lock: see ``Monitor``.
    ///
    /// If it succeeds at once, this returns at once. What it leaves of the state may serve others in line: they are
    /// woken.
    ///
    /// - Returns: What the claim returns.
    /// - Throws: What the claim throws, which ends the wait; what it has changed until then stays changed.
    /// - Complexity: One evaluation now and at least one at each change. Suspends unless the claim succeeds; never
    ///   blocks a thread.
    public func wait<Claimed: Sendable, Failure: Error>(
        claiming claim: @escaping @Sendable (inout State) throws(Failure) -> Claimed?
    ) async throws(Failure) -> Claimed {
        try await storage.wait(MonitorAttempt(claiming: claim)).get()
    }

    /// Waits until a claim succeeds, unless the task is cancelled, and returns what was claimed.
    ///
    ///     let connection = try await pool.waitUnlessCancelled(claiming: { $0.popLast() })
    ///
    /// See ``wait(claiming:)``. A cancelled task has claimed nothing; if cancellation and a change come at the same
    /// time, either may win. If the claim succeeds at once, that is what is returned, even in a cancelled task.
    ///
    /// - Returns: What the claim returns.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: One evaluation now and at least one at each change. Suspends unless the claim succeeds; never
    ///   blocks a thread.
    public func waitUnlessCancelled<Claimed: Sendable>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?
    ) async throws(CancellationError) -> Claimed {
        switch await storage.waitUnlessCancelled(MonitorAttempt(claiming: claim)) {
        case .completed(.success(let claimed)): return claimed
        case .cancelled, .expired: throw CancellationError()
        }
    }

    /// Waits until a claim succeeds, the deadline comes or the task is cancelled, and returns what was claimed.
    ///
    ///     let connection = try await pool.wait(claiming: { $0.popLast() }, until: deadline, clock: clock)
    ///
    /// See ``wait(claiming:)``. If the claim succeeds at once, that is what is returned, even after the deadline and in
    /// a cancelled task.
    ///
    /// - Returns: What the claim returns; nil if the deadline came first, and then nothing was claimed.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: One evaluation now and at least one at each change, and a child task, which has ended when this
    ///   returns, if it must wait. Suspends unless the claim succeeds; never blocks a thread.
    public func wait<Claimed: Sendable, C: Clock>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?, until deadline: C.Instant, clock: C
    ) async throws(CancellationError) -> Claimed? {
        switch await storage.wait(MonitorAttempt(claiming: claim), until: deadline, clock: clock) {
        case .completed(.success(let claimed)): return claimed
        case .expired: return nil
        case .cancelled: throw CancellationError()
        }
    }
}
