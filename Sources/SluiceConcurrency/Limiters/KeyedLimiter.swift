import SluiceLock

/// A limit on the number of tasks that run concurrently for each key, and in total; other tasks wait their turn.
///
///     let limiter = KeyedLimiter<String>(perKey: 4, total: 32)            // the key is the host name
///     let page = try await limiter.run(for: host) { try await network.download(url) }
///
/// Keys are, for example, the users of a server, hosts, or tables. The calling task runs the body itself, on its own
/// isolation, and gets the body's result or error. Neither needs to be `Sendable`. If the limited work isn't a single body, use a
/// ``Permit`` from ``acquire(for:)`` or ``tryAcquire(for:weight:)``.
///
/// **Cancellation.** A body that cannot throw isn't cancelled while it waits: `run(for:_:)` has two overloads, and the compiler
/// selects one by the body. Once a task has its place, its body always runs, and can check `Task.isCancelled`.
///
/// | | if the task is cancelled while it waits | throws |
/// |---|---|---|
/// | `run(for:_:)` with a body that can throw | the body doesn't run | `CancellationError`, or the body's error |
/// | `run(for:_:)` with a body that cannot throw | waits its turn and runs | nothing |
/// | ``runUninterrupted(for:_:)`` | waits its turn and runs | the body's error, typed |
/// | ``runUnlessCancelled(for:_:)`` | the body doesn't run | `CancellationError` |
/// | ``runIfAvailable(for:_:)`` | never waits | the body's error, typed |
/// | ``run(for:weight:_:)`` | the body doesn't run | also ``WeightExceedsLimit`` |
/// | ``run(for:weight:timeout:_:)``, ``run(for:weight:until:clock:_:)`` | the body doesn't run | also ``DeadlineExceeded`` |
///
/// **Order.** Within a key, first come, first served. With ``ConcurrencyLimiter/Order/priority``, tasks with a higher priority are admitted
/// first, and with ``ConcurrencyLimiter/Order/newestFirst``, the tasks that arrived last.
///
/// The keys take turns, regardless of priorities. A released place goes to the key that has waited longest for its turn, and this key then
/// goes to the end. So a key with a thousand waiting tasks delays another key by one body at a time. A key that is at its own limit has no
/// turn and delays no other key.
///
/// **Weights.** A request can take more than one unit of both limits. With bytes as the unit, a limiter bounds each user's memory. A task
/// whose weight fits into its key's limit but not into the free total keeps its turn, and the other keys wait behind it, so large requests
/// don't starve. A weight of zero waits its turn but takes no capacity; ``waitUntilIdle()`` waits for its body too. A negative weight
/// traps.
///
/// **Nesting.** A body that calls `run` on the same limiter, for any key, waits for a place while it holds one. If every place is held this
/// way, the tasks deadlock.
///
/// **Cost.** Entering, leaving, waiting, being admitted and being cancelled are O(1) on average, regardless of the number of tasks and
/// keys. Only keys with running or waiting tasks are kept. Keys are hashed and compared under the limiter's lock: a slow hash delays all
/// tasks that enter or leave, and a key must not use the limiter there. A key that isn't equal to itself, such as a NaN, traps.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
    let storage: KeyedLimiterStorage<Key>

    /// The largest number of bodies that can run concurrently for one key, or the largest sum of their weights.
    public var perKey: Int { storage.machine.withLock { Int($0.perKey) } }

    /// The largest number of bodies that can run concurrently for all keys together, or the largest sum of their weights.
    public var total: Int { storage.machine.withLock { Int($0.total) } }

    /// The order in which the waiting tasks of one key are admitted.
    public var order: ConcurrencyLimiter.Order { storage.order }

    /// Creates a limiter that lets up to `perKey` bodies run concurrently for each key, and up to `total` for all keys together.
    ///
    /// - Parameters:
    ///   - perKey: The largest number of bodies that can run concurrently for one key, or the largest sum of their weights.
    ///   - total: The largest number of bodies that can run concurrently for all keys together, or the largest sum of their weights;
    ///     `.max` for no such limit.
    ///   - order: The order in which the waiting tasks of one key are admitted. It doesn't affect the turns of the keys.
    /// - Precondition: `perKey` and `total` are at least 1.
    public init(perKey: Int, total: Int, order: ConcurrencyLimiter.Order = .fifo) {
        Self.check(perKey: perKey, total: total)
        storage = KeyedLimiterStorage(perKey: perKey, total: total, order: order)
    }

    private static func check(perKey: Int?, total: Int?) {
        if let perKey { precondition(perKey >= 1, "A keyed limiter's perKey must be at least 1; it is \(perKey).") }
        if let total { precondition(total >= 1, "A keyed limiter's total must be at least 1; it is \(total).") }
    }
}

// MARK: - Running bodies

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
}

