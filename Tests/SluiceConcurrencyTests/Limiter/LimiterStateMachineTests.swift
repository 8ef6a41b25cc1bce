import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a limiter` {
    /// The word of a limiter that only one thread uses.
    final class PlainCell: LimiterWordCell {
        var word = LimiterWord(bits: 0)
        var limit: UInt64 = 1
        var peak: UInt64 = 0

        func load() -> LimiterWord { word }
        func loadLimit() -> UInt64 { limit }
        func storeLimit(_ limit: UInt64) { self.limit = limit }
        func note(running: UInt64) { peak = max(peak, running) }

        func replace(_ expected: LimiterWord, with word: LimiterWord) -> LimiterWord? {
            guard expected == self.word else { return self.word }
            self.word = word
            return nil
        }
    }

    struct Wake: Equatable {
        var name: String
        var outcome: LimiterOutcome
    }

    let cell = PlainCell()
    var machine = LimiterStateMachine<String>(limit: 1)

    @Test
    mutating func `a place goes to the first in line, and is never free in between`() throws {
        try enter()
        try line("first")
        try line("second")

        #expect(leave() == [Wake(name: "first", outcome: .granted)])
        #expect(cell.word.running == 1)
        #expect(cell.word.isCrowded)
        #expect(leave() == [Wake(name: "second", outcome: .granted)])
        #expect(cell.word.running == 1)
        #expect(!cell.word.isCrowded)
        #expect(leave() == [])
        #expect(cell.word.running == 0)
        #expect(machine.granted(cell.word) == 3)
        #expect(cell.peak == 1)
    }

    @Test
    mutating func `a cancelled head of the line lets the next in`() throws {
        try enter()
        let first = try line("first")
        try line("second")

        #expect(wakes(machine.end(first, .cancelled, cell)) == [Wake(name: "first", outcome: .cancelled)])

        #expect(leave() == [Wake(name: "second", outcome: .granted)])
    }

    /// Trap 2: the tasks behind a cancelled head, which need less than it did, are not looked at.
    @Test
    mutating func `when a heavy head of the line is cancelled, those behind it that fit are let in`() throws {
        _ = resize(to: 4)
        try enter(weight: 2)
        let heavy = try line("heavy", weight: 3)
        try line("light")
        try line("another")
        try line("too many")

        let woken = wakes(machine.end(heavy, .cancelled, cell))

        #expect(
            woken == [
                Wake(name: "heavy", outcome: .cancelled), Wake(name: "light", outcome: .granted),
                Wake(name: "another", outcome: .granted),
            ])
        #expect(cell.word.running == 4)
        #expect(machine.line.count == 1)
    }

    @Test
    mutating func `no task behind a heavy head of the line goes first, though it would fit`() throws {
        _ = resize(to: 3)
        try enter(weight: 2)
        try line("heavy", weight: 3)
        try line("light")

        #expect(machine.line.count == 2)
        #expect(leave(weight: 2) == [Wake(name: "heavy", outcome: .granted)])
        #expect(leave(weight: 3) == [Wake(name: "light", outcome: .granted)])
    }

    @Test
    mutating func `one that leaves with much lets in all that fit`() throws {
        _ = resize(to: 3)
        try enter(weight: 3)
        for name in ["a", "b", "c", "d"] { try line(name) }

        #expect(leave(weight: 3).map(\.name) == ["a", "b", "c"])
        #expect(leave().map(\.name) == ["d"])
        #expect(!cell.word.isCrowded)
    }

    @Test
    mutating func `a place granted before the waiter suspends is kept for it, also if it is cancelled then`() throws {
        try enter()
        let ticket = try #require(wait())

        #expect(leave() == [])
        #expect(wakes(machine.end(ticket, .cancelled, cell)) == [])
        #expect(machine.suspend(ticket, "late") == .granted)
        #expect(leave() == [])
        #expect(cell.word.running == 0)
        #expect(machine.line.slotCount == 0)
    }

    @Test
    mutating func `one cancelled before it suspends leaves no trace`() throws {
        try enter()
        let ticket = try #require(wait())

        #expect(wakes(machine.end(ticket, .cancelled, cell)) == [])
        #expect(machine.suspend(ticket, "late") == .cancelled)
        #expect(machine.line.slotCount == 0)
        #expect(!cell.word.isCrowded)
    }

    /// The rule: what is granted follows from the limit and what runs, never from how the limit changed.
    @Test
    mutating func `a limit that falls and rises again lets in no task too many`() throws {
        _ = resize(to: 4)
        for _ in 0..<4 { try enter() }
        for name in ["a", "b", "c"] { try line(name) }

        #expect(resize(to: 1) == [])
        #expect(resize(to: 4) == [])
        #expect(resize(to: 2) == [])
        #expect(leave() == [])
        #expect(leave() == [])
        #expect(leave() == [Wake(name: "a", outcome: .granted)])
        #expect(resize(to: 3) == [Wake(name: "b", outcome: .granted)])
        #expect(cell.word.running == 3)
    }

    @Test
    mutating func `tasks that wait for more than the new limit give up, and the next is looked at`() throws {
        _ = resize(to: 3)
        try enter(weight: 2)
        try line("heavy", weight: 3)
        try line("light")

        let woken = resize(to: 2)
        #expect(woken == [Wake(name: "heavy", outcome: .tooHeavy)])
        #expect(leave(weight: 2) == [Wake(name: "light", outcome: .granted)])
    }

    @Test
    mutating func `watching tasks are told when the last has left, and only then`() throws {
        try enter()
        try line("next")
        let isIdle = machine.watch(cell, "watcher") == nil
        #expect(!isIdle)
        #expect(cell.word.left(weight: 1) == nil, "no task may leave without the lock now")

        #expect(leave() == [Wake(name: "next", outcome: .granted)])
        #expect(leave() == [Wake(name: "watcher", outcome: .granted)])
        let isIdleNow = machine.watch(cell, "late") == nil
        #expect(isIdleNow)
    }

    @Test
    mutating func `a watch that ends early is told nothing later, and one that has not suspended finds its outcome`()
        throws
    {
        try enter()
        let watches = (machine.watch(cell), machine.watch(cell))
        let (early, late) = (try #require(watches.0), try #require(watches.1))
        let known = machine.suspendWatcher(early, "early")
        let ended = machine.endWatch(early, .expired)
        let endedAgain = machine.endWatch(early, .cancelled)
        #expect((known, ended, endedAgain) == (nil, "early", nil))

        #expect(leave() == [])
        let outcome = machine.suspendWatcher(late, "late")
        #expect(outcome == .granted)
    }

    @Test
    mutating func `cancelling all leaves those in line that cannot be interrupted`() throws {
        try enter()
        try line("first")
        let request = LimiterRequest(isInterruptible: false)
        guard case .wait = machine.enter(cell, request, suspended: "stubborn") else { throw Unexpected() }
        try line("last")

        #expect(wakes(machine.cancelWaiting(cell)).map(\.name) == ["first", "last"])
        #expect(machine.line.count == 1)
        #expect(leave() == [Wake(name: "stubborn", outcome: .granted)])
    }

    @Test
    mutating func `one hundred thousand cancelled waiters leave no trace`() throws {
        try enter()
        var tickets: [LimiterStateMachine<String>.Ticket] = []
        for _ in 0..<100_000 { tickets.append(try line("waiter")) }

        var cancelled = 0
        for ticket in tickets where machine.end(ticket, .cancelled, cell).first != nil { cancelled += 1 }

        #expect(cancelled == 100_000)
        #expect(machine.line.slotCount == 0)
        #expect(cell.word.running == 1)
        #expect(!cell.word.isCrowded)
    }

    @Test
    mutating func `the count of entered tasks does not overflow into anything`() throws {
        for number in 1...200_000 {
            if !cell.enterImmediately(weight: 1) { try enter() }
            if number % 3 == 0 || !cell.leaveImmediately(weight: 1) { if cell.word.running == 1 { _ = leave() } }
        }

        #expect(machine.granted(cell.word) == 200_000)
        #expect(cell.word.running == 0)
        #expect(!cell.word.isWatched && !cell.word.isCrowded)
    }

    @Test
    mutating func `giving back a place twice stops the program with a sentence`() async {
        await #expect(processExitsWith: .failure) {
            var machine = LimiterStateMachine<String>(limit: 1)
            _ = machine.leave(PlainCell(), weight: 1)
        }
    }

    // MARK: Shorter

    private mutating func enter(weight: UInt64 = 1) throws {
        guard case .run = machine.enter(cell, LimiterRequest(weight: weight)) else { throw Unexpected() }
    }

    private mutating func wait(weight: UInt64 = 1) -> LimiterStateMachine<String>.Ticket? {
        guard case .wait(let ticket) = machine.enter(cell, LimiterRequest(weight: weight)) else { return nil }
        return ticket
    }

    @discardableResult
    private mutating func line(_ name: String, weight: UInt64 = 1) throws -> LimiterStateMachine<String>.Ticket {
        let ticket = try #require(wait(weight: weight))
        #expect(machine.suspend(ticket, name) == nil)
        return ticket
    }

    private mutating func leave(weight: UInt64 = 1) -> [Wake] { wakes(machine.leave(cell, weight: weight)) }

    private mutating func resize(to limit: UInt64) -> [Wake] { wakes(machine.resize(to: limit, cell)) }

    private func wakes(_ wakeups: LimiterWakeups<String>) -> [Wake] {
        ([wakeups.first].compactMap(\.self) + wakeups.others).map { Wake(name: $0.waiter, outcome: $0.outcome) }
    }

    struct Unexpected: Error {}
}
