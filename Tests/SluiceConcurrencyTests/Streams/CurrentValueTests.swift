import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `A current value` {
    struct Refused: Error, Hashable {}

    let executor = ManualExecutor()
    let recorder = Recorder<String>()
    let current = CurrentValue(0)

    /// Starts a task that records what it sees, and runs it until it waits or ends.
    @discardableResult
    private func follow(_ name: String, _ values: CurrentValue<Int>.Values) -> Task<Void, Never> {
        let task = executor.spawn { [recorder] in
            for await value in values { recorder.note("\(name)\(value)") }
            recorder.note("\(name) ended")
        }
        executor.runUntilIdle()
        return task
    }

    @Test
    func `a subscriber sees the current value first, and then each newer one`() {
        current.value = 1
        follow("a", current.values)
        current.value = 2
        executor.runUntilIdle()
        follow("b", current.values)
        current.value = 3
        executor.runUntilIdle()

        #expect(recorder.values == ["a1", "a2", "b2", "a3", "b3"])
        #expect(current.value == 3)
    }

    @Test
    func `values replaced before a subscriber receives them are skipped`() {
        follow("a", current.values)
        let late = current.values

        for value in 1...10 { current.value = value }
        executor.runUntilIdle()
        follow("b", late)

        #expect(recorder.values == ["a0", "a10", "b10"])
    }

    @Test
    func `setting the same value is a change`() {
        follow("a", current.values)

        current.value = 0
        executor.runUntilIdle()

        #expect(recorder.values == ["a0", "a0"])
    }

    @Test
    func `update changes the value in one step and returns the body's result`() {
        final class NotSendable {
            var number = 0
        }
        follow("a", current.values)

        let result = current.update { value in
            value += 1
            value += 1
            let result = NotSendable()
            result.number = value
            return result
        }
        executor.runUntilIdle()

        #expect(result.number == 2)
        #expect(recorder.values == ["a0", "a2"])
    }

    @Test
    func `a throwing update changes nothing, wakes no loop and keeps its error type`() {
        follow("a", current.values)

        do throws(Refused) {
            try current.update { (value) throws(Refused) in
                value = 7
                throw Refused()
            }
            Issue.record("It should have thrown.")
        } catch {
            #expect(error == Refused())
        }
        executor.runUntilIdle()

        #expect(current.value == 0)
        #expect(recorder.values == ["a0"])
    }

    @Test
    func `subscribers get the newest value before the end, and the value can still be changed`() {
        follow("a", current.values)
        current.value = 1
        current.finish()
        current.finish()
        executor.runUntilIdle()
        current.value = 2
        executor.runUntilIdle()
        follow("b", current.values)

        #expect(recorder.values == ["a0", "a1", "a ended", "b2", "b ended"])
        #expect(current.value == 2)
    }

    @Test
    func `a loop ends even if the value still changes`() async {
        var iterator = current.values.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        current.finish()

        current.value = 1
        #expect(await iterator.next() == nil)
        current.value = 2
        #expect(await iterator.next() == nil)
    }

    @Test
    func `releasing the object ends the loops after the newest value`() {
        var dropped: CurrentValue<Int>? = CurrentValue(0)
        follow("a", dropped!.values)
        let late = dropped!.values
        dropped!.value = 1

        dropped = nil
        executor.runUntilIdle()
        follow("b", late)

        #expect(dropped == nil)
        #expect(recorder.values == ["a0", "a1", "a ended", "b1", "b ended"])
    }

    @Test
    func `a cancelled subscriber ends whether it waits, was woken or hasn't begun, and others continue`() {
        let waiting = follow("a", current.values)
        let woken = follow("b", current.values)
        follow("c", current.values)
        let early = executor.spawn { [recorder, current] in
            for await value in current.values { recorder.note("early\(value)") }
        }
        recorder.forget()

        early.cancel()
        waiting.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["a ended"])
        current.value = 1
        woken.cancel()
        executor.runUntilIdle()

        #expect(recorder.values.sorted() == ["a ended", "b ended", "c1"])
    }

    @Test
    func `first where waits until the value satisfies a predicate`() async {
        let waiting = executor.spawn { [current] in await current.values.first { $0 >= 3 } }
        executor.runUntilIdle()

        for value in 1...4 {
            current.value = value
            executor.runUntilIdle()
        }

        #expect(await waiting.value == 3)
    }

    // MARK: The lock

    /// A value with a deinitializer that uses its holder: it deadlocks or traps under the lock.
    final class Meddler: Sendable {
        let current: CurrentValue<Meddler?>
        let ended: Recorder<Int>

        init(_ current: CurrentValue<Meddler?>, _ ended: Recorder<Int>) {
            (self.current, self.ended) = (current, ended)
        }

        deinit {
            _ = current.value
            ended.note(1)
        }
    }

    @Test
    func `replaced values aren't destroyed under the lock`() {
        let current = CurrentValue<Meddler?>(nil)
        let ended = Recorder<Int>()

        current.value = Meddler(current, ended)
        current.value = Meddler(current, ended)
        #expect(ended.values.count == 1)
        current.update { $0 = Meddler(current, ended) }
        #expect(ended.values.count == 2)
        #expect(throws: Refused.self) {
            try current.update { (value) throws(Refused) in
                value = Meddler(current, ended)
                throw Refused()
            }
        }
        #expect(ended.values.count == 3)
        current.value = nil

        #expect(ended.values.count == 4)
    }

    @Test
    func `a body that uses the object traps`() async {
        await #expect(processExitsWith: .failure) {
            let current = CurrentValue(0)
            current.update { $0 = current.value }
        }
    }

    // MARK: Isolation

    @Test @MainActor
    func `a subscriber stays on its actor`() async {
        let current = CurrentValue(0)
        let changing = Task { @concurrent in
            current.value = 1
            current.finish()
        }
        var last = -1

        for await value in current.values {
            MainActor.preconditionIsolated("A subscriber must come back to its actor.")
            last = value
        }

        await changing.value
        MainActor.preconditionIsolated("A subscriber must come back to its actor.")
        #expect(last == 1)
    }
}

