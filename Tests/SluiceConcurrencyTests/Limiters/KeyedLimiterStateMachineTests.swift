import TestSupport
import Testing

@testable import SluiceConcurrency

extension KeyedLimiterStateMachine {
    fileprivate mutating func tryEnter(_ key: Key, weight: UInt64 = 1) -> Bool {
        if case .run = enter(key, LimiterRequest(weight: weight), joins: false) { true } else { false }
    }
}

extension LimiterWakeups {
    /// All tasks to resume, in order, with their outcomes.
    fileprivate var all: [(waiter: Waiter, outcome: LimiterOutcome)] { (first.map { [$0] } ?? []) + others }

    fileprivate func waiters(_ outcome: LimiterOutcome) -> [Waiter] {
        all.filter { $0.outcome == outcome }.map(\.waiter)
    }
}

@Suite struct `The state machine of a keyed limiter` {
    typealias Machine = KeyedLimiterStateMachine<String, Int>
    typealias Operation = KeyedLimiterExplorer.Operation

    /// Joins the line and suspends.
    private func wait(
        _ machine: inout Machine, _ key: String, _ waiter: Int, _ request: LimiterRequest = LimiterRequest()
    ) -> Machine.Ticket? {
        guard case .wait(let ticket, _) = machine.enter(key, request) else { return nil }
        let known = machine.suspend(ticket, waiter).outcome
        #expect(known == nil)
        return ticket
    }

    @Test func `a key gets at most perKey places, and all keys at most total places`() {
        var machine = Machine(perKey: 2, total: 3)

        let entered = ["a", "a", "a", "b", "b"].map { machine.tryEnter($0) }

        #expect(entered == [true, true, false, true, false])
        #expect((machine.running, machine.running(for: "a"), machine.running(for: "b")) == (3, 2, 1))
    }

    @Test func `keys take turns regardless of their backlog`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("a")
        for waiter in 1...3 { _ = wait(&machine, "a", waiter) }
        for waiter in 11...12 { _ = wait(&machine, "b", waiter) }
        _ = wait(&machine, "c", 21)

        var served: [Int] = []
        // A task that wasn't served doesn't leave: the machine would trap, and two tests that trap at the same time may hang.
        for key in ["a", "b", "c", "a", "b", "a"] where machine.running(for: key) > 0 {
            served.append(machine.leave(key).wakeups.first?.waiter ?? -1)
        }

