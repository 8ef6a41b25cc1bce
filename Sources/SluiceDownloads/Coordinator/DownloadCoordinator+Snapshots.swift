import SluiceConcurrency
import SluiceLock

extension DownloadCoordinator {
    /// An asynchronous sequence of snapshots of the queue: its current state, and the new state after each change.
    ///
    ///     for try await snapshot in downloads.snapshots() { render(snapshot) }
    ///
    /// A snapshot is created when it is requested, so a slow reader skips states and never sees an outdated one. There are at most ten
    /// snapshots in a second. Changes by other processes appear within a second. To show the queue in a view, use `DownloadList`
    /// of SluiceDownloadList, which follows these snapshots and computes the rate and the time left.
    ///
    /// The sequence ends when the task is cancelled. It throws a ``QueueStoreError`` if the store fails.
    ///
    /// After a cancellation, the last snapshot may be older than the queue. To save or print the final state, call ``snapshot(listing:)``
    /// after the run; it also works in a cancelled task.
    ///
    /// - Parameter count: The maximum number of jobs of each kind that a snapshot lists. The counts include all jobs.
    public func snapshots(listing count: Int = 100) -> some AsyncSequence<QueueSnapshot, any Error> & Sendable {
        QueueSnapshots(coordinator: self, listing: count)
    }

    /// The current state of the queue.
    ///
    /// - Throws: ``QueueStoreError``.
    @concurrent public func snapshot(listing count: Int = 100) async throws -> QueueSnapshot {
        var snapshot = try await store.snapshot(listing: count)
        if let run = current.withLock({ $0 }) { run.addProgress(to: &snapshot) }
        return snapshot
    }
}

private struct QueueSnapshots: AsyncSequence, Sendable {
    typealias Failure = any Error

    fileprivate let coordinator: DownloadCoordinator
    fileprivate let listing: Int

    func makeAsyncIterator() -> Iterator {
        Iterator(coordinator: coordinator, listing: listing)
    }

    struct Iterator: AsyncIteratorProtocol {
        private let coordinator: DownloadCoordinator
        private let listing: Int
        /// The change after the last snapshot; `nil` before the first.
        private var change: Condition?

        fileprivate init(coordinator: DownloadCoordinator, listing: Int) {
            self.coordinator = coordinator
            self.listing = listing
        }

        mutating func next() async throws -> QueueSnapshot? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> QueueSnapshot? {
            if let change {
                try? await coordinator.timing.clock.sleep(for: coordinator.timing.frame)
                let limit = coordinator.store.isShared ? coordinator.timing.poll : nil
                await coordinator.timing.wait(for: change, atMost: limit)
            }
            change = coordinator.observers.changes.next
            guard !Task.isCancelled else { return nil }
            return try await coordinator.snapshot(listing: listing)
        }
    }
}
