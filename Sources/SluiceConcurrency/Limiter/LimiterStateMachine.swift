/// The part of a limiter that its lock protects: the waiting tasks and their requests.
///
/// It resumes no task itself. The counts live in the word, which tasks change without the lock as long as no task waits. So
/// each event first changes the word, and retries if another change came in between. Then it changes the line.
struct LimiterStateMachine<Waiter: Sendable>: Sendable {
    typealias Ticket = LimiterLine<Waiter>.Ticket
    typealias Wakeups = LimiterWakeups<Waiter>
    typealias Watch = WaitingLine<Waiter, LimiterOutcome>.Ticket

    enum EnterAction: Sendable {
        /// Resumes tasks if the request passed over a priority so often that a request of it is now the next, and fits.
        case run(Wakeups)
        case wait(Ticket)
        /// The request is more than the limit, or there is no place and the request doesn't wait.
        case refuse
    }

    /// The cell stores the limit as well, for code that doesn't hold the lock.
    private(set) var limit: UInt64

    private(set) var line = LimiterLine<Waiter>()

    private(set) var watchers = WaitingLine<Waiter, LimiterOutcome>()

    /// The number of entries that the word doesn't count.
    private(set) var granted: UInt64 = 0

    /// The number of tasks that hold places of weight zero, which the word doesn't count.
    private(set) var weightless = 0

    init(limit: UInt64) {
        self.limit = limit
    }

    /// If `waiter` isn't `nil`, the task is already suspended, and its wait can't be cancelled.
    ///
    /// With `joins`, the task waits if there is no place, or if it's another task's turn. Without, it gets no place while any task waits.
    mutating func enter<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ request: LimiterRequest, suspended waiter: Waiter? = nil, joins: Bool = true
    ) throws(Cell.Interruption) -> EnterAction {
        guard request.weight <= limit else { return .refuse }
        let isNext = joins ? line.wouldBeNext(request.priority) : line.isEmpty
        var word = try cell.load()
        while true {
            var next = word
            let fits = isNext && word.running + request.weight <= limit
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
                if request.weight == 0 { weightless += 1 }
                var wakeups = Wakeups()
                if !line.isEmpty {
                    line.passOver()
                    try grantWhatFits(cell, &wakeups)
                }
                return .run(wakeups)
            } else {
                return .wait(line.join(request, waiter))
            }
        }
    }

    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        line.suspend(ticket, waiter)
    }

    /// Gives back a place; returns the tasks to resume.
    ///
    /// A place that another task waits for goes to this task directly, and is never free in between.
    mutating func leave<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, weight: UInt64
    ) throws(Cell.Interruption) -> Wakeups {
        var wakeups = Wakeups()
        // In most cases all weights are equal, and no more than one task fits.
        if try grantNext(cell, leaving: weight, &wakeups), !line.isEmpty { try grantWhatFits(cell, &wakeups) }
        return wakeups
    }

    /// Ends the wait of a task in line without a place; returns the tasks to resume.
    ///
    /// These can include tasks behind it with smaller requests.
    mutating func end<Cell: LimiterWordCell & ~Copyable>(
        _ ticket: Ticket, _ outcome: LimiterOutcome, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        guard line.contains(ticket) else { return Wakeups() }
        try thinOut(to: line.count - 1, cell)
        var wakeups = Wakeups(line.settle(ticket, outcome), outcome)
        try grantWhatFits(cell, &wakeups)
        return wakeups
    }

    /// Moves a task in line to the end of a higher priority; returns the tasks to resume.
    ///
    /// These can include tasks that now come before a larger request.
    mutating func raise<Cell: LimiterWordCell & ~Copyable>(
        _ ticket: Ticket, to priority: UInt8, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        var wakeups = Wakeups()
        if line.raise(ticket, to: priority) { try grantWhatFits(cell, &wakeups) }
        return wakeups
    }

    mutating func cancelWaiting<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        try end(.cancelled, cell) { isInterruptible, _ in isInterruptible }
    }

    /// No task loses its place. Requests in line for more than the new limit fail.
    mutating func resize<Cell: LimiterWordCell & ~Copyable>(
        to limit: UInt64, _ cell: borrowing Cell
    ) throws(Cell.Interruption) -> Wakeups {
        self.limit = limit
        try cell.storeLimit(limit)
        // A task that read the old limit now finds a different word, and retries. The count in the word is one too high.
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

    /// Returns `nil` if the limiter is idle. A `watcher` is a task that has suspended already and can't be interrupted.
    mutating func watch<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ watcher: Waiter? = nil
    ) throws(Cell.Interruption) -> Watch? {
        var word = try cell.load()
        while true {
            // If no task has a place, no task waits: a place that is given back goes to the next task in line.
            let isIdle = word.running == 0 && weightless == 0
            // Also written if nothing changes: only the write orders the last body's actions before the watcher's.
            let next = isIdle ? word : LimiterWord(bits: word.bits | LimiterWord.watched)
            if let found = try replace(word, with: next, cell) {
                word = found
            } else if isIdle {
                return nil
            } else {
                return watchers.join(watcher)
            }
        }
    }

    mutating func suspendWatcher(_ ticket: Watch, _ watcher: Waiter) -> LimiterOutcome? {
        watchers.suspend(ticket, watcher)
    }

    /// The word stays marked until the limiter is idle. Until then, tasks leave with the lock.
    mutating func endWatch(_ ticket: Watch, _ outcome: LimiterOutcome) -> Waiter? {
        watchers.settle(ticket, outcome)
    }

    func granted(_ word: LimiterWord) -> UInt64 { granted &+ word.granted }
}

