import SluiceLock

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
/// A key is in `turns` if its next task would fit into the key's own limit. Released capacity goes to the first key in `turns`, which then
/// goes to the end. If the next task of this key is too heavy for the free capacity, the other keys wait behind it, so that small requests
/// don't starve a large one. After each event, the next task of the first key in `turns` doesn't fit into the total.
///
/// **Priorities** order the line of a key, never the turns. If the priority of a waiting task is raised, the task moves within the line,
/// to the end of its new level.
struct KeyedLimiterStateMachine<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    typealias Line = LimiterLine<Waiter>
    typealias Wakeups = LimiterWakeups<Waiter>
    typealias Watch = WaitingLine<Waiter, LimiterOutcome>.Ticket

    struct Ticket: Sendable {
        let key: Key
        /// A key that is forgotten and used again gets a new number, and an old ticket matches no task of it.
        let number: UInt64
        let waiter: Line.Ticket
    }

    enum EnterAction: Sendable {
        /// Resumes tasks if the request used its key's turn, and the next key's task fits too.
        case run(Wakeups)
        /// Resumes tasks if the request is now its key's next and doesn't fit, so that another key gets the turn.
        case wait(Ticket, Wakeups)
        /// The request is more than a limit, or there is no place and the request doesn't wait.
        case refuse
    }

    struct LeaveAction: Sendable {
        var wakeups = Wakeups()
        /// A key to destroy after the lock is released.
        var forgotten: Key?
    }

    private struct KeyState: Sendable {
        let number: UInt64
        /// The sum of the weights of the running bodies.
        var running: UInt64 = 0
        /// The number of running bodies; more than `running` if some have no weight.
        var bodies = 0
        var line = Line()
        var turn: WaitingLine<Key, Bool>.Ticket?

        /// Whether no task uses the key anymore, not even a task that was settled before it suspended.
        var isIdle: Bool { bodies == 0 && line.occupied == 0 }
    }

    private typealias Index = Dictionary<Key, KeyState>.Index

    /// The capacity above which the table of keys frees its memory when no key is left.
    static var keysKept: Int { 256 }

    private(set) var perKey: UInt64
    private(set) var total: UInt64
    /// The sum of the weights of the running bodies.
    private(set) var running: UInt64 = 0
    private(set) var waiting = 0
    private var bodies = 0
    private var watchers = WaitingLine<Waiter, LimiterOutcome>()
    private var states: [Key: KeyState] = [:]
    private var turns = WaitingLine<Key, Bool>()
    private var numbers: UInt64 = 0

    init(perKey: UInt64, total: UInt64) {
        self.perKey = perKey
        self.total = total
    }

    /// The largest weight of a request that can be admitted.
    var maximumWeight: UInt64 { min(perKey, total) }
}

// MARK: Events

extension KeyedLimiterStateMachine {
    /// If `joins` is true, the task waits if there is no place, or if it's another task's turn. Otherwise it gets no place while a task
    /// waits for the same key or for the total.
    mutating func enter(
        _ key: Key, _ request: LimiterRequest = LimiterRequest(), joins: Bool = true
    ) -> EnterAction {
        guard request.weight <= maximumWeight else { return .refuse }
        let mayRun = mayRun(key, request, joins: joins)
        guard mayRun || joins else { return .refuse }
        let index = index(adding: key)
        var wakeups = Wakeups()
        if mayRun {
            admit(request.weight, index)
            if !states.values[index].line.isEmpty {
                states.values[index].line.passOver()
                endTurn(index)
                grant(&wakeups)
            }
            return .run(wakeups)
        }
        let ticket = states.values[index].line.join(request, nil)
        waiting += 1
        updateTurn(index)
        grant(&wakeups)
        return .wait(Ticket(key: states.keys[index], number: states.values[index].number, waiter: ticket), wakeups)
    }

    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> (outcome: LimiterOutcome?, forgotten: Key?) {
        guard let index = index(of: ticket) else { preconditionFailure("A task suspended for a key without a state.") }
        let outcome = states.values[index].line.suspend(ticket.waiter, waiter)
        return (outcome, forgetIfIdle(index))
    }

    mutating func leave(_ key: Key, weight: UInt64 = 1) -> LeaveAction {
        guard
            let index = states.index(forKey: key), states.values[index].bodies > 0,
            states.values[index].running >= weight
        else {
            preconditionFailure(
                "A key's hash and equality must not change while the key is in a keyed limiter.")
        }
        (running, bodies) = (running - weight, bodies - 1)
        states.values[index].running -= weight
        states.values[index].bodies -= 1
        updateTurn(index)
        var action = LeaveAction()
        grant(&action.wakeups)
        action.forgotten = forgetIfIdle(index)
        // If no task has a place, no task waits: the next task of the first key in `turns` would fit into an empty limiter.
        if bodies == 0 { action.wakeups.append(watchers.settleAll(.granted), .granted) }
        return action
    }

