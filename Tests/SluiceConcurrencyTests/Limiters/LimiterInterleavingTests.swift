import Foundation
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `Every interleaving of the limiter matches the naive limiter` {
    typealias Operation = LimiterExplorer.Operation

    @Test(arguments: 1...2)
    func `two tasks with any three operations each match`(limit: Int) async {
        let violations = await offPool {
            let programs = Self.programs(of: [.acquire, .release, .cancel(1)])
            return programs.indices.flatMap { first in
                programs[first...].compactMap { second in Self.violation(limit, [programs[first], second]) }
            }
        }
        #expect(violations == [])
    }

    /// Each scenario has the limit at which it's interesting.
    static let scenarios: [(limit: Int, programs: [[Operation]])] = [
        // The first task in line is admitted and cancelled at the same time.
        (1, [[.acquire, .release], [.acquire, .release], [.cancel(2), .acquire, .release]]),
        // Two tasks are in line, and the first one is cancelled while the place is released.
        (1, [[.acquire, .release, .cancel(1)], [.acquire, .release], [.acquire, .release]]),
        // A task acquires again after it has released its place.
        (1, [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .release]]),
        // Two tasks cancel the third concurrently, which then acquires again.
        (1, [[.acquire, .cancel(2), .release], [.cancel(1), .acquire, .release], [.acquire, .release, .acquire]]),
        // A late cancellation handler finds its task in another wait, which can't be interrupted.
        (1, [[.acquire, .cancel(1), .release], [.acquire, .acquireUninterrupted, .release], [.acquire, .release]]),
        // Interruptible and uninterruptible waits are mixed.
        (
            1,
            [
                [.acquireUninterrupted, .release], [.acquire, .release, .cancel(2)], [.acquireUninterrupted, .release],
            ]
        ),
        // Places are never released.
        (1, [[.acquire, .cancel(1)], [.acquire, .acquire], [.acquire, .cancel(2)]]),
        // The first task in line needs two places and is cancelled; the task behind it needs one.
        (2, [[.acquire, .release], [.acquire(2), .release], [.acquire, .cancel(2), .release]]),
        // A heavy task is admitted and cancelled while light ones come and go.
        (2, [[.acquire(2), .release, .cancel(1)], [.acquire(2), .release], [.acquire, .release]]),
        // The limit falls while places are taken, without and with the lock.
        (2, [[.acquire, .acquire, .release], [.resize(1), .tryAcquire(1)], [.tryAcquire(1), .release]]),
        // The limit grows while a task waits, is cancelled, and gives up.
        (1, [[.acquire, .release], [.acquire(2), .release], [.resize(2), .cancel(2), .resize(1)]]),
        // The limit becomes too small for a task in line, and the task behind it is admitted.
        (2, [[.acquire(2), .release], [.acquire(2), .release], [.resize(1), .acquire, .resize(2)]]),
        // cancelWaiting ends all waits while a place is released.
        (
            1,
            [
                [.acquire, .release, .acquire], [.acquireUninterrupted, .release],
                [.acquire, .cancelWaiting, .release],
            ]
        ),
        // Tasks with and without weight leave while another one waits for the limiter to become idle.
        (1, [[.acquire, .release], [.acquire(0), .release], [.waitUntilIdle, .acquire]]),
        // The last place goes to a task of weight zero that had to wait, because the limit fell.
        (2, [[.acquire(2), .release], [.resize(1), .acquire(0), .release], [.waitUntilIdle]]),
        // No task overtakes.
        (1, [[.acquire, .release, .tryAcquire(1)], [.acquire, .tryAcquire(1), .release], [.acquire, .release]]),
    ]

    @Test(arguments: scenarios.indices)
    func `three tasks with chosen programs match`(scenario: Int) async {
        let (limit, programs) = Self.scenarios[scenario]
        let violation = await offPool { Self.violation(limit, programs) }
        #expect(violation == nil)
    }

    /// Thousands of triples, which take minutes. Set `SLUICE_EXPLORE=all`, and build for release.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SLUICE_EXPLORE"] == "all"), arguments: 1...2)
    func `three tasks with any three operations each match`(limit: Int) async {
        let violations = await offPool {
            let programs = Self.programs(of: [.acquire, .release, .cancel(1), .cancel(2)])
                .filter { $0.contains(.acquire) }
            var violations: [String] = []
            for first in programs.indices {
                for second in programs.indices[first...] {
                    for third in programs[second...] {
                        violations +=
                            Self.violation(limit, [programs[first], programs[second], third]).map { [$0] } ?? []
                    }
                }
            }
            return violations
        }
        #expect(violations == [])
    }

    @Test(arguments: [nil] + LimiterExplorer.Fault.allCases)
    func `an inserted bug is found, and without one nothing is reported`(fault: LimiterExplorer.Fault?) async {
        let places: (limit: Int, programs: [[Operation]]) =
            (1, [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .cancel(1)]])
        let sizes: (limit: Int, programs: [[Operation]]) =
            (2, [[.acquire, .acquire], [.resize(1), .acquire], [.tryAcquire(1)]])
        let explored =
            switch fault {
            case nil: [places, sizes]
            case .resizeKeepsTheWord, .limitComesLate, .limitIsStale: [sizes]
            default: [places]
            }

        let violations = await offPool {
            explored.compactMap { Self.violation($0.limit, $0.programs, fault: fault) }
        }

        #expect(violations.isEmpty == (fault == nil))
    }

    /// Random operations: two tasks with three, or three tasks with two. `SLUICE_EXPLORE=3000` also tries that many programs of three
    /// tasks with three operations, which takes minutes.
    @Test
    func `two and three tasks with random operations match`() async {
        let wanted = Int(ProcessInfo.processInfo.environment["SLUICE_EXPLORE"] ?? "")
        let tries = wanted ?? 60
        let violations = await offPool {
            (0..<tries).compactMap { seed in
                var random = SeededRandom(seed: UInt64(seed))
                let operations: [Operation] = [
                    .acquire, .acquire, .acquire(0), .acquire(2), .waitUntilIdle, .acquireUninterrupted, .tryAcquire(1),
                    .tryAcquire(2), .release,
                    .release, .release, .cancel(1), .cancel(2), .cancelWaiting, .resize(1), .resize(2), .resize(3),
                ]
                let tasks = seed % 2 == 0 ? 3 : 2
                let programs = (0..<tasks).map { _ in
                    (0..<(wanted == nil ? 5 - tasks : 3)).map { _ in operations.randomElement(using: &random)! }
                }
                return Self.violation(Int.random(in: 1...3, using: &random), programs)
            }
        }
        #expect(violations == [])
    }

    /// Returns what goes wrong in some interleaving of these programs, or `nil`.
    private static func violation(
        _ limit: Int, _ programs: [[Operation]], fault: LimiterExplorer.Fault? = nil
    ) -> String? {
        var explorer = LimiterExplorer(limit: limit, programs: programs, fault: fault)
        explorer.explore()
        return explorer.violation.map { "limit \(limit), \(programs): \($0)" }
    }

    /// All programs of three operations that release no more places than they acquire.
    private static func programs(of operations: [Operation]) -> [[Operation]] {
        var programs: [[Operation]] = [[]]
        for _ in 0..<3 { programs = programs.flatMap { program in operations.map { program + [$0] } } }
        return programs.filter { program in
            var held = 0
            return program.allSatisfy { operation in
                if operation == .acquire { held += 1 }
                if operation == .release { held -= 1 }
                return held >= 0
            }
        }
    }
}

