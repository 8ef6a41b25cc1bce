enum WaitEnd<Outcome> {
    case completed(Outcome)
    case cancelled
    case expired
}

/// The tasks that wait for an event that happens once, and its outcome.
///
/// A ``Condition`` uses it with the outcome signalled or abandoned, and a ``Promise`` with a result. It resumes no task itself.
struct ConditionStateMachine<Outcome: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, WaitEnd<Outcome>>

    enum WaitAction: Sendable {
        case end(Outcome)
        case suspend(Line.Ticket)
    }

    /// The waiting tasks to resume with the outcome, in order.
    struct Released: Sendable {
        let first: Waiter?
        let others: [Waiter]
    }

    private(set) var outcome: Outcome?
    /// A task that came before all tasks in line, if its wait can't be cancelled. Most conditions then allocate no line.
    private(set) var first: Waiter?
    private(set) var line = Line()

    /// Returns the outcome, or adds a task to the line that can be cancelled before it suspends.
    mutating func wait() -> WaitAction {
        if let outcome { .end(outcome) } else { .suspend(line.join()) }
    }

    /// Returns the outcome, or stores the waiter of a suspended task. Its wait can't be cancelled.
    mutating func wait(uninterrupted waiter: Waiter) -> Outcome? {
        if let outcome { return outcome }
        if first == nil, line.isEmpty { first = waiter } else { _ = line.join(waiter) }
        return nil
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> WaitEnd<Outcome>? {
        line.suspend(ticket, waiter)
    }

    mutating func leave(_ ticket: Line.Ticket, _ end: WaitEnd<Outcome>) -> Waiter? {
        line.settle(ticket, end)
    }

    /// Sets the outcome; returns the tasks to resume, or `nil` if there was an outcome already.
    mutating func complete(_ outcome: Outcome) -> Released? {
        guard self.outcome == nil else { return nil }
        self.outcome = outcome
        defer { first = nil }
        return Released(first: first, others: line.isEmpty ? [] : line.settleAll(.completed(outcome)))
    }
}

extension WaitEnd: Sendable where Outcome: Sendable {}
extension WaitEnd: Hashable, Equatable where Outcome: Hashable {}
