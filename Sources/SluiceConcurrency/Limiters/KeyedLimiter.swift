import SluiceLock

/// A limit on the number of tasks that run concurrently for each key, and in total; other tasks wait their turn.
///
///     let limiter = KeyedLimiter<String>(perKey: 4, total: 32)            // the key is the host name
///     let page = try await limiter.run(for: host) { try await network.download(url) }
///
/// Keys are, for example, the users of a server, hosts, or tables. The calling task runs the body itself, on its own
/// isolation, and gets the body's result or error. Neither needs to be `Sendable`. Unlike ``ConcurrencyLimiter``, a keyed
/// limiter has no permits, weights or resizing.
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
/// | ``run(for:timeout:_:)``, ``run(for:until:clock:_:)`` | the body doesn't run | also ``DeadlineExceeded`` |
///
/// **Order.** Within a key, first come, first served. With ``ConcurrencyLimiter/Order/priority``, tasks with a higher priority are admitted
/// first, and with ``ConcurrencyLimiter/Order/newestFirst``, the tasks that arrived last.
///
/// The keys take turns, regardless of priorities. A released place goes to the key that has waited longest for its turn, and this key then
/// goes to the end. So a key with a thousand waiting tasks delays another key by one body at a time. A key that is at its own limit has no
/// turn and delays no other key.
///
/// **Nesting.** A body that calls `run` on the same limiter, for any key, waits for a place while it holds one. If every place is held this
/// way, the tasks deadlock.
///
/// **Cost.** Entering, leaving, waiting, being admitted and being cancelled are O(1) on average, regardless of the number of tasks and
/// keys. Only keys with running or waiting tasks are kept. Keys are hashed and compared under the limiter's lock: a slow hash delays all
/// tasks that enter or leave, and a key must not use the limiter there. A key that isn't equal to itself, such as a NaN, traps.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
    let storage: KeyedLimiterStorage<Key>

    /// The largest number of bodies that can run concurrently for one key.
    public let perKey: Int

    /// The largest number of bodies that can run concurrently for all keys together.
    public let total: Int

    /// The order in which the waiting tasks of one key are admitted.
    public var order: ConcurrencyLimiter.Order { storage.order }

    /// Creates a limiter that lets up to `perKey` bodies run concurrently for each key, and up to `total` for all keys together.
    ///
    /// - Parameters:
    ///   - perKey: The largest number of bodies that can run concurrently for one key.
    ///   - total: The largest number of bodies that can run concurrently for all keys together; `.max` for no such limit.
    ///   - order: The order in which the waiting tasks of one key are admitted. It doesn't affect the turns of the keys.
    /// - Precondition: `perKey` and `total` are at least 1.
    public init(perKey: Int, total: Int, order: ConcurrencyLimiter.Order = .fifo) {
        precondition(perKey >= 1, "A keyed limiter's perKey must be at least 1; it is \(perKey).")
        precondition(total >= 1, "A keyed limiter's total must be at least 1; it is \(total).")
        self.perKey = perKey
        self.total = total
        storage = KeyedLimiterStorage(perKey: perKey, total: total, order: order)
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

    /// Ends the wait of every task that waits for a key with a `CancellationError`, as if the task had been cancelled.
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
    /// The number of running bodies, for display: it may change before the caller reads it.
    public var runningCount: Int { storage.machine.withLock { $0.running } }

    /// The number of waiting tasks, for display: it may change before the caller reads it.
    public var waitingCount: Int { storage.machine.withLock { $0.waiting } }

    /// The number of running bodies for a key, for display: it may change before the caller reads it.
    public func runningCount(for key: Key) -> Int { storage.machine.withLock { $0.running(for: key) } }

    /// The number of tasks that wait for a key, for display: it may change before the caller reads it.
    public func waitingCount(for key: Key) -> Int { storage.machine.withLock { $0.waiting(for: key) } }
}

// MARK: - The state machine

