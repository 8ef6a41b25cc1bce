import SluiceLock

/// A limit on the number of tasks that run a piece of code concurrently; other tasks wait their turn.
///
///     let limiter = ConcurrencyLimiter(concurrency: 10)
///     let image = try await limiter.run { try await network.download(url) }
///
/// The calling task runs the body itself, on its own isolation, and gets the body's result or error. Neither needs to be
/// `Sendable`. If the limited work isn't a single body, use a ``Permit`` from ``acquire()`` or ``tryAcquire(weight:)``.
///
/// **Cancellation.** A body that cannot throw isn't cancelled while it waits: `run` has two overloads, and the compiler
/// selects one by the body. Once a task has its place, its body always runs, and can check `Task.isCancelled`.
///
/// | | if the task is cancelled while it waits | throws |
/// |---|---|---|
/// | `run` with a body that can throw | the body doesn't run | `CancellationError`, or the body's error |
/// | `run` with a body that cannot throw | waits its turn and runs | nothing |
/// | ``runUninterrupted(_:)`` | waits its turn and runs | the body's error, typed |
/// | ``runUnlessCancelled(_:)`` | the body doesn't run | `CancellationError` |
/// | ``run(weight:_:)`` | the body doesn't run | also ``WeightExceedsLimit`` |
/// | ``run(weight:timeout:_:)``, ``run(weight:until:clock:_:)`` | the body doesn't run | also ``DeadlineExceeded`` |
/// | ``runIfAvailable(_:)`` | never waits | the body's error, typed |
///
/// **Order.** First come, first served. With ``Order/priority``, tasks with a higher priority are admitted first, and with
/// ``Order/newestFirst``, the tasks that arrived last. A released place goes directly to the next waiting task; no other task overtakes it.
///
/// **Weights.** A request can take more than one unit of capacity. With bytes as the unit, a limiter bounds memory. Smaller requests don't
/// overtake a large one that waits for enough capacity, so large requests don't starve. With ``Order/priority``, requests of a higher
/// priority do, up to 16 in a row. A weight of zero waits its turn but takes no capacity; ``waitUntilIdle()`` waits for its body too. A
/// negative weight traps.
///
/// **Nesting.** A body that calls `run` on the same limiter waits for a place while it holds one. If every place is held this
/// way, the tasks deadlock. Use one limiter per level. With `tracksHolders`, the limiter detects such bodies.
///
/// **Cost.** If a place is free, entering and leaving take one atomic operation each, or a lock if the weight is zero. Waiting, being
/// admitted and being cancelled are O(1), regardless of the number of waiting tasks.
public final class ConcurrencyLimiter: Sendable {
    /// The order in which waiting tasks are admitted.
    public enum Order: Hashable, Sendable {
        /// The task that has waited longest goes first.
        case fifo
        /// The task with the highest priority goes first; among equals, the task that has waited longest.
        ///
        /// No priority starves: of 17 consecutive places, at least one goes to a waiting task of a lower priority. If tasks of several
        /// lower priorities wait, these priorities take turns. On Linux, and on Apple platforms from version 26, a waiting task whose
        /// priority is raised moves to the end of the line of its new priority. The priority of tasks that hold a place isn't raised.
        case priority
        /// The task that arrived last goes first.
        ///
        ///     let limiter = ConcurrencyLimiter(concurrency: 4, order: .newestFirst)       // for the images of a list
        ///
        /// The image that just scrolled into view then comes before those that have scrolled out of it. If tasks keep arriving faster than
        /// places become free, the oldest never get one: cancel the tasks whose results aren't needed anymore.
        case newestFirst
    }

    @usableFromInline let storage: LimiterStorage
    let holders: LimiterHolders?
    let waitTimes: LimiterWaitTimes?

    /// The order in which waiting tasks are admitted.
    public let order: Order

