/// Signals the ``Condition`` that it was created with.
///
/// Several tasks can share a signal, and can use it from any thread. When its last reference goes away unused, waiting tasks are resumed
/// with ``Condition/Outcome/abandoned``. A variable in scope is a reference: if a producer fails while other code still has the signal,
/// call ``abandon()``.
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
    /// After a call of this method or ``abandon()``, further calls do nothing. O(n) in the number of waiting tasks.
    public func signal() {
        storage.complete(.signalled)
    }

    /// Resumes all waiting tasks with ``Condition/Outcome/abandoned``, because no signal will come.
    ///
    ///     do { try await openDatabase() } catch { signal.abandon(); throw error }
    ///
    /// After a call of this method or ``signal()``, further calls do nothing. O(n) in the number of waiting tasks.
    public func abandon() {
        storage.complete(.abandoned)
    }
}
