import SluiceLock

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
        clock.deadline(after: Duration(attoseconds: plan.moment - now))
    }

    private func resume(_ wakes: [Machine.Wake]) {
        for wake in wakes { wake.waiter.resume(returning: wake.outcome) }
    }
}