    /// Creates a limiter that lets up to `concurrency` bodies run concurrently.
    ///
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)         // in bytes; each run passes its weight
    ///
    /// - Parameters:
    ///   - concurrency: The largest number of bodies that can run concurrently, or the largest sum of their weights. A number
    ///     above 2⁴⁵ − 1, such as `Int.max`, counts as 2⁴⁵ − 1.
    ///   - order: The order in which waiting tasks are admitted.
    ///   - tracksHolders: Whether the program stops with an explanation when a body uses the same limiter, instead of deadlocking
    ///     occasionally. Each run is then slower. Only bodies that a task runs inside its own body are detected, not bodies of child tasks,
    ///     permits, or ``runIfAvailable(_:)``, which doesn't wait.
    ///   - clock: The clock that measures ``Statistics/totalWait``; if it's `nil`, nothing is measured.
    /// - Precondition: `concurrency` is at least 1.
    public init(
        concurrency: Int, order: Order = .fifo, tracksHolders: Bool = false, clock: (any Clock<Duration>)? = nil
    ) {
        self.order = order
        holders = tracksHolders ? LimiterHolders() : nil
        waitTimes = clock.map { LimiterWaitTimes($0) }
        storage = LimiterStorage(concurrency: Self.checked(concurrency), tracksHolders: tracksHolders)
    }

    /// Clamps a concurrency, such as `Int.max` for "no limit", to the largest one that fits into the limiter's word.
    private static func checked(_ concurrency: Int) -> Int {
        precondition(concurrency >= 1, "A limiter's concurrency must be at least 1; it is \(concurrency).")
        return min(concurrency, LimiterWord.maximum)
    }
}

// MARK: - Running bodies

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
    /// - Precondition: `weight` isn't negative.
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
    /// - Precondition: `weight` isn't negative.
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
    /// - Precondition: `weight` isn't negative.
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

// MARK: - Permits

extension ConcurrencyLimiter {
    /// A place on a ``ConcurrencyLimiter``, held until it's released.
    ///
    ///     let permit = try await limiter.acquire()
    ///     let connection = try await pool.connect()
    ///     …
    ///     permit.release()
    ///
    /// A permit can't be copied, so its place can't be released twice. If an error is thrown before ``release()``, the place is released
    /// too. Always call ``release()`` after the limited work: without this call, the compiler destroys the permit after its last use, which
    /// may be long before the work ends. For the same reason, `_ = try await limiter.acquire()` releases the place immediately.
    ///
    /// A permit can be passed to another task. If the closure of a task captures a permit, the place is released when the task ends. The
    /// closure can't call `release()`, because an escaping closure can't consume a captured value. If the limited work is a single body,
    /// use `run`, which has none of these rules.
    public struct Permit: ~Copyable, Sendable {
        private let limiter: ConcurrencyLimiter

        /// The part of the limiter's ``concurrency`` that the permit takes.
        public let weight: Int

        init(_ limiter: ConcurrencyLimiter, weight: Int) {
            self.limiter = limiter
            self.weight = weight
        }

        deinit {
            limiter.storage.leave(weight: UInt64(weight)).resume()
        }

        /// Releases the place, which goes to the next waiting task. O(1).
        public consuming func release() {}
    }

    /// Waits for a place, and returns a permit that holds it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it gets a place, or if ``cancelWaiting()`` is called.
    public func acquire() async throws(CancellationError) -> Permit {
        if Task.isCancelled { throw CancellationError() }
        if !storage.enterImmediately(weight: 1), await enterSlowly() != .granted { throw CancellationError() }
        return Permit(self, weight: 1)
    }

    /// Waits until a capacity of `weight` is free, and returns a permit that holds it.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: The same errors as ``acquire()``; ``WeightExceedsLimit`` if the concurrency is or becomes less than `weight`.
    public func acquire(weight: Int) async throws -> Permit {
        try await enter(weight: weight)
        return Permit(self, weight: weight)
    }