    /// Moves a task in line to the end of a higher priority; returns the tasks to resume.
    ///
    /// These can include tasks that now come before a larger request.
    mutating func raise(_ ticket: Ticket, to priority: UInt8) -> Wakeups {
        var wakeups = Wakeups()
        guard let index = index(of: ticket) else { return wakeups }
        if states.values[index].line.raise(ticket.waiter, to: priority) {
            updateTurn(index)
            grant(&wakeups)
        }
        return wakeups
    }

    /// Ends the wait of a task in line without a place; returns the tasks to resume.
    ///
    /// These can include tasks behind it with smaller requests.
    mutating func settle(_ ticket: Ticket, _ outcome: LimiterOutcome) -> LeaveAction {
        var action = LeaveAction()
        guard let index = index(of: ticket), states.values[index].line.contains(ticket.waiter) else { return action }
        action.wakeups.append(states.values[index].line.settle(ticket.waiter, outcome), outcome)
        waiting -= 1
        updateTurn(index)
        grant(&action.wakeups)
        action.forgotten = forgetIfIdle(index)
        return action
    }

    /// Ends the waits that can be cancelled, for a key or for all keys.
    mutating func cancelWaiting(_ key: Key? = nil) -> (wakeups: Wakeups, forgotten: [Key]) {
        settle(key.map { [$0] } ?? keys, .cancelled) { isInterruptible, _ in isInterruptible }
    }

    /// No task loses its place. Requests in line for more than a new limit fail.
    mutating func setLimits(perKey: UInt64, total: UInt64) -> (wakeups: Wakeups, forgotten: [Key]) {
        (self.perKey, self.total) = (perKey, total)
        let maximumWeight = maximumWeight
        return settle(keys, .tooHeavy) { _, weight in weight > maximumWeight }
    }

