extension ConcurrencyLimiter {
    /// Runs a body that may throw as soon as there is a place for it.
    ///
    ///     let image = try await limiter.run { try await network.download(url) }
    ///
    /// The body runs on the calling task and its isolation, and its result or error is returned as it is.
    ///
    /// **The body decides which form this is.** With a `try` in it, it is the one that gives up when the task is cancelled;
    /// without, the one that always runs. Write ``runUnlessCancelled(_:)`` or ``runUninterrupted(_:)`` where an edit of the
    /// body must not change that.
    ///
    /// - Throws: What the body throws; `CancellationError` without having run the body if the task is cancelled while it
    ///   waits, or was cancelled already, even if there is a place, or ``cancelWaiting()`` is called. Once it is its turn,
    ///   the body runs.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    @inlinable
    public func run<Result: ~Copyable>(_ body: () async throws -> Result) async throws -> Result {
        if try !enterUnlessCancelled(), await !enterForRun() { throw CancellationError() }
        defer { leave() }
        return try await body()
    }

    /// Runs a body that cannot throw as soon as there is a place for it, even in a cancelled task.
    ///
    ///     let count = await limiter.run { await compute() }
    ///
    /// As there is no way to say that it did not run, it always does: after a group of tasks is cancelled, each body of
    /// this kind that is still in line runs when its turn comes. Where that is not wanted, use
    /// ``runUnlessCancelled(_:)``.
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
    /// The body runs on the calling task and its isolation. It may look at `Task.isCancelled` itself.
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
    ///   ``cancelWaiting()`` is called. Once it is its turn, the body runs.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    @inlinable
    public func runUnlessCancelled<Result: ~Copyable>(
        _ body: () async -> Result
    ) async throws(CancellationError) -> Result {
        if try !enterUnlessCancelled(), await !enterForRun() { throw CancellationError() }
        defer { leave() }
        return await body()
    }

    /// Runs a body if there is a place for it right now; returns nil if there is none, or anyone else waits for one.
    ///
    ///     let preview = await limiter.runIfAvailable { await render(page) } ?? placeholder
    ///
    /// It never waits and never overtakes, and pays no attention to whether the task is cancelled. The body runs on the
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
    /// Runs a body as soon as `weight` of the limit is free for it.
    ///
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)
    ///     let picture = try await memory.run(weight: file.byteCount) { try await decode(file) }
    ///
    /// The body runs on the calling task and its isolation, and its result or error is returned as it is.
    ///
    /// - Throws: What the body throws; without having run it, `CancellationError` if the task is cancelled while it waits or was already
    ///   or ``cancelWaiting()`` is called, and ``WeightExceedsLimit`` if the limit is less than `weight`, or becomes so.
    /// - Complexity: O(1). Waits in the limiter's ``order``, and lets nobody behind it go first who needs less; suspends,
    ///   never blocks a thread.
    /// - Precondition: `weight` is not negative. Zero waits its turn and takes nothing, so that an empty file is no mistake.
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

    /// Runs a body as soon as there is a place for it, or returns nil if a deadline comes first.
    ///
    ///     let answer = try await limiter.run(until: .now + .seconds(2), clock: .continuous) { try await ask(server) }
    ///
    /// The deadline bounds the waiting, not the body. If there is a place, the body runs even after the deadline. It runs on
    /// the calling task and its isolation.
    ///
    /// - Returns: What the body returns; nil if it did not run because the deadline came first.
    /// - Throws: As ``run(weight:_:)``.
    /// - Complexity: O(1), and a child task for the clock if it has to wait. Suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. Zero waits its turn and takes nothing, so that an empty file is no mistake.
    public func run<Result: ~Copyable, C: Clock>(
        weight: Int = 1, until deadline: C.Instant, clock: C, _ body: () async throws -> Result
    ) async throws -> Result? {
        holders?.enter()
        var isGranted = false
        do { isGranted = try await enter(weight: weight, until: deadline, clock: clock) } catch {
            holders?.leave()
            throw error
        }
        guard isGranted else {
            holders?.leave()
            return nil
        }
        defer { leaveRun(weight: weight) }
        return try await body()
    }
}

// MARK: Places

// These and the bodies above are inlined into the caller, because what they do with a place free takes less time than a
// call of an asynchronous function of another module. They do not suspend: after each `await` the runtime makes sure that
// it is on the caller's actor, which on the main actor costs as much as entering.
extension ConcurrencyLimiter {
    /// Enters if there is a place and nobody waits.
    @inlinable
    func enter() -> Bool {
        storage.enterAtOnce(weight: 1)
    }

    /// Enters if there is a place and nobody waits.
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

// Where holders are tracked, nothing is done at once: all come here.
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