    /// Waits for a place for up to `timeout` on the continuous clock, and returns a permit that holds it.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``acquire(weight:)``.
    public func acquire(weight: Int = 1, timeout: Duration) async throws -> Permit {
        try await acquire(weight: weight, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits for a place until a deadline, and returns a permit that holds it. A free place is given even after the deadline.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``acquire(weight:)``.
    public func acquire<C: Clock>(weight: Int = 1, until deadline: C.Instant, clock: C) async throws -> Permit {
        try await enter(weight: weight, until: deadline, clock: clock)
        return Permit(self, weight: weight)
    }

    /// Returns a permit if a place is free and no task waits for one; otherwise returns `nil`.
    ///
    ///     guard let permit = limiter.tryAcquire() else { throw Busy() }
    ///
    /// The method also returns `nil` if `weight` is more than the concurrency. It ignores cancellation. O(1).
    ///
    /// - Precondition: `weight` isn't negative.
    public func tryAcquire(weight: Int = 1) -> Permit? {
        Self.check(weight: weight)
        return storage.tryEnter(weight: UInt64(weight)) ? Permit(self, weight: weight) : nil
    }
}

// MARK: - The limit and all waiting tasks

extension ConcurrencyLimiter {
    /// The largest number of bodies that can run concurrently, or the largest sum of their weights.
    public var concurrency: Int { Int(storage.loadLimit()) }

    /// Changes the number of bodies that can run concurrently.
    ///
    /// If the concurrency grows, the next waiting tasks get places immediately. If it shrinks, no task loses its place, and new places are
    /// given when enough bodies have ended. Tasks that wait for a weight above the new concurrency throw ``WeightExceedsLimit``. O(n) in
    /// the number of waiting tasks; tasks that enter or leave the limiter are blocked for that time. A number above 2⁴⁵ − 1 counts as
    /// 2⁴⁵ − 1.
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func resize(to concurrency: Int) {
        storage.resize(to: UInt64(Self.checked(concurrency))).resume()
    }

    /// Ends the wait of every waiting task with a `CancellationError`, as if the task had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Running bodies continue. Waits that can't be cancelled (``runUninterrupted(_:)``, and `run` with a body that cannot throw) continue
    /// in their order. Tasks that arrive later wait as usual. O(n) in the number of waiting tasks; tasks that enter or leave the limiter
    /// are blocked for that time.
    public func cancelWaiting() {
        storage.cancelWaiting().resume()
    }

    /// Waits until no body runs and no task waits.
    ///
    /// If the limiter is idle now, the method returns immediately. Other tasks can enter the limiter while this method waits. It continues
    /// to wait in a cancelled task, so that teardown completes. In a body of the same limiter, or while the caller holds a permit, it waits
    /// forever. O(1).
    public func waitUntilIdle() async {
        _ = await withUnsafeContinuation { watcher in
            if storage.watch(watcher) == nil { watcher.resume(returning: .granted) }
        }
    }

    /// Waits until no body runs and no task waits, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle(timeout: Duration) async throws {
        try await waitUntilIdle(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until no body runs and no task waits, or a deadline passes.
    ///
    /// If the limiter is idle, the method returns, even after the deadline and in a cancelled task. Unlike ``waitUntilIdle()``, it stops
    /// waiting when the task is cancelled, because the child task of the clock is then cancelled too. Running bodies aren't affected.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle<C: Clock>(until deadline: C.Instant, clock: C) async throws {
        guard let ticket = storage.watch() else { return }
        let outcome = await ending(at: deadline, clock: clock) {
            self.storage.endWatch(ticket, .expired)?.resume(returning: .expired)
        } wait: {
            await suspending { watcher in
                storage.suspendWatcher(ticket, watcher)
            } onCancel: {
                storage.endWatch(ticket, .cancelled)?.resume(returning: .cancelled)
            }
        }
        try outcome.checkIdle()
    }
}

// MARK: - Statistics

extension ConcurrencyLimiter {
    /// The counts of a limiter at one moment, and totals since its creation.
    ///
    ///     print("\(limiter.statistics.runningCount) of \(limiter.concurrency) in use")
    public struct Statistics: Hashable, Sendable {
        /// The largest number of bodies that can run concurrently, or the largest sum of their weights.
        public var concurrency: Int
        /// The number of running bodies and held permits: the sum of their weights.
        public var runningCount: Int
        /// The number of waiting tasks.
        public var waitingCount: Int
        /// The largest ``runningCount`` so far.
        public var maximumRunningCount: Int
        /// The number of bodies started and permits given so far.
        public var grantedCount: Int
        /// The total time that tasks have waited, including tasks that gave up; `nil` without a clock.
        public var totalWait: Duration?
        /// The longest time that one task has waited; `nil` without a clock.
        public var maximumWait: Duration?
    }

    /// The counts of the limiter at one moment, for display: they may change before the caller reads them. O(1).
    public var statistics: Statistics {
        var statistics = storage.machine.withLock { machine in
            let word = storage.load()
            return Statistics(
                concurrency: Int(machine.limit), runningCount: Int(word.running), waitingCount: machine.line.count,
                maximumRunningCount: 0, grantedCount: Int(machine.granted(word)))
        }
        // A task raises the peak after it has entered, so the peak can be less than the count.
        statistics.maximumRunningCount = max(Int(storage.mostRunning), statistics.runningCount)
        let waitTimes = waitTimes?.values
        statistics.totalWait = waitTimes?.total
        statistics.maximumWait = waitTimes?.longest
        return statistics
    }

    /// The sum of the weights of running bodies and held permits, for display: it may change before the caller reads it.
    public var runningCount: Int { Int(storage.load().running) }

    /// The number of waiting tasks, for display: it may change before the caller reads it.
    public var waitingCount: Int { storage.machine.withLock { $0.line.count } }
}

// MARK: - Errors

/// An error thrown if a request's weight is more than a limiter can ever give.
///
///     do {
///         try await memory.run(weight: image.byteCount) { try await decode(image) }
///     } catch let error as WeightExceedsLimit {
///         showTooLarge(image, maximum: error.maximumWeight)
///     }
///
/// A ``ConcurrencyLimiter`` throws it for a weight of more than its ``ConcurrencyLimiter/concurrency``, a ``KeyedLimiter`` for more than
/// one of its limits, and a ``RateLimiter`` for more than its burst. The request fails immediately, or when the limiter becomes too small
/// for it while it waits.
public struct WeightExceedsLimit: Error, Hashable, Sendable, CustomStringConvertible {
    /// The weight of the request.
    public var weight: Int
    /// The largest weight that the limiter could give at that time.
    public var maximumWeight: Int

    /// Creates an error.
    public init(weight: Int, maximumWeight: Int) {
        self.weight = weight
        self.maximumWeight = maximumWeight
    }

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The request has a weight of \(weight), but the limiter allows at most \(maximumWeight). "
            + "Split the request, or raise the limit."
    }
}

// MARK: - Places

// These functions and the bodies above are inlined into the caller: if a place is free, they take less time than calling an
// asynchronous function in another module. They aren't asynchronous, because after each `await` the runtime checks that it's on
// the caller's actor. On the main actor, that check costs as much as entering.
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

// MARK: Weights

extension ConcurrencyLimiter {
    private static func check(weight: Int) {
        precondition(weight >= 0, "The weight of a request must not be negative; it is \(weight).")
    }