/// The tasks that run and wait for each key, and the turns of the keys.
///
/// It resumes no task itself. Each key with a running or waiting task has a state, which contains a line:
///
/// ```text
/// states  ann: running 2, waiting 3        at its limit of 2: no turn until one of ann's tasks leaves
///         bob: running 0, waiting 1   ┐
///         cid: running 1, waiting 5   ┴─▶  turns: bob, cid
/// ```
///
/// A key is in `turns` if it has a waiting task that could run if a place in total were free. A place that is given back goes
/// to the first key in `turns`, which then goes to the end. So while a place is free, `turns` has no key with a waiting task.
///
/// **Priorities** order the line of a key, never the turns. If the priority of a waiting task is raised, the task moves within the line,
/// to the end of its new level.
struct KeyedLimiterStateMachine<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    typealias Line = LimiterLine<Waiter>
    typealias Watch = WaitingLine<Waiter, LimiterOutcome>.Ticket

    struct Ticket: Sendable {
        let key: Key
        /// A key that is forgotten and used again gets a new number, and an old ticket matches no task of it.
        let number: UInt64
        let waiter: Line.Ticket
    }

    enum EnterAction: Sendable {
        case run
        case wait(Ticket)
    }

    struct LeaveAction: Sendable {
        /// Resumed with `.granted`.
        var next: Waiter?
        /// Resumed if the limiter became idle.
        var watchers: [Waiter] = []
        /// A key to destroy after the lock is released.
        var forgotten: Key?
    }

    private struct KeyState: Sendable {
        let number: UInt64
        var running = 0
        var line = Line()
        var turn: WaitingLine<Key, Bool>.Ticket?

        /// Whether no task uses the key anymore, not even a task that was settled before it suspended.
        var isIdle: Bool { running == 0 && line.occupied == 0 }
    }

    private typealias Index = Dictionary<Key, KeyState>.Index

    /// The capacity above which the table of keys frees its memory when no key is left.
    static var keysKept: Int { 256 }

    let perKey: Int
    let total: Int
    private(set) var running = 0
    private(set) var waiting = 0
    private var watchers = WaitingLine<Waiter, LimiterOutcome>()
    private var states: [Key: KeyState] = [:]
    private var turns = WaitingLine<Key, Bool>()
    private var numbers: UInt64 = 0

    init(perKey: Int, total: Int) {
        self.perKey = perKey
        self.total = total
    }
}

// MARK: Events

extension KeyedLimiterStateMachine {
    /// If `waiter` isn't `nil`, the task is already suspended, and its wait can't be cancelled.
    mutating func enter(
        _ key: Key, _ request: LimiterRequest = LimiterRequest(), uninterrupted waiter: Waiter? = nil
    ) -> EnterAction {
        if enterImmediately(key) { return .run }
        let index = index(adding: key)
        var request = request
        if waiter != nil { request.isInterruptible = false }
        let ticket = states.values[index].line.join(request, waiter)
        waiting += 1
        updateTurn(index)
        return .wait(Ticket(key: states.keys[index], number: states.values[index].number, waiter: ticket))
    }

    /// Takes a place if one is free. No other task waits for a free place.
    mutating func enterImmediately(_ key: Key) -> Bool {
        guard running < total, (states[key]?.running ?? 0) < perKey else { return false }
        states.values[index(adding: key)].running += 1
        running += 1
        return true
    }

    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> (outcome: LimiterOutcome?, forgotten: Key?) {
        guard let index = index(of: ticket) else { preconditionFailure("A task suspended for a key without a state.") }
        let outcome = states.values[index].line.suspend(ticket.waiter, waiter)
        return (outcome, forgetIfIdle(index))
    }

    mutating func leave(_ key: Key) -> LeaveAction {
        guard let index = states.index(forKey: key), states.values[index].running > 0 else {
            preconditionFailure(
                "A key's hash and equality must not change while the key is in a keyed limiter.")
        }
        running -= 1
        states.values[index].running -= 1
        updateTurn(index)
        var action = LeaveAction()
        action.next = grant()
        action.forgotten = forgetIfIdle(index)
        if running == 0 { action.watchers = watchers.settleAll(.granted) }
        return action
    }

    /// Moves a task in line to the end of a higher priority.
    mutating func raise(_ ticket: Ticket, to priority: UInt8) {
        guard let index = index(of: ticket) else { return }
        states.values[index].line.raise(ticket.waiter, to: priority)
    }

    /// Ends the wait of a task without a place; returns the waiter to resume, or `nil` if the task hasn't suspended yet or isn't in
    /// line.
    mutating func settle(
        _ ticket: Ticket, _ outcome: LimiterOutcome
    ) -> (waiter: Waiter?, forgotten: Key?) {
        guard let index = index(of: ticket), states.values[index].line.contains(ticket.waiter) else {
            return (nil, nil)
        }
        let waiter = states.values[index].line.settle(ticket.waiter, outcome)
        waiting -= 1
        updateTurn(index)
        return (waiter, forgetIfIdle(index))
    }

