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
/// **Order.** First come, first served: a small request waits behind a large one. Tasks that get their tokens at the same moment resume in
/// any order.
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
    ///   - burst: The capacity of the bucket, and the largest weight of a request.
    ///   - clock: The clock that measures the time.
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public init(rate: Int, per period: Duration, burst: Int, clock: C) {
        Self.check(rate, period, burst)
        storage = RateLimiterStorage(TokenBucket(rate: rate, per: period, burst: burst), clock: clock)
    }

    private static func check(_ rate: Int, _ period: Duration, _ burst: Int) {
        precondition(rate >= 1, "A rate limiter's rate must be at least 1; it is \(rate).")
        precondition(period > .zero, "A rate limiter's period must be greater than zero; it is \(period).")
        precondition(burst >= 1, "A rate limiter's burst must be at least 1; it is \(burst).")
    }
}

extension RateLimiter where C == ContinuousClock {
    /// Creates a limiter with a full bucket and the continuous clock, which also counts the time while the machine sleeps.
    ///
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public convenience init(rate: Int, per period: Duration, burst: Int) {
        self.init(rate: rate, per: period, burst: burst, clock: ContinuousClock())
    }
}

// MARK: Consuming

extension RateLimiter {
    /// Waits until tokens are available, and takes them.
    ///
    /// - Parameter weight: The number of tokens.
    /// - Throws: `CancellationError` if the task is cancelled before it gets the tokens, or if ``cancelWaiting()`` is called;
    ///   ``WeightExceedsLimit`` if the burst is or becomes less than `weight`. No tokens are taken then.
    public func consume(_ weight: Int = 1) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: nil)
    }

    /// Waits until tokens are available, for up to `timeout` on the limiter's clock, and takes them.
    ///
    /// - Throws: The same errors as ``consume(_:until:)``, immediately under the same conditions.
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
    /// - Throws: ``DeadlineExceeded`` if the tokens aren't available in time; otherwise the same errors as ``consume(_:)``.
    public func consume(_ weight: Int = 1, until deadline: C.Instant) async throws {
        Self.check(weight)
        try await storage.consume(weight, until: deadline)
    }

    /// Takes tokens if they are available and no task waits for tokens; returns whether it did.
    ///
    ///     guard limiter.tryConsume() else { throw TooManyRequests() }
    ///
    /// The method returns `false` if `weight` is more than the burst. It ignores cancellation. O(1).
    public func tryConsume(_ weight: Int = 1) -> Bool {
        Self.check(weight)
        return storage.tryConsume(weight)
    }

    private static func check(_ weight: Int) {
        precondition(weight >= 0, "The weight of a request must not be negative; it is \(weight).")
    }
}

// MARK: The rate and all waiting tasks

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