        #expect(served == [11, 21, 1, 12, 2, 3])
    }

    @Test func `a key at its limit delays no other key`() {
        var machine = Machine(perKey: 1, total: 2)
        _ = machine.tryEnter("a")
        for waiter in 1...100 { _ = wait(&machine, "a", waiter) }

        let entered = machine.tryEnter("b")
        _ = wait(&machine, "b", 101)
        let next = [machine.leave("b"), machine.leave("a")].map { $0.wakeups.first?.waiter }

        #expect(entered)
        #expect(next == [101, 1])
    }

    @Test func `an old ticket of a forgotten key doesn't affect later tasks`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("x")
        let old = wait(&machine, "a", 1)!
        let forgotten = machine.settle(old, .cancelled).forgotten
        let new = wait(&machine, "a", 2)!

        let waiters = [machine.settle(old, .cancelled), machine.settle(new, .cancelled)].map {
            $0.wakeups.first?.waiter
        }

        #expect(forgotten == "a")
        #expect(waiters == [nil, 2])
    }

    @Test func `cancelWaiting leaves uninterruptible tasks in line, in order`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("a")
        _ = wait(&machine, "a", 1, LimiterRequest(isInterruptible: false))
        _ = wait(&machine, "a", 2)
        _ = wait(&machine, "b", 3)
        _ = wait(&machine, "a", 4, LimiterRequest(isInterruptible: false))

        let ofOne = machine.cancelWaiting("a").wakeups.waiters(.cancelled)
        let ofAll = machine.cancelWaiting().wakeups.waiters(.cancelled)
        let left = machine.waiting
        let next = (1...2).map { _ in
            machine.running(for: "a") > 0 ? machine.leave("a").wakeups.first?.waiter : nil
        }

        #expect((ofOne, ofAll, left) == ([2], [3], 2))
        #expect(next == [1, 4])
    }

    @Test func `watchers are resumed when the last task has left, not before`() {
        var machine = Machine(perKey: 2, total: 2)
        for key in ["a", "b"] { _ = machine.tryEnter(key) }
        _ = wait(&machine, "a", 1)

        let isIdleAtFirst = machine.watch(2) == nil
        let told = ["b", "a", "a"].map { machine.leave($0).wakeups.waiters(.granted).filter { $0 == 2 } }
        let isIdleAtLast = machine.watch(3) == nil

        #expect((isIdleAtFirst, isIdleAtLast) == (false, true))
        #expect(told == [[], [], [2]])
    }

    /// A million in a release build.
    @Test func `many keys, used in sequence or concurrently, are all forgotten`() async {
        #if DEBUG
        let keys = 20_000
        #else
        let keys = 500_000
        #endif
        let traces = await offPool {
            var machine = KeyedLimiterStateMachine<Int, Int>(perKey: 1, total: .max)
            for key in 0..<keys {
                guard machine.tryEnter(key), machine.leave(key).forgotten == key else { return (-1, 0, 0) }
            }
            guard machine.traces.room <= Machine.keysKept else { return machine.traces }
            for key in 0..<keys where !machine.tryEnter(key) { return (-2, 0, 0) }
            for key in 0..<keys { _ = machine.leave(key) }
            return machine.traces
        }

        #expect(traces == (0, 0, 0))
    }

    // MARK: Priorities

    /// Releases one place for each key, in order; returns the tasks that got the places.
    private func leave(_ machine: inout Machine, _ keys: [String]) -> [Int?] {
        keys.map { machine.running(for: $0) > 0 ? machine.leave($0).wakeups.first?.waiter : nil }
    }

    @Test func `within a key, higher priorities go first, and equal ones in order of arrival`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("a")
        for (waiter, priority) in [(1, 10), (2, 20), (3, 30), (4, 20), (5, 30)] as [(Int, UInt8)] {
            _ = wait(&machine, "a", waiter, LimiterRequest(priority: priority))
        }

        #expect(leave(&machine, ["a", "a", "a", "a", "a"]) == [3, 5, 2, 4, 1])
    }

    @Test func `priorities don't change the turns of the keys`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("x")
        _ = wait(&machine, "a", 1, LimiterRequest(priority: 10))
        for waiter in 11...13 { _ = wait(&machine, "b", waiter, LimiterRequest(priority: 30)) }
        _ = wait(&machine, "a", 2, LimiterRequest(priority: 10))

        #expect(leave(&machine, ["x", "a", "b", "a", "b", "b"]) == [1, 11, 2, 12, 13, nil])
        #expect(machine.traces.turns == 0)
    }

    @Test func `a low priority gets one in seventeen places of its key`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("a")
        _ = wait(&machine, "a", 100, LimiterRequest(priority: 10))
        for waiter in 0..<40 { _ = wait(&machine, "a", waiter, LimiterRequest(priority: 30)) }

        let served = leave(&machine, Array(repeating: "a", count: 41))

        #expect(served.firstIndex(of: 100) == 16)
    }

    @Test func `a raised task moves to the end of its new level`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("a")
        let raised = wait(&machine, "a", 1, LimiterRequest(priority: 10))!
        _ = wait(&machine, "a", 2, LimiterRequest(priority: 10))
        _ = wait(&machine, "a", 3, LimiterRequest(priority: 20))
        _ = wait(&machine, "a", 4, LimiterRequest(priority: 30))

        _ = machine.raise(raised, to: 30)
        _ = machine.raise(raised, to: 20)

        #expect(leave(&machine, ["a", "a", "a", "a"]) == [4, 1, 3, 2])
    }

    @Test func `a key keeps its turn when its only task is raised`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("x")
        let raised = wait(&machine, "a", 1, LimiterRequest(priority: 10))!
        _ = wait(&machine, "b", 2, LimiterRequest(priority: 10))

        _ = machine.raise(raised, to: 30)

        #expect(machine.waiting == 2)
        #expect(leave(&machine, ["x", "a", "b"]) == [1, 2, nil])
        _ = machine.raise(raised, to: 40)
        #expect(machine.traces.keys == 0 && machine.traces.turns == 0)
    }

    @Test func `a task raised before it suspends is served at its new priority`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.tryEnter("a")
        _ = wait(&machine, "a", 1, LimiterRequest(priority: 20))
        guard case .wait(let ticket, _) = machine.enter("a", LimiterRequest(priority: 10)) else {
            Issue.record("There is no place.")
            return
        }

        _ = machine.raise(ticket, to: 30)
        let served = leave(&machine, ["a"])
        let suspended = machine.suspend(ticket, 2)

        #expect(served == [nil], "the task hasn't suspended yet")
        #expect(suspended.outcome == .granted && suspended.forgotten == nil)
        #expect(leave(&machine, ["a"]) == [1])
    }

    // MARK: Weights

    @Test func `weights count for the key and in total`() {
        var machine = Machine(perKey: 4, total: 6)

        let entered = [("a", 3), ("a", 2), ("b", 4), ("b", 3), ("c", 1), ("c", 0)].map {
            machine.tryEnter($0.0, weight: $0.1)
        }

        #expect(entered == [true, false, false, true, false, true])
        #expect((machine.running, machine.running(for: "a"), machine.running(for: "b")) == (6, 3, 3))
    }

    @Test func `small requests of other keys don't starve a large one`() {
        var machine = Machine(perKey: 4, total: 4)
        for _ in 0..<4 { _ = machine.tryEnter("x") }
        _ = wait(&machine, "a", 1, LimiterRequest(weight: 3))
        _ = wait(&machine, "b", 2)

        // Capacity for the small request is free, but it waits behind the large one.
        let first = (1...2).map { _ in machine.leave("x").wakeups.waiters(.granted) }
        let isOvertaken = machine.tryEnter("c")
        let then = machine.leave("x").wakeups.waiters(.granted)

        #expect(first == [[], []])
        #expect(!isOvertaken)
        #expect(then == [1])
        #expect(machine.leave("x").wakeups.waiters(.granted) == [2])
    }

    @Test func `a request too large for its key's free capacity delays no other key`() {
        var machine = Machine(perKey: 4, total: 8)
        _ = machine.tryEnter("a", weight: 2)
        _ = wait(&machine, "a", 1, LimiterRequest(weight: 3))

        let entered = [machine.tryEnter("b", weight: 4), machine.tryEnter("a", weight: 1)]

        #expect(entered == [true, false], "a task of the same key waits, and another key has its place")
    }

    @Test func `when a large request gives up, the tasks behind it get the capacity`() {
        var machine = Machine(perKey: 4, total: 4)
        _ = machine.tryEnter("x", weight: 2)
        let large = wait(&machine, "a", 1, LimiterRequest(weight: 4))!
        _ = wait(&machine, "b", 2)
        _ = wait(&machine, "a", 3)

        let wakeups = machine.settle(large, .cancelled).wakeups

        #expect(wakeups.waiters(.cancelled) == [1])
        #expect(wakeups.waiters(.granted) == [3, 2], "the key keeps its turn")
        #expect(machine.waiting == 0)
    }

    @Test func `a request above a limit is refused, and a weight of zero takes no capacity`() {
        var machine = Machine(perKey: 2, total: 4)
        if case .refuse = machine.enter("a", LimiterRequest(weight: 3)) {} else { Issue.record("not refused") }

        let entered = (0..<3).map { _ in machine.tryEnter("a", weight: 0) }
        let isIdle = machine.watch(1) == nil
        let told = (1...3).map { _ in machine.leave("a", weight: 0).wakeups.waiters(.granted) }

        #expect(entered == [true, true, true])
        #expect(!isIdle)
        #expect(told == [[], [], [1]])
        #expect((machine.running, machine.traces.keys) == (0, 0))
    }

    @Test func `raising a limit admits waiting tasks, and lowering one refuses requests that can never run`() {
        var machine = Machine(perKey: 2, total: 2)
        _ = machine.tryEnter("a", weight: 2)
        _ = wait(&machine, "a", 1, LimiterRequest(weight: 2))
        _ = wait(&machine, "b", 2)
        _ = wait(&machine, "c", 3, LimiterRequest(weight: 2))

        let smaller = machine.setLimits(perKey: 1, total: 2).wakeups
        let larger = machine.setLimits(perKey: 3, total: 4).wakeups

        #expect(smaller.waiters(.tooHeavy).sorted() == [1, 3])
        #expect(smaller.waiters(.granted) == [])
        #expect(larger.all.map(\.waiter) == [2])
        #expect((machine.running, machine.waiting, machine.traces.turns) == (3, 0, 0))
    }

    @Test func `no task loses its place when a limit shrinks`() {
        var machine = Machine(perKey: 4, total: 4)
        for _ in 0..<3 { _ = machine.tryEnter("a") }
        _ = machine.setLimits(perKey: 2, total: 2)
        _ = wait(&machine, "a", 1)

        let resumed = (1...3).map { _ in machine.leave("a").wakeups.waiters(.granted) }

        #expect(resumed == [[], [1], []])
        #expect(machine.running == 1)
    }

    @Test func `a larger limit admits keys in order of arrival`() {
        var machine = Machine(perKey: 1, total: 20)
        for key in 0..<10 { _ = machine.tryEnter("\(key)") }
        for key in 0..<10 { _ = wait(&machine, "\(key)", key) }

        #expect(machine.setLimits(perKey: 2, total: 20).wakeups.waiters(.granted) == Array(0..<10))
    }

    // MARK: Every interleaving

    @Test(arguments: [(1, 1), (1, 2), (2, 2)])
    func `two tasks with any three operations each on two keys match the naive limiter`(perKey: Int, total: Int) async {
        let violations = await offPool {
            let first = Self.programs(of: [.enter("a"), .enter("b"), .leave, .cancel(1)])
            let second = Self.programs(of: [.enter("a"), .enter("b"), .leave, .cancel(0)])
            return first.flatMap { first in
                second.compactMap { Self.violation(perKey, total, [first, $0]) }
            }
        }
        #expect(violations == [])
    }

    @Test(arguments: [(1, 1), (1, 2), (2, 2)])
    func `three tasks with chosen programs on two keys match the naive limiter`(perKey: Int, total: Int) async {
        let programs: [[[Operation]]] = [
            // A place passes from key to key.
            [[.enter("a"), .leave, .enter("b")], [.enter("b"), .leave], [.enter("a"), .leave]],
            // A key's only task is cancelled as its turn comes.
            [[.enter("a"), .leave], [.enter("b"), .leave, .cancel(2)], [.enter("b"), .leave, .enter("a")]],
            // The first of a key's two tasks is cancelled.
            [[.enter("a"), .leave, .cancel(1)], [.enter("a"), .leave], [.enter("a"), .enter("b"), .leave]],
            // One task holds places of two keys.
            [[.enter("a"), .enter("b"), .leave], [.enter("b"), .leave], [.cancel(0), .enter("a"), .leave]],
            // Two places of one key go to two tasks that wait for the other.
            [[.enter("a"), .enter("a"), .leave, .leave], [.enter("b"), .leave], [.enter("b"), .leave]],
            // All tasks cancel each other.
            [
                [.enter("a"), .cancel(1), .leave], [.enter("a"), .cancel(2), .leave],
                [.enter("b"), .cancel(0), .leave],
            ],
            // A key is forgotten and used again, and a late cancellation arrives during its new wait.
            [[.enter("a"), .leave], [.enter("b"), .leave, .enter("b")], [.cancel(1), .cancel(1)]],
        ]
        let violations = await offPool { programs.compactMap { Self.violation(perKey, total, $0) } }
        #expect(violations == [])
    }

    private static func violation(_ perKey: Int, _ total: Int, _ programs: [[Operation]]) -> String? {
        var explorer = KeyedLimiterExplorer(perKey: perKey, total: total, programs: programs)
        explorer.explore()
        return explorer.violation.map { "\(perKey) per key, \(total) in total, \(programs): \($0)" }
    }

    /// All programs of three operations that begin with entering.
    private static func programs(of operations: [Operation]) -> [[Operation]] {
        var programs: [[Operation]] = [[.enter("a")], [.enter("b")]]
        for _ in 0..<2 { programs = programs.flatMap { program in operations.map { program + [$0] } } }
        return programs
    }
}

