/// An event that happens once, and that any number of tasks can wait for.
///
///     let (condition, signal) = Condition.makeCondition()
///     await condition.wait()      // in any number of tasks
///     signal.signal()             // from anywhere
///
/// Tasks that have the `Condition` wait, and tasks that have the ``Signal`` signal. A condition that was signalled stays signalled:
/// later waits return immediately.
///
/// **Abandoned.** If the last reference to the signal goes away before it was used, or ``Signal/abandon()`` is called, no signal can
/// come any more. Waiting tasks are then resumed with ``Outcome/abandoned``, so that no task waits forever and a producer that failed
/// doesn't look like one that succeeded:
///
///     if await condition.wait() == .abandoned { throw ProducerFailed() }
///
/// **Cancellation.** ``wait()`` waits even in a cancelled task; ``waitUnlessCancelled()`` and the forms with a timeout or a deadline don't.
///
/// **Cost.** O(1) for each wait. No thread is blocked for longer than a few instructions.
public struct Condition: Sendable {
    /// Why a wait ended.
    public enum Outcome: Hashable, Sendable {
        /// ``Signal/signal()`` was called.
        case signalled
        /// ``Signal/abandon()`` was called, or the last reference to the signal went away.
        case abandoned
    }

    private let storage: ConditionStorage<Outcome>

    /// Creates a condition and the signal that belongs to it.
    ///
    ///     let (condition, signal) = Condition.makeCondition()
    ///
    /// The condition doesn't keep the signal alive.
    public static func makeCondition() -> (condition: Condition, signal: Signal) {
        let storage = ConditionStorage<Outcome>()
        return (Condition(storage: storage), Signal(storage: storage))
    }

    /// Waits until the condition is signalled or abandoned.
    ///
    ///     await condition.wait()
    ///
    /// It never returns before that, not even in a cancelled task; see ``waitUnlessCancelled()``. Waiting tasks are resumed in the
    /// order in which they started to wait.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Complexity: O(1). Suspends unless signalled already; never blocks a thread.
    @discardableResult
    public func wait() async -> Outcome {
        await storage.wait()
    }

    /// Waits until the condition is signalled or abandoned, unless the task is cancelled.
    ///
    ///     try await condition.waitUnlessCancelled()
    ///
    /// If it is signalled already, this returns, even in a cancelled task. If signal and cancellation come
    /// at the same time, either may win; no other waiting task is affected.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1). Suspends unless signalled already; never blocks a thread.
    @discardableResult
    public func waitUnlessCancelled() async throws(CancellationError) -> Outcome {
        guard case .completed(let outcome) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return outcome
    }

    /// Waits until the condition is signalled or abandoned, but no longer than the timeout.
    ///
    ///     try await condition.wait(timeout: .seconds(3))
    ///
    /// It does what ``wait(until:clock:)`` does with the continuous clock.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Throws: ``DeadlineExceeded`` if the time is over first; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1), and a child task while it waits, which has ended when this returns.
    @discardableResult
    public func wait(timeout: Duration) async throws -> Outcome {
        try await wait(until: .now + timeout, clock: .continuous)
    }

    /// Waits until the condition is signalled or abandoned, but no longer than until the deadline.
    ///
    ///     try await condition.wait(until: deadline, clock: clock)
    ///
    /// If it is signalled already, this returns, even after the deadline and in a cancelled task. If
    /// signal, deadline and cancellation come at the same time, any may win; no other waiting task is affected.
    ///
    /// Unlike ``wait()`` it ends when the task is cancelled. The clock sleeps in a child task, which is cancelled too, so that
    /// nothing would watch the deadline from then on.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1), and a child task while it waits, which has ended when this returns.
    ///   Suspends unless signalled already; never blocks a thread.
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
