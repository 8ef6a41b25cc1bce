/// The tasks that wait for tokens, and the task among them that watches the clock.
///
/// It resumes no task itself and has no clock: the caller passes the current time, in attoseconds, to each event.
///
/// Only the first task in line, the leader, sleeps until its tokens are available. The other tasks are suspended until they get
/// their tokens, give up, or become the leader:
///
/// ```text
/// consume ─▶ in line ─▶ plan ─▶ first?  sleep until its moment ─▶ tick: the tasks at the front get their tokens,
///               ▲        ▲                                              │    the next task leads
///               │        └──────────── .lead ◀───────────────────────── ┘
///               └─ cancelled, expired: the task leaves; if it was first, the next task gets its tokens or leads
/// ```
struct RateLimiterStateMachine<Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, RateLimiterOutcome>

    enum ConsumeAction: Sendable {
        case granted
        case tooHeavy
        case late
        case wait(Line.Ticket)
    }

    struct Plan: Hashable, Sendable {
        let moment: Int128
        /// The value of `plans` when the plan was made. A plan with an older number is outdated.
        let number: UInt64
    }

    struct Wake: Sendable {
        let waiter: Waiter
        let outcome: RateLimiterOutcome
    }

    private(set) var bucket: TokenBucket
    private(set) var line = Line()
    /// In tokens.
    private(set) var queued: UInt128 = 0
    private var plans: UInt64 = 0

    init(_ bucket: TokenBucket) {
        self.bucket = bucket
    }

    mutating func tokens(at now: Int128) -> Int {
        bucket.refill(until: now)
        return bucket.tokens
    }
}

// MARK: Events

extension RateLimiterStateMachine {
    /// The task joins the line only if the tokens can be available by the deadline.
    mutating func consume(_ weight: Int, at now: Int128, until deadline: Int128? = nil) -> ConsumeAction {
        if weight > bucket.burst { return .tooHeavy }
        if tryConsume(weight, at: now) { return .granted }
        if let deadline, bucket.moment(of: queued + UInt128(weight)) > deadline { return .late }
        queued += UInt128(weight)
        return .wait(line.join(weight: UInt64(weight)))
    }

    mutating func tryConsume(_ weight: Int, at now: Int128) -> Bool {
        bucket.refill(until: now)
        return line.isEmpty && bucket.take(weight)
    }

    /// Returns the moment until which a task in line must sleep; `nil` if the task isn't the first.
    func plan(_ ticket: Line.Ticket) -> Plan? {
        guard line.isFirst(ticket), let weight = line.firstWeight else { return nil }
        return Plan(moment: bucket.moment(of: UInt128(weight)), number: plans)
    }

    /// Stores the waiter of a task in line, or returns the outcome if the wait has ended, or `.lead` if the task must plan again.
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter, _ plan: Plan?) -> RateLimiterOutcome? {
        if line.isFirst(ticket), plan?.number != plans { return .lead }
        return line.suspend(ticket, waiter)
    }

    /// Gives out the available tokens after the leader's sleep; returns the tasks to resume.
    mutating func tick(at now: Int128) -> [Wake] {
        var wakes: [Wake] = []
        bucket.refill(until: now)
        serve(&wakes)
        // Needed also for the same leader: it was woken too early, and must sleep again.
        nudge(&wakes)
        return wakes
    }

    mutating func leave(_ ticket: Line.Ticket, _ outcome: RateLimiterOutcome, at now: Int128) -> [Wake] {
        guard line.contains(ticket) else { return [] }
        var wakes: [Wake] = []
        let leader = line.firstTicket
        bucket.refill(until: now)
        // If the tokens arrived by the deadline, the task gets them, even if no event has counted them yet.
        if outcome == .expired { serve(&wakes) }
        if line.contains(ticket) { take(ticket, outcome, &wakes) }
        serve(&wakes)
        if line.firstTicket != leader { nudge(&wakes) }
        return wakes
    }

    mutating func cancelWaiting() -> [Wake] {
        queued = 0
        return line.settleAll(.cancelled).map { Wake(waiter: $0, outcome: .cancelled) }
    }

    /// O(n) if the burst shrinks.
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
    private mutating func serve(_ wakes: inout [Wake]) {
        while let ticket = line.firstTicket, let weight = line.firstWeight, bucket.take(Int(weight)) {
            take(ticket, .granted, &wakes)
        }
    }

    /// Makes the first task in line lead or plan again. A task that hasn't suspended yet finds this out when it does.
    private mutating func nudge(_ wakes: inout [Wake]) {
        plans += 1
        if let waiter = line.wakeFirst() { wakes.append(Wake(waiter: waiter, outcome: .lead)) }
    }

    private mutating func take(_ ticket: Line.Ticket, _ outcome: RateLimiterOutcome, _ wakes: inout [Wake]) {
        queued -= UInt128(line.slots[ticket.slot].weight)
        if let waiter = line.settle(ticket, outcome) { wakes.append(Wake(waiter: waiter, outcome: outcome)) }
    }
}

enum RateLimiterOutcome: Hashable, Sendable {
    case granted
    case cancelled
    case expired
    /// The request is for more tokens than the burst, which was made smaller.
    case refused
    /// The task is now the first in line, or its plan is outdated: it plans and suspends again.
    case lead
}

extension WaitingLine {
    func isFirst(_ ticket: Ticket) -> Bool { firstTicket == ticket }

    /// Returns the first waiter, to be resumed, and leaves its task in line, where it suspends again; `nil` if the task hasn't
    /// suspended.
    mutating func wakeFirst() -> Waiter? {
        guard first != Self.none, case .inLine(let waiter?) = slots[first].state else { return nil }
        slots[first].state = .inLine(nil)
        return waiter
    }
}
