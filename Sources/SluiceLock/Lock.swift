#if SLUICE_PTHREAD_LOCK
#if canImport(Darwin)
public import Darwin
#elseif canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif
#else
public import Synchronization
#endif

/// A value and the lock that protects it.
///
///     let count = Lock(0)
///     count.withLock { $0 += 1 }
///
/// All modules use this lock, so that one switch can replace it. On Linux, ThreadSanitizer doesn't support the futex of
/// `Synchronization.Mutex`, and falsely reports races on everything that a `Mutex` protects. A sanitizer build therefore
/// defines `SLUICE_PTHREAD_LOCK`.
///
/// As with `Mutex`, the value's type needn't be `Sendable` or `Copyable`.
///
/// Locking again on the thread that holds the lock traps, with and without the switch.
///
/// A closure that runs under the lock must not resume a continuation, cancel a task or destroy a user's value: the runtime
/// calls cancellation handlers under an internal lock, and `resume` takes that lock too.
#if SLUICE_PTHREAD_LOCK
@usableFromInline
package struct Lock<State: ~Copyable>: ~Copyable, @unchecked Sendable {
    // `mutex` protects the memory of `state`. Both pointers never change.
    @usableFromInline package let state: UnsafeMutablePointer<State>
    @usableFromInline package let mutex: UnsafeMutablePointer<pthread_mutex_t>

    @inlinable
    package init(_ initial: consuming sending State) {
        state = .allocate(capacity: 1)
        state.initialize(to: initial)
        mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Calls `body` with exclusive access to the value.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let code = pthread_mutex_lock(mutex)
        precondition(code == 0, "A closure that runs under a lock must not call the object that holds the lock.")
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state.pointee)
    }
}
#else
@usableFromInline
package struct Lock<State: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline package let mutex: Mutex<State>

    @inlinable
    package init(_ initial: consuming sending State) {
        mutex = Mutex(initial)
    }

    /// Calls `body` with exclusive access to the value.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }
}
#endif