// MARK: - The explorer

/// Runs up to three tasks on one limiter in every possible order of their single steps.
///
/// A step is one atomic access of a `LimiterStorage` and the code up to the next access. The limiter's own word and machine make the
/// decisions. The accesses themselves are reimplemented here: `access(_:_:_:)` stands for `enterImmediately`, `leaveImmediately` and
/// `change`. The continuation and the cancellation handler around them are the phases of a task. Whenever an operation completes, its
/// result must be the same as the naive limiter's. When no task can move, no task may be waiting for a free place.
struct LimiterExplorer {
    enum Operation: Hashable {
        case acquire(Int)
        case acquireUninterrupted
        case tryAcquire(Int)
        /// Does nothing if the task holds no place because it was cancelled.
        case release
        /// Cancels another task, given as the distance to it.
        case cancel(Int)
        case cancelWaiting
        case resize(Int)
        case waitUntilIdle

        static var acquire: Operation { .acquire(1) }
    }

    /// An inserted bug.
    enum Fault: CaseIterable, Sendable {
        /// The locked path doesn't mark the word while it changes it.
        case lockedPathLeavesTheWordOpen
        /// The unlocked path stores the word without comparing.
        case unlockedPathStores
        /// The unlocked path doesn't see that a task waits.
        case unlockedPathIsBlind
        /// Two tasks can hold the lock.
        case lockDoesNotExclude
        /// A change of the limit leaves the word unchanged.
        case resizeKeepsTheWord
        /// A change of the limit opens the word before it stores the limit.
        case limitComesLate
        /// The unlocked path reads the limit only once, when the limiter is created.
        case limitIsStale
    }

