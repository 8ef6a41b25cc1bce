internal import CSluiceFiles

/// A lock with a condition: what `Synchronization.Mutex` lacks, a way to sleep until a state changes.
///
/// `body` is short and runs no code of others. See pthread_cond_wait(3p).
package final class ConditionLock<State>: @unchecked Sendable {
    // Protected by `mutex`: `state`. The primitives do not move and are destroyed with the last reference.
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init(_ state: State) {
        self.state = state
        precondition(pthread_mutex_init(mutex, nil) == 0, "The system gave no mutex.")
        precondition(pthread_cond_init(condition, nil) == 0, "The system gave no condition variable.")
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func withLock<R>(_ body: (inout State) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Blocks this thread until `body` gives a value: for threads of a lane only.
    package func wait<R>(_ body: (inout State) -> R?) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }

    package func wakeOne() { pthread_cond_signal(condition) }
    package func wakeAll() { pthread_cond_broadcast(condition) }
}
