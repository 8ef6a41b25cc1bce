import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite(.timeLimit(.minutes(15))) struct `A monitor` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let monitor = Monitor(0)

    struct Refused: Error {}

    @Test
    func `a change wakes exactly the tasks whose predicate holds, in order`() {
        let recorder = Recorder<String>()
        for (name, wanted) in [("a", 2), ("b", 1), ("c", 2), ("d", 3)] {
            _ = executor.spawn { [monitor] in
                await monitor.wait(where: { $0 == wanted })
                recorder.note(name)
            }
        }
        executor.runUntilIdle()

        monitor.withState { $0 = 2 }
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "c"])

        monitor.withState { $0 = 3 }
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "c", "d"])

        monitor.withState { $0 = 1 }
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "c", "d", "b"])
    }

    /// Pitfall: notify-all also wakes tasks that come after it.
    @Test
    func `a change that is undone immediately wakes the tasks that already waited, and no later ones`() {
        let recorder = Recorder<String>()
        @Sendable func wait(_ name: String) {
            _ = executor.spawn { [monitor] in
                await monitor.wait(where: { $0 == 1 })
                recorder.note(name)
            }
            executor.runUntilIdle()
        }
        wait("before")

        monitor.withState { $0 = 1 }
        monitor.withState { $0 = 0 }
        wait("after")

        #expect(recorder.values == ["before"])
        monitor.withState { $0 = 1 }
        executor.runUntilIdle()
        #expect(recorder.values == ["before", "after"])
    }

    @Test
    func `a wait returns immediately if the predicate already holds`() async throws {
        await monitor.wait(where: { $0 == 0 })
        try await monitor.waitUnlessCancelled(where: { $0 == 0 })
        try await monitor.wait(where: { $0 == 0 }, until: clock.now, clock: clock)
        try await monitor.wait(where: { $0 == 0 }, timeout: .zero)
        #expect(try await monitor.wait(claiming: { $0 }, timeout: .zero) == 0)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `each value goes to exactly one of many claiming tasks, in order of arrival`() {
        let pool = Monitor([String]())
        let recorder = Recorder<String>()
        for number in 0..<4 {
            _ = executor.spawn {
                let thing = await pool.wait(claiming: { $0.popLast() })
                recorder.note("\(number) \(thing)")
            }
        }
        executor.runUntilIdle()

        pool.withState { $0.append("x") }
        executor.runUntilIdle()
        #expect(recorder.values == ["0 x"])

        pool.withState { $0 += ["y", "z"] }
        executor.runUntilIdle()
        #expect(recorder.values == ["0 x", "1 z", "2 y"])
        #expect(pool.state == [])
    }

    @Test
    func `a claim that succeeds immediately serves the tasks that wait for its changes`() async {
        let recorder = Recorder<String>()
        _ = executor.spawn { [monitor] in
            await monitor.wait(where: { $0 == 5 })
            recorder.note("served")
        }
        executor.runUntilIdle()

        let claimed = await monitor.wait(claiming: { state -> Int? in
            state = 5
            return state
        })
        executor.runUntilIdle()

        #expect(claimed == 5 && recorder.values == ["served"])
    }

    @Test
    func `a cancelled waiter claims nothing, and the next gets the value`() async {
        let cancelled = executor.spawnThrowing { [monitor] in
            try await monitor.waitUnlessCancelled(claiming: Self.takeOne)
        }
        let next = executor.spawnThrowing { [monitor] in try await monitor.waitUnlessCancelled(claiming: Self.takeOne) }
        let steady = executor.spawn { [monitor] in await monitor.wait(claiming: Self.takeOne) }
        executor.runUntilIdle()
        cancelled.cancel()
        steady.cancel()

        monitor.withState { $0 = 2 }
        executor.runUntilIdle()

        #expect(monitor.state == 0)
        // Ends any remaining waits: if the monitor missed the cancellation, the test should fail and not hang.
        monitor.withState { $0 = 9 }
        executor.runUntilIdle()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await (try? next.value) == 2)
        #expect(await steady.value == 1)
    }

    @Sendable
    static func takeOne(_ state: inout Int) -> Int? {
        guard state > 0 else { return nil }
        defer { state -= 1 }
        return state
    }

    @Test
    func `a deadline ends the wait, claims nothing and leaves no sleeping task`() async throws {
        let deadline = ManualClock.Instant(offset: .seconds(3))
        let claim = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(claiming: Self.takeOne, until: deadline, clock: clock)
        }
        let wait = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(where: { $0 > 0 }, until: deadline, clock: clock)
        }
        let late = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(claiming: Self.takeOne, until: deadline.advanced(by: .seconds(1)), clock: clock)
        }
        let cancelled = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(where: { $0 > 0 }, until: deadline, clock: clock)
        }
        executor.runUntilIdle()
        #expect(clock.sleeperCount == 4)

        cancelled.cancel()
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        monitor.withState { $0 = 1 }
        executor.runUntilIdle()

        await #expect(throws: DeadlineExceeded.self) { try await claim.value }
        await #expect(throws: DeadlineExceeded.self) { try await wait.value }
        #expect(try await late.value == 1)
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a timeout of zero ends the wait if the predicate doesn't hold`() async {
        await #expect(throws: DeadlineExceeded.self) {
            try await monitor.wait(where: { $0 > 0 }, timeout: .zero)
        }
        await #expect(throws: DeadlineExceeded.self) {
            try await monitor.wait(claiming: Self.takeOne, timeout: .zero)
        }
    }

    @Test
    func `an error of a predicate or claim ends its own wait, with its type`() async throws {
        let refused = executor.spawn { [monitor] in
            do throws(Refused) {
                try await monitor.wait(where: { state throws(Refused) in
                    if state == 1 { throw Refused() }
                    return false
                })
                return false
            } catch {
                let _: Refused = error
                return true
            }
        }
        let steady = executor.spawn { [monitor] in await monitor.wait(where: { $0 == 1 }) }
        executor.runUntilIdle()

        monitor.withState { $0 = 1 }
        executor.runUntilIdle()

        #expect(await refused.value)
        await steady.value
        await #expect(throws: Refused.self) {
            try await monitor.wait(claiming: { _ throws(Refused) -> Int? in throw Refused() })
        }
    }

    @Test
    func `a throwing body wakes the tasks that waited for its changes`() {
        let recorder = Recorder<String>()
        _ = executor.spawn { [monitor] in
            await monitor.wait(where: { $0 == 1 })
            recorder.note("served")
        }
        executor.runUntilIdle()

        #expect(throws: Refused.self) {
            try monitor.withState { state throws(Refused) in
                state = 1
                throw Refused()
            }
        }
        executor.runUntilIdle()

        #expect(recorder.values == ["served"])
    }

    @Test(arguments: 0..<100)
    func `under any schedule, each value is claimed once, and unclaimed values remain`(seed: Int) async {
        let executor = ManualExecutor(seed: UInt64(seed))
        let clock = ManualClock()
        let pool = Monitor([Int]())
        let claims = Recorder<Int>()
        var waiting: [Task<Void, any Error>] = []
        for number in 0..<6 {
            waiting.append(
                executor.spawnThrowing {
                    switch number % 3 {
                    case 0: claims.note(await pool.wait(claiming: { $0.popLast() }))
                    case 1: claims.note(try await pool.waitUnlessCancelled(claiming: { $0.popLast() }))
                    default:
                        let deadline = ManualClock.Instant(offset: .seconds(1))
                        let claimed = try await pool.wait(claiming: { $0.popLast() }, until: deadline, clock: clock)
                        claims.note(claimed)
                    }
                })
        }
        for _ in 0..<(seed % 9) { executor.runOne() }
        for thing in 0..<4 { _ = executor.spawn { pool.withState { $0.append(thing) } } }
        _ = executor.spawn { [waiting] in waiting[1].cancel() }
        _ = executor.spawn { [waiting] in waiting[3].cancel() }
        _ = executor.spawn { clock.advance(by: .seconds(1)) }
        executor.runUntilIdle()

        #expect((claims.values + pool.state).sorted() == [0, 1, 2, 3], "seed \(seed)")
        #expect(clock.sleeperCount == 0)
        pool.withState { $0 += [4, 5] }
        executor.runUntilIdle()
        #expect((claims.values + pool.state).sorted() == [0, 1, 2, 3, 4, 5], "seed \(seed)")
        for task in waiting { _ = await task.result }
    }

    @Test
    func `on all threads, each value is claimed once while other waits are cancelled`() async {
        for _ in 0..<100 {
            let pool = Monitor([Int]())
            let claims = Recorder<Int>()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { claims.note(await pool.wait(claiming: { $0.popLast() })) } }
                let cancelled = Task { try await pool.waitUnlessCancelled(claiming: { $0.popLast() }) }
                group.addTask { if let thing = try? await cancelled.value { claims.note(thing) } }
                group.addTask { cancelled.cancel() }
                group.addTask { for thing in 0..<5 { pool.withState { $0.append(thing) } } }
            }
            #expect((claims.values + pool.state).sorted() == [0, 1, 2, 3, 4])
        }
    }
}