// MARK: - The explorer

/// Runs the keyed limiter's machine and the naive one through every interleaving of a few tasks' programs.
///
/// Each event of the machine is atomic, because all run under one lock. So each event is one step, but entering is two: joining the
/// line and suspending in it. Both machines are copied wherever more than one task can continue.
struct KeyedLimiterExplorer {
    enum Operation: Hashable {
        case enter(String)
        /// Releases the place that was taken last. Does nothing if no place is held.
        case leave
        /// Cancels another task if it waits.
        case cancel(Int)
    }

    typealias Machine = KeyedLimiterStateMachine<String, Int>

    struct Runner {
        var program: ArraySlice<Operation>
        var held: [String] = []
        /// In line, with the key that it waits for.
        var wait: (ticket: Machine.Ticket, key: String)?
        var isSuspended = false
    }

    struct State {
        var machine: Machine
        var naive: NaiveKeyedLimiter
        var runners: [Runner]
        /// The outcomes of waits in the naive limiter that the machine hasn't reported to the tasks yet.
        var expected: [Int: LimiterOutcome] = [:]
    }

    private(set) var violation: String?
    private(set) var states = 0
    private var initial: State

    init(perKey: Int, total: Int, programs: [[Operation]]) {
        initial = State(
            machine: Machine(perKey: UInt64(perKey), total: UInt64(total)),
            naive: NaiveKeyedLimiter(perKey: perKey, total: total),
            runners: programs.map { Runner(program: $0[...]) })
    }

