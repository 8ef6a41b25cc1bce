import Foundation
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `Every interleaving of the limiter behaves like the naive one` {
    typealias Operation = LimiterExplorer.Operation

    @Test(arguments: 1...2)
    func `two tasks, any three operations each`(limit: Int) async {
        let violations = await offPool {
            let programs = Self.programs(of: [.acquire, .release, .cancel(1)])
            return programs.indices.flatMap { first in
                programs[first...].compactMap { second in Self.violation(limit, [programs[first], second]) }
            }
        }
        #expect(violations == [])
    }

    /// Each with the limit at which it is interesting.
    static let scenarios: [(limit: Int, programs: [[Operation]])] = [
        // Release and cancellation meet at the first in line.
        (1, [[.acquire, .release], [.acquire, .release], [.cancel(2), .acquire, .release]]),
        // Two in line, and the first of them is cancelled while the place is given back.
        (1, [[.acquire, .release, .cancel(1)], [.acquire, .release], [.acquire, .release]]),
        // Every task comes back for more.
        (1, [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .release]]),
        // Two cancel the third concurrently, which comes back.
        (1, [[.acquire, .cancel(2), .release], [.cancel(1), .acquire, .release], [.acquire, .release, .acquire]]),
        // A late handler finds its task in another wait, which cannot be interrupted.
        (1, [[.acquire, .cancel(1), .release], [.acquire, .acquireUninterrupted, .release], [.acquire, .release]]),
        // Tasks that can be interrupted and tasks that cannot, mixed.
        (
            1,
            [
                [.acquireUninterrupted, .release], [.acquire, .release, .cancel(2)], [.acquireUninterrupted, .release],
            ]
        ),
        // Places that are never given back.
        (1, [[.acquire, .cancel(1)], [.acquire, .acquire], [.acquire, .cancel(2)]]),
        // The head of the line needs two and is cancelled; the one behind it needs one.
        (2, [[.acquire, .release], [.acquire(2), .release], [.acquire, .cancel(2), .release]]),
        // The heavy one is granted, and cancelled; small ones come and go.
        (2, [[.acquire(2), .release, .cancel(1)], [.acquire(2), .release], [.acquire, .release]]),
        // The limit falls while places are taken, without and with the lock.
        (2, [[.acquire, .acquire, .release], [.resize(1), .tryAcquire(1)], [.tryAcquire(1), .release]]),
        // The limit grows while a task waits, is cancelled, and gives up.
        (1, [[.acquire, .release], [.acquire(2), .release], [.resize(2), .cancel(2), .resize(1)]]),
        // The limit becomes too small for one in line, and the one behind it is granted.
        (2, [[.acquire(2), .release], [.acquire(2), .release], [.resize(1), .acquire, .resize(2)]]),
        // All in line give up while a place is given back.
        (
            1,
            [
                [.acquire, .release, .acquire], [.acquireUninterrupted, .release],
                [.acquire, .cancelWaiting, .release],
            ]
        ),
        // Tasks with weights and without leave while one waits until all have left.
        (1, [[.acquire, .release], [.acquire(0), .release], [.waitUntilIdle, .acquire]]),
        // The last place goes to a task of weight zero that had to wait, because the limit fell.
        (2, [[.acquire(2), .release], [.resize(1), .acquire(0), .release], [.waitUntilIdle]]),
        // No task overtakes.
        (1, [[.acquire, .release, .tryAcquire(1)], [.acquire, .tryAcquire(1), .release], [.acquire, .release]]),
    ]

    @Test(arguments: scenarios.indices)
    func `three tasks, up to three operations each`(scenario: Int) async {
        let (limit, programs) = Self.scenarios[scenario]
        let violation = await offPool { Self.violation(limit, programs) }
        #expect(violation == nil)
    }

    /// Thousands of triples, for minutes: set `SLUICE_EXPLORE=all`, and build for release.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SLUICE_EXPLORE"] == "all"), arguments: 1...2)
    func `three tasks, any three operations each`(limit: Int) async {
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

    @Test(arguments: [nil] + ExploredSite.Fault.allCases)
    func `a bug put in on purpose is found, and without one nothing is`(fault: ExploredSite.Fault?) async {
        let places: (limit: Int, programs: [[Operation]]) =
            (1, [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .cancel(1)]])
        let sizes: (limit: Int, programs: [[Operation]]) =
            (2, [[.acquire, .acquire], [.resize(1), .acquire], [.tryAcquire(1)]])
        let explored =
            switch fault {
            case nil: [places, sizes]
            case .resizeKeepsTheWord, .limitIsStale: [sizes]
            default: [places]
            }

        let violations = await offPool {
            explored.compactMap { Self.violation($0.limit, $0.programs, fault: fault) }
        }

        #expect(violations.isEmpty == (fault == nil))
    }

    /// Any operations at all, chosen by a seed: two tasks of three, or three of two. `SLUICE_EXPLORE=3000` tries that many
    /// of three tasks of three as well, for minutes.
    @Test
    func `two and three tasks, operations chosen at random`() async {
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

    /// What goes wrong in some interleaving of these programs, if anything does.
    private static func violation(
        _ limit: Int, _ programs: [[Operation]], fault: ExploredSite.Fault? = nil
    ) -> String? {
        var explorer = LimiterExplorer(limit: limit, programs: programs, fault: fault)
        explorer.explore()
        return explorer.violation.map { "limit \(limit), \(programs): \($0)" }
    }

    /// All programs of three operations that give back no more than they take.
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
/// A step is one atomic operation, or one critical section up to the next atomic operation in it. The limiter's own code
/// runs, over an `ExploredSite`; only what surrounds it in the shipped limiter (the continuation and the cancellation
/// handler) is written again here, as the phases of a task. Whenever an operation completes, its result must be that of
/// the naive limiter, and when no task can move, no task may be waiting for a place that is free.
struct LimiterExplorer {
    enum Operation: Hashable {
        case acquire(Int)
        case acquireUninterrupted
        case tryAcquire(Int)
        /// Nothing happens if the task holds no place, because it was cancelled.
        case release
        /// Cancels another task, given as the distance to it.
        case cancel(Int)
        case cancelWaiting
        case resize(Int)
        case waitUntilIdle

        static var acquire: Operation { .acquire(1) }
    }

    typealias Ticket = LimiterStateMachine<Int>.Ticket
    typealias Wake = NaiveLimiter.Wake

    enum Phase: Hashable {
        case ready
        /// Within an operation of the limiter.
        case within(Operation)
        /// In line; the cancellation handler is not installed.
        case joined(Ticket)
        /// The handler found the task cancelled, and runs in the task itself.
        case cancellingItself(Ticket)
        case suspending(Ticket)
        case suspended
        case resumed(LimiterOutcome)
        /// Runs the handler of another task.
        case cancelling(Int, Ticket)
    }

    struct TaskState: Hashable {
        var operations: ArraySlice<Operation>
        var phase = Phase.ready
        var log: [ExploredSite.Answer] = []
        /// The weights of the places that it holds.
        var held: [Int] = []
        var isCancelled = false
        var handler: Ticket?
        /// The tasks that the naive limiter woke when this task stored the new limit.
        var resized: [Wake]?
    }

    struct State: Hashable {
        var shared: ExploredSite.Shared
        var naive: NaiveLimiter
        var tasks: [TaskState]
    }

    private(set) var statesSeen = 0
    /// The first thing that went wrong.
    private(set) var violation: String?

    private let site: ExploredSite
    private var state: State
    private var seen: Set<Int> = []

    init(limit: Int, programs: [[Operation]], fault: ExploredSite.Fault? = nil) {
        site = ExploredSite(limit: UInt64(limit), fault: fault)
        state = State(
            shared: site.shared, naive: NaiveLimiter(limit: limit),
            tasks: programs.map { TaskState(operations: $0[...]) })
    }

    /// Visits each state that can be reached, once.
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

    /// Returns false if the task cannot move: it is done, suspended, or the lock is held.
    private mutating func step(_ index: Int) -> Bool {
        switch state.tasks[index].phase {
        case .ready: return begin(index)
        case .within(let operation): return proceed(index, operation)
        case .joined(let ticket):
            if state.tasks[index].isCancelled {
                state.tasks[index].phase = .cancellingItself(ticket)
            } else {
                state.tasks[index].handler = ticket
                state.tasks[index].phase = .suspending(ticket)
            }
            return true
        case .cancellingItself(let ticket):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.end(ticket, .cancelled)
            } then: { explorer, wakeups in
                explorer.cancelled(index, wakeups, wait: ticket, current: ticket)
                explorer.state.tasks[index].phase = .suspending(ticket)
            }
        case .suspending(let ticket):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.suspend(ticket, index)
            } then: { explorer, outcome in
                explorer.check(outcome == explorer.state.naive.outcomes[index], "suspend returned another outcome")
                explorer.state.tasks[index].phase = outcome.map { .resumed($0) } ?? .suspended
            }
        case .suspended: return false
        case .resumed(let outcome):
            check(state.naive.outcomes.removeValue(forKey: index) == outcome, "a task was resumed with another outcome")
            state.tasks[index].handler = nil
            finish(index, entered: outcome == .granted && state.tasks[index].operations.first != .waitUntilIdle)
            return true
        case .cancelling(let victim, let ticket):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.end(ticket, .cancelled)
            } then: { explorer, wakeups in
                explorer.cancelled(victim, wakeups, wait: ticket, current: explorer.state.tasks[victim].handler)
                explorer.next(index)
            }
        }
    }

    private mutating func begin(_ index: Int) -> Bool {
        guard let operation = state.tasks[index].operations.first else { return false }
        let task = state.tasks[index]
        switch operation {
        case .acquire where task.isCancelled, .release where task.held.isEmpty:
            next(index)
        case .cancel(let distance):
            let victim = (index + distance) % state.tasks.count
            state.tasks[victim].isCancelled = true
            if let ticket = state.tasks[victim].handler {
                state.tasks[index].phase = .cancelling(victim, ticket)
            } else {
                next(index)
            }
        default:
            // No other task can see what it does before its first access.
            state.tasks[index].phase = .within(operation)
            return proceed(index, operation)
        }
        return true
    }

    private mutating func proceed(_ index: Int, _ operation: Operation) -> Bool {
        switch operation {
        case .acquire(let weight):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.enter(LimiterRequest(weight: UInt64(weight)))
            } then: { explorer, action in
                let expected = explorer.state.naive.enter(index, weight: weight)
                switch action {
                case .run: explorer.entered(index, expected == .run)
                case .refuse:
                    explorer.check(expected == .refuse, "a task was refused that asks for no more than the limit")
                    explorer.next(index)
                case .wait(let ticket):
                    explorer.check(expected == .wait, "a task waits for a place that is free")
                    explorer.state.tasks[index].phase = .joined(ticket)
                }
            }
        case .acquireUninterrupted:
            return advance(index) { site throws(ExploredSite.Pause) in
                let request = LimiterRequest(isInterruptible: false)
                return try site.enterImmediately(weight: 1) ? true : try site.enter(request, suspended: index)
            } then: { explorer, atOnce in
                let expected = explorer.state.naive.enter(index, weight: 1, isInterruptible: false)
                if atOnce { return explorer.entered(index, expected == .run) }
                explorer.check(expected == .wait, "a task waits for a place that is free")
                explorer.state.tasks[index].phase = .suspended
            }
        case .tryAcquire(let weight):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.tryEnter(weight: UInt64(weight))
            } then: { explorer, entered in
                let expected = explorer.state.naive.tryEnter(weight: weight)
                if entered { return explorer.entered(index, expected) }
                explorer.check(!expected, "a task did not get a place that is free")
                explorer.next(index)
            }
        case .release:
            let weight = state.tasks[index].held[0]
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.leave(weight: UInt64(weight))
            } then: { explorer, wakeups in
                explorer.woken(wakeups, explorer.state.naive.leave(weight: weight))
                explorer.state.tasks[index].held.removeFirst()
                explorer.next(index)
            }
        case .cancelWaiting:
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.cancelWaiting()
            } then: { explorer, wakeups in
                explorer.woken(wakeups, explorer.state.naive.end(.cancelled, where: \.isInterruptible))
                explorer.next(index)
            }
        case .resize(let limit):
            let moved = advance(index) { site throws(ExploredSite.Pause) in
                try site.resize(to: UInt64(limit))
            } then: { explorer, wakeups in
                let earlier = explorer.state.tasks[index].resized
                explorer.woken(wakeups, earlier ?? explorer.state.naive.resize(to: limit))
                explorer.state.tasks[index].resized = nil
                explorer.next(index)
            }
            // A larger limit holds for others as soon as they can read it, a smaller one when the operation is done.
            let isStored = state.shared.limit == UInt64(limit) && state.shared.holder == index
            if isStored && limit > state.naive.limit && state.tasks[index].resized == nil {
                state.tasks[index].resized = state.naive.resize(to: limit)
            }
            return moved
        case .waitUntilIdle:
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.watch(index) == nil
            } then: { explorer, isIdle in
                explorer.check(
                    explorer.state.naive.watch(index) == isIdle, "the limiter is wrong about whether it is idle")
                if isIdle { explorer.next(index) } else { explorer.state.tasks[index].phase = .suspended }
            }
        case .cancel: preconditionFailure("Handled when it begins.")
        }
    }

    private mutating func advance<Result>(
        _ index: Int, _ operation: (ExploredSite) throws(ExploredSite.Pause) -> Result,
        then complete: (inout LimiterExplorer, Result) -> Void
    ) -> Bool {
        site.shared = state.shared
        let (result, moved) = site.advance(task: index, log: &state.tasks[index].log, operation)
        state.shared = site.shared
        if let result { complete(&self, result) }
        return moved
    }
}

