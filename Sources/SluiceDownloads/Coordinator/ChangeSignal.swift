import SluiceConcurrency
import SluiceLock

/// Tells any number of waiting tasks that something has changed, but not what.
///
/// A task first takes ``next``, then looks at what may change, and then waits for the condition. A change after `next` ends the wait, so none
/// is missed.
final class ChangeSignal: Sendable {
    private struct State {
        var pair = Condition.makeCondition()
        /// Whether a task may wait for the condition.
        var isTaken = false
    }

    private let state = Lock(State())

    /// A condition that the next change signals.
    var next: Condition {
        state.withLock { state in
            state.isTaken = true
            return state.pair.condition
        }
    }

    /// Signals a change. This costs little while no task waits.
    func note() {
        let signal = state.withLock { state -> Signal? in
            guard state.isTaken else { return nil }
            defer { state = State() }
            return state.pair.signal
        }
        signal?.signal()
    }
}