    mutating func explore() {
        var stack = [initial]
        while let state = stack.popLast(), violation == nil {
            states += 1
            var isStuck = true
            for task in state.runners.indices where canStep(state.runners[task]) {
                isStuck = false
                var next = state
                step(task, &next)
                check(next)
                stack.append(next)
            }
            if isStuck { checkEnd(state) }
        }
    }

    private func canStep(_ runner: Runner) -> Bool {
        if runner.wait != nil { return !runner.isSuspended }
        return !runner.program.isEmpty
    }

    // MARK: Steps

    private mutating func step(_ task: Int, _ state: inout State) {
        if let (ticket, _) = state.runners[task].wait {
            let known = state.machine.suspend(ticket, task)
            state.runners[task].isSuspended = true
            if let outcome = known.outcome {
                resume(task, outcome, &state)
            } else if state.expected[task] != nil {
                violation = "task \(task) suspends, though its wait is over"
            }
            return
        }
        switch state.runners[task].program.removeFirst() {
        case .enter(let key):
            let mayRun = state.naive.enter(task, key)
            switch state.machine.enter(key) {
            case .refuse: violation = "a request of weight 1 is refused"
            case .run:
                if !mayRun { violation = "task \(task) runs and should wait" }
                state.runners[task].held.append(key)
            case .wait(let ticket, _):
                if mayRun { violation = "task \(task) waits and should run" }
                state.runners[task].wait = (ticket, key)
                state.runners[task].isSuspended = false
            }
        case .leave:
            guard let key = state.runners[task].held.popLast() else { return }
            let next = state.naive.leave(key)
            if let next { state.expected[next] = .granted }
            let action = state.machine.leave(key)
            if let resumed = action.wakeups.first { resume(resumed.waiter, resumed.outcome, &state) }
        case .cancel(let other):
            guard let (ticket, _) = state.runners[other].wait else { return }
            if state.naive.cancel(other) { state.expected[other] = .cancelled }
            if let resumed = state.machine.settle(ticket, .cancelled).wakeups.first {
                resume(resumed.waiter, resumed.outcome, &state)
            }
        }
    }

