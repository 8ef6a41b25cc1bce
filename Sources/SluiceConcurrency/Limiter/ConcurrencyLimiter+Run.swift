extension ConcurrencyLimiter {
    /// Runs a body that may throw as soon as there is a place for it; a body without a `try` selects the other `run`.
    ///
    ///     let image = try await limiter.run { try await network.download(url) }
    ///
    /// A task that is cancelled while it waits leaves, and its body doesn't run. The `run` for a body that cannot throw
    /// doesn't do that. To get this behavior whatever the body is, write ``runUnlessCancelled(_:)``; to run the body even
    /// in a cancelled task, write ``runUninterrupted(_:)``.
    ///
    /// The body runs on the calling task and its isolation. Its result or error is returned unchanged.
    ///
    /// - Throws: What the body throws; `CancellationError` without having run the body if the task is cancelled while it
    ///   waits, or was cancelled already, even if there is a place, or ``cancelWaiting()`` is called. A task that has its
    ///   place runs its body.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    @inlinable
    public func run<Result: ~Copyable>(_ body: () async throws -> Result) async throws -> Result {
        if try !enterUnlessCancelled(), await !enterForRun() { throw CancellationError() }
        defer { leave() }
        return try await body()
    }

    /// Runs a body that cannot throw; it isn't cancelled while it waits. ``runUnlessCancelled(_:)`` is.
    ///
    ///     let count = await limiter.run { await compute() }                            // always runs
    ///     let other = try await limiter.runUnlessCancelled { await compute() }         // leaves if cancelled
    ///
    /// Such a call has no way to report that the body did not run. So after a group of tasks is cancelled, each of its
    /// waiting bodies of this kind still runs when its turn comes.
    ///
    /// The body runs on the calling task and its isolation.
    ///
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    @inlinable
    public func run<Result: ~Copyable>(_ body: () async -> Result) async -> Result {
        if !enter() { await enterForRunUninterrupted() }
        defer { leave() }
        return await body()
    }

    /// Runs a body as soon as there is a place for it, even in a cancelled task, and keeps the type of its error.
    ///
    ///     try await limiter.runUninterrupted { () async throws(StoreError) in try await store.close() }
    ///
    /// The body runs on the calling task and its isolation. It can check `Task.isCancelled`.
    ///
    /// - Throws: Only what the body throws.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    @inlinable
    public func runUninterrupted<Result: ~Copyable, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        if !enter() { await enterForRunUninterrupted() }
        defer { leave() }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for it, unless the task is cancelled before.
    ///
    ///     let count = try await limiter.runUnlessCancelled { await compute() }
    ///
    /// The body runs on the calling task and its isolation.
    ///
    /// - Throws: `CancellationError` without having run the body if the task is cancelled while it waits or was already, or
    ///   ``cancelWaiting()`` is called. A task that has its place runs its body.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    @inlinable
    public func runUnlessCancelled<Result: ~Copyable>(
        _ body: () async -> Result
    ) async throws(CancellationError) -> Result {
        if try !enterUnlessCancelled(), await !enterForRun() { throw CancellationError() }
        defer { leave() }
        return await body()
    }

    /// Runs a body if there is a place for it now; returns nil if there is none, or another task waits for one.
    ///
    ///     let preview = await limiter.runIfAvailable { await render(page) } ?? placeholder
    ///
    /// It never waits, never overtakes a waiting task, and ignores cancellation of the calling task. The body runs on the
    /// calling task and its isolation.
    ///
    /// - Throws: Only what the body throws.
    /// - Complexity: O(1). Does not suspend, unless the body does; never blocks a thread.
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
    /// Runs a body as soon as `weight` is free for it.
    ///
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)
    ///     let image = try await memory.run(weight: file.byteCount) { try await decode(file) }
    ///
    /// The body runs on the calling task and its isolation. Its result or error is returned unchanged.
    ///
    /// - Throws: What the body throws; without having run it, `CancellationError` if the task is cancelled while it waits or
    ///   was already, or ``cancelWaiting()`` is called, and ``WeightExceedsLimit`` if the concurrency is less than `weight`,
    ///   or becomes so.
    /// - Complexity: O(1). Waits in the limiter's ``order``; no task behind it goes first because it needs less. Suspends,
    ///   never blocks a thread.
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
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

    /// Runs a body as soon as there is a place for it, if that is within `timeout`.
    ///
    ///     let answer = try await limiter.run(timeout: .seconds(2)) { try await ask(server) }
    ///
    /// The same as ``run(weight:until:clock:_:)`` with a deadline that much later than now on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` without having run the body if the time is over first; otherwise like
    ///   ``run(weight:_:)``.
    /// - Complexity: O(1), and a child task for the clock if it has to wait. Suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
    public func run<Result: ~Copyable>(
        weight: Int = 1, timeout: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await run(weight: weight, until: .now + timeout, clock: .continuous, body)
    }

    /// Runs a body as soon as there is a place for it, if that is before a deadline.
    ///
    ///     let answer = try await limiter.run(until: deadline, clock: clock) { try await ask(server) }
    ///
    /// The deadline bounds the wait, not the body. With a place free, the body runs even after the deadline. It runs on
    /// the calling task and its isolation.
    ///
    /// - Throws: ``DeadlineExceeded`` without having run the body if the deadline comes first; otherwise like
    ///   ``run(weight:_:)``.
    /// - Complexity: O(1), and a child task for the clock if it has to wait. Suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
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

// These and the bodies above are inlined into the caller: with a place free, they take less time than a call of an
// asynchronous function of another module. They do not suspend: after each `await` the runtime makes sure that it is on
// the caller's actor, which on the main actor costs as much as entering.
extension ConcurrencyLimiter {
    /// Enters if there is a place and no task waits.
    @inlinable
    func enter() -> Bool {
        storage.enterAtOnce(weight: 1)
    }

    /// Enters if there is a place and no task waits.
    @inlinable
    func enterUnlessCancelled() throws(CancellationError) -> Bool {
        if Task.isCancelled { throw CancellationError() }
        return enter()
    }

    @inlinable
    func leave() {
        if !storage.leaveAtOnce(weight: 1) { leaveRun(weight: 1) }
    }
}

// Where holders are tracked, the paths above never succeed: all calls come here.
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
