/// The tasks that run and wait for each key, and the turns of the keys.
///
/// It resumes no task itself. Each key with a running or waiting task has a lane, which contains a line:
///
/// ```text
/// lanes   ann: running 2, waiting 3        at its limit of 2: no turn until one of ann's tasks leaves
///         bob: running 0, waiting 1   ┐
///         cid: running 1, waiting 5   ┴─▶  turns: bob, cid
/// ```
///
/// A lane is in `turns` if it has a waiting task that could run if a place in total were free. A place that is given back goes
/// to the first lane in `turns`, which then goes to the end. So while a place is free, `turns` has no lane with a waiting task.
///
/// **Priorities** order the line of a lane, never the turns. If the priority of a waiting task is raised, the task moves within the line,
/// to the end of its new level.
struct KeyedLimiterStateMachine<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    typealias Line = LimiterLine<Waiter>
    typealias Watch = WaitingLine<Waiter, LimiterOutcome>.Ticket

    struct Ticket: Sendable {
        let key: Key
        /// The number of the lane. A key that is forgotten and used again gets a new lane, and an old ticket matches no task in it.
        let lane: UInt64
        let place: Line.Ticket
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

    private struct Lane: Sendable {
        let number: UInt64
        var running = 0
        var line = Line()
        var turn: WaitingLine<Key, Bool>.Ticket?

        /// Whether no task uses the lane anymore, not even a task that was settled before it suspended.
        var isIdle: Bool { running == 0 && line.occupied == 0 }
    }

    private typealias Index = Dictionary<Key, Lane>.Index

    /// The capacity above which the table of keys frees its memory when no key is left.
    static var keysKept: Int { 256 }

    let perKey: Int
    let total: Int
    private(set) var running = 0
    private(set) var waiting = 0
    private var watchers = WaitingLine<Waiter, LimiterOutcome>()
    private var lanes: [Key: Lane] = [:]
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
        let index = lane(of: key)
        var request = request
        if waiter != nil { request.isInterruptible = false }
        let place = lanes.values[index].line.join(request, waiter)
        waiting += 1
        updateTurn(index)
        return .wait(Ticket(key: lanes.keys[index], lane: lanes.values[index].number, place: place))
    }

    /// Takes a place if one is free. No other task waits for a free place.
    mutating func enterImmediately(_ key: Key) -> Bool {
        guard running < total, (lanes[key]?.running ?? 0) < perKey else { return false }
        lanes.values[lane(of: key)].running += 1
        running += 1
        return true
    }

    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> (outcome: LimiterOutcome?, forgotten: Key?) {
        guard let index = index(of: ticket) else { preconditionFailure("A task suspended for a key without a lane.") }
        let outcome = lanes.values[index].line.suspend(ticket.place, waiter)
        return (outcome, forgetIfIdle(index))
    }

    mutating func leave(_ key: Key) -> LeaveAction {
        guard let index = lanes.index(forKey: key), lanes.values[index].running > 0 else {
            preconditionFailure(
                "A key's hash and equality must not change while the key is in a keyed limiter.")
        }
        running -= 1
        lanes.values[index].running -= 1
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
        lanes.values[index].line.raise(ticket.place, to: priority)
    }

    /// Ends the wait of a task without a place; returns the waiter to resume, or `nil` if the task hasn't suspended yet or isn't in
    /// line.
    mutating func settle(
        _ ticket: Ticket, _ outcome: LimiterOutcome
    ) -> (waiter: Waiter?, forgotten: Key?) {
        guard let index = index(of: ticket), lanes.values[index].line.contains(ticket.place) else { return (nil, nil) }
        let waiter = lanes.values[index].line.settle(ticket.place, outcome)
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
        for key in key.map({ [$0] }) ?? Array(lanes.keys) {
            guard let index = lanes.index(forKey: key) else { continue }
            let before = lanes.values[index].line.count
            waiters += lanes.values[index].line.settle(outcome) { isInterruptible, _ in isInterruptible }
            waiting -= before - lanes.values[index].line.count
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
    func running(for key: Key) -> Int { lanes[key]?.running ?? 0 }
    func waiting(for key: Key) -> Int { lanes[key]?.line.count ?? 0 }

    /// The number of keys, and the memory kept for keys and for turns.
    var traces: (keys: Int, room: Int, turns: Int) { (lanes.count, lanes.capacity, turns.slotCount) }
}

// MARK: Machinery

extension KeyedLimiterStateMachine {
    private mutating func lane(of key: Key) -> Index {
        if let index = lanes.index(forKey: key) { return index }
        numbers += 1
        lanes[key] = Lane(number: numbers)
        guard let index = lanes.index(forKey: key) else {
            preconditionFailure("A keyed limiter's key must be equal to itself, and its hash must not change.")
        }
        return index
    }

    private func index(of ticket: Ticket) -> Index? {
        guard let index = lanes.index(forKey: ticket.key), lanes.values[index].number == ticket.lane else { return nil }
        return index
    }

    private mutating func updateTurn(_ index: Index) {
        let lane = lanes.values[index]
        let wantsTurn = !lane.line.isEmpty && lane.running < perKey
        if wantsTurn, lane.turn == nil {
            lanes.values[index].turn = turns.join(lanes.keys[index])
        } else if !wantsTurn, let turn = lane.turn {
            _ = turns.settle(turn, false)
            lanes.values[index].turn = nil
        }
    }

    /// Gives a free place to the lane that has the turn; returns the task to resume.
    private mutating func grant() -> Waiter? {
        while !turns.isEmpty, let key = turns.settleFirst(true), let index = lanes.index(forKey: key) {
            lanes.values[index].turn = nil
            let waiter = lanes.values[index].line.settleNext()
            lanes.values[index].running += 1
            running += 1
            waiting -= 1
            updateTurn(index)
            return waiter
        }
        return nil
    }

    /// Removes a lane that no task uses; returns its key, which must not be destroyed under the lock.
    private mutating func forgetIfIdle(_ index: Index) -> Key? {
        guard lanes.values[index].isIdle else { return nil }
        let key = lanes.remove(at: index).key
        if lanes.isEmpty, lanes.capacity > Self.keysKept { lanes = [:] }
        return key
    }
}
