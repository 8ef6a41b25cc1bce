import SluiceLock

/// A limit on the number of tasks that run concurrently for each key, and in total; other tasks wait their turn.
///
///     let limiter = KeyedLimiter<String>(perKey: 4, total: 32)            // the key is the host name
///     let page = try await limiter.run(for: host) { try await network.download(url) }
///
/// Keys are, for example, the users of a server, hosts, or tables. The calling task runs the body itself, on its own
/// isolation, and gets the body's result or error. Neither needs to be `Sendable`. Unlike ``ConcurrencyLimiter``, a keyed
/// limiter has no permits, weights or resizing.
///
/// **Cancellation.** A body that cannot throw isn't cancelled while it waits: `run(for:_:)` has two overloads, and the compiler
/// selects one by the body. Once a task has its place, its body always runs, and can check `Task.isCancelled`.
///
/// | | if the task is cancelled while it waits | throws |
/// |---|---|---|
/// | `run(for:_:)` with a body that can throw | the body doesn't run | `CancellationError`, or the body's error |
/// | `run(for:_:)` with a body that cannot throw | waits its turn and runs | nothing |
/// | ``runUninterrupted(for:_:)`` | waits its turn and runs | the body's error, typed |
/// | ``runUnlessCancelled(for:_:)`` | the body doesn't run | `CancellationError` |
/// | ``runIfAvailable(for:_:)`` | never waits | the body's error, typed |
/// | ``run(for:timeout:_:)``, ``run(for:until:clock:_:)`` | the body doesn't run | also ``DeadlineExceeded`` |
///
/// **Order.** Within a key, first come, first served. With ``ConcurrencyLimiter/Order/priority``, tasks with a higher priority are admitted
/// first.
///
/// The keys take turns, regardless of priorities. A released place goes to the key that has waited longest for its turn, and this key then
/// goes to the end. So a key with a thousand waiting tasks delays another key by one body at a time. A key that is at its own limit has no
/// turn and delays no other key.
///
/// **Nesting.** A body that calls `run` on the same limiter, for any key, waits for a place while it holds one. If every place is held this
/// way, the tasks deadlock.
///
/// **Cost.** Entering, leaving, waiting, being admitted and being cancelled are O(1) on average, regardless of the number of tasks and
/// keys. Only keys with running or waiting tasks are kept. Keys are hashed and compared under the limiter's lock: a slow hash delays all
/// tasks that enter or leave, and a key must not use the limiter there. A key that isn't equal to itself, such as a NaN, traps.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
    let storage: KeyedLimiterStorage<Key>

    /// The largest number of bodies that can run concurrently for one key.
    public let perKey: Int

    /// The largest number of bodies that can run concurrently for all keys together.
    public let total: Int

    /// The order in which the waiting tasks of one key are admitted.
    public var order: ConcurrencyLimiter.Order { storage.order }

    /// Creates a limiter that lets up to `perKey` bodies run concurrently for each key, and up to `total` for all keys together.
    ///
    /// - Parameters:
    ///   - perKey: The largest number of bodies that can run concurrently for one key.
    ///   - total: The largest number of bodies that can run concurrently for all keys together; `.max` for no such limit.
    ///   - order: The order in which the waiting tasks of one key are admitted. It doesn't affect the turns of the keys.
    /// - Precondition: `perKey` and `total` are at least 1.
    public init(perKey: Int, total: Int, order: ConcurrencyLimiter.Order = .fifo) {
        precondition(perKey >= 1, "A keyed limiter's perKey must be at least 1; it is \(perKey).")
        precondition(total >= 1, "A keyed limiter's total must be at least 1; it is \(total).")
        self.perKey = perKey
        self.total = total
        storage = KeyedLimiterStorage(perKey: perKey, total: total, order: order)
    }
}

// MARK: Counts

extension KeyedLimiter {
    /// The number of running bodies, for display: it may change before the caller reads it.
    public var runningCount: Int { storage.machine.withLock { $0.running } }

    /// The number of waiting tasks, for display: it may change before the caller reads it.
    public var waitingCount: Int { storage.machine.withLock { $0.waiting } }

    /// The number of running bodies for a key, for display: it may change before the caller reads it.
    public func runningCount(for key: Key) -> Int { storage.machine.withLock { $0.running(for: key) } }

    /// The number of tasks that wait for a key, for display: it may change before the caller reads it.
    public func waitingCount(for key: Key) -> Int { storage.machine.withLock { $0.waiting(for: key) } }
}

// MARK: All waiting tasks

extension KeyedLimiter {
    /// Ends the wait of every waiting task with a `CancellationError`, as if the task had been cancelled.
    ///
    /// Running bodies continue. Waits that can't be cancelled (``runUninterrupted(for:_:)``, and `run(for:_:)` with a body that cannot
    /// throw) continue in their order. Tasks that arrive later wait as usual. O(n) in the number of keys and waiting tasks; tasks that
    /// enter or leave the limiter are blocked for that time.
    public func cancelWaiting() {
        storage.cancelWaiting(nil)
    }

    /// Ends the wait of every task that waits for a key with a `CancellationError`, as if the task had been cancelled.
    ///
    /// Running bodies, and tasks that wait for other keys, aren't affected. O(n) in the number of tasks that wait for the key.
    public func cancelWaiting(for key: Key) {
        storage.cancelWaiting(key)
    }

    /// Waits until no body runs and no task waits, for any key.
    ///
    /// If the limiter is idle now, the method returns immediately. Other tasks can enter the limiter while this method waits. It continues
    /// to wait in a cancelled task, so that teardown completes. In a body of the same limiter, it waits forever.
    public func waitUntilIdle() async {
        await storage.waitUntilIdle()
    }

    /// Waits until no body runs and no task waits, for any key, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle(timeout: Duration) async throws {
        try await storage.waitUntilIdle(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until no body runs and no task waits, for any key, or a deadline passes.
    ///
    /// If the limiter is idle, the method returns, even after the deadline and in a cancelled task. Unlike ``waitUntilIdle()``, it stops
    /// waiting when the task is cancelled. Running bodies aren't affected.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    public func waitUntilIdle<C: Clock>(until deadline: C.Instant, clock: C) async throws {
        try await storage.waitUntilIdle(until: deadline, clock: clock)
    }
}
