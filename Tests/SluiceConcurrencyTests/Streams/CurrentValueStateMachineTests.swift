import Testing
import TestSupport

@testable import SluiceConcurrency

@Suite struct `The state machine of a current value` {
    typealias Machine = CurrentValueStateMachine<Int, String>

    /// What a subscriber gets.
    enum Next: Equatable {
        case value(Int)
        case finished
        case wait
    }

    /// A list of all changes. A subscriber stores the number of changes that it has seen.
    struct Model {
        var changes = [0]
        var isFinished = false
        var seen = [0, 0]

        mutating func change(to value: Int) {
            // No loop sees a change after the end.
            if isFinished { changes.removeLast() }
            changes.append(value)
        }

        mutating func next(_ name: Int) -> Next {
            if seen[name] == changes.count { return isFinished ? .finished : .wait }
            seen[name] = changes.count
            return .value(changes[changes.count - 1])
        }
    }

    /// All orders of eight steps: a change, the end, and two subscribers that ask; if one is to wait, it gives up.
    @Test
    func `every order of a few steps behaves like the naive model`() {
        func explore(_ machine: Machine, _ model: Model, _ seen: [UInt64], _ left: Int) -> Int {
            if left == 0 { return 1 }
            var count = 0
            for step in 0..<4 {
                var (machine, model, seen) = (machine, model, seen)
                switch step {
                case 0:
                    #expect(machine.replace(with: left).old == model.changes.last)
                    model.change(to: left)
                case 1:
                    model.isFinished = true
                    _ = machine.finish()
                default:
                    let (got, expected) = (next(&machine, &seen[step - 2]), model.next(step - 2))
                    if got != expected { Issue.record("\(got), not \(expected), after \(model)") }
                }
                count += explore(machine, model, seen, left - 1)
            }
            return count
        }

        #expect(explore(Machine(0), Model(), [0, 0], 6) == 4_096)
    }

    private func next(_ machine: inout Machine, _ seen: inout UInt64) -> Next {
        switch machine.next(after: seen) {
        case .deliver(let value, let version):
            seen = version
            return .value(value)
        case .finished: return .finished
        case .suspend(let ticket):
            _ = machine.cancel(ticket)
            _ = machine.suspend(ticket, "")
            #expect(machine.line.slotCount == 0)
            return .wait
        }
    }

    @Test
    func `a change and the end wake the waiting loops, in order, and those about to suspend`() throws {
        var machine = Machine(0)
        for ends in [false, true] {
            let tickets = try (0..<3).map { _ in try #require(wait(&machine)) }
            #expect(machine.suspend(tickets[2], "third") == nil)
            #expect(machine.suspend(tickets[0], "first") == nil)

            #expect((ends ? machine.finish() : machine.replace(with: 1).waiters) == ["first", "third"])

            #expect(machine.suspend(tickets[1], "second") == .lookAgain)
            #expect(machine.line.slotCount == 0)
        }
    }

    @Test
    func `one hundred thousand cancelled subscribers leave no trace`() {
        var machine = Machine(0)
        let tickets = (0..<100_000).compactMap { _ in wait(&machine) }

        for ticket in tickets {
            _ = machine.suspend(ticket, "subscriber")
            _ = machine.cancel(ticket)
        }

        #expect(tickets.count == 100_000)
        #expect(machine.line.slotCount == 0)
        #expect(machine.replace(with: 1).waiters == [])
    }

    private func wait(_ machine: inout Machine) -> Machine.Line.Ticket? {
        if case .suspend(let ticket) = machine.next(after: machine.version) { ticket } else { nil }
    }
}
