internal import CSluiceFiles

/// Starts threads outside Dispatch and the cooperative pool. Those pools are sized for work that never blocks.
package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that runs `body` and ends. Returns 0 or minus the error number of pthread_create(3). `body` is @Sendable, because a
    /// closure that inherited the main actor would trap on the new thread.
    package static func start(stackSize: Int, _ body: @escaping @Sendable () -> Void) -> CInt {
        let context = Unmanaged.passRetained(Body(body))
        let result = csluice_thread_start(
            { Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, context.toOpaque(), stackSize)
        if result != 0 { context.release() }
        return result
    }

    /// The error if the system has no thread for `purpose`. pthread_create(3) returns EAGAIN whatever the reason.
    package static func missing(for purpose: String, _ error: CInt) -> FileError {
        FileError(
            code: .exhausted, operation: "start a thread for", path: purpose, systemError: error,
            remedy:
                "Raise the limit of threads (ulimit -u) or of address space (ulimit -v), or start fewer threads."
        )
    }
}

/// A lock with a condition variable: unlike `Synchronization.Mutex`, it lets a thread sleep until the state changes. `body` must be short
/// and must not run user code. See pthread_cond_wait(3p).
package final class ConditionLock<State>: @unchecked Sendable {
    // `mutex` protects `state`. The primitives don't move, and are destroyed with the last reference.
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init(_ state: State) {
        self.state = state
        precondition(pthread_mutex_init(mutex, nil) == 0, "The system couldn't create a mutex.")
        precondition(pthread_cond_init(condition, nil) == 0, "The system couldn't create a condition variable.")
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

    /// Blocks this thread until `body` returns a value. Only for threads of a lane.
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
