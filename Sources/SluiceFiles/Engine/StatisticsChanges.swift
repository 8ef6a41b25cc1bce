internal import SluiceLock
internal import Synchronization

/// Wakes tasks that wait until an engine's counters meet a condition. A lane changes its counters under its own lock, unlocks, and then
/// calls ``changed()``:
///
/// ```text
/// a lane                                  a waiting task
/// changes a counter, unlocks              registers
/// changed(): is a task registered?        checks the counters, which takes the lane's lock
/// ```
///
/// The side that takes the lane's lock last sees what the other did before, so no change is missed. While no task waits, ``changed()``
/// is one load.
final class StatisticsChanges: Sendable {
    private struct Waiter: Sendable {
        let isMet: @Sendable () -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [UInt64: Waiter] = [:]
        var lastID: UInt64 = 0
        /// Waiters that were cancelled before they registered.
        var cancelled: Set<UInt64> = []
    }

    private let state = Lock(State())
    private let count = Atomic(0)

    /// Checks the conditions of the waiting tasks. The caller holds no lock of a lane.
    func changed() {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
        let waiters = state.withLock { $0.waiters }
        // Without the lock: the conditions take the locks of the lanes.
        for (id, waiter) in waiters where waiter.isMet() { end(id, isMet: true) }
    }

    /// Waits until `isMet` returns true. `isMet` is called on any thread and may only read the lanes' counters.
    func wait(until isMet: @escaping @Sendable () -> Bool) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let wasMet = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    state.waiters[id] = Waiter(isMet: isMet, continuation: continuation)
                    count.add(1, ordering: .sequentiallyConsistent)
                    return false
                }
                if isCancelled { return continuation.resume(returning: false) }
                if isMet() { end(id, isMet: true) }
            }
        } onCancel: {
            end(id, isMet: false)
        }
        state.withLock { _ = $0.cancelled.remove(id) }
        if !wasMet { throw CancellationError() }
    }

    private func end(_ id: UInt64, isMet: Bool) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            if waiter != nil { count.subtract(1, ordering: .sequentiallyConsistent) }
            if waiter == nil, !isMet { state.cancelled.insert(id) }
            return waiter
        }
        waiter?.continuation.resume(returning: isMet)
    }
}