    /// Returns `nil` if the limiter is idle. A `watcher` is a task that has suspended already and can't be interrupted.
    mutating func watch(_ watcher: Waiter? = nil) -> Watch? {
        bodies == 0 ? nil : watchers.join(watcher)
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
    func running(for key: Key) -> UInt64 { states[key]?.running ?? 0 }
    func waiting(for key: Key) -> Int { states[key]?.line.count ?? 0 }

    /// The number of keys, and the memory kept for keys and for turns.
    var traces: (keys: Int, room: Int, turns: Int) { (states.count, states.capacity, turns.slotCount) }
}

// MARK: Machinery

extension KeyedLimiterStateMachine {
    /// All keys, oldest first. A change that affects all keys gives them turns in this order.
    private var keys: [Key] {
        states.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

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

    /// Whether a request that joined the line now would be granted immediately.
    private func mayRun(_ key: Key, _ request: LimiterRequest, joins: Bool) -> Bool {
        guard running + request.weight <= total else { return false }
        guard let index = states.index(forKey: key) else { return turns.isEmpty }
        let hasTurn = turns.isEmpty || (states.values[index].turn.map { $0 == turns.firstTicket } ?? false)
        guard hasTurn, states.values[index].running + request.weight <= perKey else { return false }
        return joins ? states.values[index].line.wouldBeNext(request) : states.values[index].line.isEmpty
    }

    private mutating func admit(_ weight: UInt64, _ index: Index) {
        (running, bodies) = (running + weight, bodies + 1)
        states.values[index].running += weight
        states.values[index].bodies += 1
    }

    /// Gives a key a turn, at the end, if its next task fits into the key's limit; otherwise takes away its turn.
    private mutating func updateTurn(_ index: Index) {
        let state = states.values[index]
        let wantsTurn = state.line.nextWeight.map { state.running + $0 <= perKey } ?? false
        if wantsTurn, state.turn == nil {
            states.values[index].turn = turns.join(states.keys[index])
        } else if !wantsTurn, let turn = state.turn {
            _ = turns.settle(turn, false)
            states.values[index].turn = nil
        }
    }

    /// Moves a key that has had its turn to the end.
    private mutating func endTurn(_ index: Index) {
        if let turn = states.values[index].turn.take() { _ = turns.settle(turn, true) }
        updateTurn(index)
    }

    /// Gives free capacity to the keys in turn, until the next task of the first one doesn't fit.
    private mutating func grant(_ wakeups: inout Wakeups) {
        while let key = turns.firstWaiter, let index = states.index(forKey: key),
            let weight = states.values[index].line.nextWeight, running + weight <= total
        {
            wakeups.append(states.values[index].line.settleNext(), .granted)
            waiting -= 1
            admit(weight, index)
            endTurn(index)
        }
    }

    private mutating func settle(
        _ keys: [Key], _ outcome: LimiterOutcome,
        where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool
    ) -> (wakeups: Wakeups, forgotten: [Key]) {
        var wakeups = Wakeups()
        var forgotten: [Key] = []
        for key in keys {
            guard let index = states.index(forKey: key) else { continue }
            let before = states.values[index].line.count
            wakeups.append(states.values[index].line.settle(outcome, where: predicate), outcome)
            waiting -= before - states.values[index].line.count
            updateTurn(index)
            if let key = forgetIfIdle(index) { forgotten.append(key) }
        }
        grant(&wakeups)
        return (wakeups, forgotten)
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
        machine = Lock(Machine(perKey: UInt64(perKey), total: UInt64(total)))
    }

    // MARK: Entering

    // Most keys are the names of hosts and users. Generic code of another module looks up the types of the machine at each use.
    @_specialize(where Key == String)
    func enterImmediately(_ key: Key, weight: UInt64 = 1) -> Bool {
        let action = machine.withLock { $0.enter(key, LimiterRequest(weight: weight), joins: false) }
        guard case .run(let wakeups) = action else { return false }
        wakeups.resume()
        return true
    }

    @_specialize(where Key == String)
    func enter(_ key: Key, weight: UInt64 = 1) async -> LimiterOutcome {
        if Task.isCancelled { return .cancelled }
        return await enterInLine(key, request(weight: weight)) { await self.wait($0) }
    }

    func enter<C: Clock>(_ key: Key, weight: UInt64, until deadline: C.Instant, clock: C) async -> LimiterOutcome {
        if Task.isCancelled { return .cancelled }
        return await enterInLine(key, request(weight: weight)) { ticket in
            await ending(at: deadline, clock: clock) {
                self.settle(ticket, .expired)
            } wait: {
                await self.wait(ticket)
            }
        }
    }

    func enterUninterrupted(_ key: Key) async {
        var request = request(weight: 1)
        request.isInterruptible = false
        _ = await enterInLine(key, request) { ticket in
            await withUnsafeContinuation { (waiter: Waiter) in
                let known = self.machine.withLock { $0.suspend(ticket, waiter) }.outcome
                if let known { waiter.resume(returning: known) }
            }
        }
    }

    @_specialize(where Key == String)
    func leave(_ key: Key, weight: UInt64 = 1) {
        let action = machine.withLock { $0.leave(key, weight: weight) }
        action.wakeups.resume()
    }

    // MARK: All tasks

    func setLimits(perKey: Int?, total: Int?) {
        let (wakeups, _) = machine.withLock { machine in
            machine.setLimits(
                perKey: perKey.map { UInt64($0) } ?? machine.perKey, total: total.map { UInt64($0) } ?? machine.total)
        }
        wakeups.resume()
    }

    func cancelWaiting(_ key: Key?) {
        let (wakeups, _) = machine.withLock { $0.cancelWaiting(key) }
        wakeups.resume()
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

    private func request(weight: UInt64) -> LimiterRequest {
        LimiterRequest(
            weight: weight, priority: order == .priority ? Task.currentPriority.rawValue : 0,
            joinsAtFront: order == .newestFirst)
    }

    /// Waits with `suspended`. Whenever the task's priority is raised, it moves to the end of the line of its new priority.
    private func enterInLine(
        _ key: Key, _ request: LimiterRequest, _ suspended: (Machine.Ticket) async -> LimiterOutcome
    ) async -> LimiterOutcome {
        switch machine.withLock({ $0.enter(key, request) }) {
        case .run(let wakeups):
            wakeups.resume()
            return .granted
        case .refuse: return .tooHeavy
        case .wait(let ticket, let wakeups):
            wakeups.resume()
            guard order == .priority else { return await suspended(ticket) }
            return await withEscalations(from: TaskPriority(rawValue: request.priority)) {
                await suspended(ticket)
            } raised: { priority in
                self.machine.withLock { $0.raise(ticket, to: priority.rawValue) }.resume()
            }
        }
    }

    private func wait(_ ticket: Machine.Ticket) async -> LimiterOutcome {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }.outcome
        } onCancel: {
            settle(ticket, .cancelled)
        }
    }

    private func settle(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) {
        let action = machine.withLock { $0.settle(ticket, outcome) }
        action.wakeups.resume()
    }
}
