import DequeModule

/// The elements that at least one loop hasn't received, the position of each loop, and the producer, which takes elements from the base.
///
/// It resumes no task. It returns removed elements, which the caller destroys after unlocking.
///
/// ```text
/// a loop at the end waits ─┐
/// no loop is `buffer`      ├─▶ the producer is resumed ─▶ takes one element from the base ─▶ all waiting loops look again
/// elements behind ─────────┘
/// the last loop leaves ─────▶ the producer is told to stop, and its task is cancelled
/// ```
struct SharedStateMachine<Element: Sendable, Failure: Error, Waiter: Sendable, Work: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, SharedWakeUp>
    typealias Removed = BroadcastLog<Element>.Removed

    enum NextAction: Sendable {
        case deliver(Element, Removed, go: Waiter?)
        case finished
        case failed(Failure)
        /// The loop is in line and suspends with this ticket. If `starts` is `true`, it must start the producer first.
        case suspend(Line.Ticket, starts: Bool, go: Waiter?)
    }

    enum End: Sendable {
        case finished
        case failed(Failure)
        case abandoned
    }

    struct LeaveAction: Sendable {
        var removed: Removed
        /// Resumed to take an element.
        var go: Waiter?
        /// Resumed to stop.
        var stop: Waiter?
        var work: Work?
    }

    private struct Loop: Sendable {
        var cursor: Int
        var hasEnded = false
    }

    /// The maximum number of elements that a loop may be behind. A late loop begins `replay` elements behind, and the producer may be
    /// taking another element then.
    private let bound: Int
    private var log: BroadcastLog<Element>
    private(set) var line = Line()
    private var loops: [UInt64: Loop] = [:]
    private var numbers: UInt64 = 0
    private var end: End?
    private var isStarted = false
    private var work: Work?
    /// `nil` unless it waits until an element is needed.
    private var producer: Waiter?

    init(buffer: Int, replay: Int) {
        bound = max(buffer, replay == .max ? .max : replay + 1)
        log = BroadcastLog(replay: replay)
    }

    var loopCount: Int { loops.count }

    var elementCount: Int { log.slots.count }
}

// MARK: Loops

extension SharedStateMachine {
    mutating func join() -> UInt64 {
        numbers += 1
        loops[numbers] = Loop(cursor: log.addCursor())
        return numbers
    }

    mutating func next(_ number: UInt64) -> NextAction {
        guard let loop = loops[number] else { return .finished }
        if loop.cursor < log.end {
            let element = log[loop.cursor]
            log.moveCursor(from: loop.cursor, to: loop.cursor + 1)
            loops[number]?.cursor += 1
            return .deliver(element, log.trim(), go: takeProducerIfWanted())
        }
        if let end {
            if case .failed(let failure) = end, !loop.hasEnded {
                loops[number]?.hasEnded = true
                return .failed(failure)
            }
            return .finished
        }
        let ticket = line.join()
        defer { isStarted = true }
        return .suspend(ticket, starts: !isStarted, go: takeProducerIfWanted())
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> SharedWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// Returns the continuation of a cancelled loop, which the caller resumes with `.cancelled`.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }

    mutating func leave(_ number: UInt64) -> LeaveAction {
        guard let loop = loops.removeValue(forKey: number) else { return LeaveAction(removed: Removed(first: nil)) }
        log.removeCursor(at: loop.cursor)
        var action = LeaveAction(removed: log.trim())
        if loops.isEmpty, isStarted, end == nil {
            end = .abandoned
            action.stop = producer.take()
            action.work = work.take()
        } else {
            action.go = takeProducerIfWanted()
        }
        return action
    }
}

// MARK: The producer

extension SharedStateMachine {
    /// Returns `true` if the caller must cancel the task because the last loop has left.
    mutating func started(_ work: Work) -> Bool {
        guard end == nil else {
            if case .abandoned = end { return true }
            return false
        }
        self.work = work
        return false
    }

    /// Returns `nil` if the producer must wait.
    mutating func produce(_ waiter: Waiter) -> SharedWakeUp? {
        if end != nil { return .stop }
        if isWanted { return .go }
        producer = waiter
        return nil
    }

    /// The waiting loops look again.
    mutating func deliver(_ element: Element) -> (waiters: [Waiter], removed: Element?) {
        if end != nil { return ([], element) }
        return (line.settleAll(.go), log.append(element))
    }

    mutating func finish(_ end: End) -> [Waiter] {
        if self.end == nil { self.end = end }
        work = nil
        return line.settleAll(.go)
    }

    // MARK: Machinery

    /// Whether a loop waits for an element that the base hasn't yielded, and no loop is too far behind.
    ///
    /// No loop is ever more than `bound` elements behind, so it suffices to look at the slot at that distance.
    private var isWanted: Bool {
        let limit = log.end - bound
        return !line.isEmpty && (limit < log.start || log.slots[limit - log.start].cursors == 0)
    }

    private mutating func takeProducerIfWanted() -> Waiter? {
        isWanted ? producer.take() : nil
    }
}

enum SharedWakeUp: Hashable, Sendable {
    case go
    case stop
    case cancelled
}
