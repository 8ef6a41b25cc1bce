/// The state of a lazy value, and the callers that wait for it.
///
/// It resumes no task.
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
        case work
        case wait(Line.Ticket)
        case cancelled
    }

    private var isWorking = false
    private(set) var value: Value?
    private(set) var line = Line()

    mutating func enter(isCancelled: Bool = false) -> EnterAction {
        if let value { return .loaded(value) }
        if isCancelled { return .cancelled }
        if isWorking { return .wait(line.join()) }
        isWorking = true
        return .work
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> LazyOutcome<Value>? {
        line.suspend(ticket, waiter)
    }

    mutating func succeeded(_ value: Value) -> [Waiter] {
        isWorking = false
        self.value = value
        return line.settleAll(.loaded(value))
    }

    /// Returns the caller to resume with `.work`, unless it hasn't suspended yet.
    mutating func failed() -> Waiter? {
        isWorking = !line.isEmpty
        return isWorking ? line.settleFirst(.work) : nil
    }

    /// Returns the continuation of a cancelled caller, which is resumed with `.cancelled`.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }
}

enum LazyOutcome<Value: Sendable>: Sendable {
    case loaded(Value)
    /// The work failed in another task, and this caller runs it next.
    case work
    case cancelled
}
