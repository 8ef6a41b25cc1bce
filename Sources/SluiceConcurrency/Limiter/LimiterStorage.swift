public import Synchronization

/// The shipped limiter without its public face: an atomic word, a lock, and tasks that really suspend.
@usableFromInline
struct LimiterStorage: ~Copyable, Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<Bool, Never>

    @usableFromInline let limit: UInt64
    @usableFromInline let word = Atomic<UInt64>(0)
    private let machine: Lock<LimiterStateMachine<Waiter>>

    init(concurrency: Int) {
        limit = UInt64(min(concurrency, LimiterWord.maximum))
        machine = Lock(LimiterStateMachine(limit: limit))
    }

    /// Both counts as they were at one moment.
    var counts: LimiterWord { load() }
}

// MARK: Entering and leaving

extension LimiterStorage {
    /// Waits for a place; returns whether the caller has one. Without one it was cancelled.
    @usableFromInline
    func enterSlowly() async -> Bool {
        guard case .wait(let ticket) = enter() else { return true }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                if let entered = suspend(ticket, waiter) { waiter.resume(returning: entered) }
            }
        } onCancel: {
            cancel(ticket)?.resume(returning: false)
        }
    }

    /// Waits for a place, also in a cancelled task.
    @usableFromInline
    func enterSlowlyUninterrupted() async {
        _ = await withUnsafeContinuation { waiter in
            if enter(uninterrupted: waiter) { waiter.resume(returning: true) }
        }
    }

    /// Gives a place back.
    @usableFromInline
    func leaveSlowly() {
        switch leave() {
        case .none: break
        case .grant(let waiter): waiter.resume(returning: true)
        case .announceIdle(let watchers): for watcher in watchers { watcher.resume(returning: true) }
        }
    }

    func cancelAllWaiting() {
        for waiter in cancelWaiting() { waiter.resume(returning: false) }
    }

    func waitUntilIdle() async {
        _ = await withUnsafeContinuation { watcher in
            if watch(watcher) { watcher.resume(returning: true) }
        }
    }
}

// MARK: The word and the lock

extension LimiterStorage: LimiterWordCell {
    @inlinable
    func load() -> LimiterWord {
        LimiterWord(bits: word.load(ordering: .relaxed))
    }

    // What one task did in its turn happens before the turn of the task that takes over its place.
    @inlinable
    func replace(_ expected: LimiterWord, with new: LimiterWord) -> LimiterWord? {
        let (exchanged, found) = word.compareExchange(
            expected: expected.bits, desired: new.bits, successOrdering: .acquiringAndReleasing,
            failureOrdering: .relaxed)
        return exchanged ? nil : LimiterWord(bits: found)
    }
}

extension LimiterStorage: LimiterSite {
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try machine.withLock(body)
    }
}
