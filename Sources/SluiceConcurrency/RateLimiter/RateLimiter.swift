import SluiceLock

/// Lets work pass at an even rate, and as much at once as a burst allows: a token bucket.
///
///     let limiter = RateLimiter(rate: 50, per: .seconds(1), burst: 10)
///     try await limiter.consume()                 // a request
///     try await network.send(request)
///
///     let bandwidth = RateLimiter(rate: 1_000_000, per: .seconds(1), burst: 65_536)
///     try await bandwidth.consume(chunk.count)    // bytes
///
/// Tokens come in at the rate, until the bucket holds as many as the burst; at first it is full. Each consume takes as many
/// as its weight, and waits until they are there. So in any stretch of time no more pass than the rate allows for it and
/// one burst. That holds also after the clock has jumped ahead, as it does when a machine has slept.
///
/// **Order.** First come, first served: nobody overtakes, so a light request waits behind a heavy one. Tasks that get their
/// tokens at the same moment go on in any order.
///
/// **Cancellation.** A cancelled task leaves the line without spending anything, and those behind it move up.
///
/// **Heavy requests.** One that weighs more than the burst fails at once with ``RateLimitError``. Letting it pass and
/// paying later would break the promise above, just where it matters: a server that counts like this would refuse it too.
///
/// **Exactness.** The count is in whole numbers and never drifts, however many consume, at rates and durations of any size.
/// What is lost is only what comes in while the bucket is full: with a burst of 1, whoever wakes up late has lost that
/// time. Choose a burst that covers how late your tasks may wake up.
///
/// **The clock.** Only the first in line sleeps, in a child task of its own, then the next does: no task runs for the
/// limiter itself. A task whose turn it is to sleep must get to run for that, so one on a busy actor holds up those behind
/// it. A clock that is set back brings no tokens until it has caught up; take one that does not go back.
///
/// **Cost.** O(1) for each consume, cancellation and grant. With tokens there it does not suspend; a task that waits as the
/// first in line costs a child task. No thread is ever blocked for longer than a few instructions.
///
/// **Lifetime.** A waiting task keeps the limiter alive.
public final class RateLimiter<C: Clock>: Sendable where C.Duration == Duration {
    let storage: RateLimiterStorage<C>

    /// Creates a limiter, with a full bucket.
    ///
    ///     let limiter = RateLimiter(rate: 50, per: .seconds(1), burst: 10, clock: SuspendingClock())
    ///
    /// - Parameters:
    ///   - rate: How many tokens come in.
    ///   - period: In which time.
    ///   - burst: How many the bucket holds: so many may be consumed at once, and no request may weigh more.
    ///   - clock: Tells the time.
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public init(rate: Int, per period: Duration, burst: Int, clock: C) {
        Self.check(rate, period, burst)
        storage = RateLimiterStorage(TokenBucket(rate: rate, per: period, burst: burst), clock: clock)
    }

    private static func check(_ rate: Int, _ period: Duration, _ burst: Int) {
        precondition(rate >= 1, "A RateLimiter needs a rate of at least 1, not \(rate).")
        precondition(period > .zero, "A RateLimiter needs a period of more than zero, not \(period).")
        precondition(burst >= 1, "A RateLimiter needs a burst of at least 1, not \(burst).")
    }
}

extension RateLimiter where C == ContinuousClock {
    /// Creates a limiter, with a full bucket, for the time that passes also while the machine sleeps.
    ///
    ///     let limiter = RateLimiter(rate: 50, per: .seconds(1), burst: 10)
    ///
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public convenience init(rate: Int, per period: Duration, burst: Int) {
        self.init(rate: rate, per: period, burst: burst, clock: ContinuousClock())
    }
}

// MARK: Consuming

extension RateLimiter {
    /// Takes tokens, and waits until they are there.
    ///
    ///     try await limiter.consume()
    ///
    /// - Parameter weight: How many. Zero waits its turn and takes none.
    /// - Throws: `CancellationError` if the task is cancelled before they are there, or ``cancelWaiting()`` is called;
    ///   ``RateLimitError`` if they are more than the burst. Then none is taken.
    /// - Complexity: O(1). Waits in order of arrival; suspends, never blocks a thread.
    public func consume(_ weight: Int = 1) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: nil)
    }

    /// Takes tokens, and waits until they are there, but not beyond the deadline.
    ///
    ///     try await limiter.consume(until: .now + .seconds(2))
    ///
    /// It fails at once if, at the rate as it is and with all who wait before it, they cannot be there by then: whoever
    /// cannot be served learns it while there is still time to do something else. (That some of those may yet give up is
    /// not counted on.) Tokens that come at the very moment of the deadline are in time, and tokens that are there already
    /// are taken, even if the deadline is over.
    ///
    /// - Parameters:
    ///   - weight: How many. Zero waits its turn and takes none.
    ///   - deadline: Until when it waits, by the limiter's clock.
    /// - Throws: ``RateLimitError`` if they are not there in time, or more than the burst; `CancellationError` if the task is
    ///   cancelled before they are there, or ``cancelWaiting()`` is called. Then none is taken.
    /// - Complexity: O(1), and a child task for the clock where it waits. Waits in order of arrival; suspends, never blocks
    ///   a thread.
    public func consume(_ weight: Int = 1, until deadline: C.Instant) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: deadline)
    }

    /// Takes tokens if they are there and nobody waits for any; returns whether it did.
    ///
    ///     guard limiter.tryConsume() else { return .tooManyRequests }
    ///
    /// More than the burst are never there.
    ///
    /// - Complexity: O(1). Does not suspend; never blocks a thread.
    public func tryConsume(_ weight: Int = 1) -> Bool {
        Self.check(weight)
        return storage.tryConsume(weight)
    }

    private static func check(_ weight: Int) {
        precondition(weight >= 0, "A RateLimiter cannot give \(weight) tokens.")
    }
}

// MARK: All at once

extension RateLimiter {
    /// Lets tokens come in at another rate from now on.
    ///
    ///     limiter.setRate(10, per: .seconds(1))           // the server said: slow down
    ///
    /// What has come in until now stays, as far as the burst allows. Those who wait stay in line, and wait for as long as
    /// the new rate makes them; those who want more than a new, smaller burst fail with ``RateLimitError``. Deadlines are
    /// not looked at anew: who cannot be served in time any more fails when its deadline comes.
    ///
    /// - Parameters:
    ///   - rate: How many tokens come in.
    ///   - period: In which time.
    ///   - burst: How many the bucket holds from now on; nil leaves it as it is.
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    /// - Complexity: O(1), or O(number of waiting tasks) where the burst becomes smaller. Never blocks a thread.
    public func setRate(_ rate: Int, per period: Duration, burst: Int? = nil) {
        Self.check(rate, period, burst ?? 1)
        storage.change(rate: rate, per: period, burst: burst)
    }

    /// Makes every task that waits now give up with a `CancellationError`, as if it had been cancelled.
    ///
    /// Tasks that come later wait as usual. O(number of waiting tasks).
    public func cancelWaiting() {
        storage.cancelWaiting()
    }

    /// How many tokens are there at this moment, for display: it may have changed before the caller looks at it.
    public var available: Int { storage.tokens }

    /// How many tasks wait at this moment, for display: it may have changed before the caller looks at it.
    public var waiting: Int { storage.machine.withLock { $0.line.count } }
}