// MARK: Weights and deadlines

extension KeyedLimiter {
    /// Runs a body as soon as a capacity of `weight` is free for its key and in total.
    ///
    ///     let memory = KeyedLimiter<User.ID>(perKey: 64 << 20, total: 512 << 20)
    ///     let image = try await memory.run(for: user, weight: file.byteCount) { try await decode(file) }
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: The same errors as `run(for:_:)`; ``WeightExceedsLimit`` if the body didn't run because a limit is or becomes less than
    ///   `weight`.
    public func run<Result: ~Copyable>(
        for key: Key, weight: Int, _ body: () async throws -> Result
    ) async throws -> Result {
        try await enter(key, weight)
        defer { storage.leave(key, weight: UInt64(weight)) }
        return try await body()
    }

    /// Runs a body if there is a place for its key within `timeout` on the continuous clock. The timeout bounds the wait, not the body.
    ///
    ///     let page = try await limiter.run(for: user, timeout: .seconds(2)) { try await load() }
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``run(for:weight:_:)``.
    public func run<Result: ~Copyable>(
        for key: Key, weight: Int = 1, timeout: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock().deadline(after: timeout)
        return try await run(for: key, weight: weight, until: deadline, clock: .continuous, body)
    }

    /// Runs a body if there is a place for its key before a deadline. The deadline bounds the wait, not the body.
    ///
    /// If a place is free, the body runs even after the deadline.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``run(for:weight:_:)``.
    public func run<Result: ~Copyable, C: Clock>(
        for key: Key, weight: Int = 1, until deadline: C.Instant, clock: C, _ body: () async throws -> Result
    ) async throws -> Result {
        try await enter(key, weight, until: deadline, clock: clock)
        defer { storage.leave(key, weight: UInt64(weight)) }
        return try await body()
    }
}

// MARK: - Permits

extension KeyedLimiter {
    /// A place for a key on a ``KeyedLimiter``, held until it's released.
    ///
    ///     let permit = try await limiter.acquire(for: host)
    ///     let connection = try await pool.connect(to: host)
    ///     …
    ///     permit.release()
    ///
    /// It follows the rules of a ``ConcurrencyLimiter/Permit``: it can't be copied, an error that is thrown before ``release()`` releases
    /// the place too, and without a call to ``release()`` the compiler destroys the permit after its last use, which may be long before the
    /// work ends.
    public struct Permit: ~Copyable, Sendable {
        private let storage: KeyedLimiterStorage<Key>

        /// The key that the place counts for.
        public let key: Key

        /// The part of both limits that the permit takes.
        public let weight: Int

        init(_ storage: KeyedLimiterStorage<Key>, _ key: Key, weight: Int) {
            self.storage = storage
            self.key = key
            self.weight = weight
        }

        deinit {
            storage.leave(key, weight: UInt64(weight))
        }

        /// Releases the place, which goes to the next key in turn. O(1).
        public consuming func release() {}
    }

    /// Waits for a place for a key, and returns a permit that holds it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it gets a place, or if ``cancelWaiting()`` or
    ///   ``cancelWaiting(for:)`` is called.
    public func acquire(for key: Key) async throws(CancellationError) -> Permit {
        guard await storage.enter(key) == .granted else { throw CancellationError() }
        return Permit(storage, key, weight: 1)
    }

    /// Waits until a capacity of `weight` is free for a key and in total, and returns a permit that holds it.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: The same errors as ``acquire(for:)``; ``WeightExceedsLimit`` if a limit is or becomes less than `weight`.
    public func acquire(for key: Key, weight: Int) async throws -> Permit {
        try await enter(key, weight)
        return Permit(storage, key, weight: weight)
    }

    /// Waits for a place for a key for up to `timeout` on the continuous clock, and returns a permit that holds it.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``acquire(for:weight:)``.
    public func acquire(for key: Key, weight: Int = 1, timeout: Duration) async throws -> Permit {
        let deadline = ContinuousClock().deadline(after: timeout)
        return try await acquire(for: key, weight: weight, until: deadline, clock: .continuous)
    }

    /// Waits for a place for a key until a deadline, and returns a permit that holds it. A free place is given even after the deadline.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``acquire(for:weight:)``.
    public func acquire<C: Clock>(
        for key: Key, weight: Int = 1, until deadline: C.Instant, clock: C
    ) async throws -> Permit {
        try await enter(key, weight, until: deadline, clock: clock)
        return Permit(storage, key, weight: weight)
    }

    /// Returns a permit if a place is free for a key, and no task waits for the same key or for the total; otherwise returns `nil`.
    ///
    ///     guard let permit = limiter.tryAcquire(for: user) else { throw Busy() }
    ///
    /// The method also returns `nil` if `weight` is more than a limit. It ignores cancellation. O(1).
    ///
    /// - Precondition: `weight` isn't negative.
    public func tryAcquire(for key: Key, weight: Int = 1) -> Permit? {
        Self.check(weight: weight)
        return storage.enterImmediately(key, weight: UInt64(weight)) ? Permit(storage, key, weight: weight) : nil
    }
}