    typealias Machine = LimiterStateMachine<Int>
    typealias Ticket = Machine.Ticket
    typealias Wakeup = NaiveLimiter.Wakeup

    /// A call to the storage.
    enum Call: Hashable {
        case enter(LimiterRequest, joins: Bool, isSuspended: Bool)
        case leave(weight: UInt64)
        case end(Ticket, of: Int)
        case cancelWaiting
        case resize(Int)
        case watch
    }

    /// The next access of a call.
    enum Access: Hashable {
        case load
        case loadLimit(LimiterWord)
        case replace(LimiterWord, with: LimiterWord)
        case lock
        case close
        /// Without a word if the word is already open.
        case storeLimit(LimiterWord?)
        /// Also unlocks.
        case open(LimiterWord)
    }

    enum Phase: Hashable {
        case ready
        case calling(Call, Access)
        /// In line, before the cancellation handler is installed.
        case joined(Ticket)
        case suspending(Ticket)
        case suspended
        case resumed(LimiterOutcome)
    }

    struct TaskState: Hashable {
        var operations: ArraySlice<Operation>
        var phase = Phase.ready
        /// The weights of the places that the task holds.
        var held: [Int] = []
        var isCancelled = false
        var handler: Ticket?
    }

    struct State: Hashable {
        var word = LimiterWord(bits: 0)
        var limit: UInt64
        var peak: UInt64 = 0
        var machine: Machine
        /// The task that holds the lock.
        var holder: Int?
        var naive: NaiveLimiter
        var tasks: [TaskState]
    }

    private(set) var statesSeen = 0
    /// The first violation.
    private(set) var violation: String?

    private let fault: Fault?
    private let firstLimit: UInt64
    private var state: State
    private var seen: Set<Int> = []

    init(limit: Int, programs: [[Operation]], fault: Fault? = nil) {
        self.fault = fault
        firstLimit = UInt64(limit)
        state = State(
            limit: firstLimit, machine: Machine(limit: firstLimit), naive: NaiveLimiter(limit: limit),
            tasks: programs.map { TaskState(operations: $0[...]) })
    }

    /// Visits each reachable state once.
    mutating func explore() {
        var open = [state]
        while let next = open.popLast(), violation == nil {
            statesSeen += 1
            var canMove = false
            for task in next.tasks.indices {
                state = next
                guard step(task) else { continue }
                canMove = true
                if seen.insert(state.hashValue).inserted { open.append(state) }
            }
            if !canMove {
                state = next
                checkRest()
            }
        }
    }

    // MARK: One step of one task

    /// Returns false if the task can't move, because it has ended, is suspended or needs a lock that another task holds.
    private mutating func step(_ index: Int) -> Bool {
        switch state.tasks[index].phase {
        case .ready: return begin(index)
        case .calling(let call, let access): return self.access(index, call, access)
        case .joined(let ticket):
            if state.tasks[index].isCancelled {
                // The handler runs in the task itself.
                state.tasks[index].phase = .calling(.end(ticket, of: index), .lock)
            } else {
                state.tasks[index].handler = ticket
                state.tasks[index].phase = .suspending(ticket)
            }
        case .suspending(let ticket):
            guard isUnlocked else { return false }
            let outcome = state.machine.suspend(ticket, index)
            check(outcome == state.naive.outcomes[index], "suspend returned another outcome")
            state.tasks[index].phase = outcome.map { .resumed($0) } ?? .suspended
        case .suspended: return false
        case .resumed(let outcome):
            check(state.naive.outcomes.removeValue(forKey: index) == outcome, "a task was resumed with another outcome")
            state.tasks[index].handler = nil
            finish(index, entered: outcome == .granted && state.tasks[index].operations.first != .waitUntilIdle)
        }
        return true
    }