// MARK: Comparing with the naive limiter

extension LimiterExplorer {
    private mutating func entered(_ index: Int, _ isExpected: Bool) {
        check(isExpected, "a task overtook")
        finish(index, entered: true)
    }

    /// Tasks that have not suspended yet are not woken, they find their outcome.
    private mutating func woken(_ wakeups: LimiterWakeups<Int>, _ expected: [Wake]) {
        let all = [wakeups.first].compactMap(\.self) + wakeups.others
        let actual = all.map { Wake(task: $0.waiter, outcome: $0.outcome) }
        check(
            actual == expected.filter { state.tasks[$0.task].phase == .suspended },
            "others were woken, or in another order")
        for wake in actual { state.tasks[wake.task].phase = .resumed(wake.outcome) }
    }

    /// A handler may come late, when the victim waits again, or does no more: then it must have no effect.
    private mutating func cancelled(_ victim: Int, _ wakeups: LimiterWakeups<Int>, wait: Ticket, current: Ticket?) {
        woken(wakeups, wait == current ? state.naive.end(.cancelled) { $0.task == victim } : [])
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
        let (word, machine) = (state.shared.word, state.shared.machine)
        check(held == naive.running && word.running == UInt64(held), "what runs is counted wrong")
        check(word.isCrowded != naive.line.isEmpty, "the word is wrong about whether a task waits")
        check(machine.granted(word) == UInt64(naive.granted), "the places given are counted wrong")
        check(state.shared.peak == UInt64(naive.peak), "the peak is wrong")
        check(machine.limit == UInt64(naive.limit) && state.shared.limit == machine.limit, "the limit is wrong")
        check(machine.line.count == naive.line.count, "the line has a trace of a task that is gone")
        check(machine.watchers.count == naive.watchers.count, "a task waits for a limiter that is idle")
        check(machine.line.isEmpty == false || machine.line.slotCount == 0, "a slot is kept for no task")
    }

