/// Signals the ``Condition`` that it was made with.
///
///     let (condition, signal) = Condition.makeCondition()
///     signal.signal()
///
/// It may be shared between tasks; when the last reference goes away unused, those who wait are resumed with
/// ``Condition/Outcome/abandoned``. A variable that is still in scope is a reference: a producer that fails where others
/// still hold the signal says so with ``abandon()``.
public final class Signal: Sendable {
    private let storage: ConditionStorage<Condition.Outcome>

    init(storage: ConditionStorage<Condition.Outcome>) {
        self.storage = storage
    }

    deinit {
        storage.complete(.abandoned)
    }

    /// Resumes all who wait for the condition; whoever waits later returns at once.
    ///
    /// It may be called from anywhere, synchronously, and more than once: only the first call does anything. O(number
    /// of waiting tasks); never suspends, and blocks for no longer than a few instructions.
    public func signal() {
        storage.complete(.signalled)
    }

    /// Says that there will be no signal: resumes all who wait with ``Condition/Outcome/abandoned``.
    ///
    ///     do { try await openDatabase() } catch { signal.abandon(); throw error }
    ///
    /// The first of this and ``signal()`` counts. O(number of waiting tasks); never suspends, and blocks for no longer than
    /// a few instructions.
    public func abandon() {
        storage.complete(.abandoned)
    }
}