// MARK: Isolation and ownership

extension `A monitor` {
    final class NotSendable {
        var number = 0
    }

    struct NotCopyable: ~Copyable {
        let number: Int
    }

    @Test
    func `withState passes values that aren't Sendable or copyable, and keeps the type of errors`() throws {
        let object = NotSendable()
        let same = monitor.withState { state in
            object.number = state + 1
            return object
        }
        let unique = monitor.withState { NotCopyable(number: $0) }
        #expect(same === object && object.number == 1 && unique.number == 0)
        do throws(Refused) {
            try monitor.withState { _ throws(Refused) in throw Refused() }
        } catch {
            let _: Refused = error
        }
    }

    @Test @MainActor
    func `a waiter returns to its actor`() async {
        async let changing: Void = Task { @concurrent [monitor] in monitor.withState { $0 = 1 } }.value

        await monitor.wait(where: { $0 == 1 })

        MainActor.preconditionIsolated("A waiter must come back to its actor.")
        await changing
    }

    final class Tracked: Sendable {
        let whenGone: @Sendable () -> Void
        init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
        deinit { whenGone() }
    }

    /// If a capture were destroyed under the lock, its deinit, which uses the monitor, would trap.
    @Test
    func `a predicate's captures are destroyed outside the lock, whether served or cancelled`() {
        let states = Recorder<Int>()
        @Sendable func wait() -> Task<Void, any Error> {
            executor.spawnThrowing { [monitor] in
                let tracked = Tracked { [monitor] in states.note(monitor.state) }
                try await monitor.waitUnlessCancelled(where: { [tracked] state in
                    withExtendedLifetime(tracked) { state == 1 }
                })
            }
        }
        _ = wait()
        let cancelled = wait()
        executor.runUntilIdle()
        cancelled.cancel()
        executor.runUntilIdle()
        #expect(states.values == [0])

        monitor.withState { $0 = 1 }
        executor.runUntilIdle()

        #expect(states.values == [0, 1])
    }

