import SluiceConcurrency
import SluiceLock

/// A running attempt, which other tasks can stop and wait for.
///
/// Attempts run in their workers' tasks, one after another, because a task for each would have to be scheduled and waited for. So stopping
/// an attempt cancels its worker's task, which ends with the attempt and is replaced:
///
/// ```text
/// worker task 1    attempt ──▶ attempt ──▶ attempt ─ cancel() ─▶ stopped
/// worker task 2                                                  └──────▶ attempt ──▶ …
/// ```
final class RunningAttempt: Sendable {
    private struct State {
        var isCancelled = false
        var hasEnded = false
        /// What tasks that wait for the end have asked for.
        var end: (condition: Condition, signal: Signal)?
    }

    private let worker: WorkerTask
    private let state = Lock(State())

    init(in worker: WorkerTask) { self.worker = worker }

    /// Cancels the attempt. Does nothing if it has ended.
    func cancel() {
        let isRunning = state.withLock { state in
            if !state.hasEnded { state.isCancelled = true }
            return !state.hasEnded
        }
        // If the attempt ends in the meantime, its worker's task ends, too, and a late cancellation does no harm.
        if isRunning { worker.cancel() }
    }

    /// Notes the end. Returns whether the attempt was cancelled, so that the worker's task must take no other.
    func end() -> Bool {
        let (isCancelled, signal) = state.withLock { state in
            state.hasEnded = true
            return (state.isCancelled, state.end?.signal)
        }
        signal?.signal()
        return isCancelled
    }

    /// Waits until the attempt has ended. Ignores cancellation.
    func untilEnded() async {
        let condition = state.withLock { state -> Condition? in
            guard !state.hasEnded else { return nil }
            let end = state.end ?? Condition.makeCondition()
            state.end = end
            return end.condition
        }
        if let condition { _ = await condition.wait() }
    }
}

extension RunningAttempt: Equatable {
    static func == (one: RunningAttempt, other: RunningAttempt) -> Bool { one === other }
}

/// The task of a worker, which can be cancelled even before its creator has it.
final class WorkerTask: Sendable {
    private struct State {
        var task: Task<Bool, Never>?
        var isCancelled = false
    }

    private let state = Lock(State())

    func begin(_ task: Task<Bool, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}
