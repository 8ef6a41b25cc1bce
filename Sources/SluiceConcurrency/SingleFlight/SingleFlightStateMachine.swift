/// The running operations, and the callers that wait for each of them.
///
/// It resumes and cancels no task.
///
/// ```text
/// join ──▶ start: the caller creates the operation's task
///     └──▶ wait
/// finished ──▶ all waiting tasks are resumed
/// leave ──▶ this one is resumed; if it was the last, the flight is removed and its task is cancelled
/// ```
struct SingleFlightStateMachine<
    Key: Hashable & Sendable, Waiter: Sendable, Outcome: Sendable, Work: Sendable
>: Sendable {
    typealias Line = WaitingLine<Waiter, Outcome>

    struct Ticket: Sendable {
        let key: Key
        let flight: UInt64
        fileprivate let place: Line.Ticket
    }

    private struct Flight: Sendable {
        let number: UInt64
        var line = Line()
        /// The highest priority of its callers so far.
        var priority: TaskPriority
        /// The operation's task, once the caller that created it has recorded it.
        var work: Work?
    }

    private var current: [Key: Flight] = [:]
    /// The lines of ended flights, kept for callers that were settled before they suspended.
    private var landed: [UInt64: Line] = [:]
    private var numbers: UInt64 = 0

    var count: Int { current.count }

    var isEmpty: Bool { current.isEmpty && landed.isEmpty }

    func priority(_ key: Key) -> TaskPriority? { current[key]?.priority }

    func isInFlight(_ key: Key) -> Bool { current[key] != nil }

    /// Adds a caller. Returns whether it must start the operation.
    mutating func join(_ key: Key, priority: TaskPriority = .medium) -> (ticket: Ticket, starts: Bool) {
        if let number = current[key]?.number, let place = current[key]?.line.join() {
            return (Ticket(key: key, flight: number, place: place), false)
        }
        numbers += 1
        var flight = Flight(number: numbers, priority: priority)
        let place = flight.line.join()
        current[key] = flight
        // Otherwise no event would find the flight, and its callers would wait forever.
        precondition(
            current[key]?.number == numbers,
            "A single flight's key must be equal to itself, and its hash must not change.")
        return (Ticket(key: key, flight: numbers, place: place), true)
    }

    /// Returns the priority of the callers until now. Does nothing if the operation has already ended.
    @discardableResult
    mutating func started(_ ticket: Ticket, _ work: Work) -> TaskPriority? {
        guard isCurrent(ticket) else { return nil }
        current[ticket.key]?.work = work
        return current[ticket.key]?.priority
    }

    /// Notes the priority of a caller. Returns the task to raise to it.
    mutating func raise(_ ticket: Ticket, to priority: TaskPriority) -> Work? {
        guard isCurrent(ticket), let flight = current[ticket.key], flight.priority < priority else { return nil }
        current[ticket.key]?.priority = priority
        return flight.work
    }

    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> Outcome? {
        if isCurrent(ticket) { return current[ticket.key]?.line.suspend(ticket.place, waiter) }
        let outcome = landed[ticket.flight]?.suspend(ticket.place, waiter)
        if landed[ticket.flight]?.hasUnclaimedOutcomes == false { landed[ticket.flight] = nil }
        return outcome
    }

    /// Returns the callers to resume with the outcome, in order.
    mutating func finished(_ ticket: Ticket, _ outcome: Outcome) -> [Waiter] {
        guard isCurrent(ticket), var flight = current.removeValue(forKey: ticket.key) else { return [] }
        let waiters = flight.line.settleAll(outcome)
        land(flight)
        return waiters
    }

    /// Removes a cancelled caller. Returns the caller to resume, and its outcome, which `outcome` creates. If the caller was the last one,
    /// `outcome` gets the task to cancel and to wait for; otherwise `nil`.
    mutating func leave(_ ticket: Ticket, _ outcome: (Work?) -> Outcome) -> (waiter: Waiter?, outcome: Outcome)? {
        guard isCurrent(ticket), current[ticket.key]?.line.contains(ticket.place) == true else { return nil }
        guard current[ticket.key]?.line.count == 1 else {
            let outcome = outcome(nil)
            return (current[ticket.key]?.line.settle(ticket.place, outcome), outcome)
        }
        guard var flight = current.removeValue(forKey: ticket.key) else { return nil }
        let outcome = outcome(flight.work)
        let waiter = flight.line.settle(ticket.place, outcome)
        land(flight)
        return (waiter, outcome)
    }

    private func isCurrent(_ ticket: Ticket) -> Bool {
        current[ticket.key]?.number == ticket.flight
    }

    private mutating func land(_ flight: Flight) {
        if flight.line.hasUnclaimedOutcomes { landed[flight.number] = flight.line }
    }
}

extension WaitingLine {
    /// Whether a waiter that was settled before it suspended hasn't received its outcome yet.
    var hasUnclaimedOutcomes: Bool { occupied > count }
}
