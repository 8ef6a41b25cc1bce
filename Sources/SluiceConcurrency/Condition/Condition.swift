/// An event that happens once and that any number of tasks can wait for.
///
///     let (condition, signal) = Condition.makeCondition()
///     await condition.wait()      // in any number of tasks
///     signal.signal()             // from anywhere
///
/// Code that waits has the `Condition`; code that signals has the ``Signal``. A condition stays signalled: later waits return immediately.
/// Tasks are resumed in the order in which they started to wait.
///
/// **Abandonment.** If ``Signal/abandon()`` is called, or the last reference to the signal goes away before it's used, no signal can come.
/// Waiting tasks are then resumed with ``Outcome/abandoned``. Without this outcome, they would wait forever after a failure of the
/// producer:
///
///     if await condition.wait() == .abandoned { throw ProducerFailed() }
///
/// **Cancellation.** ``wait()`` continues to wait in a cancelled task; ``waitUnlessCancelled()`` and the forms with a timeout or a deadline
/// don't. If the condition is already signalled or abandoned, every form returns, even in a cancelled task or after the deadline.
///
/// **Cost.** O(1) for each wait.
public struct Condition: Sendable {
    /// Why a wait ended.
    public enum Outcome: Hashable, Sendable {
        /// ``Signal/signal()`` was called.
        case signalled
        /// ``Signal/abandon()`` was called, or the last reference to the signal went away.
        case abandoned
    }

    private let storage: ConditionStorage<Outcome>

    /// Creates a condition and its signal.
    ///
    /// The condition doesn't keep the signal alive.
    public static func makeCondition() -> (condition: Condition, signal: Signal) {
        let storage = ConditionStorage<Outcome>()
        return (Condition(storage: storage), Signal(storage: storage))
    }

    /// Waits until the condition is signalled or abandoned, even in a cancelled task.
    @discardableResult
    public func wait() async -> Outcome {
        await storage.wait()
    }

    /// Waits until the condition is signalled or abandoned, unless the task is cancelled.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    @discardableResult
    public func waitUnlessCancelled() async throws(CancellationError) -> Outcome {
        guard case .completed(let outcome) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return outcome
    }

    /// Waits until the condition is signalled or abandoned, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    @discardableResult
    public func wait(timeout: Duration) async throws -> Outcome {
        try await wait(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until the condition is signalled or abandoned, or a deadline passes. Stops waiting when the task is cancelled.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    @discardableResult
    public func wait<C: Clock>(until deadline: C.Instant, clock: C) async throws -> Outcome {
        switch await storage.wait(until: deadline, clock: clock) {
        case .completed(let outcome): return outcome
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }

    private init(storage: ConditionStorage<Outcome>) {
        self.storage = storage
    }
}
