import Foundation

/// A clock that stands still until the test moves it.
///
///     let clock = ManualClock()
///     let waiter = executor.spawnThrowing { try await condition.wait(until: clock.now.advanced(by: .seconds(3)), clock: clock) }
///     executor.runUntilIdle()             // sleeps now, for certain
///     clock.advance(by: .seconds(3))
///     executor.runUntilIdle()
///
/// Sleeping ends when the deadline is reached, or with `CancellationError` when the task is cancelled.
public final class ManualClock: Clock, @unchecked Sendable {
    /// A moment, counted from the clock's creation.
    public struct Instant: InstantProtocol {
        /// The duration since the clock was created.
        public var offset: Duration

        /// Creates the instant at this duration after the clock's creation.
        public init(offset: Duration = .zero) { self.offset = offset }

        /// Returns the instant that is later by this duration.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns the duration to the other instant.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Returns whether the first instant is earlier.
        public static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    // `lock` protects everything below.
    private let lock = NSLock()
    private var current = Instant()
    private var sleepers: [Int: Sleeper] = [:]
    private var cancelledEarly: Set<Int> = []
    private var numbers = 0
    private var observers: [(wanted: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Creates a clock at zero.
    public init() {}

    /// The current instant.
    public var now: Instant { lock.withLock { current } }

    /// The smallest step of time.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The number of sleeping tasks.
    public var sleeperCount: Int { lock.withLock { sleepers.count } }

    /// Waits until this many tasks are sleeping.
    public func sleepers(_ wanted: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = lock.withLock {
                if sleepers.count < wanted { observers.append((wanted, continuation)) }
                return sleepers.count >= wanted
            }
            if isReached { continuation.resume() }
        }
    }

    /// Sleeps until the clock reaches the deadline.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = lock.withLock {
            numbers += 1
            return numbers
        }
        defer { _ = lock.withLock { cancelledEarly.remove(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fallAsleep(number, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            wake(number)
        }
    }

    /// Moves the clock forward, and wakes the tasks whose deadlines have passed, earliest deadline first.
    public func advance(by duration: Duration) {
        let due = lock.withLock {
            current = current.advanced(by: duration)
            let due = sleepers.filter { $0.value.deadline <= current }
            for number in due.keys { sleepers[number] = nil }
            return due
        }
        for (_, sleeper) in due.sorted(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }) {
            sleeper.continuation.resume()
        }
    }

    private func fallAsleep(_ number: Int, _ sleeper: Sleeper) {
        let (outcome, ready) = lock.withLock { () -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
            if cancelledEarly.remove(number) != nil { return (.failure(CancellationError()), []) }
            if sleeper.deadline <= current { return (.success(()), []) }
            sleepers[number] = sleeper
            let ready = observers.filter { $0.wanted <= sleepers.count }.map(\.continuation)
            observers.removeAll { $0.wanted <= sleepers.count }
            return (nil, ready)
        }
        if let outcome { sleeper.continuation.resume(with: outcome) }
        for observer in ready { observer.resume() }
    }

    private func wake(_ number: Int) {
        let sleeper = lock.withLock {
            let sleeper = sleepers.removeValue(forKey: number)
            if sleeper == nil { cancelledEarly.insert(number) }
            return sleeper
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
