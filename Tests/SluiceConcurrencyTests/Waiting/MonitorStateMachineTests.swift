import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a monitor` {
    typealias Machine = MonitorStateMachine<Int, String>

    /// What one waits for, of a state that is a number.
    enum Wish: CaseIterable {
        case takeOne, takeTwo, isTwo, isZero
        /// Takes one and brings three: it may serve tasks that were passed over.
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
    func `nothing is kept of one hundred thousand cancelled tasks`() {
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
    func `a claim that lets a passed-over waiter succeed serves that, too`() throws {
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
        /// Does nothing for a task that has not come.
        case leave(String)
        case add(Int)
    }

    /// What should happen, written down as simply as possible.
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
    func `in every interleaving the tasks are served, in order, that the model serves`() {
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
    func `with many tasks that wait for many things those are served that the model serves`(seed: Int) {
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
            var served: [Machine.Departure] = []
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
                served = entry.served
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
                served = machine.change { $0 += number }
            }
            guard served.compactMap(\.waiter) == expected.filter(suspended.contains), served.count == expected.count,
                machine.state == model.state, machine.line.count == model.waiting.count,
                machine.attempts.count(where: { $0 != nil }) == model.waiting.count
            else { return false }
            for name in served.compactMap(\.waiter) { told[name, default: []].append(.completed) }
        }
        let isClean = !model.waiting.isEmpty || machine.line.slotCount == 0 && machine.attempts.isEmpty
        return told == model.ends.mapValues { [$0] } && isClean
    }
}
