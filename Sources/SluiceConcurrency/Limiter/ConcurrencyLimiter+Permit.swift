extension ConcurrencyLimiter {
    /// A place on a ``ConcurrencyLimiter``, held until it is released.
    ///
    ///     let permit = try await limiter.acquire()
    ///     let connection = try await pool.connect()
    ///     …
    ///     permit.release()
    ///
    /// A permit cannot be copied, so no place is given back twice. It gives its place back when it goes out of scope, so an
    /// error loses no place. **End with** ``release()`` all the same: the compiler destroys a permit after its last use,
    /// which without that call is long before the end of the limited work. (A bare `_ = try await limiter.acquire()` gives
    /// the place back immediately.)
    ///
    /// A permit may be passed on. A task whose closure captures it gives it back when the task ends, not with
    /// `release()`: an escaping closure cannot consume what it has captured. Where the limited work is one body, use
    /// `run`, which is shorter and has none of these rules.
    public struct Permit: ~Copyable, Sendable {
        private let limiter: ConcurrencyLimiter

        /// How much of the limiter's ``concurrency`` it takes.
        public let weight: Int

        init(_ limiter: ConcurrencyLimiter, weight: Int) {
            self.limiter = limiter
            self.weight = weight
        }

        deinit {
            limiter.storage.leave(weight: UInt64(weight)).resume()
        }

        /// Gives the place back; it goes to the next waiting task. O(1); never suspends.
        public consuming func release() {}
    }

    /// Waits for a place, and returns the permit that holds it.
    ///
    ///     let permit = try await limiter.acquire()
    ///     …
    ///     permit.release()
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already, or ``cancelWaiting()`` is called.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    public func acquire() async throws(CancellationError) -> Permit {
        if Task.isCancelled { throw CancellationError() }
        if !storage.enterAtOnce(weight: 1), await enterSlowly() != .granted { throw CancellationError() }
        return Permit(self, weight: 1)
    }

    /// Waits until `weight` is free, and returns the permit that holds it.
    ///
    ///     let permit = try await memory.acquire(weight: image.byteCount)
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already, or ``cancelWaiting()`` is called;
    ///   ``WeightExceedsLimit`` if the concurrency is less than `weight`, or becomes so.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
    public func acquire(weight: Int) async throws -> Permit {
        try await enter(weight: weight)
        return Permit(self, weight: weight)
    }

    /// Waits for a place, for at most `timeout`, and returns the permit that holds it.
    ///
    ///     let permit = try await limiter.acquire(timeout: .seconds(2))
    ///
    /// The same as ``acquire(weight:until:clock:)`` with a deadline that much later than now on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the time is over first; otherwise like ``acquire(weight:)``.
    /// - Complexity: O(1), and a child task for the clock if it has to wait. Suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
    public func acquire(weight: Int = 1, timeout: Duration) async throws -> Permit {
        try await acquire(weight: weight, until: .now + timeout, clock: .continuous)
    }

    /// Waits for a place until a deadline, and returns the permit that holds it.
    ///
    ///     let permit = try await limiter.acquire(until: deadline, clock: clock)
    ///
    /// The deadline bounds the wait, not the use of the permit. A free place is given even after the deadline, since there
    /// is nothing to wait for.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first; otherwise like ``acquire(weight:)``.
    /// - Complexity: O(1), and a child task for the clock if it has to wait. Suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
    public func acquire<C: Clock>(weight: Int = 1, until deadline: C.Instant, clock: C) async throws -> Permit {
        try await enter(weight: weight, until: deadline, clock: clock)
        return Permit(self, weight: weight)
    }

    /// Returns a permit if there is a place for it now; nil if there is none, or another task waits for one.
    ///
    ///     guard let permit = limiter.tryAcquire() else { throw Busy() }
    ///
    /// It returns nil also if `weight` is more than the concurrency. It never overtakes a waiting task, and ignores
    /// cancellation of the calling task. Synchronous, from any thread; O(1).
    ///
    /// - Precondition: `weight` is not negative. A weight of zero waits its turn but takes no capacity.
    public func tryAcquire(weight: Int = 1) -> Permit? {
        Self.check(weight: weight)
        return storage.tryEnter(weight: UInt64(weight)) ? Permit(self, weight: weight) : nil
    }
}

// MARK: Weights

extension ConcurrencyLimiter {
    static func check(weight: Int) {
        precondition(weight >= 0, "The weight of a request to a ConcurrencyLimiter is not negative, as \(weight) is.")
    }

    /// Waits until `weight` is free.
    func enter(weight: Int) async throws {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterAtOnce(weight: UInt64(weight)) { return }
        try check(await enterSlowly(weight: UInt64(weight)), weight)
    }

    /// Waits until `weight` is free, or the deadline comes.
    func enter<C: Clock>(weight: Int, until deadline: C.Instant, clock: C) async throws {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterAtOnce(weight: UInt64(weight)) { return }
        try check(await enterSlowly(weight: UInt64(weight), until: deadline, clock: clock), weight)
    }

    private func check(_ outcome: LimiterOutcome, _ weight: Int) throws {
        switch outcome {
        case .granted: break
        case .tooHeavy: throw WeightExceedsLimit(weight: weight, maximumWeight: concurrency)
        case .cancelled: throw CancellationError()
        case .expired: throw DeadlineExceeded()
        case .raised: preconditionFailure("A wait that has not ended.")
        }
    }
}