    private mutating func begin(_ index: Int) -> Bool {
        let task = state.tasks[index]
        guard let operation = task.operations.first else { return false }
        // No other task sees what a call does before its first access.
        switch operation {
        case .acquire where task.isCancelled, .release where task.held.isEmpty:
            next(index)
            return true
        case .acquire(let weight):
            return access(index, .enter(LimiterRequest(weight: UInt64(weight)), joins: true, isSuspended: false), .load)
        case .acquireUninterrupted:
            return access(index, .enter(LimiterRequest(isInterruptible: false), joins: true, isSuspended: true), .load)
        case .tryAcquire(let weight):
            return access(
                index, .enter(LimiterRequest(weight: UInt64(weight)), joins: false, isSuspended: false), .load)
        case .release: return access(index, .leave(weight: UInt64(task.held[0])), .load)
        case .cancel(let distance):
            let victim = (index + distance) % state.tasks.count
            state.tasks[victim].isCancelled = true
            if let ticket = state.tasks[victim].handler {
                state.tasks[index].phase = .calling(.end(ticket, of: victim), .lock)
            } else {
                next(index)
            }
            return true
        case .cancelWaiting: return access(index, .cancelWaiting, .lock)
        case .resize(let limit): return access(index, .resize(limit), .lock)
        case .waitUntilIdle: return access(index, .watch, .lock)
        }
    }

    private mutating func access(_ index: Int, _ call: Call, _ access: Access) -> Bool {
        let following: Access
        switch access {
        case .load: following = Self.attempt(call, visibleWord)
        case .loadLimit(let word):
            guard case .enter(let request, _, _) = call else { preconditionFailure("Only entering reads the limit.") }
            let limit = fault == .limitIsStale ? firstLimit : state.limit
            following = word.entered(limit: limit, weight: request.weight).map { .replace(word, with: $0) } ?? .lock
        case .replace(let expected, let new):
            let found = visibleWord
            if found == expected || fault == .unlockedPathStores {
                state.word = LimiterWord(bits: new.bits | (state.word.bits ^ found.bits))
                enteredOrLeft(index, call)
                return true
            }
            following = Self.attempt(call, found)
        case .lock:
            guard isUnlocked else { return false }
            state.holder = index
            following = .close
        case .close:
            let word = state.word
            if fault != .lockedPathLeavesTheWordOpen { state.word.bits |= LimiterWord.crowded }
            if case .resize = call, fault != .limitComesLate {
                following = .storeLimit(word)
            } else {
                following = .open(word)
            }
        case .storeLimit(let word):
            guard case .resize(let limit) = call else { preconditionFailure("Only a change of the limit stores it.") }
            state.limit = UInt64(limit)
            guard let word else {
                state.holder = nil
                next(index)
                return true
            }
            following = .open(word)
        case .open(let word):
            state.holder = nil
            perform(index, call, word)
            return true
        }
        state.tasks[index].phase = .calling(call, following)
        return true
    }

    private var isUnlocked: Bool { state.holder == nil || fault == .lockDoesNotExclude }

    /// The word as the unlocked path sees it.
    private var visibleWord: LimiterWord {
        fault == .unlockedPathIsBlind ? LimiterWord(bits: state.word.bits & ~LimiterWord.crowded) : state.word
    }

    /// Returns the next access after the unlocked path has loaded a word.
    private static func attempt(_ call: Call, _ word: LimiterWord) -> Access {
        guard case .leave(let weight) = call else { return .loadLimit(word) }
        return word.left(weight: weight).map { .replace(word, with: $0) } ?? .lock
    }

    /// A call has succeeded without the lock.
    private mutating func enteredOrLeft(_ index: Int, _ call: Call) {
        if case .enter(let request, let joins, _) = call {
            state.peak = max(state.peak, state.word.running)
            check(expectedEntry(index, request, joins) == .run, "a task overtook")
            finish(index, entered: true)
        } else {
            left(index, LimiterWakeups())
        }
    }

