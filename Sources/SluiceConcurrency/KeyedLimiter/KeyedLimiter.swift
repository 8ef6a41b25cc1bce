import SluiceLock

/// Lets at most a given number of tasks run for each key, and at most a given number in total; the others wait their turn.
///
///     let limiter = KeyedLimiter<String>(perKey: 4, total: 32)            // a host's name
///     let page = try await limiter.run(for: host) { try await network.download(url) }
///
/// **A body that cannot throw isn't cancelled while it waits.** `run(for:_:)` has two overloads, and the body selects one.
/// Use ``runUnlessCancelled(for:_:)`` for a body that cannot throw and must not run in a cancelled task.
///
/// | | in a cancelled task | throws |
/// |---|---|---|
/// | `run(for:_:)` with a body that may throw | leaves, doesn't run | `CancellationError`, or what the body throws |
/// | `run(for:_:)` with a body that cannot throw | still waits its turn, and runs | nothing |
/// | ``runUninterrupted(for:_:)`` | still waits its turn, and runs | what the body throws, typed |
/// | ``runUnlessCancelled(for:_:)`` | leaves, doesn't run | `CancellationError` |
/// | ``runIfAvailable(for:_:)`` | never waits | what the body throws, typed |
/// | ``run(for:timeout:_:)``, ``run(for:until:clock:_:)`` | leaves, doesn't run | also ``DeadlineExceeded`` |
///
/// It is a ``ConcurrencyLimiter`` that many keys share: users of a server, hosts, tables. It executes nothing itself: the
/// calling task runs the body on its own isolation, and gets its result or error back. So neither needs to be `Sendable`.
/// It has no permits, weights or resizing.
///
/// **Order.** Within a key, first come, first served; with the order ``ConcurrencyLimiter/Order/priority``, higher task
/// priorities first, and among equals first come, first served. A waiting task whose priority is raised moves up.
///
/// Among the keys, each in turn, whatever the priorities are: a place that is given back goes to the key that has waited
/// longest for its turn, and that key then goes to the end. So a key with a thousand waiting tasks delays another by one
/// body at a time, not by a thousand. A key that is at its own limit has no turn, and delays no other key.
///
/// **Cancellation.** Only waiting is cancelled, and a cancelled wait leaves no trace. A task that has its place runs its
/// body, which can check `Task.isCancelled`.
///
/// **Nesting.** A body that runs something else on the same limiter, for any key, waits for a place while it holds one. If
/// every place is held this way, the tasks deadlock.
///
/// **Cost.** Entering, leaving, waiting, being granted a place and being cancelled is O(1) on average, however many tasks
/// and keys there are. Only keys that run or wait are kept. No thread is ever blocked for longer than a few instructions;
/// hashing and comparing keys happens under the lock, so a key must not use the limiter there, and a slow hash delays all
/// tasks that enter and leave.
///
/// **Lifetime.** A waiting task keeps the limiter alive.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
    let storage: KeyedLimiterStorage<Key>

    /// How many bodies may run concurrently for one key.
    public let perKey: Int

    /// How many bodies may run concurrently for all keys together.
    public let total: Int

    /// The order in which the waiting tasks of one key are admitted.
    public var order: ConcurrencyLimiter.Order { storage.order }

    /// Creates a limiter that lets `perKey` bodies run concurrently for each key, and `total` for all together.
    ///
    ///     let limiter = KeyedLimiter<User.ID>(perKey: 2, total: 100)
    ///     let urgentFirst = KeyedLimiter<User.ID>(perKey: 2, total: 100, order: .priority)
    ///
    /// With a total of `.max`, keys do not limit each other.
    ///
    /// - Parameters:
    ///   - perKey: How many bodies may run concurrently for one key.
    ///   - total: How many bodies may run concurrently for all keys together.
    ///   - order: The order in which the waiting tasks of one key are admitted. The turns of the keys don't depend on it.
    /// - Precondition: `perKey` and `total` are at least 1.
    public init(perKey: Int, total: Int, order: ConcurrencyLimiter.Order = .fifo) {
        precondition(perKey >= 1, "A KeyedLimiter needs at least 1 place for each key, not \(perKey).")
        precondition(total >= 1, "A KeyedLimiter needs at least 1 place in total, not \(total).")
        self.perKey = perKey
        self.total = total
        storage = KeyedLimiterStorage(perKey: perKey, total: total, order: order)
    }
}

// MARK: Counts

extension KeyedLimiter {
    /// How many bodies run, for display: it may have changed before the caller looks at it.
    public var runningCount: Int { storage.machine.withLock { $0.running } }

    /// How many tasks wait, for display: it may have changed before the caller looks at it.
    public var waitingCount: Int { storage.machine.withLock { $0.waiting } }

    /// How many bodies run for a key, for display.
    public func runningCount(for key: Key) -> Int { storage.machine.withLock { $0.running(for: key) } }

    /// How many tasks wait for a key, for display.
    public func waitingCount(for key: Key) -> Int { storage.machine.withLock { $0.waiting(for: key) } }
}

// MARK: All waiting tasks

extension KeyedLimiter {
    /// Ends the wait of every task that waits now with a `CancellationError`, as if the task had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Bodies that run are left alone. Tasks that can't be interrupted (``runUninterrupted(for:_:)``, and `run(for:_:)` with
    /// a body that cannot throw) stay in line, in their order. Tasks that come later wait as usual. O(number of keys and
    /// waiting tasks), during which tasks that enter or leave are held up; otherwise it never blocks.
    public func cancelWaiting() {
        storage.cancelWaiting(nil)
    }

    /// Ends the wait of every task that waits now for this key with a `CancellationError`; other keys are left alone.
    ///
    ///     limiter.cancelWaiting(for: user)        // has signed out
    ///
    /// Otherwise the same as ``cancelWaiting()``. O(number of tasks that wait for the key).
    public func cancelWaiting(for key: Key) {
        storage.cancelWaiting(key)
    }

    /// Waits until there is a moment in which no body runs and no task waits, for any key.
    ///
    /// It returns immediately if this is such a moment. Other tasks can enter meanwhile. It waits also in a cancelled task,
    /// so that teardown always completes. Never call it from a body of the same limiter: that body would wait for its own
    /// end.
    public func waitUntilIdle() async {
        await storage.waitUntilIdle()
    }
}
