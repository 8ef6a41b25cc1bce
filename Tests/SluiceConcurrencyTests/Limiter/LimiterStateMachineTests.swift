import Testing

@testable import SluiceConcurrency

@Suite("LimiterStateMachine")
struct LimiterStateMachineTests {
    /// The word of a limiter that only one thread uses.
    final class PlainCell: LimiterWordCell {
        var word = LimiterWord(bits: 0)

        func load() -> LimiterWord { word }

        func replace(_ expected: LimiterWord, with word: LimiterWord) -> LimiterWord? {
            guard expected == self.word else { return self.word }
            self.word = word
            return nil
        }
    }

    struct Unexpected: Error {}

    let cell = PlainCell()
    var machine = LimiterStateMachine<String>(limit: 1)

    @Test
    mutating func `a place goes to the first in line, and is never free in between`() throws {
        try enter()
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(first, "first") == nil)
        #expect(machine.suspend(second, "second") == nil)

        #expect(granted(machine.leave(cell)) == "first")
        #expect(cell.word == LimiterWord(running: 1, waiting: 1))
        #expect(granted(machine.leave(cell)) == "second")
        #expect(cell.word == LimiterWord(running: 1, waiting: 0))
        #expect(granted(machine.leave(cell)) == nil)
        #expect(cell.word == LimiterWord(running: 0, waiting: 0))
    }

    @Test
    mutating func `a cancelled head of the line lets the next in`() throws {
        try enter()
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(first, "first") == nil)
        #expect(machine.suspend(second, "second") == nil)

        #expect(machine.cancel(first, cell) == "first")

        #expect(granted(machine.leave(cell)) == "second")
    }

    @Test
    mutating func `a place granted before the waiter suspends is kept for it, also if it is cancelled then`() throws {
        try enter()
        let ticket = try #require(wait())

        #expect(granted(machine.leave(cell)) == nil)
        #expect(machine.cancel(ticket, cell) == nil)

        #expect(machine.suspend(ticket, "late") == true)
        #expect(cell.word == LimiterWord(running: 1, waiting: 0))
    }

    @Test
    mutating func `who is cancelled before it suspends does not suspend`() throws {
        try enter()
        let ticket = try #require(wait())

        #expect(machine.cancel(ticket, cell) == nil)

        #expect(machine.suspend(ticket, "cancelled") == false)
        #expect(cell.word == LimiterWord(running: 1, waiting: 0))
    }

    @Test
    mutating func `cancelling all leaves those in line that cannot be interrupted`() throws {
        try enter()
        let first = try #require(wait())
        _ = machine.suspend(first, "first")
        guard case .wait = machine.enter(cell, uninterrupted: "stubborn") else { throw Unexpected() }
        let last = try #require(wait())
        _ = machine.suspend(last, "last")

        #expect(machine.cancelWaiting(cell) == ["first", "last"])

        #expect(cell.word == LimiterWord(running: 1, waiting: 1))
        #expect(granted(machine.leave(cell)) == "stubborn")
    }

    @Test
    mutating func `those who wait for idleness are told when the last has left`() throws {
        let isIdle = machine.watch(cell, "nobody")
        #expect(isIdle)
        try enter()
        let isIdleNow = machine.watch(cell, "watcher")
        #expect(!isIdleNow)
        #expect(cell.word.left() == nil, "nobody may leave without the lock now")
        let ticket = try #require(wait())
        _ = machine.suspend(ticket, "waiter")

        #expect(granted(machine.leave(cell)) == "waiter")
        guard case .announceIdle(let watchers) = machine.leave(cell) else { throw Unexpected() }

        #expect(watchers == ["watcher"])
        #expect(cell.word == LimiterWord(running: 0, waiting: 0))
    }

    @Test
    mutating func `one hundred thousand cancelled waiters leave no trace`() throws {
        try enter()
        let tickets = (0..<100_000).compactMap { _ in
            let ticket = wait()
            if let ticket { _ = machine.suspend(ticket, "waiter") }
            return ticket
        }

        let cancelled = tickets.count { machine.cancel($0, cell) != nil }

        #expect(cancelled == 100_000)
        #expect(machine.line.isEmpty)
        #expect(machine.line.slotCount == 0)
        #expect(cell.word == LimiterWord(running: 1, waiting: 0))
    }

    private mutating func enter() throws {
        guard case .run = machine.enter(cell) else { throw Unexpected() }
    }

    private mutating func wait() -> LimiterStateMachine<String>.Ticket? {
        guard case .wait(let ticket) = machine.enter(cell) else { return nil }
        return ticket
    }

    private func granted(_ action: LimiterStateMachine<String>.LeaveAction) -> String? {
        if case .grant(let waiter) = action { waiter } else { nil }
    }
}