    private mutating func resume(_ task: Int, _ outcome: LimiterOutcome, _ state: inout State) {
        guard let (_, key) = state.runners[task].wait, state.runners[task].isSuspended else {
            return violation = "task \(task) is resumed, and does not wait"
        }
        if state.expected[task] != outcome {
            violation = "task \(task) gets \(outcome), not \(String(describing: state.expected[task]))"
        }
        state.expected[task] = nil
        state.runners[task].wait = nil
        if outcome == .granted { state.runners[task].held.append(key) }
    }

    // MARK: Invariants

    private mutating func check(_ state: State) {
        let (machine, naive) = (state.machine, state.naive)
        if machine.running != naive.running.count { violation = "\(machine.running) run, not \(naive.running.count)" }
        if machine.waiting != naive.line.count { violation = "\(machine.waiting) wait, not \(naive.line.count)" }
        for key in ["a", "b"] where machine.waiting(for: key) != naive.line.filter({ $0.key == key }).count {
            violation = "\(machine.waiting(for: key)) wait for \(key)"
        }
        for key in ["a", "b"] where machine.running(for: key) != naive.running.filter({ $0 == key }).count {
            violation = "\(machine.running(for: key)) run for \(key)"
        }
        for (task, outcome) in state.expected where state.runners[task].isSuspended {
            violation = "task \(task) was not resumed with \(outcome)"
        }
    }