    /// Performs an event of the machine. Other tasks see its changes once the word is opened and the lock is released.
    private mutating func perform(_ index: Int, _ call: Call, _ closed: LimiterWord) {
        var word = closed
        switch call {
        case .enter(let request, let joins, let isSuspended):
            let action = state.machine.enter(&word, request, suspended: isSuspended ? index : nil, joins: joins)
            let expected = expectedEntry(index, request, joins)
            switch action {
            case .run:
                check(expected == .run, "a task overtook")
                finish(index, entered: true)
            case .refuse:
                check(expected == .refuse, "a task did not get a place that is free")
                next(index)
            case .wait(let ticket):
                check(expected == .wait, "a task waits for a place that is free")
                state.tasks[index].phase = isSuspended ? .suspended : .joined(ticket)
            }
        case .leave(let weight):
            left(index, state.machine.leave(&word, weight: weight))
        case .end(let ticket, let victim):
            // A handler may run late, when its task waits again or has ended. It must then have no effect.
            let isCurrent = victim == index || state.tasks[victim].handler == ticket
            let wakeups = state.machine.end(&word, ticket, .cancelled)
            woken(wakeups, isCurrent ? state.naive.end(.cancelled) { $0.task == victim } : [])
            if victim == index { state.tasks[index].phase = .suspending(ticket) } else { next(index) }
        case .cancelWaiting:
            woken(state.machine.cancelWaiting(&word), state.naive.end(.cancelled, where: \.isInterruptible))
            next(index)
        case .resize(let limit):
            woken(state.machine.resize(&word, to: UInt64(limit)), state.naive.resize(to: limit))
            if fault == .resizeKeepsTheWord { word.bits &-= LimiterWord.oneGranted }
            if fault == .limitComesLate {
                state.holder = index
                state.tasks[index].phase = .calling(call, .storeLimit(nil))
            } else {
                next(index)
            }
        case .watch:
            let isIdle = state.machine.watch(&word, index) == nil
            check(state.naive.watch(index) == isIdle, "the limiter is wrong about whether it is idle")
            if isIdle { next(index) } else { state.tasks[index].phase = .suspended }
        }
        state.peak = max(state.peak, word.running)
        state.word = state.machine.opened(word)
    }
}

// MARK: Comparing with the naive limiter

extension LimiterExplorer {
    private mutating func expectedEntry(_ index: Int, _ request: LimiterRequest, _ joins: Bool) -> NaiveLimiter.Entry {
        let weight = Int(request.weight)
        if !joins { return state.naive.tryEnter(weight: weight) ? .run : .refuse }
        return state.naive.enter(index, weight: weight, isInterruptible: request.isInterruptible)
    }

    private mutating func left(_ index: Int, _ wakeups: LimiterWakeups<Int>) {
        let weight = state.tasks[index].held.removeFirst()
        woken(wakeups, state.naive.leave(weight: weight))
        next(index)
    }

    /// Tasks that haven't suspended yet aren't woken: they find their outcome when they suspend.
    private mutating func woken(_ wakeups: LimiterWakeups<Int>, _ expected: [Wakeup]) {
        let all = [wakeups.first].compactMap(\.self) + wakeups.others
        let actual = all.map { Wakeup(task: $0.waiter, outcome: $0.outcome) }
        check(
            actual == expected.filter { state.tasks[$0.task].phase == .suspended },
            "others were woken, or in another order")
        for wake in actual { state.tasks[wake.task].phase = .resumed(wake.outcome) }
    }

    private mutating func finish(_ index: Int, entered: Bool) {
        if entered {
            let weight =
                if case .acquire(let weight) = state.tasks[index].operations.first {
                    weight
                } else if case .tryAcquire(let weight) = state.tasks[index].operations.first { weight } else { 1 }
            state.tasks[index].held.append(weight)
        }
        next(index)
    }

    private mutating func next(_ index: Int) {
        state.tasks[index].operations.removeFirst()
        state.tasks[index].phase = .ready
    }

