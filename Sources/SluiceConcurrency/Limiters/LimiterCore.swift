import SluiceLock
public import Synchronization

// MARK: - The word

/// The state of a ``ConcurrencyLimiter`` that decides whether a task can enter or leave without the lock, packed into one atomic word.
///
/// ```text
/// 63         62 ── 48   47        46        45        44 ── 0
/// full       granted    crowded   watched   tracked   running
/// ```
///
/// - `running`: the sum of the weights of the tasks that hold places. A task of weight zero doesn't show here, so it always enters and
///   leaves with the lock, and the machine counts it.
/// - `crowded`: a task waits, or a task changes the word with the lock. No task enters or leaves without the lock.
/// - `watched`: a task waits for the limiter to become idle. No task leaves without the lock.
/// - `tracked`: holders are recorded. No task ever enters or leaves without the lock.
/// - `granted`: the number of tasks that have entered since the locked machine last took over the number.
/// - `full`: the top bit of `granted`. The next task enters through the lock, which moves the count to the machine, so the
///   count is exact and costs nothing. A change of the limit also increments the count, so that the word differs.
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

// MARK: - The state machine

/// The part of a ``ConcurrencyLimiter`` that its lock protects: the waiting tasks and their requests. ``KeyedLimiter`` and
/// ``RateLimiter`` have machines of their own.
///
/// It's a value that resumes no task itself. Its methods are the events of a limiter. They change the word too, which no other task does
/// at the same time: see ``LimiterStorage/change(_:)``.
struct LimiterStateMachine<Waiter: Sendable>: Sendable {
    typealias Ticket = LimiterLine<Waiter>.Ticket
    typealias Wakeups = LimiterWakeups<Waiter>
    typealias Watch = WaitingLine<Waiter, LimiterOutcome>.Ticket

    enum EnterAction: Sendable {
        /// Resumes tasks if the request exhausted the patience of a lower priority, whose request is now next and fits.
        case run(Wakeups)
        case wait(Ticket)
        /// The request is more than the limit, or there is no place and the request doesn't wait.
        case refuse
    }

    /// The storage has a copy, for tasks that don't hold the lock.
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
    /// If `joins` is true, the task waits if there is no place, or if it's another task's turn. Otherwise it gets no place while any task
    /// waits.
    mutating func enter(
        _ word: inout LimiterWord, _ request: LimiterRequest, suspended waiter: Waiter? = nil, joins: Bool = true
    ) -> EnterAction {
        guard request.weight <= limit else { return .refuse }
        let isNext = joins ? line.wouldBeNext(request) : line.isEmpty
        guard isNext && word.running + request.weight <= limit else {
            return joins ? .wait(line.join(request, waiter)) : .refuse
        }
        admit(request.weight, &word)
        var wakeups = Wakeups()
        if !line.isEmpty {
            line.passOver()
            admitWaiting(&word, &wakeups)
        }
        return .run(wakeups)
    }

    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        line.suspend(ticket, waiter)
    }

    /// Gives back a place; returns the tasks to resume.
    ///
    /// If another task waits for the place, it gets the place directly: the place is never free in between.
    mutating func leave(_ word: inout LimiterWord, weight: UInt64) -> Wakeups {
        precondition(
            word.running >= weight && (weight != 0 || weightless > 0),
            "A limiter got back a place that no task held.")
        word.bits &-= weight
        if weight == 0 { weightless -= 1 }
        var wakeups = Wakeups()
        admitWaiting(&word, &wakeups)
        if isIdle(word) {
            word.bits &= ~LimiterWord.watched
            wakeups.append(watchers.settleAll(.granted), .granted)
        }
        return wakeups
    }

    /// Ends the wait of a task in line without a place; returns the tasks to resume.
    ///
    /// These can include tasks behind it with smaller requests.
    mutating func end(_ word: inout LimiterWord, _ ticket: Ticket, _ outcome: LimiterOutcome) -> Wakeups {
        guard line.contains(ticket) else { return Wakeups() }
        var wakeups = Wakeups(line.settle(ticket, outcome), outcome)
        admitWaiting(&word, &wakeups)
        return wakeups
    }

    /// Moves a task in line to the end of a higher priority; returns the tasks to resume.
    ///
    /// These can include tasks that now come before a larger request.
    mutating func raise(_ word: inout LimiterWord, _ ticket: Ticket, to priority: UInt8) -> Wakeups {
        var wakeups = Wakeups()
        if line.raise(ticket, to: priority) { admitWaiting(&word, &wakeups) }
        return wakeups
    }

    mutating func cancelWaiting(_ word: inout LimiterWord) -> Wakeups {
        end(&word, .cancelled) { isInterruptible, _ in isInterruptible }
    }

    /// No task loses its place. Requests in line for more than the new limit fail.
    mutating func resize(_ word: inout LimiterWord, to limit: UInt64) -> Wakeups {
        self.limit = limit
        // A task that has loaded the old limit finds a different word, and retries. This makes the count in the word one too high.
        word.bits &+= LimiterWord.oneGranted
        granted &-= 1
        return end(&word, .tooHeavy) { _, weight in weight > limit }
    }

    /// Returns `nil` if the limiter is idle. A `watcher` is a task that has suspended already and can't be interrupted.
    mutating func watch(_ word: inout LimiterWord, _ watcher: Waiter? = nil) -> Watch? {
        if isIdle(word) { return nil }
        word.bits |= LimiterWord.watched
        return watchers.join(watcher)
    }

    mutating func suspendWatcher(_ ticket: Watch, _ watcher: Waiter) -> LimiterOutcome? {
        watchers.suspend(ticket, watcher)
    }

    /// The word stays marked until the limiter is idle. Until then, tasks leave with the lock.
    mutating func endWatch(_ ticket: Watch, _ outcome: LimiterOutcome) -> Waiter? {
        watchers.settle(ticket, outcome)
    }

    /// The word that other tasks see after an event: it says whether a task waits, and has room to count.
    mutating func opened(_ word: LimiterWord) -> LimiterWord {
        var bits = line.isEmpty ? word.bits & ~LimiterWord.crowded : word.bits | LimiterWord.crowded
        if bits & LimiterWord.full != 0 {
            granted &+= word.granted
            bits &= LimiterWord.oneGranted - 1
        }
        return LimiterWord(bits: bits)
    }

    func granted(_ word: LimiterWord) -> UInt64 { granted &+ word.granted }

    // MARK: Machinery

    /// If no task has a place, no task waits: the next task in line fits into an empty limiter.
    private func isIdle(_ word: LimiterWord) -> Bool { word.running == 0 && weightless == 0 }

    private mutating func admit(_ weight: UInt64, _ word: inout LimiterWord) {
        word.bits &+= weight
        granted &+= 1
        if weight == 0 { weightless += 1 }
    }

    private mutating func admitWaiting(_ word: inout LimiterWord, _ wakeups: inout Wakeups) {
        while let weight = line.nextWeight, word.running + weight <= limit {
            admit(weight, &word)
            wakeups.append(line.settleNext(), .granted)
        }
    }

    private mutating func end(
        _ word: inout LimiterWord, _ outcome: LimiterOutcome,
        where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool
    ) -> Wakeups {
        var wakeups = Wakeups()
        wakeups.append(line.settle(outcome, where: predicate), outcome)
        admitWaiting(&word, &wakeups)
        return wakeups
    }
}

