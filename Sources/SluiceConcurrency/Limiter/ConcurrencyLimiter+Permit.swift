extension ConcurrencyLimiter {
    /// A place on a ``ConcurrencyLimiter``, held until it is released.
    ///
    ///     let permit = try await limiter.acquire()
    ///     let connection = try await pool.connect()
    ///     …
    ///     permit.release()
    ///
    /// It cannot be copied, so that no place is given back twice, and it gives its place back when it goes out of scope, so
    /// that none is lost on the way out of an error. **End with** ``release()`` all the same: the compiler lets a permit
    /// go after its last use, which without that call is long before the end of what it was acquired for. (A bare
    /// `_ = try await limiter.acquire()` gives the place back at once.)
    ///
    /// It may be passed on. A task whose closure captures it gives it back when the task ends (the language lets nobody
    /// consume what an escaping closure has captured, so not with `release()`). Where one body is what is limited, `run`
    /// is shorter, and cannot be got wrong.
    public struct Permit: ~Copyable, Sendable {
        private let limiter: ConcurrencyLimiter

        /// How much of the limit it takes.
        public let weight: Int

        init(_ limiter: ConcurrencyLimiter, weight: Int) {
            self.limiter = limiter
            self.weight = weight
        }

        deinit {
            limiter.storage.leave(weight: UInt64(weight)).resume()
        }

        /// Gives the place back; it goes to the task whose turn it is. O(1); never suspends.
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

    /// Waits until `weight` of the limit is free, and returns the permit that holds it.
    ///
    ///     let permit = try await memory.acquire(weight: picture.byteCount)
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already, or ``cancelWaiting()`` is called;
    ///   ``WeightExceedsLimit`` if the limit is less than `weight`, or becomes so.
    /// - Complexity: O(1). Waits in the limiter's ``order``; suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. Zero waits its turn and takes nothing, so that an empty file is no mistake.
    public func acquire(weight: Int) async throws -> Permit {
        try await enter(weight: weight)
        return Permit(self, weight: weight)
    }

    /// Waits for a place until a deadline, and returns the permit that holds it; nil if the deadline comes first.
    ///
    ///     guard let permit = try await limiter.acquire(until: .now + .seconds(2), clock: .continuous) else { throw Busy() }
    ///
    /// The deadline bounds the waiting, not what is done with the permit. If there is a place it is given also after the
    /// deadline: waiting is what did not happen then.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already, or ``cancelWaiting()`` is called;
    ///   ``WeightExceedsLimit`` if the limit is less than `weight`, or becomes so.
    /// - Complexity: O(1), and a child task for the clock if it has to wait. Suspends, never blocks a thread.
    /// - Precondition: `weight` is not negative. Zero waits its turn and takes nothing, so that an empty file is no mistake.
    public func acquire<C: Clock>(weight: Int = 1, until deadline: C.Instant, clock: C) async throws -> Permit? {
        try await enter(weight: weight, until: deadline, clock: clock) ? Permit(self, weight: weight) : nil
    }

    /// Returns a permit if there is a place for it right now; nil if there is none, or anyone else waits for one.
    ///
    ///     guard let permit = limiter.tryAcquire() else { throw Busy() }
    ///
    /// It is nil also if `weight` is more than the limit. It never overtakes, and pays no attention to whether the task is
    /// cancelled. Synchronous, from anywhere; O(1).
    ///
    /// - Precondition: `weight` is not negative. Zero waits its turn and takes nothing, so that an empty file is no mistake.
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

    /// Waits until `weight` is free; returns false if the deadline comes first.
    func enter<C: Clock>(weight: Int, until deadline: C.Instant, clock: C) async throws -> Bool {
        Self.check(weight: weight)
        try Task.checkCancellation()
        if storage.enterAtOnce(weight: UInt64(weight)) { return true }
        let outcome = await enterSlowly(weight: UInt64(weight), until: deadline, clock: clock)
        if outcome == .expired { return false }
        try check(outcome, weight)
        return true
    }

    private func check(_ outcome: LimiterOutcome, _ weight: Int) throws {
        switch outcome {
        case .granted: break
        case .tooHeavy: throw WeightExceedsLimit(weight: weight, limit: concurrency)
        case .cancelled: throw CancellationError()
        case .expired, .raised: preconditionFailure("A wait that has not ended.")
        }
    }
}
