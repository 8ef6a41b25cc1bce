/// The tasks that run and wait for each key, and which key is next.
///
/// Events in, actions out; it resumes no task itself. Each key that runs or waits has a lane with a line of its own:
///
/// ```text
/// lanes   ann: running 2, waiting 3        at its limit of 2: out of turns, until one of ann's leaves
///         bob: running 0, waiting 1   ┐
///         cid: running 1, waiting 5   ┴─▶  turns: bob, cid
/// ```
///
/// A lane is among the `turns` when a task waits in it that could run if there were a place in total. A place that is given
/// back goes to the first of them, which then goes to the end. So while a place is free, no lane with a waiting task is
/// among them.
///
/// **Priorities** order the line of a lane, never the turns. A waiting task whose priority is raised leaves the line
/// (`settle(_:.raised)`) and enters again at the end of its new level. In between, the lane keeps its turn, so that a key
/// with one waiting task doesn't go to the end for it; but the turn passes over a lane with an empty line.
struct KeyedLimiterStateMachine<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    typealias Line = LimiterLine<Waiter>

    /// One wait of one task.
    struct Ticket: Sendable {
        let key: Key
        /// A key that is forgotten and comes again gets another lane: an old ticket matches no task in it.
        let lane: UInt64
        let place: Line.Ticket
    }

    enum EnterAction: Sendable {
        /// The caller has a place.
        case run
        /// The caller is in line.
        case wait(Ticket)
    }

    /// What follows from one task's leaving.
    struct LeaveAction: Sendable {
        /// This one is resumed with `.granted`: it has the place now.
        var next: Waiter?
        /// The limiter is idle; these waited for that.
        var watchers: [Waiter] = []
        /// To be destroyed after the unlock.
        var forgotten: Key?
    }

    private struct Lane: Sendable {
        let number: UInt64
        var running = 0
        var line = Line()
        var turn: WaitingLine<Key, Bool>.Ticket?
        /// Tasks that have left the line to enter again with a higher priority.
        var rejoining = 0

        /// Whether no task refers to it any more, not even one that was settled before it suspended.
        var isIdle: Bool { running == 0 && line.occupied == 0 && rejoining == 0 }
    }

    private typealias Index = Dictionary<Key, Lane>.Index

    /// A table of keys with more room than this gives its memory back when no key is left.
    static var keysKept: Int { 256 }

    let perKey: Int
    let total: Int
    private(set) var running = 0
    private(set) var waiting = 0
    /// The tasks that wait for the limiter to be idle.
    private(set) var watchers: [Waiter] = []
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
    /// A task wants a place.
    ///
    /// - Parameters:
    ///   - waiter: Of a task that is suspended already, and can't be interrupted.
    ///   - rejoins: Whether the task was in line, and comes again with a higher priority.
    mutating func enter(
        _ key: Key, _ request: LimiterRequest = LimiterRequest(), uninterrupted waiter: Waiter? = nil,
        rejoins: Bool = false
    ) -> EnterAction {
        if rejoins, let index = lanes.index(forKey: key) { lanes.values[index].rejoining -= 1 }
        if enterAtOnce(key) {
            if rejoins, let index = lanes.index(forKey: key) { updateTurn(index) }
            return .run
        }
        let index = lane(of: key)
        var request = request
        if waiter != nil { request.isInterruptible = false }
        let place = lanes.values[index].line.join(request, waiter)
        waiting += 1
        updateTurn(index)
        return .wait(Ticket(key: lanes.keys[index], lane: lanes.values[index].number, place: place))
    }

    /// A task takes a place if there is one, for which then no other task waits; returns whether it has it.
    mutating func enterAtOnce(_ key: Key) -> Bool {
        guard running < total, (lanes[key]?.running ?? 0) < perKey else { return false }
        lanes.values[lane(of: key)].running += 1
        running += 1
        return true
    }

    /// A task in line suspends; returns how its wait ended, if that is known by now.
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> (outcome: LimiterOutcome?, forgotten: Key?) {
        guard let index = index(of: ticket) else { preconditionFailure("A task suspended for a key that is gone.") }
        let outcome = lanes.values[index].line.suspend(ticket.place, waiter)
        return (outcome, forgetIfIdle(index))
    }

    /// A task gives its place back.
    mutating func leave(_ key: Key) -> LeaveAction {
        guard let index = lanes.index(forKey: key), lanes.values[index].running > 0 else {
            preconditionFailure("A place was given back for a key that held none: its hash or equality has changed.")
        }
        running -= 1
        lanes.values[index].running -= 1
        updateTurn(index)
        var action = LeaveAction()
        action.next = grant()
        action.forgotten = forgetIfIdle(index)
        if running == 0 { swap(&action.watchers, &watchers) }
        return action
    }

    /// A task's wait ends without a place; returns it, to be resumed with the outcome, unless it is gone or has not
    /// suspended yet. With the outcome `.raised`, the task must enter again.
    mutating func settle(
        _ ticket: Ticket, _ outcome: LimiterOutcome
    ) -> (waiter: Waiter?, forgotten: Key?) {
        guard let index = index(of: ticket), lanes.values[index].line.contains(ticket.place) else { return (nil, nil) }
        let waiter = lanes.values[index].line.settle(ticket.place, outcome)
        waiting -= 1
        if outcome == .raised { lanes.values[index].rejoining += 1 }
        updateTurn(index)
        return (waiter, forgetIfIdle(index))
    }

    /// The waits of all tasks end that can be interrupted: of one key, or of all; returns the tasks to be resumed.
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

    /// A task waits until no task runs or waits; returns whether that is so already.
    mutating func watch(_ watcher: Waiter) -> Bool {
        // No task waits while none runs: a place that is given back goes to the next in turn.
        if running > 0 { watchers.append(watcher) }
        return running == 0
    }
}

