/// Who waits for a condition, until it is known how that ends.
///
/// Events in, actions out; it resumes nobody. A waiter is resumed with nil if it was cancelled.
struct ConditionStateMachine<Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, Condition.Outcome?>

    enum WaitAction: Sendable {
        case end(Condition.Outcome)
        /// The caller is in line, and suspends with this ticket.
        case suspend(Line.Ticket)
    }

    private(set) var line = Line()
    private(set) var outcome: Condition.Outcome?

    /// A task starts to wait, and may be cancelled before it suspends.
    mutating func wait() -> WaitAction {
        if let outcome { .end(outcome) } else { .suspend(line.join()) }
    }

    /// A task waits that is suspended already and cannot be cancelled; returns how that ended if it has.
    mutating func wait(uninterrupted waiter: Waiter) -> Condition.Outcome? {
        if outcome == nil { _ = line.join(waiter) }
        return outcome
    }

    /// A task in line suspends; returns what it is resumed with if that is known by now.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> Condition.Outcome?? {
        line.suspend(ticket, waiter)
    }

    /// A task in line was cancelled; returns the waiter to be resumed with nil.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, nil)
    }

    /// The signal came, or never will; returns those to be resumed with the outcome. Only the first time counts.
    mutating func fire(_ outcome: Condition.Outcome) -> [Waiter] {
        guard self.outcome == nil else { return [] }
        self.outcome = outcome
        return line.settleAll(outcome)
    }
}
