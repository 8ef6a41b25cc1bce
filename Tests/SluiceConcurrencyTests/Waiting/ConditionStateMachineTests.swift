import Testing

@testable import SluiceConcurrency

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
    mutating func `a task that has not suspended yet is told when it does, one that has is resumed`() throws {
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
    mutating func `the only waiting task needs no line if it cannot be cancelled`() {
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
        /// Cancellation or deadline; does nothing for a task that has not joined.
        case leave(String, WaitEnd<Condition.Outcome>)
        case complete(Condition.Outcome)
    }

    /// What should happen, written down as simply as possible: a list of names, and what each was told.
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

    /// Trap: a signal is lost on a waiter that is cancelled at the same time.
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
    func `in every interleaving each waiting task gets the model's outcome once, in order`(tasks: [[Step]]) {
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

/// Calls `visit` with each order in which the steps of several tasks can happen, each task's own steps in their order.
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