// MARK: - Many tasks

@Suite struct `CurrentValue: many tasks` {
    @Test(.timeLimit(.minutes(15)))
    func `no update is lost, and every loop sees the last value and never goes back`() async {
        let current = CurrentValue(0)
        let (writers, each) = (4, 3_000)

        let last = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var last = -1
                    for await value in current.values {
                        if value <= last { Issue.record("\(value) came after \(last)") }
                        last = value
                    }
                    return last
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<writers {
                    group.addTask {
                        for number in 0..<each {
                            current.update { $0 += 1 }
                            if number.isMultiple(of: 20) { await suspendOnce() }
                        }
                    }
                }
            }
            current.finish()
            return await group.reduce(into: []) { $0.append($1) }
        }

        #expect(last == Array(repeating: writers * each, count: 4))
    }

    @Test(.timeLimit(.minutes(15)))
    func `cancelling during a change ends one subscriber, and the change reaches the other`() async {
        for round in 1...2_000 {
            let current = CurrentValue(0)
            let cancelled = Task { for await _ in current.values {} }
            let other = Task { await current.values.first { $0 == round } }
            let canceller = Task { cancelled.cancel() }
            let writer = Task { current.value = round }
            await canceller.value
            await writer.value

            await cancelled.value
            #expect(await other.value == round)
        }
    }

    @Test(arguments: 1...50)
    func `in any order of jobs, every subscriber that isn't cancelled sees the last value`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let current = CurrentValue(0)
        let recorders = (0..<5).map { _ in Recorder<Int>() }
        let tasks = recorders.map { recorder in
            executor.spawn { [values = current.values] in for await value in values { recorder.note(value) } }
        }

        for number in 1...100 {
            current.value = number
            for _ in 0..<Int.random(in: 0..<4, using: &random) { executor.runOne() }
            if number == 50 { tasks[Int(seed) % 5].cancel() }
        }
        current.finish()
        executor.runUntilIdle()

        for (index, recorder) in recorders.enumerated() {
            let seen = recorder.values
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
            if index != Int(seed) % 5 { #expect(seen.last == 100) }
        }
    }
}

// MARK: - The state machine

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

    /// Tries all orders of eight steps: a change, the end, and two subscribers that call `next`. If one must wait, it gives up.
    @Test
    func `every order of eight steps matches the naive model`() {
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
    func `a change and the end wake the waiting loops in order, and those about to suspend`() throws {
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
