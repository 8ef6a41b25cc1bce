import SluiceLock

/// Lets at most a given number of tasks run for each key, and at most a given number in total; the others wait their turn.
///
///     let limiter = KeyedLimiter<String>(perKey: 4, total: 32)            // a host's name
///     let page = try await limiter.run(for: host) { try await network.download(url) }
///
/// It is a ``ConcurrencyLimiter`` for many who share: users of a server, hosts that are asked, tables that are written. It
/// executes nothing itself: the calling task runs the body where it runs anyway, and gets its result or error back. So
/// neither needs to be `Sendable`. It has no permits, weights or resizing.
///
/// | | in a cancelled task | throws |
/// |---|---|---|
/// | `run(for:_:)` with a body that may throw | gives up waiting | `CancellationError`, or what the body throws |
/// | `run(for:_:)` with a body that cannot throw | still waits its turn, and runs | nothing |
/// | ``runUninterrupted(for:_:)`` | still waits its turn, and runs | what the body throws, typed |
/// | ``runUnlessCancelled(for:_:)`` | gives up waiting | `CancellationError` |
/// | ``runIfAvailable(for:_:)`` | never waits | what the body throws, typed |
/// | ``run(for:until:clock:_:)`` | gives up waiting | `CancellationError`, or what the body throws |
///
/// **Order.** Within a key, first come, first served. Among the keys, each in turn: a place that is given back goes to the
/// key that has waited longest for its turn, and that key then goes to the end. So a key with a thousand waiting tasks
/// delays another by one body at a time, not by a thousand. A key that is at its own limit has no turn, and holds up
/// nobody. Nobody overtakes those who could run.
///
/// **Cancellation.** Only waiting is cancelled, and who gives up leaves no trace. Once a task has its place, its body runs,
/// and it is up to the body to look at `Task.isCancelled`.
///
/// **Nesting.** A body that runs something else on the same limiter, for whichever key, waits for a place while it holds
/// one. If all places are held like that, all wait for ever.
///
/// **Cost.** Entering, leaving, waiting, being granted a place and being cancelled is O(1) on average, however many tasks
/// and keys there are. Only keys that run or wait are kept. No thread is ever blocked for longer than a few instructions;
/// hashing and comparing keys happens under the lock, so a key must not use the limiter there, and a slow hash holds up
/// all who enter and leave.
///
/// **Lifetime.** A waiting task keeps the limiter alive.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
    let storage: KeyedLimiterStorage<Key>

    /// How many bodies may run at once for one key.
    public let perKey: Int

    /// How many bodies may run at once for all keys together.
    public let total: Int

    /// Creates a limiter that lets `perKey` bodies run at once for each key, and `total` for all together.
    ///
    ///     let limiter = KeyedLimiter<User.ID>(perKey: 2, total: 100)
    ///
    /// With a total of `.max`, keys do not limit each other.
    ///
    /// - Precondition: Both are at least 1; with none, every task would wait for ever.
    public init(perKey: Int, total: Int) {
        precondition(perKey >= 1, "A KeyedLimiter needs at least 1 place for each key, not \(perKey).")
        precondition(total >= 1, "A KeyedLimiter needs at least 1 place in total, not \(total).")
        self.perKey = perKey
        self.total = total
        storage = KeyedLimiterStorage(perKey: perKey, total: total)
    }
}

// MARK: What is going on

extension KeyedLimiter {
    /// How many bodies run at this moment, for display: it may have changed before the caller looks at it.
    public var running: Int { storage.machine.withLock { $0.running } }

    /// How many tasks wait at this moment, for display: it may have changed before the caller looks at it.
    public var waiting: Int { storage.machine.withLock { $0.waiting } }

    /// How many bodies run for a key at this moment, for display.
    public func running(for key: Key) -> Int { storage.machine.withLock { $0.running(for: key) } }

    /// How many tasks wait for a key at this moment, for display.
    public func waiting(for key: Key) -> Int { storage.machine.withLock { $0.waiting(for: key) } }
}

// MARK: All at once

extension KeyedLimiter {
    /// Makes every task that waits now give up with a `CancellationError`, as if it had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Bodies that run are left alone. Tasks that cannot give up (``runUninterrupted(for:_:)``, and `run(for:_:)` with a
    /// body that cannot throw) stay in line, in their order. Tasks that come later wait as usual. O(number of keys and
    /// waiting tasks), during which others who enter or leave are held up; otherwise never blocks.
    public func cancelWaiting() {
        storage.cancelWaiting(nil)
    }

    /// Makes every task that waits now for this key give up with a `CancellationError`; the other keys are left alone.
    ///
    ///     limiter.cancelWaiting(for: user)        // has signed out
    ///
    /// Otherwise the same as ``cancelWaiting()``. O(number of tasks that wait for the key).
    public func cancelWaiting(for key: Key) {
        storage.cancelWaiting(key)
    }

    /// Waits until there is a moment in which no body runs and no task waits, for any key.
    ///
    /// It returns at once if this is such a moment, and does not keep anybody from entering. It waits also in a cancelled
    /// task, so that tearing down is always completed. Never call it from a body of the same limiter: that body would
    /// wait for its own end.
    public func waitUntilIdle() async {
        await storage.waitUntilIdle()
    }
}
