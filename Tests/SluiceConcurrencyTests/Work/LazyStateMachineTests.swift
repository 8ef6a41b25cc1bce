import Testing

@testable import SluiceConcurrency

@Suite struct `The lazy value's state machine` {
    typealias Machine = LazyStateMachine<Int, String>

    /// What a caller does next, as a word.
    private func enter(_ machine: inout Machine, isCancelled: Bool = false) -> String {
        switch machine.enter(isCancelled: isCancelled) {
        case .loaded(let value): "\(value)"
        case .work: "work"
        case .wait: "wait"
        case .cancelled: "cancelled"
        }
    }

    /// Joins the line and suspends.
    private func wait(_ machine: inout Machine, _ name: String) -> Machine.Line.Ticket? {
        guard case .wait(let ticket) = machine.enter() else { return nil }
        #expect(machine.suspend(ticket, name) == nil)
        return ticket
    }

    @Test func `the first caller works, the others wait and get its value in order`() {
        var machine = Machine()
        #expect(enter(&machine) == "work")
        _ = wait(&machine, "a")
        _ = wait(&machine, "b")

        #expect(machine.succeeded(7) == ["a", "b"])
        #expect(machine.value == 7)
        #expect(enter(&machine) == "7")
        #expect(enter(&machine, isCancelled: true) == "7")
        #expect(machine.line.slotCount == 0)
    }

    @Test func `after a failure the first waiting caller works, and without one the next that comes`() {
        var machine = Machine()
        _ = machine.enter()
        _ = wait(&machine, "a")
        _ = wait(&machine, "b")

        #expect(machine.failed() == "a")
        #expect(enter(&machine) == "wait")
        #expect(machine.failed() == "b")
        _ = machine.failed()
        #expect(machine.failed() == nil)
        #expect(enter(&machine) == "work")
    }

    @Test func `a cancelled caller leaves the line, and starts nothing`() {
        var machine = Machine()
        #expect(enter(&machine, isCancelled: true) == "cancelled")
        _ = machine.enter()
        let ticket = wait(&machine, "a")!
        _ = wait(&machine, "b")

        #expect(machine.cancel(ticket) == "a")
        #expect(machine.cancel(ticket) == nil)
        #expect(machine.failed() == "b")
    }

    @Test func `a caller that gets its turn before it suspends learns it when it does`() {
        var machine = Machine()
        _ = machine.enter()
        guard case .wait(let ticket) = machine.enter() else {
            Issue.record("Another caller works.")
            return
        }
        #expect(machine.failed() == nil)
        #expect(machine.cancel(ticket) == nil)
        #expect(enter(&machine) == "wait")
        guard case .work = machine.suspend(ticket, "a") else {
            Issue.record("It is the turn of the waiting caller.")
            return
        }
    }
}

extension LazyOutcome: Equatable where Value: Equatable {
    static func == (left: LazyOutcome, right: LazyOutcome) -> Bool {
        switch (left, right) {
        case (.loaded(let value), .loaded(let other)): value == other
        case (.work, .work), (.cancelled, .cancelled): true
        default: false
        }
    }
}
