import SluiceLock

extension DownloadCoordinator {
    /// The queue as it is now, and again after each change.
    ///
    ///     for try await snapshot in downloads.snapshots() { render(snapshot) }
    ///
    /// A snapshot is made when it is asked for, so that a slow reader skips some and never sees an old one. No more than
    /// ten come in a second. What other processes do is seen within a second.
    ///
    /// `Latest` of SluiceObservation mirrors them for a view: `await queue.follow(downloads.snapshots())`.
    ///
    /// Ends when the task is cancelled.
    ///
    /// - Parameter count: How many jobs of each kind a snapshot lists at most; all are counted.
    public func snapshots(listing count: Int = 100) -> some AsyncSequence<QueueSnapshot, any Error> & Sendable {
        QueueSnapshots(coordinator: self, listing: count)
    }

    /// The queue as it is now.
    @concurrent public func snapshot(listing count: Int = 100) async throws -> QueueSnapshot {
        var snapshot = try await store.snapshot(listing: count)
        if let run = current.withLock({ $0 }) { run.addProgress(to: &snapshot) }
        return snapshot
    }
}

/// The states of a queue, one after the other; see ``DownloadCoordinator/snapshots(listing:)``.
private struct QueueSnapshots: AsyncSequence, Sendable {
    /// Where the store fails: a ``QueueStoreError``.
    typealias Failure = any Error

    fileprivate let coordinator: DownloadCoordinator
    fileprivate let listing: Int

    /// Makes an iterator; any number may be in use at once.
    func makeAsyncIterator() -> Iterator {
        Iterator(coordinator: coordinator, listing: listing)
    }

    /// Makes snapshots for one reader.
    struct Iterator: AsyncIteratorProtocol {
        private let coordinator: DownloadCoordinator
        private let listing: Int
        private let subscription: Subscription
        private var isFirst = true

        fileprivate init(coordinator: DownloadCoordinator, listing: Int) {
            self.coordinator = coordinator
            self.listing = listing
            subscription = Subscription(coordinator.observers)
        }

        /// The next snapshot; nil when the task is cancelled.
        mutating func next() async throws -> QueueSnapshot? {
            try await next(isolation: nil)
        }

        /// The next snapshot; nil when the task is cancelled.
        mutating func next(isolation actor: isolated (any Actor)?) async throws -> QueueSnapshot? {
            if !isFirst {
                try? await coordinator.timing.sleep(coordinator.timing.frame)
                let limit = coordinator.store.isShared ? coordinator.timing.poll : nil
                await subscription.pulse.wait(atMost: limit, sleep: coordinator.timing.sleep)
            }
            isFirst = false
            guard !Task.isCancelled else { return nil }
            return try await coordinator.snapshot(listing: listing)
        }
    }

    private final class Subscription: Sendable {
        let pulse: Pulse
        private let observers: QueueObservers

        init(_ observers: QueueObservers) {
            self.observers = observers
            pulse = observers.pulse()
        }

        deinit { observers.remove(pulse) }
    }
}