    private mutating func checkEnd(_ state: State) {
        let known = Set(state.naive.running + state.naive.line.map(\.key)).count
        if state.machine.traces.keys != known { violation = "\(state.machine.traces.keys) keys are kept, not \(known)" }
        if state.naive.line.isEmpty, state.machine.traces.turns != 0 { violation = "turns are kept, and no task waits" }
    }
}

// MARK: - The naive limiter

/// A keyed limiter written without regard to speed. The explorer compares the machine with it.
struct NaiveKeyedLimiter {
    let perKey: Int
    let total: Int
    /// The keys of the running bodies.
    var running: [String] = []
    /// The waiting tasks, in order of arrival.
    var line: [(task: Int, key: String)] = []
    /// The keys in the order of their turns: the one that has waited longest for its turn comes first.
    var turns: [String] = []

    private func mayRun(_ key: String) -> Bool {
        running.count < total && running.filter { $0 == key }.count < perKey
    }

    /// Returns whether the task may run immediately.
    mutating func enter(_ task: Int, _ key: String) -> Bool {
        if mayRun(key) {
            running.append(key)
            return true
        }
        line.append((task, key))
        arrange()
        return false
    }

    /// Returns the task that takes over the place.
    mutating func leave(_ key: String) -> Int? {
        running.remove(at: running.firstIndex(of: key)!)
        arrange()
        guard let next = turns.first, let index = line.firstIndex(where: { $0.key == next }) else { return nil }
        running.append(next)
        turns.removeFirst()
        let task = line.remove(at: index).task
        arrange()
        return task
    }

    /// Returns whether the task was in line.
    mutating func cancel(_ task: Int) -> Bool {
        guard let index = line.firstIndex(where: { $0.task == task }) else { return false }
        line.remove(at: index)
        arrange()
        return true
    }

    /// Gives turns to the keys that have waiting tasks and are below their limit, in the order in which they got there.
    private mutating func arrange() {
        let wanting = line.map(\.key).filter { key in running.filter { $0 == key }.count < perKey }
        turns.removeAll { !wanting.contains($0) }
        for key in wanting where !turns.contains(key) { turns.append(key) }
    }
}

// MARK: - Any order of events

/// Compares thousands of random events with a naive limiter: weights, new limits, priorities, watchers, and tasks that suspend late.
@Suite struct `Any order of events matches the naive keyed limiter` {
    typealias Machine = KeyedLimiterStateMachine<String, Int>

    /// Each task joins its key's line. Then capacity is given out until the next key in turn must wait.
    struct Naive {
        var perKey: Int
        var total: Int
        /// In the order in which the keys got their first task.
        var lines: [(key: String, line: NaiveLine)] = []
        /// The running bodies.
        var running: [(key: String, weight: Int)] = []
        /// The keys whose next task fits into their own limit. The key that has waited longest for its turn comes first.
        var turns: [String] = []
        var watchers: [Int] = []

        var waitingCount: Int { lines.reduce(0) { $0 + $1.line.waiters.count } }
        var sum: Int { running.reduce(0) { $0 + $1.weight } }

        func sum(_ key: String) -> Int { running.reduce(0) { $0 + ($1.key == key ? $1.weight : 0) } }
        func waitingCount(_ key: String) -> Int { lines.first { $0.key == key }?.line.waiters.count ?? 0 }

        private func index(_ key: String) -> Int? { lines.firstIndex { $0.key == key } }

        /// Returns the tasks that get a place, including this one if it may run immediately.
        mutating func enter(_ key: String, _ waiter: NaiveLine.Waiter) -> [Int] {
            if index(key) == nil { lines.append((key, NaiveLine())) }
            lines[index(key)!].line.join(waiter)
            arrange(key)
            return grant()
        }

        mutating func leave(_ place: Int) -> (granted: [Int], watchers: [Int]) {
            let key = running.remove(at: place).key
            arrange(key)
            let granted = grant()
            defer { if running.isEmpty { watchers = [] } }
            return (granted, running.isEmpty ? watchers : [])
        }

