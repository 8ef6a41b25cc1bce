import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite(.timeLimit(.minutes(15))) struct `A condition` {
    let executor = ManualExecutor()

    @Test
    func `a signal resumes all waiting tasks in order, and later waits return immediately`() async {
        let (condition, signal) = Condition.makeCondition()
        let recorder = Recorder<Int>()
        for number in 0..<5 {
            _ = executor.spawn {
                await condition.wait()
                recorder.note(number)
            }
        }
        executor.runUntilIdle()
        #expect(recorder.values == [])

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == [0, 1, 2, 3, 4])
        #expect(await condition.wait() == .signalled)
    }

    @Test
    func `signalling again changes nothing`() async {
        let (condition, signal) = Condition.makeCondition()

        signal.signal()
        signal.signal()

        #expect(await condition.wait() == .signalled)
    }

    @Test
    func `releasing the signal resumes the waiting tasks as abandoned`() async throws {
        let signals = [Recorder<Signal>(), Recorder<Signal>()]
        let condition = makeCondition(signals)
        let recorder = Recorder<Condition.Outcome>()
        _ = executor.spawn { recorder.note(await condition.wait()) }
        let cancellable = executor.spawnThrowing { try await condition.waitUnlessCancelled() }
        executor.runUntilIdle()

        signals[0].forget()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signals[1].forget()
        executor.runUntilIdle()

        #expect(recorder.values == [.abandoned])
        #expect(try await cancellable.value == .abandoned)
        #expect(await condition.wait() == .abandoned)
    }

    /// Creates a condition whose signal only these recorders hold.
    private func makeCondition(_ recorders: [Recorder<Signal>]) -> Condition {
        let (condition, signal) = Condition.makeCondition()
        for recorder in recorders { recorder.note(signal) }
        return condition
    }

    @Test
    func `abandon resumes the waiting tasks even if other code still holds the signal`() async {
        let (condition, signal) = Condition.makeCondition()
        let waiter = executor.spawn { await condition.wait() }
        executor.runUntilIdle()

        signal.abandon()
        signal.signal()
        executor.runUntilIdle()

        #expect(await waiter.value == .abandoned)
        #expect(await condition.wait() == .abandoned)
    }

    @Test
    func `a signal that was used isn't abandoned when it is released`() async {
        func signalled() -> Condition {
            let (condition, signal) = Condition.makeCondition()
            signal.signal()
            return condition
        }

        #expect(await signalled().wait() == .signalled)
    }

    @Test
    func `in a cancelled task, wait doesn't return before the signal`() async {
        let (condition, signal) = Condition.makeCondition()
        let recorder = Recorder<Condition.Outcome>()
        let waiter = executor.spawn { recorder.note(await condition.wait()) }

        waiter.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == [.signalled])
    }

    @Test
    func `waitUnlessCancelled ends with CancellationError if cancelled before or while waiting`() {
        let (condition, signal) = Condition.makeCondition()
        let cancelled = Recorder<String>()
        func spawn(_ name: String) -> Task<Void, Never> {
            executor.spawn { do { try await condition.waitUnlessCancelled() } catch { cancelled.note(name) } }
        }
        spawn("early").cancel()
        executor.runUntilIdle()
        let late = spawn("late")
        executor.runUntilIdle()
        late.cancel()
        executor.runUntilIdle()

        // Without awaiting the tasks: if one of them waited forever, so would the test.
        #expect(cancelled.values == ["early", "late"])
        signal.signal()
        executor.runUntilIdle()
    }

    @Test
    func `an earlier signal is reported even in a cancelled task`() async throws {
        let (condition, signal) = Condition.makeCondition()
        signal.signal()
        let task = executor.spawnThrowing { try await condition.waitUnlessCancelled() }

        task.cancel()
        executor.runUntilIdle()

        #expect(try await task.value == .signalled)
    }

    /// Pitfall: a signal gets lost on a waiter that is cancelled at the same time.
    @Test
    func `cancelling during a signal still resumes every other task`() async {
        for _ in 0..<3_000 {
            let (condition, signal) = Condition.makeCondition()
            let cancelled = Task { try await condition.waitUnlessCancelled() }
            let other = Task { try await condition.waitUnlessCancelled() }
            let canceller = Task { cancelled.cancel() }
            let signaller = Task { signal.signal() }

            _ = await cancelled.result
            #expect(await (try? other.value) == .signalled)
            await canceller.value
            await signaller.value
        }
    }

    @Test @MainActor
    func `a waiter returns to its actor`() async {
        let (condition, signal) = Condition.makeCondition()
        async let signalling: Void = Task { @concurrent in signal.signal() }.value

        await condition.wait()

        MainActor.preconditionIsolated("A waiter must come back to its actor.")
        await signalling
    }
}

