import SluiceLock

/// A limit on the rate at which work starts, with bursts of a limited size: a token bucket.
///
///     let limiter = RateLimiter(rate: 50, per: .seconds(1), burst: 10)
///     try await limiter.consume()                 // one token for a request
///     try await network.send(request)
///
///     let bandwidth = RateLimiter(rate: 1_000_000, per: .seconds(1), burst: 65_536)
///     try await bandwidth.consume(chunk.count)    // one token for each byte
///
/// The bucket fills at the rate until it holds as many tokens as the burst. It starts full. Each call to `consume` takes as many tokens as
/// its weight, and waits until they are available. So over any period, the tokens consumed are at most those that the rate allows plus one
/// burst, even if the clock jumps ahead, for example because the machine slept.
///
/// **Order.** First come, first served: a small request waits behind a large one. If several tasks get their tokens together,
/// they resume in any order.
///
/// **Cancellation.** A cancelled task leaves the line without taking tokens, and the tasks behind it move up.
///
/// **Weights.** A request for more tokens than the burst fails immediately with ``WeightExceedsLimit``. A weight of zero waits its turn but
/// takes no tokens. A negative weight traps.
///
/// **Exactness.** The count uses integers and never drifts, for rates and durations of any size. Tokens are lost only while the bucket is
/// full. With a burst of 1, a task that wakes up late loses the tokens of that time. Choose a burst that covers how late your tasks may
/// wake up.
///
/// **The clock.** Only the first task in line sleeps, in a child task. This task needs its executor, so a task on a busy actor delays the
/// tasks behind it. After a clock is set back, no tokens arrive until it has caught up; use a clock that doesn't go back.
///
/// **Cost.** O(1) for each request, cancellation and grant. If tokens are available, `consume` doesn't suspend. Waiting as the first in
/// line, or with a deadline, adds a child task.
public final class RateLimiter<C: Clock>: Sendable where C.Duration == Duration {
    let storage: RateLimiterStorage<C>

    /// Creates a limiter with a full bucket.
    ///
    ///     let limiter = RateLimiter(rate: 50, per: .seconds(1), burst: 10, clock: SuspendingClock())
    ///
    /// - Parameters:
    ///   - rate: The number of tokens that arrive in each period.
    ///   - period: The length of a period.
    ///   - burst: The capacity of the bucket, and the largest weight of a request; by default the rate.
    ///   - clock: The clock that measures the time.
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public init(rate: Int, per period: Duration, burst: Int? = nil, clock: C) {
        let burst = burst ?? rate
        Self.check(rate, period, burst)
        storage = RateLimiterStorage(TokenBucket(rate: rate, per: period, burst: burst), clock: clock)
    }

    static func check(_ rate: Int, _ period: Duration, _ burst: Int) {
        precondition(rate >= 1, "A rate limiter's rate must be at least 1; it is \(rate).")
        precondition(period > .zero, "A rate limiter's period must be greater than zero; it is \(period).")
        precondition(burst >= 1, "A rate limiter's burst must be at least 1; it is \(burst).")
    }
}

extension RateLimiter where C == ContinuousClock {
    /// Creates a limiter with a full bucket and the continuous clock, which also counts the time while the machine sleeps.
    ///
    ///     let limiter = RateLimiter(rate: 50, per: .seconds(1))
    ///
    /// The burst is the rate by default.
    ///
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public convenience init(rate: Int, per period: Duration, burst: Int? = nil) {
        self.init(rate: rate, per: period, burst: burst, clock: ContinuousClock())
    }
}

// MARK: - Consuming