// MARK: - The limits

extension KeyedLimiter {
    /// Changes the limits.
    ///
    ///     limiter.setLimits(total: 8)                 // on battery power; perKey stays
    ///
    /// If a limit grows, the next waiting tasks get places immediately. If it shrinks, no task loses its place, and new places are given
    /// when enough bodies have ended. Tasks that wait for a weight above a new limit throw ``WeightExceedsLimit``. O(n log n) in the number
    /// of keys and waiting tasks; tasks that enter or leave the limiter are blocked for that time.
    ///
    /// - Parameters:
    ///   - perKey: The new limit for each key; `nil` to keep it.
    ///   - total: The new limit for all keys together; `nil` to keep it.
    /// - Precondition: `perKey` and `total` are at least 1.
    public func setLimits(perKey: Int? = nil, total: Int? = nil) {
        Self.check(perKey: perKey, total: total)
        storage.setLimits(perKey: perKey, total: total)
    }
}

// MARK: - All waiting tasks

extension KeyedLimiter {
    /// Ends the wait of every waiting task with a `CancellationError`, as if the task had been cancelled.
    ///
    /// Running bodies continue. Waits that can't be cancelled (``runUninterrupted(for:_:)``, and `run(for:_:)` with a body that cannot
    /// throw) continue in their order. Tasks that arrive later wait as usual. O(n) in the number of keys and waiting tasks; tasks that
    /// enter or leave the limiter are blocked for that time.
    public func cancelWaiting() {
        storage.cancelWaiting(nil)
    }

    /// For one key, ends the wait of every waiting task with a `CancellationError`, as if the task had been cancelled.
    ///
    /// Running bodies, and tasks that wait for other keys, aren't affected. O(n) in the number of tasks that wait for the key.
    public func cancelWaiting(for key: Key) {
        storage.cancelWaiting(key)
    }

    /// Waits until no body runs and no task waits, for any key.
    ///
    /// If the limiter is idle now, the method returns immediately. Other tasks can enter the limiter while this method waits. It continues
    /// to wait in a cancelled task, so that teardown completes. In a body of the same limiter, it waits forever.
    public func waitUntilIdle() async {
        await storage.waitUntilIdle()
    }

    /// Waits until no body runs and no task waits, for any key, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle(timeout: Duration) async throws {
        try await storage.waitUntilIdle(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until no body runs and no task waits, for any key, or a deadline passes.
    ///
    /// If the limiter is idle, the method returns, even after the deadline and in a cancelled task. Unlike ``waitUntilIdle()``, it stops
    /// waiting when the task is cancelled. Running bodies aren't affected.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle<C: Clock>(until deadline: C.Instant, clock: C) async throws {
        try await storage.waitUntilIdle(until: deadline, clock: clock)
    }
}

// MARK: - Counts

extension KeyedLimiter {
    /// The sum of the weights of running bodies and held permits, for display: it may change before the caller reads it.
    public var runningCount: Int { storage.machine.withLock { Int($0.running) } }

    /// The number of waiting tasks, for display: it may change before the caller reads it.
    public var waitingCount: Int { storage.machine.withLock { $0.waiting } }

    /// The sum of the weights of running bodies and held permits for a key, for display: it may change before the caller reads it.
    public func runningCount(for key: Key) -> Int { storage.machine.withLock { Int($0.running(for: key)) } }

    /// The number of tasks that wait for a key, for display: it may change before the caller reads it.
    public func waitingCount(for key: Key) -> Int { storage.machine.withLock { $0.waiting(for: key) } }
}

// MARK: - Entering

extension KeyedLimiter {
    private static func check(weight: Int) {
        precondition(weight >= 0, "The weight of a request must not be negative; it is \(weight).")
    }

    private func enter(_ key: Key, _ weight: Int) async throws {
        Self.check(weight: weight)
        try check(await storage.enter(key, weight: UInt64(weight)), weight)
    }

    private func enter<C: Clock>(_ key: Key, _ weight: Int, until deadline: C.Instant, clock: C) async throws {
        Self.check(weight: weight)
        try check(await storage.enter(key, weight: UInt64(weight), until: deadline, clock: clock), weight)
    }

    private func check(_ outcome: LimiterOutcome, _ weight: Int) throws {
        switch outcome {
        case .granted: break
        case .tooHeavy: throw WeightExceedsLimit(weight: weight, maximumWeight: min(perKey, total))
        case .cancelled: throw CancellationError()
        case .expired: throw DeadlineExceeded()
        }
    }
}