    private func enter(weight: Int) async throws {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterImmediately(weight: UInt64(weight)) { return }
        try check(await enterSlowly(weight: UInt64(weight)), weight)
    }

    private func enter<C: Clock>(weight: Int, until deadline: C.Instant, clock: C) async throws {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterImmediately(weight: UInt64(weight)) { return }
        try check(await enterSlowly(weight: UInt64(weight), until: deadline, clock: clock), weight)
    }

    private func check(_ outcome: LimiterOutcome, _ weight: Int) throws {
        switch outcome {
        case .granted: break
        case .tooHeavy: throw WeightExceedsLimit(weight: weight, maximumWeight: concurrency)
        case .cancelled: throw CancellationError()
        case .expired: throw DeadlineExceeded()
        }
    }
}

// MARK: - Waiting

// The short path, for limiters without priorities, holders or a clock: fewer asynchronous functions lie between the caller and
// its continuation. Each of them takes memory of the task while it waits; one too many takes another block of 1,024 bytes.
extension ConcurrencyLimiter {
    var isPlain: Bool { order == .fifo && holders == nil && waitTimes == nil }

    @inline(__always)
    func enterPlainly(weight: UInt64 = 1) async -> LimiterOutcome {
        switch storage.enter(LimiterRequest(weight: weight)) {
        case .run: .granted
        case .refuse: .tooHeavy
        case .wait(let ticket): await suspendUnlessCancelled(ticket)
        }
    }

