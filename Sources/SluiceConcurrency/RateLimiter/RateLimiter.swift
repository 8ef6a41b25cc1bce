import SluiceLock

/// Lets work pass at an even rate, with bursts of a limited size: a token bucket.
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
/// **Order.** First come, first served: a light request waits behind a heavy one. Tasks that get their tokens at the same
/// moment go on in any order.
///
/// **Cancellation.** A cancelled task leaves the line without spending anything, and the tasks behind it move up.
///
/// **Heavy requests.** A request that weighs more than the burst fails immediately with ``WeightExceedsLimit``. A server
/// that counts like this would refuse it too.
///
/// **Exactness.** The count is in whole numbers and never drifts, at rates and durations of any size. Tokens are lost only
/// while the bucket is full: with a burst of 1, a task that wakes up late has lost that time. Choose a burst that covers
/// how late your tasks may wake up.
///
/// **The clock.** Only the first in line sleeps, in a child task of its own, then the next does: no task runs for the
/// limiter itself. The task that sleeps needs its executor for that, so a task on a busy actor delays the tasks behind it.
/// A clock that is set back brings no tokens until it has caught up; use one that doesn't go back.
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
    ///   - burst: How many the bucket holds: no request may weigh more.
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
    ///   ``WeightExceedsLimit`` if they are more than the burst. Then none is taken.
    /// - Complexity: O(1). Waits in order of arrival; suspends, never blocks a thread.
    public func consume(_ weight: Int = 1) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: nil)
    }

    /// Takes tokens, and waits until they are there, for at most `timeout`.
    ///
    ///     try await limiter.consume(timeout: .seconds(2))
    ///
    /// The same as ``consume(_:until:)`` with a deadline that much later than now, by the limiter's clock.
    ///
    /// - Throws: As ``consume(_:until:)``.
    /// - Complexity: O(1), and a child task for the clock where it waits. Waits in order of arrival; suspends, never blocks
    ///   a thread.
    public func consume(_ weight: Int = 1, timeout: Duration) async throws {
        try await consume(weight, until: storage.clock.now.advanced(by: timeout))
    }

    /// Takes tokens, and waits until they are there, but not beyond the deadline.
    ///
    ///     try await limiter.consume(until: deadline)
    ///
    /// It fails immediately if, at the present rate and with all tasks that wait before it, the tokens cannot be there by
    /// then, so the caller still has time to do something else. (It doesn't count on waiting tasks that may leave.) Tokens
    /// that come at the very moment of the deadline are in time, and tokens that are there already are taken even after the
    /// deadline.
    ///
    /// - Parameters:
    ///   - weight: How many. Zero waits its turn and takes none.
    ///   - deadline: Until when it waits, by the limiter's clock.
    /// - Throws: ``DeadlineExceeded`` if they are not there in time; ``WeightExceedsLimit`` if they are more than the burst;
    ///   `CancellationError` if the task is cancelled before they are there, or ``cancelWaiting()`` is called. Then none is
    ///   taken.
    /// - Complexity: O(1), and a child task for the clock where it waits. Waits in order of arrival; suspends, never blocks
    ///   a thread.
    public func consume(_ weight: Int = 1, until deadline: C.Instant) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: deadline)
    }

    /// Takes tokens if they are there and no task waits for any; returns whether it did.
    ///
    ///     guard limiter.tryConsume() else { throw TooManyRequests() }
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

// MARK: The rate and all waiting tasks

extension RateLimiter {
    /// Lets tokens come in at another rate from now on.
    ///
    ///     limiter.setRate(10, per: .seconds(1))           // the server said: slow down
    ///
    /// What has come in until now stays, as far as the burst allows. Waiting tasks stay in line, and wait for as long as the
    /// new rate requires; those that want more than a new, smaller burst fail with ``WeightExceedsLimit``. Deadlines are
    /// not checked again: a task that can no longer be served in time fails when its deadline comes.
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

    /// Ends the wait of every task that waits now with a `CancellationError`, as if the task had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///
    /// Tasks that come later wait as usual. O(number of waiting tasks).
    public func cancelWaiting() {
        storage.cancelWaiting()
    }

    /// How many tokens are there, for display: it may have changed before the caller looks at it.
    public var available: Int { storage.tokens }

    /// How many tasks wait, for display: it may have changed before the caller looks at it.
    public var waitingCount: Int { storage.machine.withLock { $0.line.count } }
}
