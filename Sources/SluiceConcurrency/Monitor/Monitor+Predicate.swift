extension Monitor {
    /// Waits until a predicate of the state holds, even in a cancelled task.
    ///
    ///     await monitor.wait(where: { $0.isLoaded })
    ///
    /// If the predicate already holds, the method returns without suspending. The predicate may no longer hold when the caller continues;
    /// to take something from the state, use ``wait(claiming:)``.
    ///
    /// - Throws: The predicate's error, which ends the wait.
    public func wait<Failure: Error>(
        where predicate: @escaping @Sendable (State) throws(Failure) -> Bool
    ) async throws(Failure) {
        try await storage.wait(MonitorAttempt(where: predicate)).get()
    }

    /// Waits until a predicate of the state holds, unless the task is cancelled.
    ///
    /// If the predicate already holds, the method returns, even in a cancelled task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUnlessCancelled(
        where predicate: @escaping @Sendable (State) -> Bool
    ) async throws(CancellationError) {
        guard case .completed = await storage.waitUnlessCancelled(MonitorAttempt(where: predicate)) else {
            throw CancellationError()
        }
    }

    /// Waits until a predicate of the state holds, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    public func wait(where predicate: @escaping @Sendable (State) -> Bool, timeout: Duration) async throws {
        try await wait(where: predicate, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until a predicate of the state holds or a deadline passes.
    ///
    /// If the predicate already holds, the method returns, even after the deadline and in a cancelled task.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
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
