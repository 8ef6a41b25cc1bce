import TestSupport

@testable import SluiceConcurrency

/// Runs the rate limiter's machine and a naive one through every interleaving of a few tasks' programs.
///
/// Each event of the machine happens at one moment, as all are under one lock. Waiting is several: joining the line,
/// planning, suspending; and the leader's sleep may end late, or before it has suspended.
struct RateLimiterExplorer {
    enum Operation: Hashable {
        case consume(Int)
        /// Another task gives up, if it waits: cancelled, or because its deadline came.
        case leave(Int, RateLimiterOutcome)
        /// Time passes.
        case pass(Int128)
        /// The leader's sleep ends too early.
        case earlyTick
        /// From now on one token arrives per this many attoseconds, and the bucket holds this many.
        case change(Int128, burst: Int)
        case cancelWaiting
    }

    typealias Machine = RateLimiterStateMachine<Int>

    /// Tokens in parts, and a line in which every task is looked at each time.
    struct Naive {
        var period: Int
        var burst: Int
        var parts: Int
        var time = 0
        var line: [(task: Int, weight: Int)] = []

        mutating func refill(_ now: Int128) {
            parts = min(burst * period, parts + Int(now) - time)
            time = Int(now)
        }

        /// Returns the tasks that are granted tokens.
        mutating func serve() -> [Int] {
            var served: [Int] = []
            while let first = line.first, first.weight * period <= parts {
                parts -= first.weight * period
                served.append(line.removeFirst().task)
            }
            return served
        }
    }

    enum Wait {
        case planning
        case planned(Machine.Plan?)
        case suspended(Machine.Plan?)
    }

    struct Runner {
        var program: ArraySlice<Operation>
        var ticket: Machine.Line.Ticket?
        var wait = Wait.planning
        /// Its sleep ended before it suspended.
        var isAwakeEarly = false
    }

    struct State {
        var machine: Machine
        var naive: Naive
        var now: Int128 = 0
        var runners: [Runner]
        /// How the naive limiter says that a wait ended, until the task has heard of it from the machine.
        var expected: [Int: RateLimiterOutcome] = [:]
    }

    private(set) var violation: String?
    private var initial: State

    /// One token comes in ten attoseconds.
    init(burst: Int, programs: [[Operation]]) {
        initial = State(
            machine: Machine(TokenBucket(rate: 1, per: Duration(attoseconds: 10), burst: burst)),
            naive: Naive(period: 10, burst: burst, parts: burst * 10),
            runners: programs.map { Runner(program: $0[...]) })
    }

    mutating func explore() {
        var stack = [initial]
        while var state = stack.popLast(), violation == nil {
            var isStuck = true
            for task in state.runners.indices {
                for step in steps(task, state) {
                    isStuck = false
                    var next = state
                    step(&self, &next)
                    check(next)
                    stack.append(next)
                }
            }
            if isStuck, awake(&state) { stack.append(state) }
        }
    }

    /// Follows one interleaving, chosen at random.
    mutating func walk(using random: inout SeededRandom) {
        var state = initial
        while violation == nil {
            let possible = state.runners.indices.flatMap { steps($0, state) }
            if let step = possible.randomElement(using: &random) {
                step(&self, &state)
                check(state)
            } else if !awake(&state) {
                return
            }
        }
    }

    /// No task can continue: time passes until the leader's sleep is over. Returns `false` at the end.
    private mutating func awake(_ state: inout State) -> Bool {
        guard let first = state.naive.line.first else {
            checkEnd(state)
            return false
        }
        guard case .suspended(let plan?) = state.runners[first.task].wait else {
            violation = "task \(first.task) is the first in line, and does not sleep"
            return false
        }
        let due = state.machine.bucket.moment(of: UInt128(first.weight))
        if max(due, state.now) != max(plan.moment, state.now) {
            violation = "task \(first.task) sleeps until \(plan.moment), not \(due)"
        }
        state.now = max(state.now, plan.moment)
        tick(&state)
        return true
    }

    private func steps(_ task: Int, _ state: State) -> [(inout Self, inout State) -> Void] {
        let runner = state.runners[task]
        guard let ticket = runner.ticket else {
            return runner.program.isEmpty ? [] : [{ $0.perform(task, &$1) }]
        }
        func sleepIsOver(_ plan: Machine.Plan?) -> Bool { plan.map { $0.moment <= state.now } ?? false }
        switch runner.wait {
        case .planning:
            return [
                {
                    $1.runners[task].wait = .planned($1.machine.plan(ticket))
                    $1.runners[task].isAwakeEarly = false
                }
            ]
        case .planned(let plan):
            let suspend = { (explorer: inout Self, state: inout State) in
                let known = state.machine.suspend(ticket, task, plan)
                state.runners[task].wait = .suspended(state.runners[task].isAwakeEarly ? nil : plan)
                if let known { explorer.resume(task, known, &state) }
            }
            // The sleep is over before the task has suspended; the plan is used up then.
            let early = { (explorer: inout Self, state: inout State) in
                explorer.tick(&state)
                explorer.suspendAfterTick(task, ticket, plan, &state)
            }
            return sleepIsOver(plan) ? [suspend, early] : [suspend]
        case .suspended(let plan): return sleepIsOver(plan) ? [{ $0.tick(&$1) }] : []
        }
    }