// MARK: What is going on

extension KeyedLimiterStateMachine {
    func running(for key: Key) -> Int { lanes[key]?.running ?? 0 }
    func waiting(for key: Key) -> Int { lanes[key]?.line.count ?? 0 }

    /// How many keys are known, and how much room there is for keys and for turns.
    var traces: (keys: Int, room: Int, turns: Int) { (lanes.count, lanes.capacity, turns.slotCount) }
}

// MARK: Machinery

extension KeyedLimiterStateMachine {
    private mutating func lane(of key: Key) -> Index {
        if let index = lanes.index(forKey: key) { return index }
        numbers += 1
        lanes[key] = Lane(number: numbers)
        guard let index = lanes.index(forKey: key) else {
            preconditionFailure("A key is not equal to itself, or its hash changes.")
        }
        return index
    }

    private func index(of ticket: Ticket) -> Index? {
        guard let index = lanes.index(forKey: ticket.key), lanes.values[index].number == ticket.lane else { return nil }
        return index
    }

    /// Puts a lane at the end of the turns, or takes it out of them, as its counts demand.
    private mutating func updateTurn(_ index: Index) {
        let lane = lanes.values[index]
        let wantsTurn = (!lane.line.isEmpty || lane.rejoining > 0) && lane.running < perKey
        if wantsTurn, lane.turn == nil {
            lanes.values[index].turn = turns.join(lanes.keys[index])
        } else if !wantsTurn, let turn = lane.turn {
            _ = turns.settle(turn, false)
            lanes.values[index].turn = nil
        }
    }

    /// Gives the place that has become free to the lane whose turn it is; returns the task to resume.
    private mutating func grant() -> Waiter? {
        while !turns.isEmpty, let key = turns.settleFirst(true), let index = lanes.index(forKey: key) {
            lanes.values[index].turn = nil
            // Its only task has left to enter again, and gets another turn then.
            if lanes.values[index].line.isEmpty { continue }
            let waiter = lanes.values[index].line.settleNext()
            lanes.values[index].running += 1
            running += 1
            waiting -= 1
            updateTurn(index)
            return waiter
        }
        return nil
    }

    /// Forgets a lane in which nothing happens any more; returns its key, which is not to be destroyed under the lock.
    private mutating func forgetIfIdle(_ index: Index) -> Key? {
        guard lanes.values[index].isIdle else { return nil }
        let key = lanes.remove(at: index).key
        if lanes.isEmpty, lanes.capacity > Self.keysKept { lanes = [:] }
        return key
    }
}