    @inline(__always)
    func enterPlainlyUninterrupted() async {
        _ = await withUnsafeContinuation { waiter in
            let request = LimiterRequest(isInterruptible: false)
            if storage.enter(request, suspended: waiter) { waiter.resume(returning: .granted) }
        }
    }

    @inline(__always)
    private func suspendUnlessCancelled(_ ticket: LimiterStorage.Machine.Ticket) async -> LimiterOutcome {
        await suspending { waiter in
            storage.suspend(ticket, waiter)
        } onCancel: {
            storage.end(ticket, .cancelled).resume()
        }
    }
}

// The general path, for all limiters.
extension ConcurrencyLimiter {
    func enterSlowly(weight: UInt64 = 1) async -> LimiterOutcome {
        if isPlain { return await enterPlainly(weight: weight) }
        return await wait(for: request(weight: weight)) { ticket in
            await self.suspendUnlessCancelled(ticket)
        }
    }

    func enterSlowly<C: Clock>(weight: UInt64, until deadline: C.Instant, clock: C) async -> LimiterOutcome {
        await wait(for: request(weight: weight)) { ticket in
            await ending(at: deadline, clock: clock) {
                self.storage.end(ticket, .expired).resume()
            } wait: {
                await self.suspendUnlessCancelled(ticket)
            }
        }
    }

    func enterSlowlyUninterrupted() async {
        var request = request(weight: 1)
        request.isInterruptible = false
        _ = await wait(for: request) { ticket in
            await withUnsafeContinuation { waiter in
                if let outcome = self.storage.suspend(ticket, waiter) { waiter.resume(returning: outcome) }
            }
        }
    }

    // MARK: Machinery

    private func request(weight: UInt64) -> LimiterRequest {
        LimiterRequest(
            weight: weight, priority: order == .priority ? Task.currentPriority.rawValue : 0,
            joinsAtFront: order == .newestFirst)
    }

    private func wait(
        for request: LimiterRequest, _ suspended: (LimiterStorage.Machine.Ticket) async -> LimiterOutcome
    ) async -> LimiterOutcome {
        switch storage.enter(request) {
        case .run(let wakeups):
            wakeups.resume()
            return .granted
        case .refuse: return .tooHeavy
        case .wait(let ticket):
            let began = waitTimes?.began()
            let outcome = await raising(ticket, from: request.priority) { await suspended(ticket) }
            waitTimes?.ended(began)
            return outcome
        }
    }

    /// Moves a waiting task to the line of its new priority whenever its priority is raised.
    private func raising(
        _ ticket: LimiterStorage.Machine.Ticket, from priority: UInt8, _ suspended: () async -> LimiterOutcome
    ) async -> LimiterOutcome {
        guard order == .priority else { return await suspended() }
        return await withEscalations(from: TaskPriority(rawValue: priority)) {
            await suspended()
        } raised: { priority in
            self.storage.raise(ticket, to: priority.rawValue).resume()
        }
    }
}
