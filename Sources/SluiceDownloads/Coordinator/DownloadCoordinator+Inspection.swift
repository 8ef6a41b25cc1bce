import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// MARK: - For pages that show a queue

extension DownloadCoordinator {
    /// What a queue is doing, without its long lists.
    package struct Inspection: Sendable {
        /// The counts, the hosts in backoff and the last event. The lists are empty.
        package var snapshot: QueueSnapshot
        package var workers: [SeenWorker]
        package var outlook: QueueOutlook
    }

    /// Reads what a queue is doing.
    ///
    /// - Throws: ``QueueStoreError``.
    package func inspect() async throws -> Inspection {
        let snapshot = try await store.snapshot(listing: 0)
        let workers = try await store.workers()
        let now = Date()
        let alive = workers.filter { responds($0, now: now) }
        let outlook = QueueOutlook(
            now: now, running: try await store.runningCounts(), hosts: snapshot.hosts, workers: alive)
        return Inspection(snapshot: snapshot, workers: workers, outlook: outlook)
    }

    /// Whether a worker hasn't failed, and has reported lately. The worker of a queue that isn't shared is in this process.
    package func responds(_ worker: SeenWorker, now: Date) -> Bool {
        worker.presence.failure == nil
            && (!store.isShared || now.timeIntervalSince(worker.seen) < WorkerPresence.patience)
    }

    /// The first downloads that a filter lets through. The progress of those that run here is current.
    ///
    /// - Throws: ``QueueStoreError``.
    package func list(
        _ filter: DownloadFilter, after position: ListPosition?, atMost count: Int
    ) async throws -> [ListedDownload] {
        var list = try await store.list(filter, after: position, atMost: count)
        if let run = core.current { run.addProgress(to: &list) }
        return list
    }

    /// One download, or `nil` if the queue doesn't have it.
    ///
    /// - Throws: ``QueueStoreError``.
    package func listed(_ id: QueuedDownload.ID) async throws -> ListedDownload? {
        // A list of all states has the latest number first.
        let before = ListPosition(key: 0, id: id.rawValue.addingClamped(1))
        return try await list(DownloadFilter(), after: before, atMost: 1).first { $0.download.id == id }
    }

    /// The first events after a cursor, at most 256. If there are none, waits for them up to a timeout, and returns an empty array after it.
    ///
    /// - Parameter cursor: The last event that the caller has; `nil` to get only events that happen from now on.
    /// - Throws: ``QueueStoreError``; `CancellationError`.
    package func nextEvents(after cursor: QueueEvent.Cursor?, timeout: Duration) async throws -> [QueueEvent] {
        let last: Int64
        if let cursor { last = cursor.rawValue } else { last = try await store.snapshot(listing: 0).cursor.rawValue }
        let end = timing.now() + timeout.milliseconds
        while true {
            try Task.checkCancellation()
            let change = observers.changes.next
            let events = try await store.events(after: last, atMost: 256)
            if !events.isEmpty || timing.now() >= end { return events }
            await timing.wait(for: change, until: end)
        }
    }
}

extension CoordinatorEngine {
    fileprivate func addProgress(to list: inout [ListedDownload]) {
        state.withLock { state in
            for index in list.indices {
                guard let progress = state.progress(of: list[index].download.id) else { continue }
                list[index].receivedBytes = progress.received
                list[index].totalBytes = progress.expected
            }
        }
    }
}