    @Test
    func `a predicate that uses its monitor traps`() async {
        await #expect(processExitsWith: .failure) {
            let monitor = Monitor(0)
            await monitor.wait(where: { _ in monitor.state == 0 })
        }
    }
}

// MARK: - The state machine

@Suite struct `The state machine of a monitor` {
    typealias Machine = MonitorStateMachine<Int, String>

    /// What a task waits for. The state is a number.
    enum Wish: CaseIterable {
        case takeOne, takeTwo, isTwo, isZero
        /// Takes one and adds three, which may serve tasks that were passed over.
        case trade

        var changesState: Bool { self != .isTwo && self != .isZero }

        func isGranted(_ state: inout Int) -> Bool {
            let (price, isMet) =
                switch self {
                case .takeOne: (1, state >= 1)
                case .takeTwo: (2, state >= 2)
                case .isTwo: (0, state == 2)
                case .isZero: (0, state == 0)
                case .trade: (-2, state == 1)
                }
            if isMet { state -= price }
            return isMet
        }

        var attempt: Machine.Attempt {
            Machine.Attempt(changesState: changesState, succeeds: { isGranted(&$0) })
        }
    }

    @Test
    func `one hundred thousand cancelled tasks leave no trace`() {
        var machine = Machine(0)
        let tickets = (0..<100_000).compactMap { _ in machine.enter(Wish.takeOne.attempt).ticket }
        for ticket in tickets {
            _ = machine.suspend(ticket, "waiter")
            _ = machine.leave(ticket, .cancelled)
        }
        #expect(machine.line.slotCount == 0)
        #expect(machine.attempts.isEmpty)
    }

    @Test
    func `a claim that lets a passed-over waiter succeed serves it too`() throws {
        var machine = Machine(0)
        for (name, wish) in [("two", Wish.takeTwo), ("trade", .trade), ("one", .takeOne)] {
            let ticket = try #require(machine.enter(wish.attempt).ticket, "\(name) should wait")
            _ = machine.suspend(ticket, name)
        }

        let served = machine.change { $0 += 1 }

        #expect(served.map(\.waiter) == ["trade", "two", "one"])
        #expect(machine.state == 0 && machine.line.isEmpty)
    }

