/// Lets at most a given number of tasks run a piece of code concurrently; the others wait their turn.
///
///     let limiter = ConcurrencyLimiter(concurrency: 10)
///     let image = try await limiter.run { try await network.download(url) }
///
/// **A body that cannot throw isn't cancelled while it waits.** `run` has two overloads, and the body selects one. Use
/// ``runUnlessCancelled(_:)`` for a body that cannot throw and must not run in a cancelled task.
///
/// | | in a cancelled task | throws |
/// |---|---|---|
/// | `run` with a body that may throw | leaves, doesn't run | `CancellationError`, or what the body throws |
/// | `run` with a body that cannot throw | still waits its turn, and runs | nothing |
/// | ``runUninterrupted(_:)`` | still waits its turn, and runs | what the body throws, typed |
/// | ``runUnlessCancelled(_:)`` | leaves, doesn't run | `CancellationError` |
/// | ``run(weight:_:)`` | leaves, doesn't run | also ``WeightExceedsLimit`` |
/// | ``run(weight:timeout:_:)``, ``run(weight:until:clock:_:)`` | leaves, doesn't run | also ``DeadlineExceeded`` |
/// | ``runIfAvailable(_:)`` | never waits | what the body throws, typed |
///
/// A limiter executes nothing itself: the calling task runs the body on its own isolation, and gets the body's result or
/// error back. So neither needs to be `Sendable`. Where the limited part is not one body, ``acquire()`` and
/// ``tryAcquire(weight:)`` return a ``Permit``.
///
/// **Order.** First come, first served; with ``Order/priority``, higher task priorities first. A place that is given back
/// goes straight to the next waiting task; no other task overtakes it.
///
/// **Weights.** A request may count for more than one: with bytes as the unit, a limiter bounds memory. The next in line
/// waits until there is enough for it. No smaller request behind it goes first, so large ones don't starve.
///
/// **Cancellation.** Only waiting is cancelled. A task that has its place runs its body, which can check
/// `Task.isCancelled`.
///
/// **Nesting.** A body that runs something else on the same limiter waits for a place while it holds one. If every place
/// is held this way, the tasks deadlock. Use one limiter per level. With `tracksHolders` the limiter finds such bodies.
///
/// **Cost.** With a place free, entering and leaving is one atomic operation each. Waiting, being granted a place and
/// being cancelled is O(1), however many tasks wait. No thread is ever blocked for longer than a few instructions.
///
/// **Lifetime.** A waiting task keeps the limiter alive.
public final class ConcurrencyLimiter: Sendable {
    /// The order in which waiting tasks are admitted.
    public enum Order: Hashable, Sendable {
        /// The task that has waited longest.
        case fifo
        /// The task with the highest priority, and among equals the one that has waited longest.
        ///
        /// No priority starves: of 17 places that are given in a row, at least one goes to a waiting task of a lower
        /// priority (to each such priority in turn, if there are several). A task whose priority is raised while it waits
        /// joins the tasks of its new priority, on systems that report it (Linux, and Apple's from version 26 on). The
        /// priority of tasks that hold a place is not raised.
        case priority
    }

    @usableFromInline let storage: LimiterStorage
    let holders: LimiterHolders?
    let waitTimes: LimiterWaitTimes?

    /// The order in which waiting tasks are admitted.
    public let order: Order

    /// Creates a limiter that lets `concurrency` bodies run concurrently.
    ///
    ///     let downloads = ConcurrencyLimiter(concurrency: 10)
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)         // in bytes; each run says how many
    ///
    /// - Parameters:
    ///   - concurrency: How many bodies may run concurrently, or the sum of their weights.
    ///   - order: The order in which waiting tasks are admitted.
    ///   - tracksHolders: Whether the program stops with an explanation when a body runs something on the same limiter,
    ///     instead of deadlocking now and then. It makes each run slower. It finds bodies that a task runs inside its own
    ///     body, except by ``runIfAvailable(_:)``, which doesn't wait; it finds neither those of child tasks nor permits.
    ///   - clock: The clock that measures ``Statistics/totalWait``; nil measures nothing.
    /// - Precondition: `concurrency` is at least 1 and at most 2⁴⁵ − 1.
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

// MARK: The limit and all waiting tasks

extension ConcurrencyLimiter {
    /// How many bodies may run concurrently, or the sum of their weights.
    public var concurrency: Int { Int(storage.loadLimit()) }

    /// Lets more or fewer bodies run concurrently from now on.
    ///
    ///     limiter.resize(to: isOnBattery ? 2 : 8)
    ///
    /// With a larger concurrency, the next waiting tasks get their places immediately. With a smaller one no task loses its
    /// place: new places are given when enough bodies have ended. Tasks that wait for more than the new concurrency fail
    /// with ``WeightExceedsLimit``.
    ///
    /// It is synchronous, from any thread. O(number of waiting tasks), during which tasks that enter or leave are held up;
    /// otherwise it never blocks.
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func resize(to concurrency: Int) {
        Self.check(concurrency)
        storage.resize(to: UInt64(concurrency)).resume()
    }

    /// Ends the wait of every task that waits now with a `CancellationError`, as if the task had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Bodies that run are left alone. Tasks that can't be interrupted (``runUninterrupted(_:)``, and `run` with a body that
    /// cannot throw) stay in line, in their order. Tasks that come later wait as usual. O(number of waiting tasks), during
    /// which tasks that enter or leave are held up; otherwise it never blocks.
    public func cancelWaiting() {
        storage.cancelWaiting().resume()
    }

    /// Waits until there is a moment in which no body runs and no task waits.
    ///
    /// It returns immediately if this is such a moment. Other tasks can enter meanwhile. It waits also in a cancelled task,
    /// so that teardown always completes. Never call it from a body of the same limiter, or while holding a permit: it
    /// would wait for its own end. O(1); suspends, never blocks a thread.
    public func waitUntilIdle() async {
        _ = await withUnsafeContinuation { watcher in
            if storage.watch(watcher) { watcher.resume(returning: .granted) }
        }
    }
}
