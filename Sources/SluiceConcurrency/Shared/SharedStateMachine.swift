import DequeModule

/// The elements that some loop has still to get, how far each loop has come, and whether the base may be asked for more.
///
/// Events in, actions out; it resumes no task itself. Elements that are let go are handed out, to be destroyed after the
/// unlock.
///
/// ```text
/// a loop at the end waits ─┐
/// no loop is `buffer`      ├─▶ the producer is let on ─▶ takes one element from the base ─▶ all waiting loops look again
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
        /// The loop is in line, and suspends with this ticket; `starts` if it must start the producer before.
        case suspend(Line.Ticket, starts: Bool, go: Waiter?)
    }

    enum End: Sendable {
        case finished
        case failed(Failure)
        /// The last loop left.
        case abandoned
    }

    /// What follows from a loop's leaving.
    struct LeaveAction: Sendable {
        var removed: Removed
        /// Is let on.
        var go: Waiter?
        /// Is told to stop.
        var stop: Waiter?
        /// Is to be cancelled.
        var work: Work?
    }

    private struct Loop: Sendable {
        var cursor: Int
        /// Whether it was told of the end.
        var hasEnded = false
    }

    /// How many elements a loop may be behind. A late loop begins `replay` elements behind, and the producer may be taking
    /// one more by then.
    private let bound: Int
    private var log: BroadcastLog<Element>
    private(set) var line = Line()
    private var loops: [UInt64: Loop] = [:]
    private var numbers: UInt64 = 0
    private var end: End?
    private var isStarted = false
    private var work: Work?
    /// The producer, while it waits to be let on.
    private var producer: Waiter?

    init(buffer: Int, replay: Int) {
        bound = max(buffer, replay + 1)
        log = BroadcastLog(replay: replay)
    }

    var loopCount: Int { loops.count }

    /// How many elements are kept.
    var elementCount: Int { log.slots.count }
}

// MARK: Loops

extension SharedStateMachine {
    /// A loop begins; returns its number.
    mutating func join() -> UInt64 {
        numbers += 1
        loops[numbers] = Loop(cursor: log.addCursor())
        return numbers
    }

    /// A loop wants an element.
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

    /// A loop in line suspends; returns what it is resumed with if that is known by now.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> SharedWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// A loop in line was cancelled; returns it, to be resumed with `.cancelled`.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }

    /// A loop is over.
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
    /// The producer's task was made; returns whether it is to be cancelled, since the last loop has left by now.
    mutating func started(_ work: Work) -> Bool {
        guard end == nil else {
            if case .abandoned = end { return true }
            return false
        }
        self.work = work
        return false
    }

    /// The producer asks whether to take an element; returns nil if it has to wait.
    mutating func produce(_ waiter: Waiter) -> SharedWakeUp? {
        if end != nil { return .stop }
        if isWanted { return .go }
        producer = waiter
        return nil
    }

    /// The base gave an element; returns the loops to look again.
    mutating func deliver(_ element: Element) -> (waiters: [Waiter], removed: Element?) {
        if end != nil { return ([], element) }
        return (line.settleAll(.go), log.append(element))
    }

    /// The base ended; returns the loops to look again.
    mutating func finish(_ end: End) -> [Waiter] {
        if self.end == nil { self.end = end }
        work = nil
        return line.settleAll(.go)
    }

    // MARK: Machinery

    /// Whether a loop waits for an element that the base has not given yet, and no loop is too far behind.
    ///
    /// No loop is ever more than `bound` behind, so only the place that far behind is looked at.
    private var isWanted: Bool {
        let limit = log.end - bound
        return !line.isEmpty && (limit < log.start || log.slots[limit - log.start].cursors == 0)
    }

    private mutating func takeProducerIfWanted() -> Waiter? {
        isWanted ? producer.take() : nil
    }
}

/// Why a loop or the producer is resumed.
enum SharedWakeUp: Hashable, Sendable {
    /// A loop looks again; the producer takes an element.
    case go
    /// The producer ends.
    case stop
    /// The loop's task was cancelled.
    case cancelled
}
