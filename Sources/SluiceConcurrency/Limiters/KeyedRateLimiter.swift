import SluiceLock

/// A limit on the rate at which work starts for each key: a token bucket for each user, client or host.
///
///     let limiter = KeyedRateLimiter<String, _>(rate: 5, per: .seconds(1))        // for each client
///
///     guard limiter.tryConsume(for: client) else {
///         throw TooManyRequests(retryAfter: limiter.timeUntilAvailable(for: client))
///     }
///
/// Each key has a bucket of its own, which behaves like a ``RateLimiter``: it starts full, fills at the rate up to the burst, and serves
/// the tasks of its key first come, first served. A busy key doesn't delay another one.
///
/// **Cancellation.** A cancelled task leaves its key's line without taking tokens.
///
/// **Memory.** A full bucket is the same as a new one. Whenever the number of keys has doubled, the limiter removes the full buckets that
/// no task is using, so clients that come and go don't fill the memory.
///
/// **Cost.** O(1) on average for each call, regardless of the number of keys; a call that removes full buckets looks at all of them. Keys
/// are hashed and compared under the limiter's lock: a slow hash delays all tasks, and a key must not use the limiter there. A key that
/// isn't equal to itself, such as a NaN, traps.
public final class KeyedRateLimiter<Key: Hashable & Sendable, C: Clock>: Sendable where C.Duration == Duration {
    private struct Entry: Sendable {
        let limiter: RateLimiter<C>
        /// The number of calls that use the limiter now. A limiter in use isn't removed: its tokens would be forgotten.
        var users = 0
    }

    private struct Table: Sendable {
        var entries: [Key: Entry] = [:]
        /// The number of entries at which full buckets are removed. It grows with the number that stays, which makes the cost amortized.
        var sweepCount = minimumSweepCount
    }

    private static var minimumSweepCount: Int { 64 }

    private let table = Lock(Table())
    private let rate: Int
    private let period: Duration
    private let burst: Int
    private let clock: C

    /// Creates a limiter in which the bucket of each key is full.
    ///
    /// - Parameters:
    ///   - rate: The number of tokens that each key gets in each period.
    ///   - period: The length of a period.
    ///   - burst: The capacity of a bucket, and the largest weight of a request; by default the rate.
    ///   - clock: The clock that measures the time.
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public init(rate: Int, per period: Duration, burst: Int? = nil, clock: C) {
        RateLimiter<C>.check(rate, period, burst ?? rate)
        self.rate = rate
        self.period = period
        self.burst = burst ?? rate
        self.clock = clock
    }

    /// The number of keys that the limiter keeps a bucket for; for display, and for tests.
    public var keyCount: Int { table.withLock { $0.entries.count } }
}

extension KeyedRateLimiter where C == ContinuousClock {
    /// Creates a limiter with the continuous clock, in which the bucket of each key is full.
    ///
    ///     let limiter = KeyedRateLimiter<String, _>(rate: 50, per: .seconds(1), burst: 10)
    ///
    /// - Precondition: `rate` and `burst` are at least 1, and `period` is more than zero.
    public convenience init(rate: Int, per period: Duration, burst: Int? = nil) {
        self.init(rate: rate, per: period, burst: burst, clock: ContinuousClock())
    }
}

// MARK: - Consuming

extension KeyedRateLimiter {
    /// Waits until tokens of a key are available, and takes them.
    ///
    ///     try await limiter.consume(for: host)
    ///     let page = try await fetch(url)
    ///
    /// - Parameters:
    ///   - weight: The number of tokens.
    ///   - key: The key whose tokens are taken.
    /// - Precondition: `weight` isn't negative.
    /// - Throws: `CancellationError` if the task is cancelled before it gets the tokens; ``WeightExceedsLimit`` if `weight` is more than
    ///   the burst. No tokens are taken then.
    public func consume(_ weight: Int = 1, for key: Key) async throws {
        let limiter = enter(key)
        defer { leave(key) }
        try await limiter.consume(weight)
    }