// For the tests' interleaving explorer, which recognizes the states that it has visited.
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

// MARK: - The storage

/// The word, and the lock with the machine. Its methods resume no task: the caller resumes the returned tasks after the lock is released.
///
/// `LimiterExplorer` in the tests makes the same accesses one by one and explores their interleavings. Change both together.
@usableFromInline
struct LimiterStorage: ~Copyable, Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<LimiterOutcome, Never>
    typealias Machine = LimiterStateMachine<Waiter>

    @usableFromInline let word: Atomic<UInt64>
    @usableFromInline let limit: Atomic<UInt64>
    @usableFromInline let peak = Atomic<UInt64>(0)
    let machine: Lock<Machine>

    init(concurrency: Int, tracksHolders: Bool) {
        word = Atomic(tracksHolders ? LimiterWord.tracked : 0)
        limit = Atomic(UInt64(concurrency))
        machine = Lock(Machine(limit: UInt64(concurrency)))
    }

    // MARK: Without the lock

    /// Enters without the lock if there is a place and no task waits.
    @inlinable
    func enterImmediately(weight: UInt64) -> Bool {
        var word = load()
        while let entered = word.entered(limit: loadLimit(), weight: weight) {
            guard let found = replace(word, with: entered) else {
                note(running: entered.running)
                return true
            }
            word = found
        }
        return false
    }

    @inlinable
    func leaveImmediately(weight: UInt64) -> Bool {
        var word = load()
        while let left = word.left(weight: weight) {
            guard let found = replace(word, with: left) else { return true }
            word = found
        }
        return false
    }

    // Acquiring, so that the limit that is loaded next isn't older than the word.
    @inlinable
    func load() -> LimiterWord {
        LimiterWord(bits: word.load(ordering: .acquiring))
    }

    /// The limit at the time of the previously loaded word, or a newer one. A task that changes the limit changes the word
    /// afterward, so `replace` fails for a task that has loaded an outdated limit.
    @inlinable
    func loadLimit() -> UInt64 {
        limit.load(ordering: .relaxed)
    }

    /// Replaces the word if it's the expected one, and returns `nil`; otherwise returns the current word.
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

    // MARK: With the lock

    /// Performs an event of the machine. Until it ends, the word is crowded, so all other tasks wait for the lock.
    private func change<Value: Sendable>(_ event: (inout Machine, inout LimiterWord) -> Value) -> Value {
        machine.withLock { machine in
            // Acquiring: the work of tasks that have left happens before anything done by a task that finds the limiter idle.
            let (found, _) = self.word.bitwiseOr(LimiterWord.crowded, ordering: .acquiringAndReleasing)
            var word = LimiterWord(bits: found)
            let value = event(&machine, &word)
            note(running: word.running)
            self.word.store(machine.opened(word).bits, ordering: .releasing)
            return value
        }
    }

    /// Enters, or joins the line. In the second case the caller must call `suspend`.
    func enter(_ request: LimiterRequest) -> Machine.EnterAction {
        if enterImmediately(weight: request.weight) { return .run(Machine.Wakeups()) }
        return change { machine, word in machine.enter(&word, request) }
    }

    func tryEnter(weight: UInt64) -> Bool {
        if enterImmediately(weight: weight) { return true }
        return change { machine, word in
            if case .run = machine.enter(&word, LimiterRequest(weight: weight), joins: false) { true } else { false }
        }
    }

    /// Enters and returns `true`, or stores the waiter, which is resumed when it's admitted.
    func enter(_ request: LimiterRequest, suspended waiter: Waiter) -> Bool {
        change { machine, word in
            if case .run = machine.enter(&word, request, suspended: waiter) { true } else { false }
        }
    }

    func suspend(_ ticket: Machine.Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        machine.withLock { $0.suspend(ticket, waiter) }
    }

    func leave(weight: UInt64) -> Machine.Wakeups {
        if leaveImmediately(weight: weight) { return Machine.Wakeups() }
        return change { machine, word in machine.leave(&word, weight: weight) }
    }

    func end(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) -> Machine.Wakeups {
        change { machine, word in machine.end(&word, ticket, outcome) }
    }

    func raise(_ ticket: Machine.Ticket, to priority: UInt8) -> Machine.Wakeups {
        change { machine, word in machine.raise(&word, ticket, to: priority) }
    }

    func cancelWaiting() -> Machine.Wakeups {
        change { machine, word in machine.cancelWaiting(&word) }
    }

    func resize(to limit: UInt64) -> Machine.Wakeups {
        change { machine, word in
            self.limit.store(limit, ordering: .relaxed)
            return machine.resize(&word, to: limit)
        }
    }

    /// Returns `nil` if the limiter is idle, or the ticket of a task that is resumed when it becomes idle.
    func watch(_ watcher: Waiter? = nil) -> Machine.Watch? {
        change { machine, word in machine.watch(&word, watcher) }
    }

    /// Stores the waiter of a task that watches, or returns how its wait has ended.
    func suspendWatcher(_ ticket: Machine.Watch, _ watcher: Waiter) -> LimiterOutcome? {
        machine.withLock { $0.suspendWatcher(ticket, watcher) }
    }

    func endWatch(_ ticket: Machine.Watch, _ outcome: LimiterOutcome) -> Waiter? {
        machine.withLock { $0.endWatch(ticket, outcome) }
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

// MARK: - Wait times

final class LimiterWaitTimes: Sendable {
    private let now: @Sendable () -> Duration
    private let total = Atomic<UInt64>(0)
    private let longest = Atomic<UInt64>(0)

    convenience init(_ clock: any Clock<Duration>) {
        self.init(reading: clock)
    }

    private init<C: Clock<Duration>>(reading clock: C) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
    }

    func began() -> Duration { now() }

    /// Does nothing for a task that didn't wait.
    func ended(_ began: Duration?) {
        guard let began else { return }
        let waited = UInt64(clamping: (now() - began).attoseconds / 1_000_000_000)
        total.wrappingAdd(waited, ordering: .relaxed)
        longest.max(waited, ordering: .relaxed)
    }

    var values: (total: Duration, longest: Duration) {
        (
            .nanoseconds(Int64(clamping: total.load(ordering: .relaxed))),
            .nanoseconds(Int64(clamping: longest.load(ordering: .relaxed)))
        )
    }
}

