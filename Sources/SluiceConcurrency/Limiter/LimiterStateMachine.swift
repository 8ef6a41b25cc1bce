/// The part of a limiter that its lock protects: the waiting tasks and their requests.
///
/// Events in, actions out; it resumes no task itself. The counts live in the word, which tasks change without the lock as
/// long as no task waits, so each event changes the word first, retrying until no such change came in between, and then the line.
struct LimiterStateMachine<Waiter: Sendable>: Sendable {
    typealias Ticket = LimiterLine<Waiter>.Ticket
    typealias Wakeups = LimiterWakeups<Waiter>

    enum EnterAction: Sendable {
        /// The caller has a place.
        case run
        /// The caller is in line.
        case wait(Ticket)
        /// The caller asks for more than the limit, or finds no place and does not wait.
        case refuse
    }

    /// The cell has it as well, for code that does not hold the lock.
    private(set) var limit: UInt64

    /// The tasks that wait for a place.
    private(set) var line = LimiterLine<Waiter>()

    /// The tasks that wait for the limiter to be idle.
    private(set) var watchers: [Waiter] = []

    /// How many have entered, but for those that the word counts.
    private(set) var granted: UInt64 = 0

    init(limit: UInt64) {
        self.limit = limit
    }

    /// A task wants a place.
    ///
    /// - Parameters:
    ///   - waiter: Of a task that is suspended already, to which nothing can happen but that it gets its place.
    ///   - joins: Whether it waits if there is no place.
    mutating func enter<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ request: LimiterRequest, suspended waiter: Waiter? = nil, joins: Bool = true
    ) throws(Cell.Interruption) -> EnterAction {
        guard request.weight <= limit else { return .refuse }
        var word = try cell.load()
        while true {
            var next = word
            let fits = line.isEmpty && word.running + request.weight <= limit
            if fits {
                next.enter(request.weight)
            } else if joins {
                next.bits |= LimiterWord.crowded
            } else {
                return .refuse
            }
            if let found = try replace(word, with: next, cell) {
                word = found
            } else if fits {
                cell.note(running: next.running)
                return .run
            } else {
                return .wait(line.join(request, waiter))
            }
        }
    }

    /// A task in line suspends; returns how its wait has ended, if it has by now.
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        line.suspend(ticket, waiter)
    }

    /// A task gives its place back; returns the tasks to resume.
    ///
    /// What other tasks wait for goes to them directly, and is never free in between.
    mutating func leave<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, weight: UInt64
    ) throws(Cell.Interruption) -> Wakeups {
        var wakeups = Wakeups()
        // Most often all weigh the same, and no more than one fits.
        if try grantNext(cell, leaving: weight, &wakeups), !line.isEmpty { try grantWhatFits(cell, &wakeups) }
        return wakeups
    }

    /// The wait of a task in line ends without a place; returns the tasks to resume, which may be others as well: those
    /// behind it may need less than it did.
    mutating func end<Cell: LimiterWordCell & ~Copyable>(
        _ ticket: Ticket, _ outcome: LimiterOutcome, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        guard line.contains(ticket) else { return Wakeups() }
        try thinOut(to: line.count - 1, cell)
        var wakeups = Wakeups(line.settle(ticket, outcome), outcome)
        try grantWhatFits(cell, &wakeups)
        return wakeups
    }

    /// The waits of all tasks end that can be interrupted; returns the tasks to resume.
    mutating func cancelWaiting<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        try end(.cancelled, cell) { isInterruptible, _ in isInterruptible }
    }

    /// The limit changes; returns the tasks to resume.
    ///
    /// With a smaller one no task loses its place: new places are given when enough tasks have left. Tasks that wait for
    /// more than the new limit fail.
    mutating func resize<Cell: LimiterWordCell & ~Copyable>(
        to limit: UInt64, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        self.limit = limit
        try cell.storeLimit(limit)
        // A task that has read the old limit together with the word finds another word now, whose count is one too high.
        var word = try cell.load()
        while true {
            var next = word
            next.bits &+= LimiterWord.oneGranted
            guard let found = try replace(word, with: next, cell) else { break }
            word = found
        }
        granted &-= 1
        var wakeups = try end(.tooHeavy, cell) { _, weight in weight > limit }
        try grantWhatFits(cell, &wakeups)
        return wakeups
    }

    /// A task waits until no task runs or waits; returns whether that is so already.
    mutating func watch<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ watcher: Waiter
    ) throws(Cell.Interruption) -> Bool {
        var word = try cell.load()
        while true {
            // No task waits while none runs: what is given back goes to the next in line.
            let isIdle = word.running == 0
            // Written also where nothing changes: only that orders what the last body did before what the watcher does.
            let next = isIdle ? word : LimiterWord(bits: word.bits | LimiterWord.watched)
            if let found = try replace(word, with: next, cell) {
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

    /// How many have ever entered.
    func granted(_ word: LimiterWord) -> UInt64 { granted &+ word.granted }
}

// MARK: Machinery

extension LimiterStateMachine {
    /// Lets the next in line in, and the next, as long as they fit.
    private mutating func grantWhatFits<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ wakeups: inout Wakeups
    ) throws(Cell.Interruption) {
        while !line.isEmpty, try grantNext(cell, leaving: 0, &wakeups) {}
    }

    /// Takes back what a task leaves, and in the same moment lets the next in line in if it fits; returns whether it did.
    @discardableResult
    private mutating func grantNext<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, leaving weight: UInt64, _ wakeups: inout Wakeups
    ) throws(Cell.Interruption) -> Bool {
        let wanted = line.nextWeight
        var word = try cell.load()
        while true {
            precondition(word.running >= weight, "A place was given back that no task had taken.")
            var next = LimiterWord(bits: word.bits &- weight)
            var fits = false
            if let wanted, next.running + wanted <= limit {
                fits = true
                next.enter(wanted)
                if line.count == 1 { next.bits &= ~LimiterWord.crowded }
            }
            let isIdle = weight > 0 && next.running == 0
            if isIdle { next.bits &= ~LimiterWord.watched }
            if !fits && weight == 0 { return false }
            if let found = try replace(word, with: next, cell) {
                word = found
                continue
            }
            if fits {
                cell.note(running: next.running)
                wakeups.append(line.settleNext(), .granted)
            } else if isIdle {
                wakeups.append(watchers, .granted)
                watchers = []
            }
            return fits
        }
    }

    /// The waits of the tasks end that satisfy a predicate.
    private mutating func end<Cell: LimiterWordCell & ~Copyable>(
        _ outcome: LimiterOutcome, _ cell: borrowing Cell,
        where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool
    ) throws(Cell.Interruption) -> Wakeups {
        let ending = line.count(where: predicate)
        var wakeups = Wakeups()
        guard ending > 0 else { return wakeups }
        try thinOut(to: line.count - ending, cell)
        wakeups.append(line.settle(outcome, where: predicate), outcome)
        try grantWhatFits(cell, &wakeups)
        return wakeups
    }

    /// So many stay in line; if none does, others may enter and leave without the lock again.
    private mutating func thinOut<Cell: LimiterWordCell & ~Copyable>(
        to count: Int, _ cell: borrowing Cell
    ) throws(Cell.Interruption) {
        guard count == 0 else { return }
        var word = try cell.load()
        while let found = try replace(word, with: LimiterWord(bits: word.bits & ~LimiterWord.crowded), cell) {
            word = found
        }
    }

    /// Replaces the word, and takes over its count of tasks that have entered before it overflows.
    private mutating func replace<Cell: LimiterWordCell & ~Copyable>(
        _ expected: LimiterWord, with word: LimiterWord, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> LimiterWord? {
        guard word.bits & LimiterWord.full != 0 else { return try cell.replace(expected, with: word) }
        let found = try cell.replace(expected, with: LimiterWord(bits: word.bits & (LimiterWord.oneGranted - 1)))
        if found == nil { granted &+= word.granted }
        return found
    }
}

extension LimiterWord {
    fileprivate mutating func enter(_ weight: UInt64) {
        bits &+= Self.oneGranted &+ weight
    }
}

// The explorer of interleavings recognises a state that it has seen.
extension LimiterStateMachine: Hashable, Equatable where Waiter: Hashable {}
