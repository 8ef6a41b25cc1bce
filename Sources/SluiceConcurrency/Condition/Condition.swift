/// Something that happens once, and that any number of tasks can wait for.
///
///     let (condition, signal) = Condition.makeCondition()
///     await condition.wait()      // in any number of tasks
///     signal.signal()             // from anywhere
///
/// Waiting is for those who hold the `Condition`, signalling for those who hold the ``Signal``. Once it is signalled, a
/// condition stays signalled, and waiting for it returns at once.
///
/// If the last reference to the signal goes away before it was used, or ``Signal/abandon()`` is called, nobody can ever
/// signal. Those who wait are then resumed with ``Outcome/abandoned``, so that none waits for ever, and so that a producer that failed does not look
/// like one that succeeded:
///
///     if await condition.wait() == .abandoned { throw ProducerFailed() }
public struct Condition: Sendable {
    /// Why waiting ended.
    public enum Outcome: Hashable, Sendable {
        /// ``Signal/signal()`` was called.
        case signalled
        /// ``Signal/abandon()`` was called, or the last reference to the signal went away.
        case abandoned
    }

    private let storage: ConditionStorage<Outcome>

    /// Makes a condition and the signal that belongs to it.
    ///
    ///     let (condition, signal) = Condition.makeCondition()
    ///
    /// The condition does not keep the signal alive.
    public static func makeCondition() -> (condition: Condition, signal: Signal) {
        let storage = ConditionStorage<Outcome>()
        return (Condition(storage: storage), Signal(storage: storage))
    }

    /// Waits until the condition is signalled.
    ///
    ///     await condition.wait()
    ///
    /// It never returns before that, not even in a cancelled task; see ``waitUnlessCancelled()``. All who wait when the
    /// signal comes are resumed, in the order in which they came.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Complexity: O(1). Suspends unless signalled already; never blocks a thread.
    @discardableResult
    public func wait() async -> Outcome {
        await storage.wait()
    }

    /// Waits until the condition is signalled or the task is cancelled.
    ///
    ///     try await condition.waitUnlessCancelled()
    ///
    /// If it is signalled already, that is what is returned, even in a cancelled task. If signal and cancellation come
    /// at the same time, either may win; no other waiter is affected.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1). Suspends unless signalled already; never blocks a thread.
    @discardableResult
    public func waitUnlessCancelled() async throws(CancellationError) -> Outcome {
        guard case .completed(let outcome) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return outcome
    }

    /// Waits until the condition is signalled, the deadline comes or the task is cancelled.
    ///
    ///     guard let outcome = try await condition.wait(until: deadline, clock: clock) else { throw TooLate() }
    ///
    /// If it is signalled already, that is what is returned, even after the deadline and in a cancelled task. If
    /// signal, deadline and cancellation come at the same time, any may win; no other waiter is affected.
    ///
    /// Unlike ``wait()`` it ends when the task is cancelled: the clock sleeps in a child task, which is cancelled too,
    /// so that from then on nothing would watch the deadline.
    ///
    /// - Returns: Whether there was a signal, or none can come any more; nil if the deadline came first.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1), and a child task, which has ended when this returns, if there is something to wait for.
    ///   Suspends unless signalled already; never blocks a thread.
    public func wait<C: Clock>(until deadline: C.Instant, clock: C) async throws(CancellationError) -> Outcome? {
        switch await storage.wait(until: deadline, clock: clock) {
        case .completed(let outcome): return outcome
        case .expired: return nil
        case .cancelled: throw CancellationError()
        }
    }

    private init(storage: ConditionStorage<Outcome>) {
        self.storage = storage
    }
}
