/// Something that happens once, and that any number of tasks can wait for.
///
///     let (condition, signal) = Condition.makeCondition()
///     await condition.wait()      // in any number of tasks
///     signal.signal()             // from anywhere
///
/// Waiting is for those who hold the `Condition`, signalling for those who hold the ``Signal``. Once it is signalled, a
/// condition stays signalled, and waiting for it returns at once.
///
/// If the last reference to the signal goes away before it was used, nobody can ever signal. Those who wait are then let
/// go with ``Outcome/abandoned``, so that none waits for ever, and so that a producer that failed does not look like one
/// that succeeded:
///
///     if await condition.wait() == .abandoned { throw ProducerFailed() }
public struct Condition: Sendable {
    /// Why waiting ended.
    public enum Outcome: Hashable, Sendable {
        /// ``Signal/signal()`` was called.
        case signalled
        /// The last reference to the signal went away without that.
        case abandoned
    }

    private let storage: ConditionStorage

    /// Makes a condition and the signal that belongs to it.
    ///
    ///     let (condition, signal) = Condition.makeCondition()
    ///
    /// The condition does not keep the signal alive.
    public static func makeCondition() -> (condition: Condition, signal: Signal) {
        let storage = ConditionStorage()
        return (Condition(storage: storage), Signal(storage: storage))
    }

    /// Waits until the condition is signalled.
    ///
    ///     await condition.wait()
    ///
    /// It never returns before that, also not in a cancelled task; see ``waitUnlessCancelled()``. All who wait when the
    /// signal comes are let go by it, in the order in which they came.
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
    /// If it is signalled already, that is what is returned, also in a cancelled task. If signal and cancellation come at
    /// the same time, either may win; no other waiter is affected.
    ///
    /// - Returns: Whether there was a signal, or none can come any more.
    /// - Throws: `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1). Suspends unless signalled already; never blocks a thread.
    @discardableResult
    public func waitUnlessCancelled() async throws(CancellationError) -> Outcome {
        guard let outcome = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return outcome
    }

    private init(storage: ConditionStorage) {
        self.storage = storage
    }
}

/// Signals the ``Condition`` that it was made with.
///
///     let (condition, signal) = Condition.makeCondition()
///     signal.signal()
///
/// It may be shared and copied; when the last reference goes away unused, those who wait are let go with
/// ``Condition/Outcome/abandoned``.
public final class Signal: Sendable {
    private let storage: ConditionStorage

    init(storage: ConditionStorage) {
        self.storage = storage
    }

    deinit {
        storage.fire(.abandoned)
    }

    /// Lets go all who wait for the condition, and all who will.
    ///
    /// It may be called from anywhere, synchronously, and more than once: only the first call does anything. O(number of
    /// waiting tasks); never suspends, and blocks for no longer than a few instructions.
    public func signal() {
        storage.fire(.signalled)
    }
}
