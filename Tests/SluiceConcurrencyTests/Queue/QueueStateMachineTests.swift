import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a queue` {
    typealias Machine = QueueStateMachine<FIFOBuffer<Int>, String, String, String>

    var machine = Machine()
    var bounded = Machine(capacity: 1)

    @Test
    mutating func `an element goes to the consumer that has waited longest`() throws {
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(consumer: first, "first") == nil)
        #expect(machine.suspend(consumer: second, "second") == nil)

        #expect(resumed(machine.offer(1, canSuspend: false)) == "first")
        #expect(resumed(machine.offer(2, canSuspend: false)) == "second")
        #expect(resumed(machine.offer(3, canSuspend: false)) == nil)

        #expect(machine.buffer.items == [3])
    }

    @Test
    mutating func `an element that comes before the consumer suspends is kept for it`() throws {
        let ticket = try #require(wait())

        #expect(resumed(machine.offer(1, canSuspend: false)) == nil)
        #expect(machine.withdraw(consumer: ticket, .cancelled) == nil)

        #expect(machine.tryNext() == nil)
        #expect(machine.suspend(consumer: ticket, "consumer") == .element(1))
    }

    @Test
    mutating func `a consumer cancelled before it suspends takes no element`() throws {
        let ticket = try #require(wait())

        #expect(machine.withdraw(consumer: ticket, .cancelled) == nil)
        #expect(resumed(machine.offer(1, canSuspend: false)) == nil)

        #expect(machine.suspend(consumer: ticket, "consumer") == .cancelled)
        #expect(machine.buffer.items == [1])
    }

    @Test
    mutating func `finishing ends the consumers that wait, suspended or not, and refuses elements`() throws {
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(consumer: first, "first") == nil)

        machine.finish()
        #expect(machine.takeOutbox().consumers == ["first"])
        machine.finish()
        #expect(!machine.hasMail)

        #expect(machine.suspend(consumer: second, "second") == .finished)
        guard case .done(.finished(1)) = machine.offer(1, canSuspend: true) else {
            Issue.record("A finished queue took an element.")
            return
        }
    }

    @Test
    mutating func `finishing ends the producers that wait, suspended or not, and hands out what they offered`() throws {
        _ = bounded.offer(0, canSuspend: true)
        let first = try #require(offer(1))
        let second = try #require(offer(2))
        #expect(bounded.suspend(producer: first, "first") == nil)

        bounded.finish()
        let mail = bounded.takeOutbox()

        #expect(mail.producers.map(\.producer) == ["first"])
        #expect(mail.producers.map(\.outcome) == [.finished])
        #expect(mail.retired == [1, 2], "nothing is destroyed under the lock")
        #expect(bounded.suspend(producer: second, "second") == .finished)
        #expect(bounded.tryNext() == 0)
        #expect(bounded.tryNext() == nil)
    }

    @Test
    mutating func `a producer cancelled before it suspends gives nothing`() throws {
        _ = bounded.offer(0, canSuspend: true)
        let ticket = try #require(offer(1))

        bounded.withdraw(producer: ticket, .cancelled)
        #expect(bounded.tryNext() == 0)

        #expect(bounded.suspend(producer: ticket, "producer") == .cancelled)
        #expect(bounded.tryNext() == nil)
        #expect(bounded.takeOutbox().retired == [1])
    }

    @Test
    mutating func `a producer that was admitted before it suspends cannot be cancelled any more`() throws {
        _ = bounded.offer(0, canSuspend: true)
        let ticket = try #require(offer(1))

        #expect(bounded.tryNext() == 0)
        bounded.withdraw(producer: ticket, .cancelled)

        #expect(bounded.suspend(producer: ticket, "producer") == .enqueued)
        #expect(bounded.tryNext() == 1)
    }

    @Test
    mutating func `one hundred thousand cancelled consumers and producers leave no trace`() {
        let consumers = (0..<100_000).compactMap { _ in wait() }
        for ticket in consumers {
            _ = machine.suspend(consumer: ticket, "consumer")
            _ = machine.withdraw(consumer: ticket, .cancelled)
        }
        _ = bounded.offer(0, canSuspend: true)
        let producers = (0..<100_000).compactMap { offer($0) }
        for ticket in producers {
            _ = bounded.suspend(producer: ticket, "producer")
            bounded.withdraw(producer: ticket, .cancelled)
            _ = bounded.takeOutbox()
        }

        #expect(consumers.count == 100_000 && producers.count == 100_000)
        #expect(machine.consumers.isEmpty)
        #expect(machine.consumers.slotCount == 0)
        #expect(bounded.producers.isEmpty)
        #expect(bounded.producers.line.slotCount == 0)
        #expect(bounded.producers.offers.capacity <= 64)
        #expect(!bounded.hasMail)
    }

    @Test
    mutating func `an observer that does not wait is not known, and one that is cancelled is forgotten`() throws {
        guard case .see(_, let version) = machine.look(after: nil) else {
            Issue.record("The first look waits.")
            return
        }
        #expect(machine.observers.slotCount == 0)
        guard case .suspend(let ticket) = machine.look(after: version) else {
            Issue.record("It sees what it saw.")
            return
        }

        #expect(machine.suspend(observer: ticket, "observer") == nil)
        #expect(machine.withdraw(observer: ticket) == "observer")

        #expect(machine.observers.slotCount == 0)
        _ = machine.offer(1, canSuspend: false)
        #expect(!machine.hasMail)
    }

    private mutating func wait() -> Machine.Consumers.Ticket? {
        if case .suspend(let ticket) = machine.next() { ticket } else { nil }
    }

    private mutating func offer(_ number: Int) -> Machine.Producers.Line.Ticket? {
        if case .suspend(let ticket) = bounded.offer(number, canSuspend: true) { ticket } else { nil }
    }

    private func resumed(_ action: Machine.OfferAction) -> String? {
        if case .resume(let consumer) = action { consumer } else { nil }
    }
}
