import SluiceLock
public import Synchronization

// MARK: - The word

/// The state that decides whether a task can enter or leave without the lock, packed into one atomic word.
///
/// ```text
/// 63         62 ── 48   47        46        45        44 ── 0
/// full       granted    crowded   watched   tracked   running
/// ```
///
/// - `running`: the sum of the weights of the tasks that hold places. A task of weight zero doesn't show here, so it always enters and
///   leaves with the lock, and the machine counts it.
/// - `crowded`: a task waits. No task enters or leaves without the lock, so the word doesn't change while the lock is held.
/// - `watched`: a task waits for the limiter to become idle. No task leaves without the lock.
/// - `tracked`: holders are recorded. No task ever enters or leaves without the lock.
/// - `granted`: the number of tasks that have entered since the locked machine last took over the number.
/// - `full`: the top bit of `granted`. The next task enters through the lock, which moves the count to the machine, so the
///   count is exact and costs nothing. The count also makes two words different if the limit was changed between them.
@usableFromInline
struct LimiterWord: Hashable, Sendable {
    @usableFromInline var bits: UInt64

    @inlinable
    init(bits: UInt64) {
        self.bits = bits
    }

    @usableFromInline static var weights: UInt64 { @inlinable get { 1 &<< 45 &- 1 } }
    @usableFromInline static var tracked: UInt64 { @inlinable get { 1 &<< 45 } }
    @usableFromInline static var watched: UInt64 { @inlinable get { 1 &<< 46 } }
    @usableFromInline static var crowded: UInt64 { @inlinable get { 1 &<< 47 } }
    @usableFromInline static var oneGranted: UInt64 { @inlinable get { 1 &<< 48 } }
    @usableFromInline static var full: UInt64 { @inlinable get { 1 &<< 63 } }

    static var maximum: Int { Int(weights) }

    @inlinable var running: UInt64 { bits & Self.weights }
    var granted: UInt64 { bits &>> 48 }
    var isCrowded: Bool { bits & Self.crowded != 0 }
    var isWatched: Bool { bits & Self.watched != 0 }

    /// `nil` if there is no place, or the task must enter through the lock.
    @inlinable
    func entered(limit: UInt64, weight: UInt64) -> LimiterWord? {
        guard bits & (Self.crowded | Self.tracked | Self.full) == 0, weight > 0, running &+ weight <= limit else {
            return nil
        }
        return LimiterWord(bits: bits &+ Self.oneGranted &+ weight)
    }

    /// `nil` if another task must be resumed, or the task must leave through the lock.
    @inlinable
    func left(weight: UInt64) -> LimiterWord? {
        guard bits & (Self.crowded | Self.watched | Self.tracked) == 0, weight > 0 else { return nil }
        return LimiterWord(bits: bits &- weight)
    }
}

/// The storage of the word, with the operations on it.
///
/// The limiter uses `Atomic`s. The explorer of interleavings uses a cell that stops before each operation by throwing an error.
/// The cell of the limiter never throws (`Interruption == Never`), and the compiler removes the code for it.
@usableFromInline
protocol LimiterWordCell: ~Copyable {
    associatedtype Interruption: Error

    func load() throws(Interruption) -> LimiterWord

    /// The limit at the time of the previously loaded word, or a newer one. A task that changes the limit changes the word
    /// afterward, so `replace` fails for a task that has loaded an outdated limit.
    func loadLimit() throws(Interruption) -> UInt64

    func storeLimit(_ limit: UInt64) throws(Interruption)

    /// Replaces the word if it's the expected one, and returns `nil`; otherwise returns the current word.
    func replace(_ expected: LimiterWord, with word: LimiterWord) throws(Interruption) -> LimiterWord?

    func note(running: UInt64)
}

extension LimiterWordCell where Self: ~Copyable {
    /// Enters without the lock if there is a place and no task waits.
    @inlinable
    func enterImmediately(weight: UInt64) throws(Interruption) -> Bool {
        var word = try load()
        while let entered = word.entered(limit: try loadLimit(), weight: weight) {
            guard let found = try replace(word, with: entered) else {
                note(running: entered.running)
                return true
            }
            word = found
        }
        return false
    }

    @inlinable
    func leaveImmediately(weight: UInt64) throws(Interruption) -> Bool {
        var word = try load()
        while let left = word.left(weight: weight) {
            guard let found = try replace(word, with: left) else { return true }
            word = found
        }
        return false
    }
}

// MARK: - The state machine

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

// MARK: - Wakeups

/// The tasks to resume after the lock is released, with their outcomes.
struct LimiterWakeups<Waiter: Sendable>: Sendable {
    private(set) var first: (waiter: Waiter, outcome: LimiterOutcome)?
    /// The other tasks, in order. There is rarely more than one task to resume, and the first needs no allocation.
    private(set) var others: [(waiter: Waiter, outcome: LimiterOutcome)] = []

    init() {}

    init(_ waiter: Waiter?, _ outcome: LimiterOutcome) {
        append(waiter, outcome)
    }

    /// Adds a task. Without a waiter it does nothing: the task hasn't suspended yet, and reads its outcome when it does.
    mutating func append(_ waiter: Waiter?, _ outcome: LimiterOutcome) {
        guard let waiter else { return }
        if first == nil { first = (waiter, outcome) } else { others.append((waiter, outcome)) }
    }

    mutating func append(_ waiters: [Waiter], _ outcome: LimiterOutcome) {
        for waiter in waiters { append(waiter, outcome) }
    }
}

// MARK: - The word and the machine, combined

