import SluiceConcurrency
import SluiceLock

/// Changes of something, for which any number of tasks wait.
///
///     var change = changes.next           // first this,
///     while !isDone() {                   // then look,
///         await timing.wait(for: change)  // then wait: a change after `next` ends the wait, so none is missed
///         change = changes.next
///     }
final class Changes: Sendable {
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
