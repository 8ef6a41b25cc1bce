public import DequeModule

/// How far one subscriber has come, and what it has missed.
///
/// It gets what is in its backlog first, then that it missed some, then the log from its cursor on.
///
/// Most have no backlog. Only one that keeps the oldest elements and is full leaves a hole in the log: the elements before
/// the hole move to its backlog, so that it does not hold the log for the elements behind.
///
/// ```text
/// keeps oldest 3:   a b c │ d e │ f g          a, b, c wait; d and e come and are missed
/// backlog: a b c, missed 2 ─┘     └─ cursor    a is taken: f has a place
/// ```
@usableFromInline
struct BroadcastSubscriber<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Delivery = Broadcast<Element, Failure>.Delivery

    /// How many elements may wait.
    @usableFromInline let bound: Int
    /// Whether it misses what comes rather than what waits.
    @usableFromInline let keepsOldest: Bool
    /// The number of the element in the log that it gets next.
    @usableFromInline var cursor: Int
    /// How many it has missed just before the cursor.
    @usableFromInline var missed = 0
    @usableFromInline var backlog = Deque<Delivery>()
    /// How many of the backlog are elements.
    @usableFromInline var backlogValues = 0
    /// Whether it was told that the broadcast has finished.
    @usableFromInline var hasEnded = false

    @inlinable
    init(_ buffering: Broadcast<Element, Failure>.Buffering, cursor: Int) {
        self.cursor = cursor
        switch buffering {
        case .newest(let bound): (self.bound, keepsOldest) = (bound, false)
        case .oldest(let bound): (self.bound, keepsOldest) = (bound, true)
        case .unbounded: (self.bound, keepsOldest) = (.max, false)
        }
        precondition(bound >= 1, "A subscriber needs room for at least 1 element, not \(bound).")
    }

    /// Misses what there is no room for.
    ///
    /// It changes nothing that the subscriber gets whether this is done now or later, as long as it is done before the
    /// subscriber takes an element.
    @inlinable
    mutating func settle(_ log: inout BroadcastLog<Element>) {
        let room = bound - backlogValues
        guard log.end - cursor > room else { return }
        keepsOldest ? missNewest(room, &log) : missOldest(&log)
    }

    /// What it gets next, if there is something. The log is to be trimmed afterwards.
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

    /// Moves what there is room for to the backlog, and misses the rest.
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
