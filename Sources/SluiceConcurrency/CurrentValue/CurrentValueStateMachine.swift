/// A value, how often it was changed, and the subscribers that wait for it to change again.
///
/// Events in, actions out; it resumes no task itself. A subscriber is no more than the number of the change that it has seen, which
/// it keeps itself.
@usableFromInline
struct CurrentValueStateMachine<Value: Sendable, Waiter: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Waiter, CurrentValueWakeUp>

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(Value, version: UInt64)
        case finished
        /// The subscriber is in line, and suspends with this ticket.
        case suspend(Line.Ticket)
    }

    @usableFromInline var value: Value
    @usableFromInline var version: UInt64 = 1
    @usableFromInline var isFinished = false
    @usableFromInline var line = Line()

    @inlinable
    init(_ value: Value) {
        self.value = value
    }

    /// The value changes; returns the old one, to be destroyed after the unlock, and the waiting subscribers, to look again.
    @inlinable
    mutating func replace(with new: Value) -> (old: Value, waiters: [Waiter]) {
        let old = value
        value = new
        if !isFinished { version += 1 }
        return (old, line.isEmpty ? [] : line.settleAll(.lookAgain))
    }

    /// The loops end; returns the waiting subscribers, to look again.
    @inlinable
    mutating func finish() -> [Waiter] {
        isFinished = true
        return line.settleAll(.lookAgain)
    }

    /// A subscriber wants the newest value, and waits for it if it has seen that; 0 has seen none.
    @inlinable
    mutating func next(after seen: UInt64) -> NextAction {
        if version != seen { return .deliver(value, version: version) }
        return isFinished ? .finished : .suspend(line.join())
    }

    /// A subscriber in line suspends; returns what it is resumed with if that is known by now.
    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> CurrentValueWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// A subscriber in line was cancelled; returns it to be resumed with `.cancelled`.
    @inlinable
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }
}

/// Why a subscriber that waited is resumed.
@usableFromInline
enum CurrentValueWakeUp: Hashable, Sendable {
    /// There is a newer value, or none ever will be: it asks again.
    case lookAgain
    case cancelled
}
