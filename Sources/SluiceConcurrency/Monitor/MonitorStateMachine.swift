/// A state, and the tasks that wait for it to satisfy a condition.
///
/// After each event no task is in line whose attempt would succeed. Events in, actions out; it resumes no task, and what
/// it takes out of the line is returned, so that no attempt (a user's closure) is destroyed under the lock.
struct MonitorStateMachine<State: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, WaitEnd<Void>>

    /// What a task waits for, tried until it succeeds.
    struct Attempt: Sendable {
        /// Whether a success changes the state, which then may serve others.
        let changesState: Bool
        let succeeds: @Sendable (inout State) -> Bool
    }

    /// A task that was taken out of the line, to be resumed unless it has not suspended yet.
    struct Departure: Sendable {
        let waiter: Waiter?
        let attempt: Attempt
    }

    struct Entry: Sendable {
        /// The caller is in line, and suspends with this ticket; nil if its attempt succeeded.
        let ticket: Line.Ticket?
        /// The tasks that are served by what the caller's attempt has left.
        let served: [Departure]
    }

    private(set) var state: State
    private(set) var line = Line()
    /// The attempts of those in line, each where the line keeps its waiter.
    private(set) var attempts: [Attempt?] = []

    init(_ state: State) {
        self.state = state
    }

    /// The state may be changed by `body`; returns the tasks that this serves, in order.
    mutating func change(_ body: (inout State) -> Void) -> [Departure] {
        body(&state)
        return serve()
    }

    /// A task comes that waits if its attempt doesn't succeed now.
    mutating func enter(_ attempt: Attempt) -> Entry {
        if attempt.succeeds(&state) { return Entry(ticket: nil, served: attempt.changesState ? serve() : []) }
        let ticket = line.join()
        while attempts.count <= ticket.slot { attempts.append(nil) }
        attempts[ticket.slot] = attempt
        return Entry(ticket: ticket, served: [])
    }

    /// A task in line suspends; returns what it is resumed with if that is known by now.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> WaitEnd<Void>? {
        line.suspend(ticket, waiter)
    }

    /// A task in line stops waiting, cancelled or expired; returns it unless it was served before.
    mutating func leave(_ ticket: Line.Ticket, _ end: WaitEnd<Void>) -> Departure? {
        line.contains(ticket) ? depart(ticket, end) : nil
    }

    /// Takes the first task out of the line whose attempt succeeds, again and again.
    ///
    /// A claim that succeeds may make succeed what was tried in vain before it, so that the search starts again. It
    /// ends, because each time a task has left the line.
    private mutating func serve() -> [Departure] {
        var served: [Departure] = []
        var next = line.firstTicket
        while let ticket = next {
            next = line.ticket(after: ticket)
            guard let attempt = attempts[ticket.slot] else { preconditionFailure("A task in line waits for nothing.") }
            guard attempt.succeeds(&state) else { continue }
            served.append(depart(ticket, .completed(())))
            if attempt.changesState { next = line.firstTicket }
        }
        return served
    }

    private mutating func depart(_ ticket: Line.Ticket, _ end: WaitEnd<Void>) -> Departure {
        guard let attempt = attempts[ticket.slot] else { preconditionFailure("A task in line waits for nothing.") }
        let waiter = line.settle(ticket, end)
        attempts[ticket.slot] = nil
        if line.isEmpty { attempts.removeAll(keepingCapacity: attempts.count <= Line.slotsKept) }
        return Departure(waiter: waiter, attempt: attempt)
    }
}

extension WaitingLine {
    /// The task that has waited longest.
    var firstTicket: Ticket? { ticket(at: first) }

    /// The task behind one that is in line.
    func ticket(after ticket: Ticket) -> Ticket? { self.ticket(at: slots[ticket.slot].next) }

    private func ticket(at index: Int) -> Ticket? {
        index == Self.none ? nil : Ticket(slot: index, serial: slots[index].serial)
    }
}
