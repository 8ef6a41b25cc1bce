/// Signals the ``Condition`` that it was made with.
///
///     let (condition, signal) = Condition.makeCondition()
///     signal.signal()
///
/// Tasks may share it. When the last reference goes away unused, waiting tasks are resumed with
/// ``Condition/Outcome/abandoned``. A variable that is still in scope is a reference: a producer that fails while other code still
/// has the signal calls ``abandon()``.
public final class Signal: Sendable {
    private let storage: ConditionStorage<Condition.Outcome>

    init(storage: ConditionStorage<Condition.Outcome>) {
        self.storage = storage
    }

    deinit {
        storage.complete(.abandoned)
    }

    /// Resumes all tasks that wait for the condition; later waits return immediately.
    ///
    ///     signal.signal()
    ///
    /// It may be called from anywhere, and more than once: only the first call does anything. O(number
    /// of waiting tasks); never suspends, and blocks for no longer than a few instructions.
    public func signal() {
        storage.complete(.signalled)
    }

    /// Resumes all waiting tasks with ``Condition/Outcome/abandoned``, because there will be no signal.
    ///
    ///     do { try await openDatabase() } catch { signal.abandon(); throw error }
    ///
    /// Only the first of this and ``signal()`` does anything. O(number of waiting tasks); never suspends, and blocks for no longer than
    /// a few instructions.
    public func abandon() {
        storage.complete(.abandoned)
    }
}