    private mutating func check(_ holds: Bool, _ complaint: String) {
        if !holds && violation == nil { violation = complaint }
    }
}

// MARK: - The naive limiter

/// A limiter as one would write it if each operation happened at one moment: what the explorer compares with.
struct NaiveLimiter: Hashable {
    /// How one task's wait ends.
    struct Wake: Hashable {
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
    /// The number of places that are held, also those of weight zero.
    var holders = 0
    var peak = 0
    var granted = 0
    var line: [Waiter] = []
    /// The tasks that wait until the limiter is idle.
    var watchers: [Int] = []
    /// How the wait of each task ended that has not heard of it yet.
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

    /// Returns the task that takes over the place.
    mutating func leave(weight: Int) -> [Wake] {
        running -= weight
        holders -= 1
        return grant()
    }

    /// Returns the tasks that stop waiting.
    mutating func end(_ outcome: LimiterOutcome, where predicate: (Waiter) -> Bool) -> [Wake] {
        let ending = line.filter(predicate).map { Wake(task: $0.task, outcome: outcome) }
        line.removeAll(where: predicate)
        for wake in ending { outcomes[wake.task] = outcome }
        return ending + grant()
    }

    mutating func resize(to limit: Int) -> [Wake] {
        self.limit = limit
        return end(.tooHeavy) { $0.weight > limit }
    }

    /// Returns whether the limiter is idle; otherwise the task waits until it is.
    mutating func watch(_ task: Int) -> Bool {
        if holders > 0 { watchers.append(task) }
        return holders == 0
    }

    private mutating func grant() -> [Wake] {
        var woken: [Wake] = []
        while let next = line.first, running + next.weight <= limit {
            line.removeFirst()
            take(next.weight)
            outcomes[next.task] = .granted
            woken.append(Wake(task: next.task, outcome: .granted))
        }
        if holders == 0 {
            for watcher in watchers {
                outcomes[watcher] = .granted
                woken.append(Wake(task: watcher, outcome: .granted))
            }
            watchers = []
        }
        return woken
    }

    private mutating func take(_ weight: Int) {
        running += weight
        holders += 1
        granted += 1
        peak = max(peak, running)
    }
}