// MARK: - Deadlines

@Suite(.timeLimit(.minutes(15))) struct `Condition with a deadline` {
    let executor = ManualExecutor()
    let clock = ManualClock()

    @Test
    func `a wait throws at its deadline, not before`() async throws {
        let (condition, signal) = Condition.makeCondition()
        let recorder = Recorder<DeadlineExceeded>()
        let task = executor.spawn { [clock] in
            do {
                try await condition.wait(until: .init(offset: .seconds(3)), clock: clock)
            } catch let error as DeadlineExceeded {
                recorder.note(error)
            } catch {}
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(2))
        executor.runUntilIdle()
        #expect(recorder.values == [])

        clock.advance(by: .seconds(1))
        executor.runUntilIdle()

        #expect(recorder.values == [DeadlineExceeded()])
        await task.value
        signal.signal()
    }

    @Test
    func `a timeout of zero throws unless the condition is already signalled`() async throws {
        let (condition, signal) = Condition.makeCondition()
        await #expect(throws: DeadlineExceeded.self) { try await condition.wait(timeout: .zero) }

        signal.signal()

        #expect(try await condition.wait(timeout: .zero) == .signalled)
    }

    @Test
    func `a signal before the deadline is returned, and no sleeping task is left`() async throws {
        let (condition, signal) = Condition.makeCondition()
        let task = executor.spawnThrowing { [clock] in
            try await condition.wait(until: .init(offset: .seconds(3)), clock: clock)
        }
        executor.runUntilIdle()
        #expect(clock.sleeperCount == 1)

        signal.signal()
        executor.runUntilIdle()

        #expect(clock.sleeperCount == 0)
        // Ends any remaining sleep, so that the test fails and doesn't hang.
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        #expect(try await task.value == .signalled)
    }

    @Test
    func `an earlier signal is reported even after the deadline and in a cancelled task`() async throws {
        let (condition, signal) = Condition.makeCondition()
        signal.signal()
        clock.advance(by: .seconds(3))
        let task = executor.spawnThrowing { [clock] in try await condition.wait(until: .init(), clock: clock) }
        task.cancel()
        executor.runUntilIdle()

        #expect(try await task.value == .signalled)
    }

    @Test
    func `a deadline in the past ends the wait immediately and creates no task`() async throws {
        let (condition, signal) = Condition.makeCondition()
        let task = executor.spawnThrowing { [clock] in try await condition.wait(until: clock.now, clock: clock) }

        #expect(executor.runOne())
        #expect(!executor.runOne(), "There is no second job.")

        await #expect(throws: DeadlineExceeded.self) { try await task.value }
        signal.signal()
    }

    @Test
    func `a cancelled task stops waiting, whether cancelled before or during the wait`() async {
        let (condition, signal) = Condition.makeCondition()
        let wait: @Sendable () async throws -> Condition.Outcome = { [clock] in
            try await condition.wait(until: .init(offset: .seconds(3)), clock: clock)
        }
        let early = executor.spawnThrowing { try await wait() }
        early.cancel()
        executor.runUntilIdle()
        let late = executor.spawnThrowing { try await wait() }
        executor.runUntilIdle()
        late.cancel()
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await early.value }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(clock.sleeperCount == 0)
        signal.signal()
    }

    @Test(arguments: 0..<100)
    func `under any schedule, each wait ends once with an allowed outcome and leaves nothing`(seed: Int) async {
        let executor = ManualExecutor(seed: UInt64(seed))
        let clock = ManualClock()
        let (condition, signal) = Condition.makeCondition()
        let steady = executor.spawn { await condition.wait() }
        let bounded = executor.spawnThrowing {
            try await condition.wait(until: .init(offset: .seconds(3)), clock: clock)
        }
        let cancelled = executor.spawnThrowing { try await condition.waitUnlessCancelled() }
        for _ in 0..<(seed % 6) { executor.runOne() }
        _ = executor.spawn { signal.signal() }
        _ = executor.spawn { clock.advance(by: .seconds(3)) }
        _ = executor.spawn { cancelled.cancel() }
        if seed % 2 == 0 { _ = executor.spawn { bounded.cancel() } }
        executor.runUntilIdle()

        #expect(clock.sleeperCount == 0, "seed \(seed)")
        #expect(await steady.value == .signalled, "seed \(seed)")
        switch await bounded.result {
        case .success(let outcome): #expect(outcome == .signalled)
        case .failure(let error): #expect(error is DeadlineExceeded || error is CancellationError && seed % 2 == 0)
        }
        switch await cancelled.result {
        case .success(let outcome): #expect(outcome == .signalled)
        case .failure(let error): #expect(error is CancellationError)
        }
    }

    /// Pitfall: notify-all resumes tasks that came after it, or misses some that were waiting. Here, no task is left waiting, whenever it
    /// came.
    @Test
    func `on all threads, signal, cancellation and deadline together leave no task waiting`() async {
        for _ in 0..<500 {
            let clock = ManualClock()
            let (condition, signal) = Condition.makeCondition()
            await withTaskGroup(of: Void.self) { group in
                let cancelled = Task { try await condition.wait(until: .init(offset: .seconds(3)), clock: clock) }
                group.addTask { #expect(await condition.wait() == .signalled) }
                group.addTask { _ = try? await condition.wait(until: .init(offset: .seconds(3)), clock: clock) }
                group.addTask { signal.signal() }
                group.addTask { clock.advance(by: .seconds(3)) }
                group.addTask { cancelled.cancel() }
                _ = await cancelled.result
            }
            #expect(clock.sleeperCount == 0)
        }
    }

    @Test @MainActor
    func `a wait with a deadline on the main actor doesn't leave it`() async {
        let (condition, signal) = Condition.makeCondition()
        await #expect(throws: DeadlineExceeded.self) { try await condition.wait(until: clock.now, clock: clock) }
        MainActor.assertIsolated()
        signal.signal()
    }
}

