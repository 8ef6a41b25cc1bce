/// A value, the number of its changes, and the subscribers that wait for the next change.
///
/// It resumes no task. Each subscriber stores its only state itself: the number of the last change that it has received.
@usableFromInline
struct CurrentValueStateMachine<Value: Sendable, Waiter: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Waiter, CurrentValueWakeUp>

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(Value, version: UInt64)
        case finished
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

    /// The caller destroys the old value after unlocking. The waiting subscribers look again.
    @inlinable
    mutating func replace(with new: Value) -> (old: Value, waiters: [Waiter]) {
        let old = value
        value = new
        if !isFinished { version += 1 }
        return (old, line.isEmpty ? [] : line.settleAll(.lookAgain))
    }

    @inlinable
    mutating func finish() -> [Waiter] {
        isFinished = true
        return line.settleAll(.lookAgain)
    }

    /// Returns the newest value if the subscriber hasn't received it, or adds the subscriber to the line. 0 stands for no change.
    @inlinable
    mutating func next(after seen: UInt64) -> NextAction {
        if version != seen { return .deliver(value, version: version) }
        return isFinished ? .finished : .suspend(line.join())
    }

    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> CurrentValueWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// Returns the continuation of a cancelled subscriber, which the caller resumes with `.cancelled`.
    @inlinable
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }
}

@usableFromInline
enum CurrentValueWakeUp: Hashable, Sendable {
    /// The value has changed or the loops end: the subscriber calls `next` again.
    case lookAgain
    case cancelled
}