    // MARK: Steps

    private mutating func perform(_ task: Int, _ state: inout State) {
        switch state.runners[task].program.removeFirst() {
        case .consume(let weight):
            let isRefused = weight > state.naive.burst
            var isServed = false
            if !isRefused {
                state.naive.refill(state.now)
                state.naive.line.append((task, weight))
                isServed = state.naive.line.count == 1 && state.naive.serve() == [task]
            }
            switch state.machine.consume(weight, at: state.now) {
            case .granted: if !isServed { violation = "task \(task) is granted tokens that are not there" }
            case .tooHeavy, .late: if !isRefused { violation = "task \(task) is refused" }
            case .wait(let ticket):
                if isServed || isRefused { violation = "task \(task) waits" }
                state.runners[task].ticket = ticket
                state.runners[task].wait = .planning
            }
        case .leave(let other, let outcome):
            guard let ticket = state.runners[other].ticket else { return }
            if state.naive.line.contains(where: { $0.task == other }) {
                state.naive.refill(state.now)
                if outcome == .expired { expectGrants(&state) }
                if let index = state.naive.line.firstIndex(where: { $0.task == other }) {
                    state.naive.line.remove(at: index)
                    state.expected[other] = outcome
                }
                expectGrants(&state)
            }
            resume(state.machine.leave(ticket, outcome, at: state.now), &state)
        case .cancelWaiting:
            for (other, _) in state.naive.line { state.expected[other] = .cancelled }
            state.naive.line = []
            resume(state.machine.cancelWaiting(), &state)
        case .pass(let time): state.now += time
        case .earlyTick:
            if let first = state.naive.line.first?.task, case .planned = state.runners[first].wait {
                state.runners[first].isAwakeEarly = true
            }
            tick(&state)
        case .change(let period, let burst):
            state.naive.refill(state.now)
            state.naive.parts = state.naive.parts * Int(period) / state.naive.period
            state.naive.period = Int(period)
            state.naive.burst = burst
            state.naive.parts = min(state.naive.parts, burst * Int(period))
            for (other, weight) in state.naive.line where weight > burst { state.expected[other] = .refused }
            state.naive.line.removeAll { $0.weight > burst }
            expectGrants(&state)
            let wakes = state.machine.change(
                rate: 1, per: Duration(attoseconds: period), burst: burst, at: state.now)
            resume(wakes, &state)
        }
    }

    private mutating func tick(_ state: inout State) {
        state.naive.refill(state.now)
        expectGrants(&state)
        resume(state.machine.tick(at: state.now), &state)
    }

    private mutating func suspendAfterTick(
        _ task: Int, _ ticket: Machine.Line.Ticket, _ plan: Machine.Plan?, _ state: inout State
    ) {
        let known = state.machine.suspend(ticket, task, plan)
        state.runners[task].wait = .suspended(nil)
        if let known { resume(task, known, &state) }
    }

    private func expectGrants(_ state: inout State) {
        for task in state.naive.serve() { state.expected[task] = .granted }
    }

    private mutating func resume(_ wakes: [Machine.Wake], _ state: inout State) {
        for wake in wakes {
            guard case .suspended = state.runners[wake.waiter].wait else {
                return violation = "task \(wake.waiter) is resumed, and has not suspended"
            }
            resume(wake.waiter, wake.outcome, &state)
        }
    }

    private mutating func resume(_ task: Int, _ outcome: RateLimiterOutcome, _ state: inout State) {
        guard state.runners[task].ticket != nil else {
            return violation = "task \(task) is resumed, and does not wait"
        }
        state.runners[task].wait = .planning
        if outcome == .lead { return }
        if state.expected[task] != outcome {
            violation = "task \(task) gets \(outcome), not \(String(describing: state.expected[task]))"
        }
        state.expected[task] = nil
        state.runners[task].ticket = nil
    }

    // MARK: What must hold

    private mutating func check(_ state: State) {
        let bucket = state.machine.bucket
        if state.machine.line.count != state.naive.line.count { violation = "\(state.machine.line.count) wait" }
        if bucket.time == Int128(state.naive.time),
            bucket.tokens * state.naive.period + Int(bucket.fraction) != state.naive.parts
        {
            violation = "\(bucket.tokens) tokens are there"
        }
        if state.machine.queued != UInt128(state.naive.line.map(\.weight).reduce(0, +)) { violation = "queued is off" }
        for (task, outcome) in state.expected {
            if case .suspended = state.runners[task].wait { violation = "task \(task) was not resumed with \(outcome)" }
        }
    }

    private mutating func checkEnd(_ state: State) {
        if state.machine.line.slotCount != 0 { violation = "something is kept" }
        if !state.expected.isEmpty { violation = "a task was not told" }
    }
}