    // MARK: Every interleaving

    enum Step {
        case enter(String, Wish)
        case suspend(String)
        /// Does nothing for a task that hasn't arrived.
        case leave(String)
        case add(Int)
    }

    /// The expected behavior, as simple as possible.
    struct Model {
        var state = 0
        var waiting: [(name: String, wish: Wish)] = []
        var ends: [String: WaitKind] = [:]

        mutating func serve() -> [String] {
            var served: [String] = []
            while let index = waiting.indices.first(where: { waiting[$0].wish.isGranted(&state) }) {
                let name = waiting.remove(at: index).name
                ends[name] = .completed
                served.append(name)
            }
            return served
        }
    }

    enum WaitKind: Hashable {
        case completed, left

        init(_ end: WaitEnd<Void>) {
            if case .completed = end { self = .completed } else { self = .left }
        }
    }

    @Test
    func `in every interleaving, the same tasks are served as in the model, in order`() {
        for first in Wish.allCases {
            for second in Wish.allCases {
                let tasks: [[Step]] = [
                    [.enter("a", first), .suspend("a")], [.leave("a")], [.enter("b", second), .suspend("b")], [.add(1)],
                    [.add(1)],
                ]
                var failure: [Step]?
                forEachInterleaving(of: tasks) { steps in
                    if !agrees(steps) { failure = steps }
                }
                if let failure { Issue.record("\(failure)") }
            }
        }
    }

    @Test(arguments: 0..<200)
    func `with many tasks and conditions, the same tasks are served as in the model`(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var steps: [Step] = []
        var came: [String] = []
        for number in 0..<40 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                came.append("\(number)")
                steps.append(
                    .enter("\(number)", Wish.allCases[Int.random(in: 0..<Wish.allCases.count, using: &random)]))
            case 2:
                for name in came where Int.random(in: 0..<2, using: &random) == 0 { steps.append(.suspend(name)) }
            case 3: if !came.isEmpty { steps.append(.leave(came[Int.random(in: 0..<came.count, using: &random)])) }
            default: steps.append(.add(Int.random(in: 0..<4, using: &random) - 1))
            }
        }
        for name in came { steps.append(.suspend(name)) }
        if !agrees(steps) { Issue.record("seed \(seed): \(steps)") }
    }

    private func agrees(_ steps: [Step]) -> Bool {
        var machine = Machine(0)
        var model = Model()
        var tickets: [String: Machine.Line.Ticket] = [:]
        var suspended: Set<String> = []
        var told: [String: [WaitKind]] = [:]
        for step in steps {
            var wakeups: [Machine.Wakeup] = []
            var expected: [String] = []
            switch step {
            case .enter(let name, let wish):
                if wish.isGranted(&model.state) {
                    model.ends[name] = .completed
                    expected = model.serve()
                } else {
                    model.waiting.append((name, wish))
                }
                let entry = machine.enter(wish.attempt)
                wakeups = entry.wakeups
                tickets[name] = entry.ticket
                if entry.ticket == nil { told[name, default: []].append(.completed) }
            case .suspend(let name):
                guard let ticket = tickets[name], suspended.insert(name).inserted else { continue }
                if let end = machine.suspend(ticket, name) { told[name, default: []].append(WaitKind(end)) }
            case .leave(let name):
                guard let ticket = tickets[name] else { continue }
                if let index = model.waiting.firstIndex(where: { $0.name == name }) {
                    model.waiting.remove(at: index)
                    model.ends[name] = .left
                }
                if let waiter = machine.leave(ticket, .cancelled)?.waiter { told[waiter, default: []].append(.left) }
            case .add(let number):
                model.state += number
                expected = model.serve()
                wakeups = machine.change { $0 += number }
            }
            guard wakeups.compactMap(\.waiter) == expected.filter(suspended.contains), wakeups.count == expected.count,
                machine.state == model.state, machine.line.count == model.waiting.count,
                machine.attempts.count(where: { $0 != nil }) == model.waiting.count
            else { return false }
            for name in wakeups.compactMap(\.waiter) { told[name, default: []].append(.completed) }
        }
        let isClean = !model.waiting.isEmpty || machine.line.slotCount == 0 && machine.attempts.isEmpty
        return told == model.ends.mapValues { [$0] } && isClean
    }
}
