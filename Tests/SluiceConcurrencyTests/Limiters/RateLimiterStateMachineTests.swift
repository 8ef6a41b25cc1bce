import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `Every interleaving of the rate limiter matches the naive one` {
    typealias Operation = RateLimiterExplorer.Operation

    @Test(arguments: [1, 2]) func `two tasks with any three operations each match`(burst: Int) async {
        let violations = await offPool {
            let first = Self.programs(of: [.consume(2), .leave(1, .cancelled), .pass(10), .earlyTick])
            let second = Self.programs(of: [.consume(1), .leave(0, .expired), .change(5, burst: 1)])
            return first.flatMap { first in second.compactMap { Self.violation(burst, [first, $0]) } }
        }
        #expect(violations == [])
    }

    @Test(arguments: [1, 2]) func `three tasks with chosen programs match`(burst: Int) async {
        let programs: [[[Operation]]] = [
            // Each task leads in turn.
            [[.consume(1), .consume(1)], [.consume(1), .pass(10)], [.consume(burst)]],
            // The leader gives up while the next task joins, plans or suspends.
            [[.consume(burst), .leave(1, .cancelled)], [.consume(burst)], [.consume(1)]],
            // A heavy leader gives up in front of a light task, for which there are already enough tokens.
            [[.consume(burst), .pass(10), .leave(1, .cancelled)], [.consume(burst)], [.consume(1)]],
            // The sleep ends too early, and too late.
            [[.consume(burst), .earlyTick], [.consume(1), .pass(30)], [.consume(burst), .earlyTick]],
            // The rate and the burst change while tasks wait.
            [[.consume(burst), .change(3, burst: 1)], [.consume(burst)], [.consume(1), .change(20, burst: 2)]],
            // The deadline and the tokens come at the same moment.
            [[.consume(burst), .pass(10), .leave(1, .expired)], [.consume(1)], [.consume(1), .leave(1, .cancelled)]],
        ]
        let violations = await offPool { programs.compactMap { Self.violation(burst, $0) } }
        #expect(violations == [])
    }

    @Test(arguments: UInt64(0)..<30) func `six tasks with 200 random operations each match`(seed: UInt64) async {
        let violation = await offPool {
            var random = SeededRandom(seed: seed)
            let programs = (0..<6).map { _ in (0..<200).map { _ in Self.operation(using: &random) } }
            var explorer = RateLimiterExplorer(burst: 3, programs: programs)
            explorer.walk(using: &random)
            return explorer.violation
        }
        #expect(violation == nil)
    }

    private static func operation(using random: inout SeededRandom) -> Operation {
        let other = Int.random(in: 0..<6, using: &random)
        let time = Int128(Int.random(in: 1...20, using: &random))
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<24: return .consume(Int.random(in: 0...3, using: &random))
        case 24..<28: return .leave(other, .cancelled)
        case 28..<30: return .leave(other, .expired)
        case 30..<35: return .pass(2 * time)
        case 35..<37: return .earlyTick
        case 37..<39: return .change(time, burst: Int.random(in: 1...3, using: &random))
        default: return .cancelWaiting
        }
    }

    private static func violation(_ burst: Int, _ programs: [[Operation]]) -> String? {
        var explorer = RateLimiterExplorer(burst: burst, programs: programs)
        explorer.explore()
        return explorer.violation.map { "burst \(burst), \(programs): \($0)" }
    }

    /// All programs of three operations that begin with consuming.
    private static func programs(of operations: [Operation]) -> [[Operation]] {
        var programs: [[Operation]] = [[.consume(1)]]
        for _ in 0..<2 { programs = programs.flatMap { program in operations.map { program + [$0] } } }
        return programs
    }
}

// MARK: - The explorer

/// Runs the rate limiter's machine and a naive one through every interleaving of a few tasks' programs.
///
/// Each event of the machine is atomic, because all run under one lock. Waiting takes several: joining the line, planning, and
/// suspending. The leader's sleep may end late, or before the leader has suspended.
struct RateLimiterExplorer {
    enum Operation: Hashable {
        case consume(Int)
        /// Another task gives up if it waits, because it is cancelled or its deadline passes.
        case leave(Int, RateLimiterOutcome)
        /// Time passes.
        case pass(Int128)
        /// The leader's sleep ends too early.
        case earlyTick
        /// From now on, one token arrives per this many attoseconds, and the bucket holds up to `burst` tokens.
        case change(Int128, burst: Int)
        case cancelWaiting
    }

    typealias Machine = RateLimiterStateMachine<Int>