extension RateLimiter {
    /// Waits until tokens are available, and takes them.
    ///
    /// - Parameter weight: The number of tokens.
    /// - Precondition: `weight` isn't negative.
    /// - Throws: `CancellationError` if the task is cancelled before it gets the tokens, or if ``cancelWaiting()`` is called;
    ///   ``WeightExceedsLimit`` if the burst is or becomes less than `weight`. No tokens are taken then.
    public func consume(_ weight: Int = 1) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: nil)
    }

    /// Waits until tokens are available, for up to `timeout` on the limiter's clock, and takes them.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: The same errors as ``consume(_:until:)``. Like that method, it fails immediately if the tokens can't be available in time.
    public func consume(_ weight: Int = 1, timeout: Duration) async throws {
        try await consume(weight, until: storage.clock.deadline(after: timeout))
    }

    /// Waits until tokens are available, but not beyond a deadline, and takes them.
    ///
    /// The method fails immediately if the tokens can't be available by the deadline, given the current rate and the requests ahead in
    /// line, so the caller can still do something else. The calculation doesn't assume that waiting tasks leave. Tokens that arrive exactly
    /// at the deadline are in time. Tokens that are available now are taken even after the deadline.
    ///
    /// - Parameters:
    ///   - weight: The number of tokens.
    ///   - deadline: The deadline, on the limiter's clock.
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if the tokens aren't available in time; otherwise the same errors as ``consume(_:)``.
    public func consume(_ weight: Int = 1, until deadline: C.Instant) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: deadline)
    }

    /// Takes tokens if they are available and no task waits for tokens; returns whether it did.
    ///
    ///     guard limiter.tryConsume() else { throw TooManyRequests(retryAfter: limiter.timeUntilAvailable()) }
    ///
    /// The method returns `false` if `weight` is more than the burst. It ignores cancellation. O(1).
    ///
    /// - Precondition: `weight` isn't negative.
    public func tryConsume(_ weight: Int = 1) -> Bool {
        Self.check(weight)
        return storage.tryConsume(weight)
    }

    /// The time until a request that arrives now would get its tokens, given the current rate and the tasks in line; zero if it would get
    /// them immediately, and `nil` if `weight` is more than the burst.
    ///
    ///     let wait = limiter.timeUntilAvailable() ?? .seconds(60)
    ///     let retryAfter = "\(Int((wait / .seconds(1)).rounded(.up)))"       // a header field, in seconds
    ///
    /// Other tasks may take the tokens first, and the rate may change. O(1).
    ///
    /// - Precondition: `weight` isn't negative.
    public func timeUntilAvailable(_ weight: Int = 1) -> Duration? {
        Self.check(weight)
        return storage.timeUntilAvailable(weight)
    }

    private static func check(_ weight: Int) {
        precondition(weight >= 0, "The weight of a request must not be negative; it is \(weight).")
    }
}

// MARK: - The rate and all waiting tasks

extension RateLimiter {
    /// Changes the rate, and optionally the burst.
    ///
    ///     limiter.setRate(10, per: .seconds(1))           // the server asked for fewer requests
    ///
    /// Available tokens are kept, up to the burst. Waiting tasks stay in line, and wait as long as the new rate requires. Requests
    /// for more tokens than a new, smaller burst fail with ``WeightExceedsLimit``. Deadlines aren't checked again: a task that can
    /// no longer be served in time fails when its deadline passes.
    ///
    /// - Parameters:
    ///   - rate: The number of tokens that arrive in each period.
    ///   - period: The length of a period.
    ///   - burst: The new capacity of the bucket; `nil` keeps the current one.
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    /// - Complexity: O(1), or O(n) in the number of waiting tasks if the burst shrinks.
    public func setRate(_ rate: Int, per period: Duration, burst: Int? = nil) {
        Self.check(rate, period, burst ?? 1)
        storage.change(rate: rate, per: period, burst: burst)
    }

    /// Ends the wait of every waiting task with a `CancellationError`, as if the task had been cancelled.
    ///
    /// Tasks that arrive later wait as usual. O(n) in the number of waiting tasks.
    public func cancelWaiting() {
        storage.cancelWaiting()
    }

    /// The number of available tokens, for display: it may change before the caller reads it.
    public var available: Int { storage.tokens }

    /// The number of waiting tasks, for display: it may change before the caller reads it.
    public var waitingCount: Int { storage.machine.withLock { $0.line.count } }
}

// MARK: - The state machine

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

    struct Wakeup: Sendable {
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

    /// Returns how long a request that arrives now would wait, in attoseconds; `nil` if it would fail.
    mutating func wait(for weight: Int, at now: Int128) -> Int128? {
        bucket.refill(until: now)
        if weight > bucket.burst { return nil }
        if line.isEmpty, weight <= bucket.tokens { return 0 }
        return max(0, bucket.moment(of: queued + UInt128(weight)) - now)
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
    mutating func tick(at now: Int128) -> [Wakeup] {
        var wakeups: [Wakeup] = []
        bucket.refill(until: now)
        serve(&wakeups)
        // Even if the leader is still the same: it was woken too early, and must sleep again.
        nudge(&wakeups)
        return wakeups
    }

    mutating func leave(_ ticket: Line.Ticket, _ outcome: RateLimiterOutcome, at now: Int128) -> [Wakeup] {
        guard line.contains(ticket) else { return [] }
        var wakeups: [Wakeup] = []
        let leader = line.firstTicket
        bucket.refill(until: now)
        // If the tokens arrived by the deadline, the task gets them, even if no event has counted them yet.
        if outcome == .expired { serve(&wakeups) }
        if line.contains(ticket) { take(ticket, outcome, &wakeups) }
        serve(&wakeups)
        if line.firstTicket != leader { nudge(&wakeups) }
        return wakeups
    }

    mutating func cancelWaiting() -> [Wakeup] {
        queued = 0
        return line.settleAll(.cancelled).map { Wakeup(waiter: $0, outcome: .cancelled) }
    }

    /// O(n) if the burst shrinks.
    mutating func change(rate: Int, per period: Duration, burst: Int?, at now: Int128) -> [Wakeup] {
        var wakeups: [Wakeup] = []
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
            wakeups = waiters.map { Wakeup(waiter: $0, outcome: .refused) }
        }
        serve(&wakeups)
        nudge(&wakeups)
        return wakeups
    }
}

