extension KeyedLimiter {
    /// Runs a body that may throw as soon as there is a place for its key; without a `try` it is the other `run`.
    ///
    ///     let page = try await limiter.run(for: host) { try await network.download(url) }
    ///
    /// A task that is cancelled while it waits leaves, and its body doesn't run. The `run` for a body that cannot throw
    /// doesn't do that. To get this behavior whatever the body is, write ``runUnlessCancelled(for:_:)``; to run the body
    /// even in a cancelled task, write ``runUninterrupted(for:_:)``.
    ///
    /// The body runs on the calling task and its isolation. Its result or error is returned unchanged.
    ///
    /// - Throws: What the body throws; `CancellationError` without having run the body if the task is cancelled while it
    ///   waits or was already, or ``cancelWaiting()`` is called. A task that has its place runs its body.
    /// - Complexity: O(1) on average. Waits in the limiter's ``order`` within its key; suspends, never blocks a thread.
    public func run<Result: ~Copyable>(for key: Key, _ body: () async throws -> Result) async throws -> Result {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body that cannot throw; it isn't cancelled while it waits. ``runUnlessCancelled(for:_:)`` is.
    ///
    ///     let count = await limiter.run(for: table) { await compute() }                       // always runs
    ///     let other = try await limiter.runUnlessCancelled(for: table) { await compute() }    // leaves if cancelled
    ///
    /// Such a call has no way to report that the body did not run. So after a group of tasks is cancelled, each of its
    /// waiting bodies of this kind still runs when its turn comes.
    ///
    /// The body runs on the calling task and its isolation.
    ///
    /// - Complexity: O(1) on average. Waits in the limiter's ``order`` within its key; suspends, never blocks a thread.
    public func run<Result: ~Copyable>(for key: Key, _ body: () async -> Result) async -> Result {
        if !storage.enterAtOnce(key) { await storage.enterUninterrupted(key) }
        defer { storage.leave(key) }
        return await body()
    }

    /// Runs a body as soon as there is a place for its key, even in a cancelled task, and keeps the type of its error.
    ///
    ///     try await limiter.runUninterrupted(for: table) { () async throws(StoreError) in try await store.close() }
    ///
    /// The body runs on the calling task and its isolation. It can check `Task.isCancelled`.
    ///
    /// - Throws: Only what the body throws.
    /// - Complexity: O(1) on average. Waits in the limiter's ``order`` within its key; suspends, never blocks a thread.
    public func runUninterrupted<Result: ~Copyable, Failure: Error>(
        for key: Key, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        if !storage.enterAtOnce(key) { await storage.enterUninterrupted(key) }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for its key, unless the task is cancelled before.
    ///
    ///     let count = try await limiter.runUnlessCancelled(for: table) { await compute() }
    ///
    /// The body runs on the calling task and its isolation.
    ///
    /// - Throws: `CancellationError` without having run the body if the task is cancelled while it waits or was already, or
    ///   ``cancelWaiting()`` is called. A task that has its place runs its body.
    /// - Complexity: O(1) on average. Waits in the limiter's ``order`` within its key; suspends, never blocks a thread.
    public func runUnlessCancelled<Result: ~Copyable>(
        for key: Key, _ body: () async -> Result
    ) async throws(CancellationError) -> Result {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        defer { storage.leave(key) }
        return await body()
    }

    /// Runs a body if there is a place for its key now; returns nil if there is none.
    ///
    ///     let preview = await limiter.runIfAvailable(for: user) { await render(page) } ?? placeholder
    ///
    /// It never waits, never overtakes a waiting task, and ignores cancellation of the calling task. The body runs on the
    /// calling task and its isolation.
    ///
    /// - Throws: Only what the body throws.
    /// - Complexity: O(1) on average. Does not suspend, unless the body does; never blocks a thread.
    public func runIfAvailable<Result: ~Copyable, Failure: Error>(
        for key: Key, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard storage.enterAtOnce(key) else { return nil }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body as soon as there is a place for its key, if that is within `timeout`.
    ///
    ///     let page = try await limiter.run(for: user, timeout: .seconds(2)) { try await load() }
    ///
    /// The same as ``run(for:until:clock:_:)`` with a deadline that much later than now on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` without having run the body if the time is over first; otherwise like `run(for:_:)`
    ///   with a body that may throw.
    /// - Complexity: O(1) on average, and a child task for the clock where it waits. Suspends, never blocks a thread.
    public func run<Result: ~Copyable>(
        for key: Key, timeout: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await run(for: key, until: .now + timeout, clock: .continuous, body)
    }

    /// Runs a body as soon as there is a place for its key, if that is before a deadline.
    ///
    ///     let page = try await limiter.run(for: user, until: deadline, clock: clock) { try await load() }
    ///
    /// The deadline bounds the wait, not the body. With a place free, the body runs even after the deadline. The body runs
    /// on the calling task and its isolation.
    ///
    /// - Throws: ``DeadlineExceeded`` without having run the body if the deadline comes first; otherwise like `run(for:_:)`
    ///   with a body that may throw.
    /// - Complexity: O(1) on average, and a child task for the clock where it waits. Waits in the limiter's ``order`` within
    ///   its key; suspends, never blocks a thread.
    public func run<Result: ~Copyable, C: Clock>(
        for key: Key, until deadline: C.Instant, clock: C, _ body: () async throws -> Result
    ) async throws -> Result {
        switch await storage.enter(key, until: deadline, clock: clock) {
        case .granted: break
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        case .raised, .tooHeavy: preconditionFailure("A wait that has not ended.")
        }
        defer { storage.leave(key) }
        return try await body()
    }
}
