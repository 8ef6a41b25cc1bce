import Testing

@testable import SluiceConcurrency

@Suite("QueueStateMachine")
struct QueueStateMachineTests {
    var machine = QueueStateMachine<Int, String>()

    @Test
    mutating func `an element goes to the consumer that has waited longest`() throws {
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(first, "first") == nil)
        #expect(machine.suspend(second, "second") == nil)

        #expect(resumed(machine.enqueue(1)) == "first")
        #expect(resumed(machine.enqueue(2)) == "second")
        #expect(resumed(machine.enqueue(3)) == nil)

        #expect(Array(machine.elements) == [3])
    }

    @Test
    mutating func `an element that comes before the consumer suspends is kept for it`() throws {
        let ticket = try #require(wait())

        #expect(resumed(machine.enqueue(1)) == nil)
        #expect(machine.cancel(ticket) == nil)

        #expect(machine.tryNext() == nil)
        #expect(machine.suspend(ticket, "consumer") == .element(1))
    }

    @Test
    mutating func `a consumer cancelled before it suspends takes no element`() throws {
        let ticket = try #require(wait())

        #expect(machine.cancel(ticket) == nil)
        #expect(resumed(machine.enqueue(1)) == nil)

        #expect(machine.suspend(ticket, "consumer") == .cancelled)
        #expect(Array(machine.elements) == [1])
    }

    @Test
    mutating func `finishing ends those who wait, suspended or not, and refuses elements`() throws {
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(first, "first") == nil)

        #expect(machine.finish() == ["first"])
        #expect(machine.finish() == [])

        #expect(machine.suspend(second, "second") == .finished)
        guard case .refused = machine.enqueue(1) else {
            Issue.record("A finished queue took an element.")
            return
        }
    }

    @Test
    mutating func `one hundred thousand cancelled consumers leave no trace`() {
        let tickets = (0..<100_000).compactMap { _ in wait() }

        for ticket in tickets {
            _ = machine.suspend(ticket, "consumer")
            _ = machine.cancel(ticket)
        }

        #expect(machine.consumers.isEmpty)
        #expect(machine.consumers.slotCount == 0)
    }

    private mutating func wait() -> QueueStateMachine<Int, String>.Line.Ticket? {
        if case .suspend(let ticket) = machine.next() { ticket } else { nil }
    }

    private func resumed(_ action: QueueStateMachine<Int, String>.EnqueueAction) -> String? {
        if case .resume(let consumer) = action { consumer } else { nil }
    }
}
