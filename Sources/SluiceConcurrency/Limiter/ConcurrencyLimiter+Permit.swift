extension ConcurrencyLimiter {
    /// A place on a ``ConcurrencyLimiter``, held until it's released.
    ///
    ///     let permit = try await limiter.acquire()
    ///     let connection = try await pool.connect()
    ///     …
    ///     permit.release()
    ///
    /// A permit can't be copied, so its place can't be released twice. If an error is thrown before ``release()``, the place is released
    /// too. Always call ``release()`` after the limited work: without this call, the compiler destroys the permit after its last use, which
    /// may be long before the work ends. For the same reason, `_ = try await limiter.acquire()` releases the place immediately.
    ///
    /// A permit can be passed to another task. If the closure of a task captures a permit, the place is released when the task ends. The
    /// closure can't call `release()`, because an escaping closure can't consume a captured value. If the limited work is a single body,
    /// use `run`, which has none of these rules.
    public struct Permit: ~Copyable, Sendable {
        private let limiter: ConcurrencyLimiter

        /// The part of the limiter's ``concurrency`` that the permit takes.
        public let weight: Int

        init(_ limiter: ConcurrencyLimiter, weight: Int) {
            self.limiter = limiter
            self.weight = weight
        }

        deinit {
            limiter.storage.leave(weight: UInt64(weight)).resume()
        }

        /// Releases the place, which goes to the next waiting task. O(1).
        public consuming func release() {}
    }

    /// Waits for a place, and returns a permit that holds it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it gets a place, or if ``cancelWaiting()`` is called.
    public func acquire() async throws(CancellationError) -> Permit {
        if Task.isCancelled { throw CancellationError() }
        if !storage.enterImmediately(weight: 1), await enterSlowly() != .granted { throw CancellationError() }
        return Permit(self, weight: 1)
    }

    /// Waits until a capacity of `weight` is free, and returns a permit that holds it.
    ///
    /// - Throws: The same errors as ``acquire()``; ``WeightExceedsLimit`` if the concurrency is or becomes less than `weight`.
    public func acquire(weight: Int) async throws -> Permit {
        try await enter(weight: weight)
        return Permit(self, weight: weight)
    }

    /// Waits for a place for up to `timeout` on the continuous clock, and returns a permit that holds it.
    ///
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``acquire(weight:)``.
    public func acquire(weight: Int = 1, timeout: Duration) async throws -> Permit {
        try await acquire(weight: weight, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits for a place until a deadline, and returns a permit that holds it. If a place is free, the deadline doesn't matter.
    ///
    /// - Throws: ``DeadlineExceeded`` if no place becomes free in time; otherwise the same errors as ``acquire(weight:)``.
    public func acquire<C: Clock>(weight: Int = 1, until deadline: C.Instant, clock: C) async throws -> Permit {
        try await enter(weight: weight, until: deadline, clock: clock)
        return Permit(self, weight: weight)
    }

    /// Returns a permit if a place is free and no task waits for one; otherwise returns `nil`.
    ///
    ///     guard let permit = limiter.tryAcquire() else { throw Busy() }
    ///
    /// The method also returns `nil` if `weight` is more than the concurrency. It ignores cancellation. O(1).
    public func tryAcquire(weight: Int = 1) -> Permit? {
        Self.check(weight: weight)
        return storage.tryEnter(weight: UInt64(weight)) ? Permit(self, weight: weight) : nil
    }
}

// MARK: Weights

extension ConcurrencyLimiter {
    static func check(weight: Int) {
        precondition(weight >= 0, "The weight of a request must not be negative; it is \(weight).")
    }

    func enter(weight: Int) async throws {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterImmediately(weight: UInt64(weight)) { return }
        try check(await enterSlowly(weight: UInt64(weight)), weight)
    }

    func enter<C: Clock>(weight: Int, until deadline: C.Instant, clock: C) async throws {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterImmediately(weight: UInt64(weight)) { return }
        try check(await enterSlowly(weight: UInt64(weight), until: deadline, clock: clock), weight)
    }

    private func check(_ outcome: LimiterOutcome, _ weight: Int) throws {
        switch outcome {
        case .granted: break
        case .tooHeavy: throw WeightExceedsLimit(weight: weight, maximumWeight: concurrency)
        case .cancelled: throw CancellationError()
        case .expired: throw DeadlineExceeded()
        }
    }
}
