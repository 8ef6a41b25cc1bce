extension KeyedLimiter {
    /// Runs a body that can throw as soon as there is a place for its key.
    ///
    ///     let page = try await limiter.run(for: host) { try await network.download(url) }
    ///
    /// A body without a `try` selects the other overload of `run`, which isn't cancelled while it waits. For such a body, use
    /// ``runUnlessCancelled(for:_:)`` instead.
    ///
    /// - Throws: The body's error; `CancellationError` if the body didn't run because the task is cancelled, or because ``cancelWaiting()``
    ///   or ``cancelWaiting(for:)`` is called.
    public func run<Result: ~Copyable>(for key: Key, _ body: () async throws -> Result) async throws -> Result {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for its key, even in a cancelled task.
    ///
    ///     let count = await limiter.run(for: table) { await compute() }                       // always runs
    ///     let other = try await limiter.runUnlessCancelled(for: table) { await compute() }    // doesn't run if cancelled
    ///
    /// After a task group is cancelled, each waiting body of this kind still runs when its turn comes. To avoid that, use
    /// ``runUnlessCancelled(for:_:)``.
    public func run<Result: ~Copyable>(for key: Key, _ body: () async -> Result) async -> Result {
        if !storage.enterImmediately(key) { await storage.enterUninterrupted(key) }
        defer { storage.leave(key) }
        return await body()
    }

    /// Runs a body as soon as there is a place for its key, even in a cancelled task, and throws only the body's error.
    ///
    ///     try await limiter.runUninterrupted(for: table) { () async throws(StoreError) in try await store.close() }
    public func runUninterrupted<Result: ~Copyable, Failure: Error>(
        for key: Key, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        if !storage.enterImmediately(key) { await storage.enterUninterrupted(key) }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for its key, unless the task is cancelled first.
    ///
    /// - Throws: `CancellationError` if the body didn't run because the task is cancelled, or because ``cancelWaiting()`` or
    ///   ``cancelWaiting(for:)`` is called.
    public func runUnlessCancelled<Result: ~Copyable>(
        for key: Key, _ body: () async -> Result
    ) async throws(CancellationError) -> Result {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        defer { storage.leave(key) }
        return await body()
    }

    /// Runs a body if a place for its key is free; otherwise returns `nil`. Ignores cancellation.
    ///
    ///     let preview = await limiter.runIfAvailable(for: user) { await render(page) } ?? placeholder
    public func runIfAvailable<Result: ~Copyable, Failure: Error>(
        for key: Key, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard storage.enterImmediately(key) else { return nil }
        defer { storage.leave(key) }
        return try await body()
    }

    /// Runs a body if there is a place for its key within `timeout` on the continuous clock. The timeout bounds the wait, not the body.
    ///
    ///     let page = try await limiter.run(for: user, timeout: .seconds(2)) { try await load() }
    ///
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as `run(for:_:)`.
    public func run<Result: ~Copyable>(
        for key: Key, timeout: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await run(for: key, until: ContinuousClock().deadline(after: timeout), clock: .continuous, body)
    }

    /// Runs a body if there is a place for its key before a deadline. The deadline bounds the wait, not the body.
    ///
    /// If a place is free, the body runs even after the deadline.
    ///
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as `run(for:_:)`.
    public func run<Result: ~Copyable, C: Clock>(
        for key: Key, until deadline: C.Instant, clock: C, _ body: () async throws -> Result
    ) async throws -> Result {
        switch await storage.enter(key, until: deadline, clock: clock) {
        case .granted: break
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        case .tooHeavy: preconditionFailure("A task of a keyed limiter has no weight.")
        }
        defer { storage.leave(key) }
        return try await body()
    }
}