// MARK: Machinery

extension RateLimiterStateMachine {
    private mutating func serve(_ wakeups: inout [Wakeup]) {
        while let ticket = line.firstTicket, let weight = line.firstWeight, bucket.take(Int(weight)) {
            take(ticket, .granted, &wakeups)
        }
    }

    /// Makes the first task in line lead or plan again. A task that hasn't suspended yet finds this out when it does.
    private mutating func nudge(_ wakeups: inout [Wakeup]) {
        plans += 1
        if let waiter = line.wakeFirst() { wakeups.append(Wakeup(waiter: waiter, outcome: .lead)) }
    }

    private mutating func take(_ ticket: Line.Ticket, _ outcome: RateLimiterOutcome, _ wakeups: inout [Wakeup]) {
        queued -= UInt128(line.slots[ticket.slot].weight)
        if let waiter = line.settle(ticket, outcome) { wakeups.append(Wakeup(waiter: waiter, outcome: outcome)) }
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

// MARK: - The bucket

/// Tokens that arrive at an even rate, up to a burst, counted exactly.
///
/// Whole tokens and the next, incomplete token are counted separately. The incomplete token is counted in units of one
/// `period`-th of a token, the amount that arrives in one attosecond at a rate of one. So no amount is ever rounded away,
/// regardless of how often tokens are counted. Products use 256 bits if necessary; a larger result means a full bucket, or a
/// moment that is never reached.
struct TokenBucket: Hashable, Sendable {
    /// A moment later than any time of a clock, and small enough to add to without overflow.
    static let never = Int128.max / 4

    /// The number of tokens that arrive during `period` attoseconds.
    private(set) var rate: UInt128
    private(set) var period: UInt128
    private(set) var burst: Int
    private(set) var tokens: Int
    /// The part of the incomplete token that has arrived, in `period`-ths; zero if the bucket is full.
    private(set) var fraction: UInt128 = 0
    /// The time up to which tokens are counted, in attoseconds.
    private(set) var time: Int128 = 0

    init(rate: Int, per period: Duration, burst: Int) {
        self.rate = UInt128(rate)
        self.period = UInt128(period.attoseconds)
        self.burst = burst
        tokens = burst
    }

    /// Adds the tokens that have arrived by `now`. After the clock is set back, none arrive until it has caught up.
    mutating func refill(until now: Int128) {
        guard now > time else { return }
        let elapsed = UInt128(truncatingIfNeeded: now &- time)
        time = now
        guard tokens < burst else { return }
        guard let (whole, rest) = Self.divide(elapsed, times: rate, plus: fraction, by: period),
            whole < UInt128(burst - tokens)
        else { return fill() }
        tokens += Int(whole)
        fraction = rest
    }

    mutating func take(_ weight: Int) -> Bool {
        guard weight <= tokens else { return false }
        tokens -= weight
        return true
    }

    /// Returns the first moment at which `wanted` tokens will have arrived, even if the bucket can't hold as many at one time.
    func moment(of wanted: UInt128) -> Int128 {
        guard wanted > UInt128(tokens) else { return time }
        // All whole tokens but the last. The rest of the incomplete token is added below, and `rate - 1` to round up.
        let missing = wanted - UInt128(tokens) - 1
        guard let wait = Self.divide(missing, times: period, plus: period - fraction + (rate - 1), by: rate)?.quotient,
            wait < UInt128(Self.never), time < Self.never - Int128(wait)
        else { return Self.never }
        return time + Int128(wait)
    }

    /// Tokens that have arrived are kept, up to the burst.
    mutating func change(rate: Int, per period: Duration, burst: Int) {
        let period = UInt128(period.attoseconds)
        fraction = Self.divide(fraction, times: period, plus: 0, by: self.period)?.quotient ?? 0
        self.rate = UInt128(rate)
        self.period = period
        self.burst = burst
        if tokens >= burst { fill() }
    }

    // MARK: Machinery

    private mutating func fill() {
        tokens = burst
        fraction = 0
    }

    /// Returns `(factor * other + addend) / divisor`, or `nil` if the quotient overflows.
    private static func divide(
        _ factor: UInt128, times other: UInt128, plus addend: UInt128, by divisor: UInt128
    ) -> (quotient: UInt128, remainder: UInt128)? {
        let (product, isLarge) = factor.multipliedReportingOverflow(by: other)
        let (sum, isLarger) = product.addingReportingOverflow(addend)
        if !isLarge && !isLarger { return sum.quotientAndRemainder(dividingBy: divisor) }
        // The slower path for 256 bits is rarely needed.
        var (high, low) = factor.multipliedFullWidth(by: other)
        let carry: Bool
        (low, carry) = low.addingReportingOverflow(addend)
        if carry { high += 1 }
        return high < divisor ? divisor.dividingFullWidth((high, low)) : nil
    }
}

// MARK: - The storage

/// The lock, the state machine, the clock and the suspending operations of a ``RateLimiter``.
///
/// The clock is read before the lock is taken, so times can reach the machine out of order. The machine ignores a time that is
/// older than the last one.
final class RateLimiterStorage<C: Clock>: Sendable where C.Duration == Duration {
    typealias Waiter = UnsafeContinuation<RateLimiterOutcome, Never>
    typealias Machine = RateLimiterStateMachine<Waiter>

    let clock: C
    private let origin: C.Instant
    let machine: Lock<Machine>

    init(_ bucket: TokenBucket, clock: C) {
        self.clock = clock
        origin = clock.now
        machine = Lock(Machine(bucket))
    }

    /// In attoseconds since the limiter was created.
    private var now: Int128 { origin.duration(to: clock.now).attoseconds }

    var tokens: Int {
        let now = now
        return machine.withLock { $0.tokens(at: now) }
    }

    func tryConsume(_ weight: Int) -> Bool {
        let now = now
        return machine.withLock { $0.tryConsume(weight, at: now) }
    }

    func timeUntilAvailable(_ weight: Int) -> Duration? {
        let now = now
        return machine.withLock { $0.wait(for: weight, at: now) }.map(Duration.init(attoseconds:))
    }

    func consume(_ weight: Int, until deadline: C.Instant?) async throws {
        try Task.checkCancellation()
        let (now, last) = (now, deadline.map { origin.duration(to: $0).attoseconds })
        let (action, burst) = machine.withLock { ($0.consume(weight, at: now, until: last), $0.bucket.burst) }
        switch action {
        case .granted: return
        case .tooHeavy: throw WeightExceedsLimit(weight: weight, maximumWeight: burst)
        case .late: throw DeadlineExceeded()
        case .wait(let ticket):
            switch await wait(ticket, until: deadline) {
            case .granted: return
            case .cancelled: throw CancellationError()
            case .expired: throw DeadlineExceeded()
            case .refused:
                let burst = machine.withLock { $0.bucket.burst }
                throw WeightExceedsLimit(weight: weight, maximumWeight: burst)
            case .lead: preconditionFailure("The first task in line stopped waiting before it got its tokens.")
            }
        }
    }

    func cancelWaiting() {
        resume(machine.withLock { $0.cancelWaiting() })
    }

    func change(rate: Int, per period: Duration, burst: Int?) {
        let now = now
        resume(machine.withLock { $0.change(rate: rate, per: period, burst: burst, at: now) })
    }

    // MARK: Waiting

    private func wait(_ ticket: Machine.Line.Ticket, until deadline: C.Instant?) async -> RateLimiterOutcome {
        while true {
            let plan = machine.withLock { $0.plan(ticket) }
            let outcome: RateLimiterOutcome
            let alarm = plan.map(instant)
            if let deadline, alarm.map({ deadline <= $0 }) ?? true {
                outcome = await ending(at: deadline, clock: clock) {
                    let now = self.now
                    self.resume(self.machine.withLock { $0.leave(ticket, .expired, at: now) })
                } wait: {
                    await suspend(ticket, plan)
                }
            } else if let alarm {
                outcome = await ending(at: alarm, clock: clock) {
                    let now = self.now
                    self.resume(self.machine.withLock { $0.tick(at: now) })
                } wait: {
                    await suspend(ticket, plan)
                }
            } else {
                outcome = await suspend(ticket, plan)
            }
            if outcome != .lead { return outcome }
        }
    }

    private func suspend(_ ticket: Machine.Line.Ticket, _ plan: Machine.Plan?) async -> RateLimiterOutcome {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter, plan) }
        } onCancel: {
            let now = now
            resume(machine.withLock { $0.leave(ticket, .cancelled, at: now) })
        }
    }

    private func instant(_ plan: Machine.Plan) -> C.Instant {
        // The clock is read once. If it advanced between two readings, the task would sleep past the moment.
        let now = clock.now
        return clock.deadline(
            after: Duration(attoseconds: plan.moment - origin.duration(to: now).attoseconds), from: now)
    }

    private func resume(_ wakeups: [Machine.Wakeup]) {
        for wakeup in wakeups { wakeup.waiter.resume(returning: wakeup.outcome) }
    }
}
