/// How one wait ended.
enum WaitEnd<Outcome> {
    /// What was waited for came, and was this.
    case completed(Outcome)
    /// The task was cancelled first.
    case cancelled
    /// The deadline came first.
    case expired
}

/// The tasks that wait for an event that happens once, and its outcome: the heart of a ``Condition``, whose
/// outcome is signalled or abandoned, and of a ``Promise``, whose outcome is a result.
///
/// Events in, actions out; it resumes no task.
struct ConditionStateMachine<Outcome: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, WaitEnd<Outcome>>

    enum WaitAction: Sendable {
        case end(Outcome)
        /// The caller is in line, and suspends with this ticket.
        case suspend(Line.Ticket)
    }

    /// The waiting tasks to resume with the outcome, in order.
    struct Released: Sendable {
        let first: Waiter?
        let others: [Waiter]
    }

    private(set) var outcome: Outcome?
    /// A task that came before all in line, and cannot be cancelled. Most conditions have no other: no line is allocated.
    private(set) var first: Waiter?
    private(set) var line = Line()

    /// A task starts to wait, and may be cancelled before it suspends.
    mutating func wait() -> WaitAction {
        if let outcome { .end(outcome) } else { .suspend(line.join()) }
    }

    /// A task waits that is suspended already and cannot be cancelled; returns the outcome if it is known.
    mutating func wait(uninterrupted waiter: Waiter) -> Outcome? {
        if let outcome { return outcome }
        if first == nil, line.isEmpty { first = waiter } else { _ = line.join(waiter) }
        return nil
    }

    /// A task in line suspends; returns what it is resumed with if that is known by now.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> WaitEnd<Outcome>? {
        line.suspend(ticket, waiter)
    }

    /// A task in line stops waiting, cancelled or expired; returns the waiter to be resumed with that.
    mutating func leave(_ ticket: Line.Ticket, _ end: WaitEnd<Outcome>) -> Waiter? {
        line.settle(ticket, end)
    }

    /// The event happened; returns the tasks that waited for it, or nil if it had happened before: only the first time counts.
    mutating func complete(_ outcome: Outcome) -> Released? {
        guard self.outcome == nil else { return nil }
        self.outcome = outcome
        defer { first = nil }
        return Released(first: first, others: line.isEmpty ? [] : line.settleAll(.completed(outcome)))
    }
}

extension WaitEnd: Sendable where Outcome: Sendable {}
extension WaitEnd: Hashable, Equatable where Outcome: Hashable {}
