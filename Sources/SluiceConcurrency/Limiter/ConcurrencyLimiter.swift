/// A limit on the number of tasks that run a piece of code concurrently; other tasks wait their turn.
///
///     let limiter = ConcurrencyLimiter(concurrency: 10)
///     let image = try await limiter.run { try await network.download(url) }
///
/// The calling task runs the body itself, on its own isolation, and gets the body's result or error. Neither needs to be
/// `Sendable`. If the limited work isn't a single body, use a ``Permit`` from ``acquire()`` or ``tryAcquire(weight:)``.
///
/// **Cancellation.** A body that cannot throw isn't cancelled while it waits: `run` has two overloads, and the compiler
/// selects one by the body. Once a task has its place, its body always runs, and can check `Task.isCancelled`.
///
/// | | if the task is cancelled while it waits | throws |
/// |---|---|---|
/// | `run` with a body that can throw | the body doesn't run | `CancellationError`, or the body's error |
/// | `run` with a body that cannot throw | waits its turn and runs | nothing |
/// | ``runUninterrupted(_:)`` | waits its turn and runs | the body's error, typed |
/// | ``runUnlessCancelled(_:)`` | the body doesn't run | `CancellationError` |
/// | ``run(weight:_:)`` | the body doesn't run | also ``WeightExceedsLimit`` |
/// | ``run(weight:timeout:_:)``, ``run(weight:until:clock:_:)`` | the body doesn't run | also ``DeadlineExceeded`` |
/// | ``runIfAvailable(_:)`` | never waits | the body's error, typed |
///
/// **Order.** First come, first served. With ``Order/priority``, tasks with a higher priority are admitted first. A released
/// place goes directly to the next waiting task; no other task overtakes it.
///
/// **Weights.** A request can take more than one unit of capacity. With bytes as the unit, a limiter bounds memory. Smaller requests don't
/// overtake a large one that waits for enough capacity, so large requests don't starve. With ``Order/priority``, requests of a higher
/// priority do, up to 16 in a row. A weight of zero waits its turn but takes no capacity; ``waitUntilIdle()`` waits for its body too. A
/// negative weight traps.
///
/// **Nesting.** A body that calls `run` on the same limiter waits for a place while it holds one. If every place is held this
/// way, the tasks deadlock. Use one limiter per level. With `tracksHolders`, the limiter detects such bodies.
///
/// **Cost.** If a place is free, entering and leaving take one atomic operation each, or a lock if the weight is zero. Waiting, being
/// admitted and being cancelled are O(1), regardless of the number of waiting tasks.
public final class ConcurrencyLimiter: Sendable {
    /// The order in which waiting tasks are admitted.
    public enum Order: Hashable, Sendable {
        /// The task that has waited longest goes first.
        case fifo
        /// The task with the highest priority goes first; among equals, the task that has waited longest.
        ///
        /// No priority starves: of 17 consecutive places, at least one goes to a waiting task of a lower priority. If tasks of several
        /// lower priorities wait, these priorities take turns. On Linux, and on Apple platforms from version 26, a waiting task whose
        /// priority is raised moves to the end of the line of its new priority. The priority of tasks that hold a place isn't raised.
        case priority
    }

    @usableFromInline let storage: LimiterStorage
    let holders: LimiterHolders?
    let waitTimes: LimiterWaitTimes?

    /// The order in which waiting tasks are admitted.
    public let order: Order

    /// Creates a limiter that lets up to `concurrency` bodies run concurrently.
    ///
    ///     let memory = ConcurrencyLimiter(concurrency: 256 << 20)         // in bytes; each run passes its weight
    ///
    /// - Parameters:
    ///   - concurrency: The largest number of bodies that can run concurrently, or the largest sum of their weights.
    ///   - order: The order in which waiting tasks are admitted.
    ///   - tracksHolders: Whether the program stops with an explanation when a body uses the same limiter, instead of deadlocking
    ///     occasionally. Each run is then slower. Only bodies that a task runs inside its own body are detected, not those of child tasks,
    ///     permits, or ``runIfAvailable(_:)``, which doesn't wait.
    ///   - clock: The clock that measures ``Statistics/totalWait``; if it's `nil`, nothing is measured.
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
        precondition(concurrency >= 1, "A limiter's concurrency must be at least 1; it is \(concurrency).")
        precondition(
            concurrency <= LimiterWord.maximum,
            "A limiter's concurrency must be at most \(LimiterWord.maximum); it is \(concurrency).")
    }
}

// MARK: The limit and all waiting tasks

extension ConcurrencyLimiter {
    /// The largest number of bodies that can run concurrently, or the largest sum of their weights.
    public var concurrency: Int { Int(storage.loadLimit()) }

    /// Changes the number of bodies that can run concurrently.
    ///
    /// If the concurrency grows, the next waiting tasks get places immediately. If it shrinks, no task loses its place, and new places are
    /// given when enough bodies have ended. Tasks that wait for a weight above the new concurrency throw ``WeightExceedsLimit``. O(n) in
    /// the number of waiting tasks; tasks that enter or leave the limiter are blocked for that time.
    ///
    /// - Precondition: `concurrency` is at least 1 and at most 2⁴⁵ − 1.
    public func resize(to concurrency: Int) {
        Self.check(concurrency)
        storage.resize(to: UInt64(concurrency)).resume()
    }

    /// Ends the wait of every waiting task with a `CancellationError`, as if the task had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Running bodies continue. Waits that can't be cancelled (``runUninterrupted(_:)``, and `run` with a body that cannot throw) continue
    /// in their order. Tasks that arrive later wait as usual. O(n) in the number of waiting tasks; tasks that enter or leave the limiter
    /// are blocked for that time.
    public func cancelWaiting() {
        storage.cancelWaiting().resume()
    }

    /// Waits until no body runs and no task waits.
    ///
    /// If the limiter is idle now, the method returns immediately. Other tasks can enter the limiter while this method waits. It continues
    /// to wait in a cancelled task, so that teardown completes. In a body of the same limiter, or while the caller holds a permit, it waits
    /// forever. O(1).
    public func waitUntilIdle() async {
        _ = await withUnsafeContinuation { watcher in
            if storage.watch(watcher) == nil { watcher.resume(returning: .granted) }
        }
    }

    /// Waits until no body runs and no task waits, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle(timeout: Duration) async throws {
        try await waitUntilIdle(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until no body runs and no task waits, or a deadline passes.
    ///
    /// If the limiter is idle, the method returns, even after the deadline and in a cancelled task. Unlike ``waitUntilIdle()``, it stops
    /// waiting when the task is cancelled, because the child task of the clock is then cancelled too. Running bodies aren't affected.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle<C: Clock>(until deadline: C.Instant, clock: C) async throws {
        guard let ticket = storage.watch() else { return }
        let outcome = await ending(at: deadline, clock: clock) {
            self.storage.endWatch(ticket, .expired)?.resume(returning: .expired)
        } wait: {
            await suspending { watcher in
                storage.suspendWatcher(ticket, watcher)
            } onCancel: {
                storage.endWatch(ticket, .cancelled)?.resume(returning: .cancelled)
            }
        }
        try outcome.checkIdle()
    }
}
