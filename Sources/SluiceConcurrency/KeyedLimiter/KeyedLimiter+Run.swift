extension KeyedLimiter {
    /// Runs a body that may throw as soon as there is a place for its key.
    ///
    ///     let page = try await limiter.run(for: host) { try await network.download(url) }
    ///
    /// The body runs on the calling task and its isolation, and its result or error is returned as it is.
    ///
    /// **The body decides which form this is.** With a `try` in it, it is the one that gives up when the task is cancelled;
    /// without, the one that always runs. Write ``runUnlessCancelled(for:_:)`` or ``runUninterrupted(for:_:)`` where an
    /// edit of the body must not change that.
    ///
    /// - Throws: What the body throws; `CancellationError` without having run the body if the task is cancelled while it waits or was already, or ``cancelWaiting()`` is called. Once it is its turn, the body runs.
    /// - Complexity: O(1) on average. Waits in order of arrival within its key; suspends, never blocks a thread.
    public func run<Result: ~Copyable>(for key: Key, _ body: () async throws -> Result) async throws -> Result {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for its key, even in a cancelled task.
    ///
    ///     let count = await limiter.run(for: table) { await compute() }
    ///
    /// As there is no way to say that it did not run, it always does: after a group of tasks is cancelled, each body of
    /// this kind that is still in line runs when its turn comes. Where that is not wanted, use
    /// ``runUnlessCancelled(for:_:)``.
    ///
    /// The body runs on the calling task and its isolation.
    ///
    /// - Complexity: O(1) on average. Waits in order of arrival within its key; suspends, never blocks a thread.
    public func run<Result: ~Copyable>(for key: Key, _ body: () async -> Result) async -> Result {
        if !storage.enterAtOnce(key) { await storage.enterUninterrupted(key) }
        defer { storage.leave(key) }
        return await body()
    }

    /// Runs a body as soon as there is a place for its key, even in a cancelled task, and keeps the type of its error.
    ///
    ///     try await limiter.runUninterrupted(for: table) { () async throws(StoreError) in try await store.close() }
    ///
    /// The body runs on the calling task and its isolation. It may look at `Task.isCancelled` itself.
    ///
    /// - Throws: Only what the body throws.
    /// - Complexity: O(1) on average. Waits in order of arrival within its key; suspends, never blocks a thread.
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
    ///   ``cancelWaiting()`` is called. Once it is its turn, the body runs.
    /// - Complexity: O(1) on average. Waits in order of arrival within its key; suspends, never blocks a thread.
    public func runUnlessCancelled<Result: ~Copyable>(
        for key: Key, _ body: () async -> Result
    ) async throws(CancellationError) -> Result {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        defer { storage.leave(key) }
        return await body()
    }

    /// Runs a body if there is a place for its key right now; returns nil if there is none.
    ///
    ///     let preview = await limiter.runIfAvailable(for: user) { await render(page) } ?? placeholder
    ///
    /// It never waits and never overtakes, and pays no attention to whether the task is cancelled. The body runs on the
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

    /// Runs a body as soon as there is a place for its key, or returns nil if a deadline comes first.
    ///
    ///     let soon = ContinuousClock.now + .seconds(2)
    ///     let page = try await limiter.run(for: user, until: soon, clock: .continuous) { try await load() }
    ///
    /// The deadline bounds the wait, never the body. With a place free the body runs, even if the deadline is over. The
    /// body runs on the calling task and its isolation.
    ///
    /// - Throws: What the body throws; `CancellationError` without having run the body if the task is cancelled while it waits or was already, or ``cancelWaiting()`` is called.
    /// - Complexity: O(1) on average, and a child task for the clock where it waits. Waits in order of arrival within its
    ///   key; suspends, never blocks a thread.
    public func run<Result: ~Copyable, C: Clock>(
        for key: Key, until deadline: C.Instant, clock: C, _ body: () async throws -> Result
    ) async throws -> Result? {
        switch await storage.enter(key, until: deadline, clock: clock) {
        case .granted: break
        case .expired: return nil
        case .cancelled: throw CancellationError()
        }
        defer { storage.leave(key) }
        return try await body()
    }
}
