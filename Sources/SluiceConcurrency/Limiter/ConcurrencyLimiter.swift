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
/// | ``runIfAvailable(_:)`` | never waits | what the body throws, typed |
///
/// **Order.** First come, first served. A place that is given back goes straight to the task that has waited longest;
/// nobody overtakes it.
///
/// **Cancellation.** Only waiting is cancelled. Once a task has its place, its body runs, and it is up to the body to
/// look at `Task.isCancelled`.
///
/// **Nesting.** A body that runs something else on the same limiter waits for a place while it holds one. If all places
/// are held like that, all wait for ever. Use one limiter per level.
///
/// **Cost.** With a place free, entering and leaving is one atomic operation each. Waiting, being granted a place and
/// being cancelled is O(1), however many wait. No thread is ever blocked for longer than a few instructions.
///
/// **Lifetime.** A waiting task keeps the limiter alive.
public final class ConcurrencyLimiter: Sendable {
    @usableFromInline let storage: LimiterStorage

    /// How many bodies may run at once.
    public let concurrency: Int

    /// Creates a limiter that lets `concurrency` bodies run at once.
    ///
    /// - Precondition: `concurrency` is at least 1; with none, every task would wait for ever.
    public init(concurrency: Int) {
        precondition(concurrency >= 1, "A ConcurrencyLimiter needs a concurrency of at least 1, not \(concurrency).")
        self.concurrency = concurrency
        storage = LimiterStorage(concurrency: concurrency)
    }
}

// MARK: What is going on

extension ConcurrencyLimiter {
    /// How many bodies run at this moment, for display: it may have changed before the caller looks at it.
    public var running: Int { Int(storage.counts.running) }

    /// How many tasks wait at this moment, for display: it may have changed before the caller looks at it.
    public var waiting: Int { Int(storage.counts.waiting) }
}

// MARK: All at once

extension ConcurrencyLimiter {
    /// Makes every task that waits now give up with a `CancellationError`, as if it had been cancelled.
    ///
    ///     limiter.cancelWaiting()
    ///     await limiter.waitUntilIdle()
    ///
    /// Bodies that run are left alone. Tasks that cannot give up (``runUninterrupted(_:)``, and `run` with a body that
    /// cannot throw) stay in line, in their order. Tasks that come later wait as usual. O(number of waiting tasks), during
    /// which others who enter or leave are held up; otherwise never blocks.
    public func cancelWaiting() {
        storage.cancelAllWaiting()
    }

    /// Waits until there is a moment in which no body runs and no task waits.
    ///
    /// It returns at once if this is such a moment, and does not keep anybody from entering. It waits also in a cancelled
    /// task, so that tearing down is always completed. Never call it from a body of the same limiter: that body would
    /// wait for its own end.
    public func waitUntilIdle() async {
        await storage.waitUntilIdle()
    }
}
