/// Signals the ``Condition`` that it was made with.
///
///     let (condition, signal) = Condition.makeCondition()
///     signal.signal()
///
/// It may be shared and copied; when the last reference goes away unused, those who wait are let go with
/// ``Condition/Outcome/abandoned``.
public final class Signal: Sendable {
    private let storage: ConditionStorage<Condition.Outcome>

    init(storage: ConditionStorage<Condition.Outcome>) {
        self.storage = storage
    }

    deinit {
        storage.complete(.abandoned)
    }

    /// Lets go all who wait for the condition, and all who will.
    ///
    /// It may be called from anywhere, synchronously, and more than once: only the first call does anything. O(number
    /// of waiting tasks); never suspends, and blocks for no longer than a few instructions.
    public func signal() {
        storage.complete(.signalled)
    }
}
