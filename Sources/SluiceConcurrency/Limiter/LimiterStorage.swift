import SluiceLock
public import Synchronization

@usableFromInline
struct LimiterStorage: ~Copyable, Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<LimiterOutcome, Never>

    @usableFromInline let word: Atomic<UInt64>
    @usableFromInline let limit: Atomic<UInt64>
    @usableFromInline let peak = Atomic<UInt64>(0)
    private let machine: Lock<LimiterStateMachine<Waiter>>

    init(concurrency: Int, tracksHolders: Bool) {
        word = Atomic(tracksHolders ? LimiterWord.tracked : 0)
        limit = Atomic(UInt64(concurrency))
        machine = Lock(LimiterStateMachine(limit: UInt64(concurrency)))
    }
}

// MARK: The words

extension LimiterStorage: LimiterWordCell {
    // Acquiring, so that the limit that is loaded next isn't older than the word.
    @inlinable
    func load() -> LimiterWord {
        LimiterWord(bits: word.load(ordering: .acquiring))
    }

    @inlinable
    func loadLimit() -> UInt64 {
        limit.load(ordering: .relaxed)
    }

    @usableFromInline
    func storeLimit(_ limit: UInt64) {
        self.limit.store(limit, ordering: .relaxed)
    }

    // Acquiring and releasing: the work of the task that leaves happens before the work of the task that takes over its place.
    @inlinable
    func replace(_ expected: LimiterWord, with new: LimiterWord) -> LimiterWord? {
        let (exchanged, found) = word.compareExchange(
            expected: expected.bits, desired: new.bits, successOrdering: .acquiringAndReleasing,
            failureOrdering: .acquiring)
        return exchanged ? nil : LimiterWord(bits: found)
    }

    @inlinable
    func note(running: UInt64) {
        if peak.load(ordering: .relaxed) < running { raisePeak(to: running) }
    }

    var mostRunning: UInt64 { peak.load(ordering: .relaxed) }

    @usableFromInline
    func raisePeak(to running: UInt64) {
        peak.max(running, ordering: .relaxed)
    }
}

// MARK: The lock

extension LimiterStorage: LimiterSite {
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try machine.withLock { (machine) throws(Failure) in try body(&machine) }
    }
}

extension LimiterWakeups<LimiterStorage.Waiter> {
    /// Resumes all tasks, in order. Must not be called under a lock.
    func resume() {
        guard let first else { return }
        first.waiter.resume(returning: first.outcome)
        for other in others { other.waiter.resume(returning: other.outcome) }
    }
}