// MARK: Machinery

extension LimiterStateMachine {
    private mutating func grantWhatFits<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, _ wakeups: inout Wakeups
    ) throws(Cell.Interruption) {
        while !line.isEmpty, try grantNext(cell, leaving: nil, &wakeups) {}
    }

    /// Takes back the place of a task that leaves, if one does, and in the same step admits the next task in line if it fits.
    ///
    /// Returns whether it admitted one.
    ///
    /// While a task waits, a task has a place of a weight above zero, because the next task fits into an empty limiter. So the limiter
    /// becomes idle only when a task leaves, and no other is admitted.
    @discardableResult
    private mutating func grantNext<Cell: LimiterWordCell & ~Copyable>(
        _ cell: borrowing Cell, leaving weight: UInt64?, _ wakeups: inout Wakeups
    ) throws(Cell.Interruption) -> Bool {
        let wanted = line.nextWeight
        var word = try cell.load()
        while true {
            precondition(
                word.running >= weight ?? 0 && (weight != 0 || weightless > 0),
                "A limiter got back a place that no task held.")
            var next = LimiterWord(bits: word.bits &- (weight ?? 0))
            var fits = false
            if let wanted, next.running + wanted <= limit {
                fits = true
                next.enter(wanted)
                if line.count == 1 { next.bits &= ~LimiterWord.crowded }
            }
            let isIdle = weight != nil && !fits && next.running == 0 && weightless == (weight == 0 ? 1 : 0)
            if isIdle { next.bits &= ~LimiterWord.watched }
            if !fits && weight == nil { return false }
            if let found = try replace(word, with: next, cell) {
                word = found
                continue
            }
            if weight == 0 { weightless -= 1 }
            if fits {
                cell.note(running: next.running)
                if wanted == 0 { weightless += 1 }
                wakeups.append(line.settleNext(), .granted)
            } else if isIdle {
                wakeups.append(watchers.settleAll(.granted), .granted)
            }
            return fits
        }
    }

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

    /// Prepares the word for `count` remaining tasks in line: if none remains, tasks can enter and leave without the lock again.
    private mutating func thinOut<Cell: LimiterWordCell & ~Copyable>(
        to count: Int, _ cell: borrowing Cell
    ) throws(Cell.Interruption) {
        guard count == 0 else { return }
        var word = try cell.load()
        while let found = try replace(word, with: LimiterWord(bits: word.bits & ~LimiterWord.crowded), cell) {
            word = found
        }
    }

    /// Replaces the word; before its count of entered tasks overflows, moves the count to `granted`.
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

// The explorer of interleavings recognizes a state that it has seen.
extension LimiterStateMachine: Hashable, Equatable where Waiter: Hashable {}