    private mutating func checkRest() {
        let held = state.tasks.reduce(0) { $0 + $1.held.reduce(0, +) }
        let suspended = state.tasks.indices.filter { state.tasks[$0].phase == .suspended }
        let naive = state.naive
        let fits = naive.line.first.map { naive.running + $0.weight <= naive.limit } ?? false
        check(!fits, "a task waits forever for a place that is free")
        check(
            Set(suspended) == Set(naive.line.map(\.task) + naive.watchers), "a task that is not in line waits forever")
        check(state.tasks.indices.allSatisfy { suspended.contains($0) || state.tasks[$0].operations.isEmpty }, "stuck")
        let (word, machine) = (state.word, state.machine)
        check(held == naive.running && word.running == UInt64(held), "what runs is counted wrong")
        check(word.isCrowded != naive.line.isEmpty, "the word is wrong about whether a task waits")
        check(machine.granted(word) == UInt64(naive.granted), "the places given are counted wrong")
        check(state.peak == UInt64(naive.peak), "the peak is wrong")
        check(machine.limit == UInt64(naive.limit) && state.limit == machine.limit, "the limit is wrong")
        check(machine.line.count == naive.line.count, "the line has a trace of a task that is gone")
        check(machine.watchers.count == naive.watchers.count, "a task waits for a limiter that is idle")
        check(machine.line.isEmpty == false || machine.line.slotCount == 0, "a slot is kept for no task")
    }

    private mutating func check(_ holds: Bool, _ complaint: String) {
        if !holds && violation == nil { violation = complaint }
    }
}

// MARK: - The naive limiter

/// A limiter in which each operation is atomic. The explorer compares the real one with it.
struct NaiveLimiter: Hashable {
    /// The end of a task's wait.
    struct Wakeup: Hashable {
        let task: Int
        let outcome: LimiterOutcome
    }

    struct Waiter: Hashable {
        let task: Int
        let weight: Int
        let isInterruptible: Bool
    }

    enum Entry: Hashable {
        case run, wait, refuse
    }

    var limit: Int
    var running = 0
    /// The number of places held, including places of weight zero.
    var holders = 0
    var peak = 0
    var granted = 0
    var line: [Waiter] = []
    /// The tasks that wait until the limiter is idle.
    var watchers: [Int] = []
    /// The outcomes that tasks haven't received yet.
    var outcomes: [Int: LimiterOutcome] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    mutating func enter(_ task: Int, weight: Int, isInterruptible: Bool = true) -> Entry {
        if weight > limit { return .refuse }
        if tryEnter(weight: weight) { return .run }
        line.append(Waiter(task: task, weight: weight, isInterruptible: isInterruptible))
        return .wait
    }

    mutating func tryEnter(weight: Int) -> Bool {
        guard line.isEmpty && running + weight <= limit else { return false }
        take(weight)
        return true
    }

    /// Returns the tasks that get the freed capacity.
    mutating func leave(weight: Int) -> [Wakeup] {
        running -= weight
        holders -= 1
        return grant()
    }

    /// Returns the tasks that stop waiting.
    mutating func end(_ outcome: LimiterOutcome, where predicate: (Waiter) -> Bool) -> [Wakeup] {
        let ending = line.filter(predicate).map { Wakeup(task: $0.task, outcome: outcome) }
        line.removeAll(where: predicate)
        for wake in ending { outcomes[wake.task] = outcome }
        return ending + grant()
    }

    mutating func resize(to limit: Int) -> [Wakeup] {
        self.limit = limit
        return end(.tooHeavy) { $0.weight > limit }
    }

    /// Returns whether the limiter is idle; otherwise the task waits until it is.
    mutating func watch(_ task: Int) -> Bool {
        if holders > 0 { watchers.append(task) }
        return holders == 0
    }

    private mutating func grant() -> [Wakeup] {
        var wakeups: [Wakeup] = []
        while let next = line.first, running + next.weight <= limit {
            line.removeFirst()
            take(next.weight)
            outcomes[next.task] = .granted
            wakeups.append(Wakeup(task: next.task, outcome: .granted))
        }
        if holders == 0 {
            for watcher in watchers {
                outcomes[watcher] = .granted
                wakeups.append(Wakeup(task: watcher, outcome: .granted))
            }
            watchers = []
        }
        return wakeups
    }

    private mutating func take(_ weight: Int) {
        running += weight
        holders += 1
        granted += 1
        peak = max(peak, running)
    }
}
