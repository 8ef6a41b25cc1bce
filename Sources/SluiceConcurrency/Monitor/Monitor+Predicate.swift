extension Monitor {
    /// Waits until a predicate of the state holds, even in a cancelled task.
    ///
    ///     await monitor.wait(where: { $0.isLoaded })
    ///
    /// If it holds already, this returns immediately. The predicate runs under the lock: see ``Monitor``. It may not hold
    /// any more when the caller continues; to take something, use ``wait(claiming:)``.
    ///
    /// - Throws: What the predicate throws, which ends the wait.
    /// - Complexity: One evaluation now and one at each change. Suspends unless it holds; never blocks a thread.
    public func wait<Failure: Error>(
        where predicate: @escaping @Sendable (State) throws(Failure) -> Bool
    ) async throws(Failure) {
        try await storage.wait(MonitorAttempt(where: predicate)).get()
    }

    /// Waits until a predicate of the state holds, unless the task is cancelled.
    ///
    ///     try await monitor.waitUnlessCancelled(where: { $0.isLoaded })
    ///
    /// If it holds already, this returns immediately, even in a cancelled task. The predicate runs under the lock: see
    /// ``Monitor``.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: One evaluation now and one at each change. Suspends unless it holds; never blocks a thread.
    public func waitUnlessCancelled(
        where predicate: @escaping @Sendable (State) -> Bool
    ) async throws(CancellationError) {
        guard case .completed = await storage.waitUnlessCancelled(MonitorAttempt(where: predicate)) else {
            throw CancellationError()
        }
    }

    /// Waits until a predicate of the state holds, but no longer than the timeout.
    ///
    ///     try await monitor.wait(where: { $0.isLoaded }, timeout: .seconds(3))
    ///
    /// It does what ``wait(where:until:clock:)`` does with the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the time is over first; `CancellationError` if the task is cancelled first.
    /// - Complexity: One evaluation now and one at each change, and a child task while it waits, which has ended when this returns.
    public func wait(where predicate: @escaping @Sendable (State) -> Bool, timeout: Duration) async throws {
        try await wait(where: predicate, until: .now + timeout, clock: .continuous)
    }

    /// Waits until a predicate of the state holds, but no longer than until the deadline.
    ///
    ///     try await monitor.wait(where: { $0.isLoaded }, until: deadline, clock: clock)
    ///
    /// If it holds already, this returns immediately, even after the deadline and in a cancelled task. The predicate runs
    /// under the lock: see ``Monitor``.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first; `CancellationError` if the task is cancelled first.
    /// - Complexity: One evaluation now and one at each change, and a child task while it waits, which has ended when this returns.
    ///   Suspends unless the predicate holds; never blocks a thread.
    public func wait<C: Clock>(
        where predicate: @escaping @Sendable (State) -> Bool, until deadline: C.Instant, clock: C
    ) async throws {
        switch await storage.wait(MonitorAttempt(where: predicate), until: deadline, clock: clock) {
        case .completed: return
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }
}
