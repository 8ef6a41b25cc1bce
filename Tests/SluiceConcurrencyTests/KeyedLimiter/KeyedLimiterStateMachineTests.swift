import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a keyed limiter` {
    typealias Machine = KeyedLimiterStateMachine<String, Int>
    typealias Operation = KeyedLimiterExplorer.Operation

    /// Joins the line and suspends.
    private func wait(_ machine: inout Machine, _ key: String, _ waiter: Int) -> Machine.Ticket? {
        guard case .wait(let ticket) = machine.enter(key) else { return nil }
        let known = machine.suspend(ticket, waiter).outcome
        #expect(known == nil)
        return ticket
    }

    @Test func `a key has no more places than its own, and all no more than the total`() {
        var machine = Machine(perKey: 2, total: 3)

        let entered = ["a", "a", "a", "b", "b"].map { machine.enterImmediately($0) }

        #expect(entered == [true, true, false, true, false])
        #expect((machine.running, machine.running(for: "a"), machine.running(for: "b")) == (3, 2, 1))
    }

    @Test func `keys have their turns one after the other, whatever their backlog`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("a")
        for waiter in 1...3 { _ = wait(&machine, "a", waiter) }
        for waiter in 11...12 { _ = wait(&machine, "b", waiter) }
        _ = wait(&machine, "c", 21)

        var served: [Int] = []
        // A task that was not served does not leave: the machine would trap, and two tests that trap together may hang.
        for key in ["a", "b", "c", "a", "b", "a"] where machine.running(for: key) > 0 {
            served.append(machine.leave(key).next ?? -1)
        }

        #expect(served == [11, 21, 1, 12, 2, 3])
    }

    @Test func `a key at its limit delays no other key`() {
        var machine = Machine(perKey: 1, total: 2)
        _ = machine.enterImmediately("a")
        for waiter in 1...100 { _ = wait(&machine, "a", waiter) }

        let entered = machine.enterImmediately("b")
        _ = wait(&machine, "b", 101)
        let next = [machine.leave("b").next, machine.leave("a").next]

        #expect(entered)
        #expect(next == [101, 1])
    }

    @Test func `a ticket of a forgotten key does not touch later tasks`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("x")
        let old = wait(&machine, "a", 1)!
        let forgotten = machine.settle(old, .cancelled).forgotten
        let new = wait(&machine, "a", 2)!

        let waiters = [machine.settle(old, .cancelled).waiter, machine.settle(new, .cancelled).waiter]

        #expect(forgotten == "a")
        #expect(waiters == [nil, 2])
    }

    @Test func `tasks that cannot be interrupted stay, in order`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("a")
        _ = machine.enter("a", uninterrupted: 1)
        _ = wait(&machine, "a", 2)
        _ = wait(&machine, "b", 3)
        _ = machine.enter("a", uninterrupted: 4)

        let ofOne = machine.settleInterruptible("a", .cancelled).waiters
        let ofAll = machine.settleInterruptible(nil, .cancelled).waiters
        let left = machine.waiting
        let next = (1...2).map { _ in machine.running(for: "a") > 0 ? machine.leave("a").next : nil }

        #expect((ofOne, ofAll, left) == ([2], [3], 2))
        #expect(next == [1, 4])
    }

    @Test func `watching tasks are told when the last has left, and not while one still runs`() {
        var machine = Machine(perKey: 2, total: 2)
        for key in ["a", "b"] { _ = machine.enterImmediately(key) }
        _ = wait(&machine, "a", 1)

        let isIdleAtFirst = machine.watch(2) == nil
        let told = ["b", "a", "a"].map { machine.leave($0).watchers }
        let isIdleAtLast = machine.watch(3) == nil

        #expect((isIdleAtFirst, isIdleAtLast) == (false, true))
        #expect(told == [[], [], [2]])
    }

    /// A million in a release build.
    @Test func `very many keys, one after the other and all together, are forgotten`() async {
        #if DEBUG
        let keys = 20_000
        #else
        let keys = 500_000
        #endif
        let traces = await offPool {
            var machine = KeyedLimiterStateMachine<Int, Int>(perKey: 1, total: .max)
            for key in 0..<keys {
                guard machine.enterImmediately(key), machine.leave(key).forgotten == key else { return (-1, 0, 0) }
            }
            guard machine.traces.room <= Machine.keysKept else { return machine.traces }
            for key in 0..<keys where !machine.enterImmediately(key) { return (-2, 0, 0) }
            for key in 0..<keys { _ = machine.leave(key) }
            return machine.traces
        }

        #expect(traces == (0, 0, 0))
    }

    // MARK: Priorities

    /// Joins the line of a priority and suspends.
    private func wait(
        _ machine: inout Machine, _ key: String, _ waiter: Int, priority: UInt8
    ) -> Machine.Ticket? {
        guard case .wait(let ticket) = machine.enter(key, LimiterRequest(priority: priority)) else { return nil }
        let known = machine.suspend(ticket, waiter).outcome
        #expect(known == nil)
        return ticket
    }

    /// Leaves for the keys, one after the other; returns the tasks that got the places.
    private func leave(_ machine: inout Machine, _ keys: [String]) -> [Int?] {
        keys.map { machine.running(for: $0) > 0 ? machine.leave($0).next : nil }
    }

    @Test func `within a key higher priorities go first, and equal ones in order of arrival`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("a")
        for (waiter, priority) in [(1, 10), (2, 20), (3, 30), (4, 20), (5, 30)] as [(Int, UInt8)] {
            _ = wait(&machine, "a", waiter, priority: priority)
        }

        #expect(leave(&machine, ["a", "a", "a", "a", "a"]) == [3, 5, 2, 4, 1])
    }

    @Test func `priorities don't change the turns of the keys`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("x")
        _ = wait(&machine, "a", 1, priority: 10)
        for waiter in 11...13 { _ = wait(&machine, "b", waiter, priority: 30) }
        _ = wait(&machine, "a", 2, priority: 10)

        #expect(leave(&machine, ["x", "a", "b", "a", "b", "b"]) == [1, 11, 2, 12, 13, nil])
        #expect(machine.traces.turns == 0)
    }

    @Test func `a low priority gets one of seventeen places of its key`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("a")
        _ = wait(&machine, "a", 100, priority: 10)
        for waiter in 0..<40 { _ = wait(&machine, "a", waiter, priority: 30) }

        let served = leave(&machine, Array(repeating: "a", count: 41))

        #expect(served.firstIndex(of: 100) == 16)
    }

    @Test func `a task that is raised moves to the end of its new level`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("a")
        let raised = wait(&machine, "a", 1, priority: 10)!
        _ = wait(&machine, "a", 2, priority: 10)
        _ = wait(&machine, "a", 3, priority: 20)
        _ = wait(&machine, "a", 4, priority: 30)

        machine.raise(raised, to: 30)
        machine.raise(raised, to: 20)

        #expect(leave(&machine, ["a", "a", "a", "a"]) == [4, 1, 3, 2])
    }

    @Test func `a key keeps its turn when its only task is raised`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("x")
        let raised = wait(&machine, "a", 1, priority: 10)!
        _ = wait(&machine, "b", 2, priority: 10)

        machine.raise(raised, to: 30)

        #expect(machine.waiting == 2)
        #expect(leave(&machine, ["x", "a", "b"]) == [1, 2, nil])
        machine.raise(raised, to: 40)
        #expect(machine.traces.keys == 0 && machine.traces.turns == 0)
    }

    @Test func `a task that is raised before it suspends is served at its new priority`() {
        var machine = Machine(perKey: 1, total: 1)
        _ = machine.enterImmediately("a")
        _ = wait(&machine, "a", 1, priority: 20)
        guard case .wait(let ticket) = machine.enter("a", LimiterRequest(priority: 10)) else {
            Issue.record("There is no place.")
            return
        }

        machine.raise(ticket, to: 30)
        let served = leave(&machine, ["a"])
        let suspended = machine.suspend(ticket, 2)

        #expect(served == [nil], "the task hasn't suspended yet")
        #expect(suspended.outcome == .granted && suspended.forgotten == nil)
        #expect(leave(&machine, ["a"]) == [1])
    }

    // MARK: Every interleaving

    @Test(arguments: [(1, 1), (1, 2), (2, 2)])
    func `two tasks, any three operations each, two keys`(perKey: Int, total: Int) async {
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
    func `three tasks, chosen programs, two keys`(perKey: Int, total: Int) async {
        let programs: [[[Operation]]] = [
            // A place goes from key to key.
            [[.enter("a"), .leave, .enter("b")], [.enter("b"), .leave], [.enter("a"), .leave]],
            // The only one of a key is cancelled while its turn comes.
            [[.enter("a"), .leave], [.enter("b"), .leave, .cancel(2)], [.enter("b"), .leave, .enter("a")]],
            // The first of two of a key is cancelled.
            [[.enter("a"), .leave, .cancel(1)], [.enter("a"), .leave], [.enter("a"), .enter("b"), .leave]],
            // Two places held by one task, of two keys.
            [[.enter("a"), .enter("b"), .leave], [.enter("b"), .leave], [.cancel(0), .enter("a"), .leave]],
            // Two places of one key go to two tasks that wait for the other.
            [[.enter("a"), .enter("a"), .leave, .leave], [.enter("b"), .leave], [.enter("b"), .leave]],
            // All cancel one another.
            [
                [.enter("a"), .cancel(1), .leave], [.enter("a"), .cancel(2), .leave],
                [.enter("b"), .cancel(0), .leave],
            ],
            // A key is forgotten and comes again, and a late cancel finds its new wait.
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
