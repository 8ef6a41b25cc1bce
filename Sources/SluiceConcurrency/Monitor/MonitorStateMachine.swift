/// A state, and the tasks that wait until it satisfies a condition.
///
/// After each event, no attempt in line would succeed. The machine resumes no task itself. It returns the attempts
/// that it takes out of the line, because an attempt contains a user's closure and must not be destroyed under the lock.
struct MonitorStateMachine<State: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, WaitEnd<Void>>

    struct Attempt: Sendable {
        /// Whether a success changes the state, so that other waiting tasks may be served.
        let changesState: Bool
        let succeeds: @Sendable (inout State) -> Bool
    }

    /// Resumed unless it hasn't suspended yet.
    struct Departure: Sendable {
        let waiter: Waiter?
        let attempt: Attempt
    }

    struct Entry: Sendable {
        /// The ticket with which the task suspends; `nil` if its attempt succeeded.
        let ticket: Line.Ticket?
        /// The tasks that are served after the attempt has changed the state.
        let served: [Departure]
    }

    private(set) var state: State
    private(set) var line = Line()
    /// The attempts of the tasks in line, indexed by the slots of the line.
    private(set) var attempts: [Attempt?] = []

    init(_ state: State) {
        self.state = state
    }

    /// Lets `body` change the state; returns the tasks that the new state serves, in order.
    mutating func change(_ body: (inout State) -> Void) -> [Departure] {
        body(&state)
        return serve()
    }

    mutating func enter(_ attempt: Attempt) -> Entry {
        if attempt.succeeds(&state) { return Entry(ticket: nil, served: attempt.changesState ? serve() : []) }
        let ticket = line.join()
        while attempts.count <= ticket.slot { attempts.append(nil) }
        attempts[ticket.slot] = attempt
        return Entry(ticket: ticket, served: [])
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> WaitEnd<Void>? {
        line.suspend(ticket, waiter)
    }

    /// Returns `nil` if the task was served before.
    mutating func leave(_ ticket: Line.Ticket, _ end: WaitEnd<Void>) -> Departure? {
        line.contains(ticket) ? depart(ticket, end) : nil
    }

    /// Takes the tasks with successful attempts out of the line, from the front.
    ///
    /// After a claim has succeeded, the search restarts at the front, because an attempt that failed before may succeed now. It
    /// ends, because a task leaves the line each time.
    private mutating func serve() -> [Departure] {
        var served: [Departure] = []
        var next = line.firstTicket
        while let ticket = next {
            next = line.ticket(after: ticket)
            guard let attempt = attempts[ticket.slot] else { preconditionFailure("A task in line has no attempt.") }
            guard attempt.succeeds(&state) else { continue }
            served.append(depart(ticket, .completed(())))
            if attempt.changesState { next = line.firstTicket }
        }
        return served
    }

    private mutating func depart(_ ticket: Line.Ticket, _ end: WaitEnd<Void>) -> Departure {
        guard let attempt = attempts[ticket.slot] else { preconditionFailure("A task in line has no attempt.") }
        let waiter = line.settle(ticket, end)
        attempts[ticket.slot] = nil
        if line.isEmpty { attempts.removeAll(keepingCapacity: attempts.count <= Line.slotsKept) }
        return Departure(waiter: waiter, attempt: attempt)
    }
}

extension WaitingLine {
    var firstTicket: Ticket? { ticket(at: first) }

    func ticket(after ticket: Ticket) -> Ticket? { self.ticket(at: slots[ticket.slot].next) }

    private func ticket(at index: Int) -> Ticket? {
        index == Self.none ? nil : Ticket(slot: index, serial: slots[index].serial)
    }
}