// MARK: - The state machine

@Suite struct `The state machine of a condition` {
    typealias Machine = ConditionStateMachine<Condition.Outcome, String>

    var machine = Machine()

    @Test
    mutating func `only the first outcome counts`() {
        let first = machine.complete(.abandoned)
        let second = machine.complete(.signalled)

        #expect(first?.first == nil && first?.others == [])
        #expect(second == nil)
        #expect(machine.outcome == .abandoned)
    }

    @Test
    mutating func `a suspended task is resumed, and one that hasn't suspended finds the outcome when it does`() throws {
        let early = try #require(wait())
        let late = try #require(wait())
        let known = machine.suspend(early, "early")
        let released = machine.complete(.signalled)
        let told = machine.suspend(late, "late")

        #expect(known == nil)
        #expect(released?.others == ["early"])
        #expect(told == .completed(.signalled))
        #expect(machine.line.isEmpty)
    }

    @Test
    mutating func `a sole waiting task that can't be cancelled needs no line`() {
        _ = machine.wait(uninterrupted: "only")

        #expect(machine.line.slotCount == 0)
        let released = machine.complete(.signalled)
        #expect(released?.first == "only")
        #expect(machine.first == nil, "Nothing is kept of it.")
    }

    @Test
    mutating func `one hundred thousand cancelled waiters leave no trace`() {
        let tickets = (0..<100_000).compactMap { _ in wait() }

        for ticket in tickets {
            _ = machine.suspend(ticket, "waiter")
            _ = machine.leave(ticket, .cancelled)
        }

        #expect(machine.line.isEmpty)
        #expect(machine.line.slotCount == 0)
    }

    private mutating func wait() -> Machine.Line.Ticket? {
        if case .suspend(let ticket) = machine.wait() { ticket } else { nil }
    }

    // MARK: Every interleaving

