/// The tasks that wait for tokens, and which of them watches the clock.
///
/// Events in, actions out; it resumes no task itself and knows no clock: each event says what time it is, in attoseconds.
///
/// Only the first in line, the leader, sleeps until its tokens are there. The others are suspended until they are granted,
/// give up, or are told to lead:
///
/// ```text
/// consume ─▶ in line ─▶ plan ─▶ first?  sleep until its moment ─▶ tick: all that can be are granted,
///               ▲        ▲                                              │    the next is told to lead
///               │        └──────────── .lead ◀───────────────────────── ┘
///               └─ cancelled, expired: leaves; if it was first, the next is looked at, granted or told to lead
/// ```
struct RateLimiterStateMachine<Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, RateLimiterOutcome>

    enum ConsumeAction: Sendable {
        case granted
        /// More tokens were asked for than the limiter ever holds.
        case tooHeavy
        /// The tokens are not there by the deadline.
        case late
        /// The caller is in line.
        case wait(Line.Ticket)
    }

    /// Until when the leader sleeps.
    struct Plan: Hashable, Sendable {
        let moment: Int128
        /// What was planned before the last nudge is out of date.
        let number: UInt64
    }

    /// A task to resume, and its outcome.
    struct Wake: Sendable {
        let waiter: Waiter
        let outcome: RateLimiterOutcome
    }

    private(set) var bucket: TokenBucket
    private(set) var line = Line()
    /// What those in line want together.
    private(set) var queued: UInt128 = 0
    private var plans: UInt64 = 0

    init(_ bucket: TokenBucket) {
        self.bucket = bucket
    }

    /// How many tokens are there.
    mutating func tokens(at now: Int128) -> Int {
        bucket.refill(until: now)
        return bucket.tokens
    }
}

// MARK: Events

extension RateLimiterStateMachine {
    /// A task wants tokens, by the deadline if there is one.
    mutating func consume(_ weight: Int, at now: Int128, until deadline: Int128? = nil) -> ConsumeAction {
        if weight > bucket.burst { return .tooHeavy }
        if tryConsume(weight, at: now) { return .granted }
        if let deadline, bucket.moment(of: queued + UInt128(weight)) > deadline { return .late }
        queued += UInt128(weight)
        return .wait(line.join(weight: UInt64(weight)))
    }

    /// A task wants tokens now or not at all.
    mutating func tryConsume(_ weight: Int, at now: Int128) -> Bool {
        bucket.refill(until: now)
        return line.isEmpty && bucket.take(weight)
    }

    /// A task in line asks until when to sleep; nil if it is not the first.
    func plan(_ ticket: Line.Ticket) -> Plan? {
        guard line.isFirst(ticket), let weight = line.firstWeight else { return nil }
        return Plan(moment: bucket.moment(of: UInt128(weight)), number: plans)
    }

    /// A task in line suspends; returns how its wait ended, if that is known by now, or that it is to plan again.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter, _ plan: Plan?) -> RateLimiterOutcome? {
        if line.isFirst(ticket), plan?.number != plans { return .lead }
        return line.suspend(ticket, waiter)
    }

    /// The leader's sleep is over; returns the tasks to resume.
    mutating func tick(at now: Int128) -> [Wake] {
        var wakes: [Wake] = []
        bucket.refill(until: now)
        serve(&wakes)
        // Also if it is the same as before: it was woken too early, and sleeps once more.
        nudge(&wakes)
        return wakes
    }

    /// The wait of a task in line ends; returns the tasks to resume.
    mutating func leave(_ ticket: Line.Ticket, _ outcome: RateLimiterOutcome, at now: Int128) -> [Wake] {
        guard line.contains(ticket) else { return [] }
        var wakes: [Wake] = []
        let leader = line.firstTicket
        bucket.refill(until: now)
        // A task whose tokens came by its deadline gets them, even if no event has shown that by now.
        if outcome == .expired { serve(&wakes) }
        if line.contains(ticket) { take(ticket, outcome, &wakes) }
        serve(&wakes)
        if line.firstTicket != leader { nudge(&wakes) }
        return wakes
    }

    /// The waits of all tasks end; returns the tasks to resume.
    mutating func cancelWaiting() -> [Wake] {
        queued = 0
        return line.settleAll(.cancelled).map { Wake(waiter: $0, outcome: .cancelled) }
    }

    /// The rate changes; returns the tasks to resume. O(n) if the burst becomes smaller.
    mutating func change(rate: Int, per period: Duration, burst: Int?, at now: Int128) -> [Wake] {
        var wakes: [Wake] = []
        bucket.refill(until: now)
        let former = bucket.burst
        bucket.change(rate: rate, per: period, burst: burst ?? former)
        if bucket.burst < former {
            var refused: UInt128 = 0
            let waiters = line.settle(.refused) { [burst = bucket.burst] _, weight in
                if weight > UInt64(burst) { refused += UInt128(weight) }
                return weight > UInt64(burst)
            }
            queued -= refused
            wakes = waiters.map { Wake(waiter: $0, outcome: .refused) }
        }
        serve(&wakes)
        nudge(&wakes)
        return wakes
    }
}

// MARK: Machinery

extension RateLimiterStateMachine {
    /// Grants those at the front whose tokens are there.
    private mutating func serve(_ wakes: inout [Wake]) {
        while let ticket = line.firstTicket, let weight = line.firstWeight, bucket.take(Int(weight)) {
            take(ticket, .granted, &wakes)
        }
    }

    /// Tells the first in line to lead, or to plan again; if it has not suspended yet it will notice when it does.
    private mutating func nudge(_ wakes: inout [Wake]) {
        plans += 1
        if let waiter = line.wakeFirst() { wakes.append(Wake(waiter: waiter, outcome: .lead)) }
    }

    private mutating func take(_ ticket: Line.Ticket, _ outcome: RateLimiterOutcome, _ wakes: inout [Wake]) {
        queued -= UInt128(line.slots[ticket.slot].weight)
        if let waiter = line.settle(ticket, outcome) { wakes.append(Wake(waiter: waiter, outcome: outcome)) }
    }
}

/// How a wait for tokens ended, or what the waiter has to do.
enum RateLimiterOutcome: Hashable, Sendable {
    case granted
    case cancelled
    case expired
    /// It wants more than fits in, since the burst was made smaller.
    case refused
    /// It is the first in line now, or something has changed for the first: it plans, and suspends again.
    case lead
}

extension WaitingLine {
    func isFirst(_ ticket: Ticket) -> Bool { firstTicket == ticket }

    /// Returns the first waiter, to be resumed, and leaves it in line, where it suspends again; nil if it has not
    /// suspended.
    mutating func wakeFirst() -> Waiter? {
        guard first != Self.none, case .inLine(let waiter?) = slots[first].state else { return nil }
        slots[first].state = .inLine(nil)
        return waiter
    }
}
