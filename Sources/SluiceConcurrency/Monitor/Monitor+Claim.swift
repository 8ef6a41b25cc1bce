extension Monitor {
    /// Waits until a claim succeeds, even in a cancelled task, and returns what was claimed.
    ///
    ///     let connection = await pool.wait(claiming: { $0.popLast() })
    ///
    /// The claim checks the state and takes something from it, in one critical section: of many waiting tasks exactly
    /// one gets each thing. It returns nil if there is nothing for it yet. It must then leave the state as it was, because
    /// no other task is told of such a change. It runs under the lock: see ``Monitor``.
    ///
    /// If it succeeds now, this returns immediately. Tasks in line that the changed state serves are resumed.
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
    /// See ``wait(claiming:)``. A call that throws has claimed nothing; if cancellation and a change come at the same
    /// time, either may win. If the claim succeeds now, this returns, even in a cancelled task.
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

    /// Waits until a claim succeeds, but no longer than the timeout, and returns what was claimed.
    ///
    ///     let connection = try await pool.wait(claiming: { $0.popLast() }, timeout: .seconds(3))
    ///
    /// It does what ``wait(claiming:until:clock:)`` does with the continuous clock.
    ///
    /// - Returns: What the claim returns.
    /// - Throws: ``DeadlineExceeded`` if the time is over first; `CancellationError` if the task is cancelled first. Nothing was
    ///   claimed then.
    /// - Complexity: One evaluation now and at least one at each change, and a child task while it waits, which has ended when this
    ///   returns.
    public func wait<Claimed: Sendable>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?, timeout: Duration
    ) async throws -> Claimed {
        try await wait(claiming: claim, until: .now + timeout, clock: .continuous)
    }

    /// Waits until a claim succeeds, but no longer than until the deadline, and returns what was claimed.
    ///
    ///     let connection = try await pool.wait(claiming: { $0.popLast() }, until: deadline, clock: clock)
    ///
    /// See ``wait(claiming:)``. If the claim succeeds now, this returns, even after the deadline and in
    /// a cancelled task.
    ///
    /// - Returns: What the claim returns.
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first; `CancellationError` if the task is cancelled first. Nothing was
    ///   claimed then.
    /// - Complexity: One evaluation now and at least one at each change, and a child task while it waits, which has ended when this
    ///   returns. Suspends unless the claim succeeds; never blocks a thread.
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