        /// Ends waits; returns their tasks, and the tasks that are then granted capacity.
        mutating func remove(
            _ keys: [String], where predicate: (NaiveLine.Waiter) -> Bool
        ) -> (ended: [Int], granted: [Int]) {
            var ended: [Int] = []
            for key in keys {
                guard let index = index(key) else { continue }
                ended += lines[index].line.remove(where: predicate).map(\.task)
                arrange(key)
            }
            return (ended, grant())
        }

        mutating func raise(_ key: String, _ task: Int, to priority: UInt8) -> [Int] {
            guard let index = index(key) else { return [] }
            lines[index].line.raise(task, to: priority)
            arrange(key)
            return grant()
        }

        /// All keys get new turns, in the order in which they became known.
        mutating func setLimits(_ perKey: Int, _ total: Int) -> (ended: [Int], granted: [Int]) {
            (self.perKey, self.total) = (perKey, total)
            return remove(lines.map(\.key)) { $0.weight > min(perKey, total) }
        }

        /// A key that no task uses is forgotten, and comes last if it's used again.
        mutating func forget(_ isUsed: (String) -> Bool) {
            lines.removeAll { entry in !isUsed(entry.key) }
        }

        private mutating func arrange(_ key: String) {
            let next = index(key).flatMap { lines[$0].line.next }
            let wantsTurn = next.map { sum(key) + $0.weight <= perKey } ?? false
            if !wantsTurn { turns.removeAll { $0 == key } } else if !turns.contains(key) { turns.append(key) }
        }

        private mutating func grant() -> [Int] {
            var granted: [Int] = []
            while let key = turns.first, let index = index(key), let next = lines[index].line.next,
                sum + next.weight <= total
            {
                turns.removeFirst()
                granted.append(lines[index].line.takeNext()!.task)
                running.append((key, next.weight))
                arrange(key)
            }
            return granted
        }
    }

    @Test(arguments: UInt64(0)..<60)
    func `after each event, the same tasks run, wait and are resumed`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        /// Half of the limiters have tasks of weight 1 only.
        let isWeighted = seed % 2 == 1
        func limits() -> (perKey: Int, total: Int) {
            isWeighted
                ? (Int.random(in: 1...6, using: &random), Int.random(in: 1...10, using: &random))
                : (Int.random(in: 1...2, using: &random), Int.random(in: 1...4, using: &random))
        }
        let (perKey, total) = limits()
        var machine = Machine(perKey: UInt64(perKey), total: UInt64(total))
        var naive = Naive(perKey: perKey, total: total)
        var tickets: [Int: Machine.Ticket] = [:]
        var watches: [Int: Machine.Watch] = [:]
        /// The tasks that are or were in line and haven't suspended.
        var awake: Set<Int> = []
        var outcomes: [Int: LimiterOutcome] = [:]

        func compare(
            _ wakeups: Machine.Wakeups, _ outcome: LimiterOutcome = .cancelled, ended: [Int] = [], granted: [Int]
        ) {
            for (tasks, outcome) in [(ended, outcome), (granted, .granted)] {
                for task in tasks where awake.contains(task) { outcomes[task] = outcome }
                let suspended = tasks.filter { !awake.contains($0) }
                let actual = wakeups.waiters(outcome)
                if actual.sorted() != suspended.sorted() { Issue.record("\(outcome): \(actual), not \(suspended)") }
                // The order of cancelled waits doesn't matter, but capacity is granted in order.
                if outcome == .granted, actual != suspended { Issue.record("\(actual), not \(suspended)") }
            }
        }