    /// Ends the waits that can be cancelled, for a key or for all keys; returns the tasks to resume.
    mutating func settleInterruptible(
        _ key: Key? = nil, _ outcome: LimiterOutcome
    ) -> (waiters: [Waiter], forgotten: [Key]) {
        var waiters: [Waiter] = []
        var forgotten: [Key] = []
        for key in key.map({ [$0] }) ?? Array(states.keys) {
            guard let index = states.index(forKey: key) else { continue }
            let before = states.values[index].line.count
            waiters += states.values[index].line.settle(outcome) { isInterruptible, _ in isInterruptible }
            waiting -= before - states.values[index].line.count
            updateTurn(index)
            if let key = forgetIfIdle(index) { forgotten.append(key) }
        }
        return (waiters, forgotten)
    }

    /// Returns `nil` if the limiter is idle. A `watcher` is a task that has suspended already and can't be interrupted.
    mutating func watch(_ watcher: Waiter? = nil) -> Watch? {
        // If no task has a place, no task waits: a place that is given back goes to the next key in turn.
        running == 0 ? nil : watchers.join(watcher)
    }

    mutating func suspendWatcher(_ ticket: Watch, _ watcher: Waiter) -> LimiterOutcome? {
        watchers.suspend(ticket, watcher)
    }

    mutating func endWatch(_ ticket: Watch, _ outcome: LimiterOutcome) -> Waiter? {
        watchers.settle(ticket, outcome)
    }
}

// MARK: Counts

extension KeyedLimiterStateMachine {
    func running(for key: Key) -> Int { states[key]?.running ?? 0 }
    func waiting(for key: Key) -> Int { states[key]?.line.count ?? 0 }

    /// The number of keys, and the memory kept for keys and for turns.
    var traces: (keys: Int, room: Int, turns: Int) { (states.count, states.capacity, turns.slotCount) }
}

// MARK: Machinery

extension KeyedLimiterStateMachine {
    private mutating func index(adding key: Key) -> Index {
        if let index = states.index(forKey: key) { return index }
        numbers += 1
        states[key] = KeyState(number: numbers)
        guard let index = states.index(forKey: key) else {
            preconditionFailure("A keyed limiter's key must be equal to itself, and its hash must not change.")
        }
        return index
    }

    private func index(of ticket: Ticket) -> Index? {
        guard let index = states.index(forKey: ticket.key), states.values[index].number == ticket.number else {
            return nil
        }
        return index
    }

    private mutating func updateTurn(_ index: Index) {
        let state = states.values[index]
        let wantsTurn = !state.line.isEmpty && state.running < perKey
        if wantsTurn, state.turn == nil {
            states.values[index].turn = turns.join(states.keys[index])
        } else if !wantsTurn, let turn = state.turn {
            _ = turns.settle(turn, false)
            states.values[index].turn = nil
        }
    }

    /// Gives a free place to the key that has the turn; returns the task to resume.
    private mutating func grant() -> Waiter? {
        while !turns.isEmpty, let key = turns.settleFirst(true), let index = states.index(forKey: key) {
            states.values[index].turn = nil
            let waiter = states.values[index].line.settleNext()
            states.values[index].running += 1
            running += 1
            waiting -= 1
            updateTurn(index)
            return waiter
        }
        return nil
    }

    /// Forgets a key that no task uses, and returns it: it must not be destroyed under the lock.
    private mutating func forgetIfIdle(_ index: Index) -> Key? {
        guard states.values[index].isIdle else { return nil }
        let key = states.remove(at: index).key
        if states.isEmpty, states.capacity > Self.keysKept { states = [:] }
        return key
    }
}

// MARK: - The storage

/// The lock, the state machine and the suspending operations of a ``KeyedLimiter``.
///
/// Keys that the machine forgets leave the critical section before they are destroyed: the `deinit` of a key may use the limiter.
final class KeyedLimiterStorage<Key: Hashable & Sendable>: Sendable {
    typealias Waiter = UnsafeContinuation<LimiterOutcome, Never>
    typealias Machine = KeyedLimiterStateMachine<Key, Waiter>

