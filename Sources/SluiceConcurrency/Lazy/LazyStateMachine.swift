/// Whether a lazy value is there, and which callers wait for it.
///
/// Events in, actions out; it resumes no task itself.
///
/// ```text
/// enter ──▶ loaded                          succeeded ──▶ all waiting callers get the value
///     ├───▶ work: the caller runs the work ─┤
///     └───▶ wait                            failed ─────▶ the first waiting caller runs the work; without one, idle
/// ```
struct LazyStateMachine<Value: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, LazyOutcome<Value>>

    enum EnterAction: Sendable {
        case loaded(Value)
        /// The caller runs the work, and reports how it ended.
        case work
        /// The caller is in line.
        case wait(Line.Ticket)
        /// The caller is cancelled, and there is no value.
        case cancelled
    }

    private var isWorking = false
    private(set) var value: Value?
    private(set) var line = Line()

    /// A caller wants the value.
    mutating func enter(isCancelled: Bool = false) -> EnterAction {
        if let value { return .loaded(value) }
        if isCancelled { return .cancelled }
        if isWorking { return .wait(line.join()) }
        isWorking = true
        return .work
    }

    /// A caller in line suspends; returns how its wait has ended, if it has by now.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> LazyOutcome<Value>? {
        line.suspend(ticket, waiter)
    }

    /// The work made the value; returns the callers to resume with it, in order.
    mutating func succeeded(_ value: Value) -> [Waiter] {
        isWorking = false
        self.value = value
        return line.settleAll(.loaded(value))
    }

    /// The work failed; returns the caller to resume with `.work`, unless it has not suspended yet.
    mutating func failed() -> Waiter? {
        isWorking = !line.isEmpty
        return isWorking ? line.settleFirst(.work) : nil
    }

    /// A caller in line was cancelled; returns it, to be resumed with `.cancelled`.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }
}

/// How a wait for a lazy value ended.
enum LazyOutcome<Value: Sendable>: Sendable {
    case loaded(Value)
    /// The caller before failed: it is this one's turn.
    case work
    case cancelled
}
