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
/// This is the only lock of the module, so that one switch can replace it: ThreadSanitizer does not know the futex below
/// `Synchronization.Mutex` on Linux and reports races that are none. A sanitizer build therefore defines
/// `SLUICE_PTHREAD_LOCK`.
///
/// Locking it again on the thread that holds it traps, in either form.
///
/// Nothing that is called under it may resume a continuation, cancel a task or destroy a user's value: the runtime calls
/// cancellation handlers under a lock of its own, which `resume` takes too.
#if SLUICE_PTHREAD_LOCK
@usableFromInline
struct Lock<State: Sendable>: ~Copyable, @unchecked Sendable {
    // `state` is only touched between locking and unlocking `mutex`; both pointers never change.
    @usableFromInline let state: UnsafeMutablePointer<State>
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    @inlinable
    init(_ initial: State) {
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

    @inlinable
    borrowing func withLock<Value: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let code = pthread_mutex_lock(mutex)
        precondition(code == 0, "A closure that runs under a lock called back into the object that holds the lock.")
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state.pointee)
    }
}
#else
@usableFromInline
struct Lock<State: Sendable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<State>

    @inlinable
    init(_ initial: State) {
        mutex = Mutex(initial)
    }

    @inlinable
    borrowing func withLock<Value: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try mutex.withLock { (state) throws(Failure) in try body(&state) }
    }
}
#endif
