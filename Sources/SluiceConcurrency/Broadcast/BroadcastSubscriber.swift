public import DequeModule

/// The position of one subscriber, and the number of elements that it has missed.
///
/// It receives its backlog first, then the number of missed elements, then the log from its cursor on.
///
/// Most subscribers have no backlog. Only a full subscriber that keeps the oldest elements has a gap in the middle of the log. The
/// elements before the gap move to its backlog, so that the log needn't keep the elements after them.
///
/// ```text
/// keeps oldest 3:   a b c │ d e │ f g          a, b, c are buffered; d and e are missed
/// backlog: a b c, missed 2 ─┘     └─ cursor    a is taken: there is room for f
/// ```
@usableFromInline
struct BroadcastSubscriber<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Delivery = Broadcast<Element, Failure>.Delivery

    @usableFromInline let bound: Int
    @usableFromInline let keepsOldest: Bool
    /// The number of the next element in the log.
    @usableFromInline var cursor: Int
    /// The number of elements missed just before the cursor.
    @usableFromInline var missed = 0
    @usableFromInline var backlog = Deque<Delivery>()
    /// The number of elements in the backlog, which also holds gap reports.
    @usableFromInline var backlogValues = 0
    /// Whether the subscriber has received the error of the broadcast.
    @usableFromInline var hasEnded = false

    @inlinable
    init(_ buffering: Broadcast<Element, Failure>.Buffering, cursor: Int) {
        self.cursor = cursor
        switch buffering {
        case .newest(let bound): (self.bound, keepsOldest) = (bound, false)
        case .oldest(let bound): (self.bound, keepsOldest) = (bound, true)
        case .unbounded: (self.bound, keepsOldest) = (.max, false)
        }
        precondition(bound >= 1, "A subscription's buffering limit must be at least 1; it is \(bound).")
    }

    /// Skips the elements that exceed the bound.
    ///
    /// The subscriber receives the same deliveries whenever this is called, if it is called before each element is taken.
    @inlinable
    mutating func settle(_ log: inout BroadcastLog<Element>) {
        let room = bound - backlogValues
        guard log.end - cursor > room else { return }
        keepsOldest ? missNewest(room, &log) : missOldest(&log)
    }

    /// The caller must trim the log afterward.
    @inlinable
    mutating func take(_ log: inout BroadcastLog<Element>) -> Delivery? {
        settle(&log)
        if let delivery = backlog.popFirst() {
            if case .value = delivery { backlogValues -= 1 }
            return delivery
        }
        if missed > 0 {
            defer { missed = 0 }
            return .missed(missed)
        }
        guard cursor < log.end else { return nil }
        let element = log[cursor]
        move(to: cursor + 1, &log)
        return .value(element)
    }

    @inlinable
    mutating func missOldest(_ log: inout BroadcastLog<Element>) {
        let target = log.end - bound
        missed += target - cursor
        move(to: target, &log)
    }

    /// Moves the elements for which there is room to the backlog, and skips the others.
    @inlinable
    mutating func missNewest(_ room: Int, _ log: inout BroadcastLog<Element>) {
        if room > 0 {
            if missed > 0 { backlog.append(.missed(missed)) }
            missed = 0
            for number in cursor..<cursor + room { backlog.append(.value(log[number])) }
            backlogValues += room
        }
        missed += log.end - cursor - room
        move(to: log.end, &log)
    }

    @inlinable
    mutating func move(to target: Int, _ log: inout BroadcastLog<Element>) {
        log.moveCursor(from: cursor, to: target)
        cursor = target
    }
}
