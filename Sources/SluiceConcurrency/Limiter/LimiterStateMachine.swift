/// The part of a limiter that its lock protects: who waits, and for what.
///
/// Events in, actions out; it resumes nobody. The counts live in the word, which tasks change without the lock as long as
/// nobody waits, so each event changes the word first, retrying until no such change came in between, and then the line.
struct LimiterStateMachine<Waiter: Sendable>: Sendable {
    typealias Ticket = WaitingLine<Waiter, Bool>.Ticket

    enum EnterAction: Sendable {
        /// The caller has a place.
        case run
        /// The caller is in line.
        case wait(Ticket)
    }

    enum LeaveAction: Sendable {
        case none
        /// This one is resumed with true: it has the place now.
        case grant(Waiter)
        /// The limiter is idle; these waited for that.
        case announceIdle([Waiter])
    }

    let limit: UInt64

    /// Those who wait for a place; their outcome is whether they got one.
    private(set) var line = WaitingLine<Waiter, Bool>()

    /// Those who wait for the limiter to be idle.
    private(set) var watchers: [Waiter] = []

    init(limit: UInt64) {
        self.limit = limit
    }

    /// A task wants a place. One that cannot be interrupted comes with its waiter, as nothing else can happen to it.
    mutating func enter<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, uninterrupted waiter: Waiter? = nil
    ) throws(Cell.Interruption) -> EnterAction {
        var word = try cell.load()
        while true {
            let entered = word.entered(limit: limit)
            var queued = word
            queued.bits += LimiterWord.oneWaiting
            if let found = try cell.replace(word, with: entered ?? queued) {
                word = found
            } else if entered != nil {
                return .run
            } else {
                return .wait(line.join(waiter, isInterruptible: waiter == nil))
            }
        }
    }

    /// A task in line suspends; returns whether it got a place, if that is known by now.
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> Bool? {
        line.suspend(ticket, waiter)
    }

    /// A task gives its place back; returns who is to be resumed.
    ///
    /// If anyone waits, the place goes to the first in line and is never free in between.
    mutating func leave<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> LeaveAction {
        var word = try cell.load()
        while true {
            precondition(word.running > 0, "A place was given back that nobody had taken.")
            var next = word
            if !line.isEmpty {
                next.bits -= LimiterWord.oneWaiting
            } else if word.running == 1 {
                next = LimiterWord(bits: 0)
            } else {
                next.bits -= 1
            }
            if let found = try cell.replace(word, with: next) {
                word = found
            } else if !line.isEmpty {
                return line.settleFirst(true).map { .grant($0) } ?? .none
            } else {
                return next.running == 0 ? announceIdle() : .none
            }
        }
    }

    /// A task in line was cancelled; returns the waiter to be resumed with false.
    mutating func cancel<Cell: LimiterWordCell & ~Copyable>(
        _ ticket: Ticket, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Waiter? {
        guard line.contains(ticket) else { return nil }
        try removeWaiting(1, cell)
        return line.settle(ticket, false)
    }

    /// All in line who may be interrupted are; returns those to be resumed with false.
    mutating func cancelWaiting<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> [Waiter] {
        let leaving = line.interruptibleCount
        guard leaving > 0 else { return [] }
        try removeWaiting(UInt64(leaving), cell)
        return line.settleInterruptible(false)
    }

    /// A task waits until nobody runs or waits; returns whether that is so already.
    mutating func watch<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ watcher: Waiter
    ) throws(Cell.Interruption) -> Bool {
        var word = try cell.load()
        while true {
            // Nobody waits while no one runs: a place that is given back goes to the first in line.
            let isIdle = word.running == 0
            // Written also where nothing changes: only that orders what the last body did before what the watcher does.
            let next = isIdle ? word : LimiterWord(bits: word.bits | LimiterWord.watchedBit)
            if let found = try cell.replace(word, with: next) {
                word = found
            } else if isIdle {
                return true
            } else {
                break
            }
        }
        watchers.append(watcher)
        return false
    }

    // MARK: Machinery

    private func removeWaiting<Cell: LimiterWordCell & ~Copyable>(
        _ count: UInt64, _ cell: borrowing Cell
    ) throws(Cell.Interruption) {
        var word = try cell.load()
        while let found = try cell.replace(word, with: LimiterWord(bits: word.bits - count * LimiterWord.oneWaiting)) {
            word = found
        }
    }

    private mutating func announceIdle() -> LeaveAction {
        defer { watchers = [] }
        return watchers.isEmpty ? .none : .announceIdle(watchers)
    }
}

extension LimiterWord {
    fileprivate static var oneWaiting: UInt64 { 1 &<< 32 }
}

// The explorer of interleavings recognises a state that it has seen.
extension LimiterStateMachine: Hashable, Equatable where Waiter: Hashable {}
