/// Lets at most a given number of tasks run a piece of code at once; the others wait their turn.
///
///     let limiter = ConcurrencyLimiter(concurrency: 10)
///     let image = try await limiter.run { try await network.download(url) }
///
/// A limiter executes nothing itself: the calling task runs the body where it runs anyway (on its actor, on the main
/// actor, or on no actor), and gets the body's result or error back. So neither needs to be `Sendable`.
///
/// | | in a cancelled task | throws |
/// |---|---|---|
/// | `run` with a body that may throw | gives up waiting | `CancellationError`, or what the body throws |
/// | `run` with a body that cannot throw | still waits its turn, and runs | nothing |
/// | ``runUninterrupted(_:)`` | still waits its turn, and runs | what the body throws, typed |
/// | ``runUnlessCancelled(_:)`` | gives up waiting | `CancellationError` |
/// | ``run(weight:_:)`` | gives up waiting | also ``WeightExceedsLimit`` |
/// | ``run(weight:until:clock:_:)`` | gives up waiting | the same; returns nil if the deadline comes first |
/// | ``runIfAvailable(_:)`` | never waits | what the body throws, typed |
///
/// Where the part that is limited is not one body, ``acquire()`` and ``tryAcquire(weight:)`` return a ``Permit``.
///
/// **Order.** First come, first served; with ``Order/priority`` the more urgent first. A place that is given back goes
/// straight to the task whose turn it is; nobody overtakes it.
///
/// **Weights.** A request may count for more than one: with bytes as the unit, a limiter bounds memory. The next in line
/// waits until there is enough for it, and no smaller request behind it goes first, so that large ones do not starve.
///
/// **Cancellation.** Only waiting is cancelled. Once a task has its place, its body runs, and it is up to the body to
/// look at `Task.isCancelled`.
///
/// **Nesting.** A body that runs something else on the same limiter waits for a place while it holds one. If all places
/// are held like that, all wait for ever. Use one limiter per level. With `tracksHolders` the limiter finds such bodies.
///
/// **Cost.** With a place free, entering and leaving is one atomic operation each. Waiting, being granted a place and
/// being cancelled is O(1), however many wait. No thread is ever blocked for longer than a few instructions.
///
/// **Lifetime.** A waiting task keeps the limiter alive.
public final class ConcurrencyLimiter: Sendable {
    /// Who is next, of those who wait.
    public enum Order: Hashable, Sendable {
        /// Who has waited longest.
        case fifo
        /// The most urgent by task priority, and of these who has waited longest.
        ///
        /// Nobody starves: of 17 places that are given in a row, at least one goes to those of a lower priority who wait
        /// (to each such priority in turn, if there are several). A task whose priority is raised while it waits joins
        /// those of its new priority, on systems that tell (Linux, and Apple's from version 26 on). The priority of those
        /// who hold a place is not raised.
        case priority
    }

    @usableFromInline let storage: LimiterStorage
    let holders: LimiterHolders?
    let waitTimes: LimiterWaitTimes?

    /// Who is next, of those who wait.
    public let order: Order

    /// Creates a limiter that lets `concurrency` bodies run at once.
    ///
    ///     let downloads = ConcurrencyLimiter(concurrency: 10)
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)         // in bytes; each run says how many
    ///
    /// - Parameters:
    ///   - concurrency: How many bodies may run at once, or the sum of their weights.
    ///   - order: Who is next, of those who wait.
    ///   - tracksHolders: Whether the program stops with an explanation when a body runs something on the same limiter,
    ///     instead of waiting for ever now and then. It makes each run slower. It finds bodies that a
    ///     task runs inside of its own body, unless by ``runIfAvailable(_:)``, which does not wait; not those of the body's
    ///     child tasks, nor permits.
    ///   - clock: What ``Metrics/waited`` is measured with; nil measures nothing.
    /// - Precondition: `concurrency` is at least 1; with none, every task would wait for ever. The most is 2⁴⁵ − 1.
    public init(
        concurrency: Int, order: Order = .fifo, tracksHolders: Bool = false, clock: (any Clock<Duration>)? = nil
    ) {
        Self.check(concurrency)
        self.order = order
        holders = tracksHolders ? LimiterHolders() : nil
        waitTimes = clock.map { LimiterWaitTimes($0) }
        storage = LimiterStorage(concurrency: concurrency, tracksHolders: tracksHolders)
    }

    static func check(_ concurrency: Int) {
        precondition(concurrency >= 1, "A ConcurrencyLimiter needs a concurrency of at least 1, not \(concurrency).")
        precondition(
            concurrency <= LimiterWord.maximum,
            "A ConcurrencyLimiter has a concurrency of at most \(LimiterWord.maximum), not \(concurrency).")
    }
}

// MARK: All at once

extension ConcurrencyLimiter {
    /// How many bodies may run at once, or the sum of their weights.
    public var concurrency: Int { Int(storage.loadLimit()) }

    /// Lets more or fewer bodies run at once from now on.
    ///
    ///     limiter.resize(to: isOnBattery ? 2 : 8)
    ///
    /// With a larger limit, those whose turn it is get their places at once. With a smaller one nobody's place is taken
    /// away: nobody gets one until enough bodies have ended. Tasks that wait for more than the new limit give up with
    /// ``WeightExceedsLimit``.
    ///
    /// It may be called from anywhere, synchronously. O(number of waiting tasks); others who enter or leave are held up
    /// during that, otherwise it never blocks.
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func resize(to concurrency: Int) {
        Self.check(concurrency)
        storage.resize(to: UInt64(concurrency)).resume()
    }

    /// Makes every task that waits now give up with a `CancellationError`, as if it had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Bodies that run are left alone. Tasks that cannot give up (``runUninterrupted(_:)``, and `run` with a body that
    /// cannot throw) stay in line, in their order. Tasks that come later wait as usual. O(number of waiting tasks), during
    /// which others who enter or leave are held up; otherwise never blocks.
    public func cancelWaiting() {
        storage.cancelWaiting().resume()
    }

    /// Waits until there is a moment in which no body runs and no task waits.
    ///
    /// It returns at once if this is such a moment, and does not keep anybody from entering. It waits also in a cancelled
    /// task, so that tearing down is always completed. Never call it from a body of the same limiter, or while holding a
    /// permit: it would wait for its own end. O(1); suspends, never blocks a thread.
    public func waitUntilIdle() async {
        _ = await withUnsafeContinuation { watcher in
            if storage.watch(watcher) { watcher.resume(returning: .granted) }
        }
    }
}