/// A limiter's word and its locked machine, combined: each operation tries the path without the lock first.
///
/// The limiter and the explorer of interleavings share all of this code. They differ only in how the word and the lock are
/// reached. No method here resumes a task: the caller resumes the returned tasks after the lock is released.
protocol LimiterSite: LimiterWordCell, ~Copyable {
    associatedtype Waiter: Sendable

    // `Failure` is always `Interruption`. If it's declared like that, the compiler (6.3) crashes where `Interruption` is `Never`.
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value
}

extension LimiterSite where Self: ~Copyable {
    typealias Machine = LimiterStateMachine<Waiter>

    /// Enters, or joins the line. In the second case the caller must call `suspend`.
    func enter(_ request: LimiterRequest) throws(Interruption) -> Machine.EnterAction {
        if try enterImmediately(weight: request.weight) { return .run(Machine.Wakeups()) }
        return try withMachine { (machine) throws(Interruption) in try machine.enter(self, request) }
    }

    func tryEnter(weight: UInt64) throws(Interruption) -> Bool {
        if try enterImmediately(weight: weight) { return true }
        return try withMachine { (machine) throws(Interruption) in
            let request = LimiterRequest(weight: weight)
            if case .run = try machine.enter(self, request, joins: false) { return true } else { return false }
        }
    }

    /// Enters and returns `true`, or stores the waiter, which is resumed when it's admitted.
    func enter(_ request: LimiterRequest, suspended waiter: Waiter) throws(Interruption) -> Bool {
        try withMachine { (machine) throws(Interruption) in
            if case .run = try machine.enter(self, request, suspended: waiter) { true } else { false }
        }
    }

    func suspend(_ ticket: Machine.Ticket, _ waiter: Waiter) throws(Interruption) -> LimiterOutcome? {
        try withMachine { (machine) throws(Interruption) in machine.suspend(ticket, waiter) }
    }

    func leave(weight: UInt64) throws(Interruption) -> Machine.Wakeups {
        if try leaveImmediately(weight: weight) { return Machine.Wakeups() }
        return try withMachine { (machine) throws(Interruption) in try machine.leave(self, weight: weight) }
    }

    func end(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.end(ticket, outcome, self) }
    }

    func raise(_ ticket: Machine.Ticket, to priority: UInt8) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.raise(ticket, to: priority, self) }
    }

    func cancelWaiting() throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.cancelWaiting(self) }
    }

    func resize(to limit: UInt64) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.resize(to: limit, self) }
    }

    /// Returns `nil` if the limiter is idle, or the ticket of a task that is resumed when it becomes idle.
    func watch(_ watcher: Waiter? = nil) throws(Interruption) -> Machine.Watch? {
        try withMachine { (machine) throws(Interruption) in try machine.watch(self, watcher) }
    }

    /// Stores the waiter of a task that watches, or returns how its wait has ended.
    func suspendWatcher(
        _ ticket: Machine.Watch, _ watcher: Waiter
    ) throws(Interruption) -> LimiterOutcome? {
        try withMachine { (machine) throws(Interruption) in machine.suspendWatcher(ticket, watcher) }
    }

    func endWatch(
        _ ticket: Machine.Watch, _ outcome: LimiterOutcome
    ) throws(Interruption) -> Waiter? {
        try withMachine { (machine) throws(Interruption) in machine.endWatch(ticket, outcome) }
    }
}

// MARK: - The storage

@usableFromInline
struct LimiterStorage: ~Copyable, Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<LimiterOutcome, Never>

    @usableFromInline let word: Atomic<UInt64>
    @usableFromInline let limit: Atomic<UInt64>
    @usableFromInline let peak = Atomic<UInt64>(0)
    private let machine: Lock<LimiterStateMachine<Waiter>>

    init(concurrency: Int, tracksHolders: Bool) {
        word = Atomic(tracksHolders ? LimiterWord.tracked : 0)
        limit = Atomic(UInt64(concurrency))
        machine = Lock(LimiterStateMachine(limit: UInt64(concurrency)))
    }
}

// MARK: The words

extension LimiterStorage: LimiterWordCell {
    // Acquiring, so that the limit that is loaded next isn't older than the word.
    @inlinable
    func load() -> LimiterWord {
        LimiterWord(bits: word.load(ordering: .acquiring))
    }

    @inlinable
    func loadLimit() -> UInt64 {
        limit.load(ordering: .relaxed)
    }

    @usableFromInline
    func storeLimit(_ limit: UInt64) {
        self.limit.store(limit, ordering: .relaxed)
    }

    // Acquiring and releasing: the work of the task that leaves happens before the work of the task that takes over its place.
    @inlinable
    func replace(_ expected: LimiterWord, with new: LimiterWord) -> LimiterWord? {
        let (exchanged, found) = word.compareExchange(
            expected: expected.bits, desired: new.bits, successOrdering: .acquiringAndReleasing,
            failureOrdering: .acquiring)
        return exchanged ? nil : LimiterWord(bits: found)
    }

    @inlinable
    func note(running: UInt64) {
        if peak.load(ordering: .relaxed) < running { raisePeak(to: running) }
    }

    var mostRunning: UInt64 { peak.load(ordering: .relaxed) }

    @usableFromInline
    func raisePeak(to running: UInt64) {
        peak.max(running, ordering: .relaxed)
    }
}

// MARK: The lock

extension LimiterStorage: LimiterSite {
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try machine.withLock { (machine) throws(Failure) in try body(&machine) }
    }
}

extension LimiterWakeups<LimiterStorage.Waiter> {
    /// Resumes all tasks, in order. Must not be called under a lock.
    func resume() {
        guard let first else { return }
        first.waiter.resume(returning: first.outcome)
        for other in others { other.waiter.resume(returning: other.outcome) }
    }
}