// MARK: - Holders

/// The tasks that run bodies of a limiter, to detect a task that runs a body inside another one.
///
/// A task is identified by its address, which is unique while the task lives, and the task outlives its body.
final class LimiterHolders: Sendable {
    /// The number of bodies that each task runs: more than one only if the inner bodies didn't wait.
    private let tasks = Lock<[UInt: Int]>([:])

    /// Records that the calling task runs a body; traps if the task runs one already.
    ///
    /// Called before the task waits for a place, because a task that waits forever couldn't report it.
    func enter() {
        guard let task = Self.currentTask else { return }
        let isNew = tasks.withLock { tasks in
            if tasks[task] != nil { return false }
            tasks[task] = 1
            return true
        }
        precondition(
            isNew,
            "A limiter's body must not use the same limiter, because the tasks deadlock if every place is held this way. "
                + "Use one limiter per level, or do both parts in one body.")
    }

    /// Records that the calling task runs a body, or another body for which it didn't wait.
    func enterWithoutWaiting() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { $0[task, default: 0] += 1 }
    }

    func leave() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { tasks in
            guard let bodies = tasks[task] else { return }
            tasks[task] = bodies == 1 ? nil : bodies - 1
        }
    }

    private static var currentTask: UInt? {
        withUnsafeCurrentTask { task in
            // `UnsafeCurrentTask` holds only a reference to the task. Only the address is used.
            task.map { unsafeBitCast($0, to: UInt.self) }
        }
    }
}
