import Testing

@testable import SluiceConcurrency

@Suite("ConditionStateMachine")
struct ConditionStateMachineTests {
    var machine = ConditionStateMachine<String>()

    @Test
    mutating func `only the first outcome counts`() {
        let first = machine.fire(.abandoned)
        let second = machine.fire(.signalled)

        #expect(first.isEmpty && second.isEmpty)
        #expect(machine.outcome == .abandoned)
    }

    @Test
    mutating func `whoever has not suspended yet is told when it does, whoever has is resumed`() throws {
        let early = try #require(wait())
        let late = try #require(wait())
        #expect(machine.suspend(early, "early") == nil)

        #expect(machine.fire(.signalled) == ["early"])

        #expect(machine.suspend(late, "late") == .some(.some(.signalled)))
        #expect(machine.line.isEmpty)
    }

    @Test
    mutating func `one hundred thousand cancelled waiters leave no trace`() {
        let tickets = (0..<100_000).compactMap { _ in wait() }

        for ticket in tickets {
            _ = machine.suspend(ticket, "waiter")
            _ = machine.cancel(ticket)
        }

        #expect(machine.line.isEmpty)
        #expect(machine.line.slotCount == 0)
    }

    private mutating func wait() -> WaitingLine<String, Condition.Outcome?>.Ticket? {
        if case .suspend(let ticket) = machine.wait() { ticket } else { nil }
    }
}
