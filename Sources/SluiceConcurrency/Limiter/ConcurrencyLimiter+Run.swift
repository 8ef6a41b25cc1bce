extension ConcurrencyLimiter {
    /// Runs a body that can throw as soon as there is a place for it.
    ///
    ///     let image = try await limiter.run { try await network.download(url) }
    ///
    /// A body without a `try` selects the other overload of `run`, which isn't cancelled while it waits. For such a body, use
    /// ``runUnlessCancelled(_:)`` instead.
    ///
    /// - Throws: The body's error; `CancellationError` if the body didn't run because the task is cancelled or ``cancelWaiting()`` is
    ///   called.
    @inlinable
    public func run<Result: ~Copyable>(_ body: () async throws -> Result) async throws -> Result {
        if try !enterUnlessCancelled(), await !enterForRun() { throw CancellationError() }
        defer { leave() }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for it, even in a cancelled task.
    ///
    ///     let count = await limiter.run { await compute() }                            // always runs
    ///     let other = try await limiter.runUnlessCancelled { await compute() }         // doesn't run if cancelled
    ///
    /// After a task group is cancelled, each waiting body of this kind still runs when its turn comes. To avoid that, use
    /// ``runUnlessCancelled(_:)``.
    @inlinable
    public func run<Result: ~Copyable>(_ body: () async -> Result) async -> Result {
        if !enter() { await enterForRunUninterrupted() }
        defer { leave() }
        return await body()
    }

    /// Runs a body as soon as there is a place for it, even in a cancelled task, and throws only the body's error.
    ///
    ///     try await limiter.runUninterrupted { () async throws(StoreError) in try await store.close() }
    @inlinable
    public func runUninterrupted<Result: ~Copyable, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        if !enter() { await enterForRunUninterrupted() }
        defer { leave() }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for it, unless the task is cancelled first.
    ///
    /// - Throws: `CancellationError` if the body didn't run because the task is cancelled or ``cancelWaiting()`` is called.
    @inlinable
    public func runUnlessCancelled<Result: ~Copyable>(
        _ body: () async -> Result
    ) async throws(CancellationError) -> Result {
        if try !enterUnlessCancelled(), await !enterForRun() { throw CancellationError() }
        defer { leave() }
        return await body()
    }

    /// Runs a body if a place is free and no task waits for one; otherwise returns `nil`. Ignores cancellation.
    ///
    ///     let preview = await limiter.runIfAvailable { await render(page) } ?? placeholder
    @inlinable
    public func runIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard enter() || enterForRunIfAvailable() else { return nil }
        defer { leave() }
        return try await body()
    }
}

// MARK: Weights and deadlines

extension ConcurrencyLimiter {
    /// Runs a body as soon as a capacity of `weight` is free for it.
    ///
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)
    ///     let image = try await memory.run(weight: file.byteCount) { try await decode(file) }
    ///
    /// - Throws: The same errors as `run(_:)`; ``WeightExceedsLimit`` if the body didn't run because the concurrency is or becomes less
    ///   than `weight`.
    public func run<Result: ~Copyable>(
        weight: Int, _ body: () async throws -> Result
    ) async throws -> Result {
        holders?.enter()
        do { try await enter(weight: weight) } catch {
            holders?.leave()
            throw error
        }
        defer { leaveRun(weight: weight) }
        return try await body()
    }

    /// Runs a body if there is a place for it within `timeout` on the continuous clock. The timeout bounds the wait, not the body.
    ///
    ///     let answer = try await limiter.run(timeout: .seconds(2)) { try await ask(server) }
    ///
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``run(weight:_:)``.
    public func run<Result: ~Copyable>(
        weight: Int = 1, timeout: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await run(weight: weight, until: ContinuousClock().deadline(after: timeout), clock: .continuous, body)
    }

    /// Runs a body if there is a place for it before a deadline. The deadline bounds the wait, not the body.
    ///
    /// If a place is free, the body runs even after the deadline.
    ///
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``run(weight:_:)``.
    public func run<Result: ~Copyable, C: Clock>(
        weight: Int = 1, until deadline: C.Instant, clock: C, _ body: () async throws -> Result
    ) async throws -> Result {
        holders?.enter()
        do { try await enter(weight: weight, until: deadline, clock: clock) } catch {
            holders?.leave()
            throw error
        }
        defer { leaveRun(weight: weight) }
        return try await body()
    }
}

// MARK: Places

// These functions and the bodies above are inlined into the caller: if a place is free, they take less time than a call of
// an asynchronous function in another module. They aren't asynchronous, because after each `await` the runtime checks that
// it's on the caller's actor. On the main actor, that check costs as much as entering.
extension ConcurrencyLimiter {
    @inlinable
    func enter() -> Bool {
        storage.enterImmediately(weight: 1)
    }

    @inlinable
    func enterUnlessCancelled() throws(CancellationError) -> Bool {
        if Task.isCancelled { throw CancellationError() }
        return enter()
    }

    @inlinable
    func leave() {
        if !storage.leaveImmediately(weight: 1) { leaveRun(weight: 1) }
    }
}

// If holders are tracked, the functions above never succeed, and all calls come here.
extension ConcurrencyLimiter {
    @usableFromInline
    func enterForRun() async -> Bool {
        if isPlain { return await enterPlainly() == .granted }
        holders?.enter()
        if await enterSlowly() == .granted { return true }
        holders?.leave()
        return false
    }

    @usableFromInline
    func enterForRunUninterrupted() async {
        if isPlain { return await enterPlainlyUninterrupted() }
        holders?.enter()
        await enterSlowlyUninterrupted()
    }

    @usableFromInline
    func enterForRunIfAvailable() -> Bool {
        guard storage.tryEnter(weight: 1) else { return false }
        holders?.enterWithoutWaiting()
        return true
    }

    @usableFromInline
    func leaveRun(weight: Int) {
        holders?.leave()
        storage.leave(weight: UInt64(weight)).resume()
    }
}
