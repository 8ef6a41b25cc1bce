extension Monitor {
    /// Waits until a predicate of the state holds, even in a cancelled task.
    ///
    ///     await monitor.wait(where: { $0.isLoaded })
    ///
    /// If it holds already, this returns at once. The predicate runs under the lock: see ``Monitor``. It may not hold
    /// any more when the caller looks; to take something, use ``wait(claiming:)``.
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
    /// If it holds already, this returns at once, even in a cancelled task. The predicate runs under the lock: see
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

    /// Waits until a predicate of the state holds, the deadline comes or the task is cancelled.
    ///
    ///     guard try await monitor.wait(where: { $0.isLoaded }, until: deadline, clock: clock) else { throw TooLate() }
    ///
    /// If it holds already, this returns at once, even after the deadline and in a cancelled task. The predicate runs
    /// under the lock: see ``Monitor``.
    ///
    /// - Returns: True as soon as the predicate holds; false if the deadline came first.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: One evaluation now and one at each change, and a child task, which has ended when this returns, if
    ///   it must wait. Suspends unless the predicate holds; never blocks a thread.
    public func wait<C: Clock>(
        where predicate: @escaping @Sendable (State) -> Bool, until deadline: C.Instant, clock: C
    ) async throws(CancellationError) -> Bool {
        switch await storage.wait(MonitorAttempt(where: predicate), until: deadline, clock: clock) {
        case .completed: return true
        case .expired: return false
        case .cancelled: throw CancellationError()
        }
    }
}