    /// Waits until tokens of a key are available, for up to `timeout` on the limiter's clock, and takes them.
    ///
    /// - Precondition: `weight` isn't negative.
    /// - Throws: The same errors as ``consume(_:for:until:)``, immediately under the same conditions.
    public func consume(_ weight: Int = 1, for key: Key, timeout: Duration) async throws {
        try await consume(weight, for: key, until: clock.deadline(after: timeout))
    }

    /// Waits until tokens of a key are available, but not beyond a deadline, and takes them.
    ///
    /// The method fails immediately if the tokens can't be available by the deadline; see ``RateLimiter/consume(_:until:)``.
    ///
    /// - Parameters:
    ///   - weight: The number of tokens.
    ///   - key: The key whose tokens are taken.
    ///   - deadline: The deadline, on the limiter's clock.
    /// - Precondition: `weight` isn't negative.
    /// - Throws: ``DeadlineExceeded`` if the tokens aren't available in time; otherwise the same errors as ``consume(_:for:)``.
    public func consume(_ weight: Int = 1, for key: Key, until deadline: C.Instant) async throws {
        let limiter = enter(key)
        defer { leave(key) }
        try await limiter.consume(weight, until: deadline)
    }

    /// Takes tokens of a key if they are available and no task waits for tokens of this key; returns whether it did.
    ///
    /// The method returns `false` if `weight` is more than the burst. It ignores cancellation. O(1) on average.
    ///
    /// - Precondition: `weight` isn't negative.
    public func tryConsume(_ weight: Int = 1, for key: Key) -> Bool {
        let limiter = enter(key)
        defer { leave(key) }
        return limiter.tryConsume(weight)
    }

    /// The time until a request for a key that arrives now would get its tokens; zero if it would get them immediately, and `nil` if
    /// `weight` is more than the burst.
    ///
    /// Other tasks may take the tokens first. O(1) on average.
    ///
    /// - Precondition: `weight` isn't negative.
    public func timeUntilAvailable(_ weight: Int = 1, for key: Key) -> Duration? {
        let limiter = enter(key)
        defer { leave(key) }
        return limiter.timeUntilAvailable(weight)
    }

    /// The number of tokens available for a key, for display: it may change before the caller reads it.
    public func available(for key: Key) -> Int {
        table.withLock { $0.entries[key]?.limiter }?.available ?? burst
    }
}

// MARK: - The buckets

extension KeyedRateLimiter {
    /// Returns the key's limiter, which stays in the table until ``leave(_:)``.
    private func enter(_ key: Key) -> RateLimiter<C> {
        let (limiter, removed) = table.withLock { table -> (RateLimiter<C>, [Key: Entry]) in
            if let limiter = table.entries[key]?.limiter {
                table.entries[key]?.users += 1
                return (limiter, [:])
            }
            let removed = table.entries.count >= table.sweepCount ? removeFullBuckets(&table) : [:]
            let limiter = RateLimiter(rate: rate, per: period, burst: burst, clock: clock)
            table.entries[key] = Entry(limiter: limiter, users: 1)
            // Otherwise the entry would never be found again, or removed.
            precondition(
                table.entries[key]?.limiter === limiter,
                "A keyed rate limiter's key must be equal to itself, and its hash must not change.")
            return (limiter, removed)
        }
        // Keys are values of the user: they aren't destroyed under the lock.
        withExtendedLifetime(removed) {}
        return limiter
    }

    private func leave(_ key: Key) {
        table.withLock { $0.entries[key]?.users -= 1 }
    }

    /// O(n), at most once while the number of keys doubles. Returns the former entries.
    private func removeFullBuckets(_ table: inout Table) -> [Key: Entry] {
        let former = table.entries
        table.entries = former.filter { $0.value.users > 0 || $0.value.limiter.available < burst }
        table.sweepCount = max(Self.minimumSweepCount, 2 * table.entries.count)
        return former
    }
}