    /// Tokens in fractions, and a line in which every task is checked each time.
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
        /// Whether its sleep ended before it suspended.
        var isAwakeEarly = false
    }

    struct State {
        var machine: Machine
        var naive: Naive
        var now: Int128 = 0
        var runners: [Runner]
        /// The outcomes of waits in the naive limiter that the machine hasn't reported to the tasks yet.
        var expected: [Int: RateLimiterOutcome] = [:]
    }

    private(set) var violation: String?
    private var initial: State

    /// One token arrives every ten attoseconds.
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

    /// Called when no task can continue. Time passes until the leader's sleep is over. Returns `false` at the end.
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
            // The sleep is over before the task has suspended, which uses up the plan.
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
            let wakeups = state.machine.change(
                rate: 1, per: Duration(attoseconds: period), burst: burst, at: state.now)
            resume(wakeups, &state)
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

    private mutating func resume(_ wakeups: [Machine.Wakeup], _ state: inout State) {
        for wake in wakeups {
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

    // MARK: Invariants

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

// MARK: - The token bucket

@Suite struct `The token bucket` {
    @Test func `a bucket starts full and holds at most the burst`() {
        var bucket = TokenBucket(rate: 2, per: .seconds(1), burst: 5)
        let first = [bucket.take(5), bucket.take(1)]
        bucket.refill(until: Duration.seconds(2).attoseconds)
        let afterTwoSeconds = bucket.tokens
        bucket.refill(until: Duration.seconds(200_000).attoseconds)

        #expect(first == [true, false])
        #expect(afterTwoSeconds == 4)
        #expect((bucket.tokens, bucket.fraction) == (5, 0))
    }

    /// Consumes 1,000,000 tokens at rates that don't divide the period. The last one arrives exactly when it should.
    @Test(arguments: [(7, Duration.seconds(3)), (999_983, .seconds(1)), (1, .nanoseconds(333))])
    func `a bucket times a million consumes exactly, however often refilled`(rate: Int, period: Duration) async {
        let (time, tokens) = await offPool { () -> (Int128, Int) in
            var bucket = TokenBucket(rate: rate, per: period, burst: 2)
            _ = bucket.take(2)
            for number in 0..<1_000_000 {
                let due = bucket.moment(of: 1)
                // Sometimes a task checks too early.
                if number % 16 == 0 { bucket.refill(until: due - 1) }
                if number % 16 == 0, bucket.take(1) { return (-1, number) }
                bucket.refill(until: due)
                guard bucket.take(1) else { return (-2, number) }
            }
            return (bucket.time, bucket.tokens)
        }
        let exact = (1_000_000 * period.attoseconds + Int128(rate) - 1) / Int128(rate)
        #expect(tokens == 0)
        #expect(time == exact)
    }

    /// The burst never caps the tokens, so no fraction may be lost.
    @Test func `many small refills add the same tokens as a single refill`() async {
        let (stepwise, atOnce) = await offPool { () -> (TokenBucket, TokenBucket) in
            var random = SeededRandom(seed: 1)
            var stepwise = TokenBucket(rate: 999_983, per: .seconds(7), burst: .max)
            _ = stepwise.take(.max)
            var atOnce = stepwise
            var now: Int128 = 0
            for _ in 0..<200_000 {
                now += Int128(UInt64.random(in: 0...100_000_000_000_000, using: &random))
                stepwise.refill(until: now)
            }
            atOnce.refill(until: now)
            return (stepwise, atOnce)
        }
        #expect(stepwise == atOnce)
        #expect(stepwise.tokens == Int(stepwise.time * 999_983 / Duration.seconds(7).attoseconds))
    }

    @Test(arguments: 1...50) func `a bucket matches plain fractions`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (rate, period) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...20, using: &random))
        let burst = Int.random(in: 1...10, using: &random)
        var bucket = TokenBucket(rate: rate, per: Duration(attoseconds: Int128(period)), burst: burst)
        // In `period`-ths of a token.
        var parts = burst * period
        var now = 0
        for _ in 0..<200 {
            let wanted = Int.random(in: 0...burst, using: &random)
            let missing = max(0, wanted * period - parts)
            let due = now + (missing + rate - 1) / rate
            #expect(bucket.moment(of: UInt128(wanted)) == Int128(due))
            now += Int.random(in: 0...5, using: &random)
            parts = min(burst * period, parts + (now - Int(bucket.time)) * rate)
            bucket.refill(until: Int128(now))
            let isThere = parts >= wanted * period
            if isThere { parts -= wanted * period }
            let taken = bucket.take(wanted)
            #expect(taken == isThere)
            #expect(bucket.tokens * period + Int(bucket.fraction) == parts)
        }
    }

    @Test func `rates, bursts, periods and times of any size work`() {
        let longest = Duration(attoseconds: .max)
        for rate in [1, 3, Int.max] {
            for period in [Duration(attoseconds: 1), .seconds(1), longest] {
                for burst in [1, Int.max] {
                    var bucket = TokenBucket(rate: rate, per: period, burst: burst)
                    let full = bucket.take(burst)
                    #expect(full)
                    #expect(bucket.moment(of: .max) >= bucket.moment(of: 1))
                    #expect(bucket.moment(of: .max) <= TokenBucket.never)
                    bucket.refill(until: 1)
                    bucket.change(rate: rate, per: longest, burst: burst)
                    bucket.refill(until: .max)
                    bucket.change(rate: .max, per: Duration(attoseconds: 1), burst: burst)
                    #expect(bucket.tokens <= burst && bucket.fraction < bucket.period)
                }
            }
        }
        var slow = TokenBucket(rate: 1, per: longest, burst: 1)
        _ = slow.take(1)
        slow.refill(until: .max - 1)
        #expect(slow.tokens == 0)
        slow.refill(until: .max)
        #expect(slow.tokens == 1)
    }

    @Test func `after the clock is set back, no tokens arrive until it has caught up`() {
        var bucket = TokenBucket(rate: 1, per: Duration(attoseconds: 10), burst: 3)
        bucket.refill(until: 1_000)
        _ = bucket.take(3)
        bucket.refill(until: 500)
        bucket.refill(until: 1_000)
        let before = bucket.tokens
        bucket.refill(until: 1_010)
        #expect((before, bucket.tokens) == (0, 1))
    }

    @Test func `tokens that have arrived are kept when the rate changes`() {
        var bucket = TokenBucket(rate: 1, per: Duration(attoseconds: 10), burst: 4)
        _ = bucket.take(4)
        bucket.refill(until: 15)  // a token and a half
        bucket.change(rate: 1, per: Duration(attoseconds: 100), burst: 4)
        let due = bucket.moment(of: 2)
        bucket.change(rate: 1, per: Duration(attoseconds: 100), burst: 1)

        #expect(due == 15 + 50)
        #expect((bucket.tokens, bucket.fraction) == (1, 0))
    }
}