    let order: ConcurrencyLimiter.Order
    let machine: Lock<Machine>

    init(perKey: Int, total: Int, order: ConcurrencyLimiter.Order) {
        self.order = order
        machine = Lock(Machine(perKey: perKey, total: total))
    }

    func enterImmediately(_ key: Key) -> Bool {
        machine.withLock { $0.enterImmediately(key) }
    }

    func enter(_ key: Key) async -> LimiterOutcome {
        if Task.isCancelled { return .cancelled }
        if order != .fifo { return await enterInLine(key) { await self.wait($0) } }
        guard case .wait(let ticket) = machine.withLock({ $0.enter(key) }) else { return .granted }
        return await wait(ticket)
    }

    func enter<C: Clock>(_ key: Key, until deadline: C.Instant, clock: C) async -> LimiterOutcome {
        if Task.isCancelled { return .cancelled }
        return await enterInLine(key) { ticket in
            await ending(at: deadline, clock: clock) {
                self.settle(ticket, .expired)
            } wait: {
                await self.wait(ticket)
            }
        }
    }

    func enterUninterrupted(_ key: Key) async {
        if order != .fifo { return await enterInLineUninterrupted(key) }
        _ = await withUnsafeContinuation { (waiter: Waiter) in
            let action = machine.withLock { $0.enter(key, uninterrupted: waiter) }
            if case .run = action { waiter.resume(returning: .granted) }
        }
    }

    func leave(_ key: Key) {
        let action = machine.withLock { $0.leave(key) }
        action.next?.resume(returning: .granted)
        for watcher in action.watchers { watcher.resume(returning: .granted) }
    }

    func cancelWaiting(_ key: Key?) {
        let (waiters, _) = machine.withLock { $0.settleInterruptible(key, .cancelled) }
        for waiter in waiters { waiter.resume(returning: .cancelled) }
    }

    func waitUntilIdle() async {
        _ = await withUnsafeContinuation { (watcher: Waiter) in
            let ticket = machine.withLock { $0.watch(watcher) }
            if ticket == nil { watcher.resume(returning: .granted) }
        }
    }

    func waitUntilIdle<C: Clock>(until deadline: C.Instant, clock: C) async throws {
        guard let ticket = machine.withLock({ $0.watch() }) else { return }
        let outcome = await ending(at: deadline, clock: clock) {
            self.machine.withLock { $0.endWatch(ticket, .expired) }?.resume(returning: .expired)
        } wait: {
            await suspending { watcher in
                machine.withLock { $0.suspendWatcher(ticket, watcher) }
            } onCancel: {
                machine.withLock { $0.endWatch(ticket, .cancelled) }?.resume(returning: .cancelled)
            }
        }
        try outcome.checkIdle()
    }

    // MARK: Machinery

    private func wait(_ ticket: Machine.Ticket) async -> LimiterOutcome {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }.outcome
        } onCancel: {
            settle(ticket, .cancelled)
        }
    }

    private func settle(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) {
        let settled = machine.withLock { $0.settle(ticket, outcome) }
        settled.waiter?.resume(returning: outcome)
    }

    // MARK: Priorities

    private func enterInLineUninterrupted(_ key: Key) async {
        _ = await enterInLine(key, isInterruptible: false) { ticket in
            await withUnsafeContinuation { (waiter: Waiter) in
                let known = self.machine.withLock { $0.suspend(ticket, waiter) }.outcome
                if let known { waiter.resume(returning: known) }
            }
        }
    }

    /// Waits with `suspended`. Whenever the task's priority is raised, it moves to the end of the line of its new priority.
    private func enterInLine(
        _ key: Key, isInterruptible: Bool = true, _ suspended: (Machine.Ticket) async -> LimiterOutcome
    ) async -> LimiterOutcome {
        let priority = Task.currentPriority
        let request = LimiterRequest(
            priority: order == .priority ? priority.rawValue : 0, isInterruptible: isInterruptible,
            joinsAtFront: order == .newestFirst)
        guard case .wait(let ticket) = machine.withLock({ $0.enter(key, request) }) else { return .granted }
        guard order == .priority else { return await suspended(ticket) }
        return await withEscalations(from: priority) {
            await suspended(ticket)
        } raised: { priority in
            self.machine.withLock { $0.raise(ticket, to: priority.rawValue) }
        }
    }
}