        for task in 0..<1_000 {
            let now = naive
            naive.forget { key in
                now.running.contains { $0.key == key } || now.waitingCount(key) > 0
                    || awake.contains { tickets[$0]?.key == key }
            }
            switch Int.random(in: 0..<19, using: &random) {
            case 0..<6:
                let key = ["a", "b", "c"].randomElement(using: &random)!
                let priority: UInt8 = [9, 17, 25].randomElement(using: &random)!
                let isInterruptible = Bool.random(using: &random)
                let weight = isWeighted ? Int.random(in: 0...4, using: &random) : 1
                let request = LimiterRequest(
                    weight: UInt64(weight), priority: priority, isInterruptible: isInterruptible)
                guard weight <= min(naive.perKey, naive.total) else {
                    if case .refuse = machine.enter(key, request) {} else { Issue.record("A large request waits.") }
                    continue
                }
                var granted = naive.enter(
                    key, .init(task: task, priority: priority, weight: weight, isInterruptible: isInterruptible))
                let runs = granted.contains(task)
                granted.removeAll { $0 == task }
                switch machine.enter(key, request) {
                case .refuse: Issue.record("A small request is refused.")
                case .run(let wakeups):
                    #expect(runs)
                    compare(wakeups, granted: granted)
                case .wait(let ticket, let wakeups):
                    #expect(!runs)
                    compare(wakeups, granted: granted)
                    tickets[task] = ticket
                    if Bool.random(using: &random) {
                        awake.insert(task)
                    } else {
                        #expect(machine.suspend(ticket, task).outcome == nil)
                    }
                }
            case 6..<11:
                guard let place = naive.running.indices.randomElement(using: &random) else { continue }
                let (key, weight) = naive.running[place]
                let expected = naive.leave(place)
                let action = machine.leave(key, weight: UInt64(weight))
                compare(action.wakeups, granted: expected.granted + expected.watchers)
            case 11, 12:
                guard
                    let (task, ticket) = tickets.sorted(by: { $0.key < $1.key }).suffix(60).randomElement(
                        using: &random)
                else {
                    continue
                }
                let expected = naive.remove([ticket.key]) { $0.task == task }
                compare(
                    machine.settle(ticket, .cancelled).wakeups, ended: expected.ended, granted: expected.granted)
            case 13:
                guard
                    let (task, ticket) = tickets.sorted(by: { $0.key < $1.key }).suffix(60).randomElement(
                        using: &random)
                else {
                    continue
                }
                let priority: UInt8 = [17, 25, 33].randomElement(using: &random)!
                let expected = naive.raise(ticket.key, task, to: priority)
                compare(machine.raise(ticket, to: priority), granted: expected)
            case 14:
                guard let task = awake.sorted().randomElement(using: &random), let ticket = tickets[task] else {
                    continue
                }
                awake.remove(task)
                #expect(machine.suspend(ticket, task).outcome == outcomes.removeValue(forKey: task))
            case 15 where Int.random(in: 0..<10, using: &random) == 0:
                let key = ["a", "b", nil].randomElement(using: &random)!
                let keys = key.map { [$0] } ?? naive.lines.map(\.key)
                let expected = naive.remove(keys, where: \.isInterruptible)
                compare(machine.cancelWaiting(key).wakeups, ended: expected.ended, granted: expected.granted)
            case 16:
                let watch = machine.watch(task)
                watches[task] = watch
                #expect((watch == nil) == (naive.running.isEmpty && naive.waitingCount == 0))
                if watch != nil { naive.watchers.append(task) }
            case 17:
                guard let watcher = watches.keys.sorted().randomElement(using: &random), let watch = watches[watcher]
                else {
                    continue
                }
                let expected = naive.watchers.contains(watcher) ? watcher : nil
                naive.watchers.removeAll { $0 == watcher }
                #expect(machine.endWatch(watch, .expired) == expected)
            case 18 where Int.random(in: 0..<4, using: &random) == 0:
                let (perKey, total) = limits()
                let expected = naive.setLimits(perKey, total)
                compare(
                    machine.setLimits(perKey: UInt64(perKey), total: UInt64(total)).wakeups, .tooHeavy,
                    ended: expected.ended, granted: expected.granted)
            default: continue
            }
            let counts = ["a", "b", "c"].flatMap { [Int(machine.running(for: $0)), machine.waiting(for: $0)] }
            let expected = ["a", "b", "c"].flatMap { [naive.sum($0), naive.waitingCount($0)] }
            let isRight =
                counts == expected && Int(machine.running) == naive.sum && machine.waiting == naive.waitingCount
            if !isRight { Issue.record("\(counts), \(naive)") }
        }

        // All tasks leave, one after the other. None may remain.
        while let (key, weight) = naive.running.first {
            let expected = naive.leave(0)
            let action = machine.leave(key, weight: UInt64(weight))
            compare(action.wakeups, granted: expected.granted + expected.watchers)
        }
        for task in awake { #expect(machine.suspend(tickets[task]!, task).outcome == outcomes[task]) }
        #expect((naive.waitingCount, naive.watchers) == (0, []))
        #expect((machine.waiting, machine.traces.keys, machine.traces.turns) == (0, 0, 0))
    }
}