    enum Step {
        case join(String)
        case suspend(String)
        case wait(uninterrupted: String)
        /// Cancellation or a deadline. Does nothing for a task that hasn't joined.
        case leave(String, WaitEnd<Condition.Outcome>)
        case complete(Condition.Outcome)
    }

    /// The expected behavior, as simple as possible: a list of names, and the outcome of each.
    struct Model {
        var outcome: Condition.Outcome?
        var waiting: [String] = []
        var ends: [String: WaitEnd<Condition.Outcome>] = [:]

        mutating func come(_ name: String) {
            if let outcome { ends[name] = .completed(outcome) } else { waiting.append(name) }
        }

        mutating func leave(_ name: String, _ end: WaitEnd<Condition.Outcome>) {
            guard let index = waiting.firstIndex(of: name) else { return }
            waiting.remove(at: index)
            ends[name] = end
        }

        /// Returns the released tasks, in order.
        mutating func complete(_ outcome: Condition.Outcome) -> [String] {
            if self.outcome != nil { return [] }
            self.outcome = outcome
            defer { waiting = [] }
            for name in waiting { ends[name] = .completed(outcome) }
            return waiting
        }
    }

    /// Pitfall: a signal gets lost on a waiter that is cancelled at the same time.
    @Test(
        arguments: [
            [
                [.join("a"), .suspend("a")], [.leave("a", .cancelled)], [.join("b"), .suspend("b")],
                [.wait(uninterrupted: "c")], [.complete(.signalled)], [.complete(.abandoned)],
            ],
            [
                [.wait(uninterrupted: "a")], [.wait(uninterrupted: "b")], [.join("c"), .suspend("c")],
                [.leave("c", .expired)], [.leave("c", .cancelled)], [.complete(.signalled)],
            ],
        ] as [[[Step]]])
    func `in every interleaving, each waiting task gets the model's outcome once, in order`(tasks: [[Step]]) {
        var count = 0
        forEachInterleaving(of: tasks) { steps in
            count += 1
            if !agrees(steps) { Issue.record("\(steps)") }
        }
        #expect(count >= 2_520)
    }

    private func agrees(_ steps: [Step]) -> Bool {
        var machine = Machine()
        var model = Model()
        var tickets: [String: Machine.Line.Ticket] = [:]
        var suspended: Set<String> = []
        var told: [String: [WaitEnd<Condition.Outcome>]] = [:]
        for step in steps {
            switch step {
            case .join(let name):
                model.come(name)
                switch machine.wait() {
                case .end(let outcome): told[name, default: []].append(.completed(outcome))
                case .suspend(let ticket): tickets[name] = ticket
                }
            case .suspend(let name):
                guard let ticket = tickets[name] else { continue }
                suspended.insert(name)
                if let end = machine.suspend(ticket, name) { told[name, default: []].append(end) }
            case .wait(let name):
                model.come(name)
                suspended.insert(name)
                if let outcome = machine.wait(uninterrupted: name) {
                    told[name, default: []].append(.completed(outcome))
                }
            case .leave(let name, let end):
                guard let ticket = tickets[name] else { continue }
                model.leave(name, end)
                if let waiter = machine.leave(ticket, end) { told[waiter, default: []].append(end) }
            case .complete(let outcome):
                let expected = model.complete(outcome).filter(suspended.contains)
                let released = machine.complete(outcome)
                let names = (released?.first.map { [$0] } ?? []) + (released?.others ?? [])
                guard names == expected else { return false }
                for name in names { told[name, default: []].append(.completed(outcome)) }
            }
        }
        return told == model.ends.mapValues { [$0] } && machine.line.slotCount == 0 && machine.outcome == model.outcome
    }
}

// MARK: - Interleavings

/// Calls `visit` with each order in which the steps of several tasks can happen. Each task's own steps stay in order.
func forEachInterleaving<Step>(of tasks: [[Step]], _ visit: ([Step]) -> Void) {
    func extend(_ order: [Step], _ positions: [Int]) {
        var isComplete = true
        for task in tasks.indices where positions[task] < tasks[task].count {
            isComplete = false
            var next = positions
            next[task] += 1
            extend(order + [tasks[task][positions[task]]], next)
        }
        if isComplete { visit(order) }
    }
    extend([], tasks.map { _ in 0 })
}
