import SluiceDownloads
import Synchronization

/// Fails when it is told to.
final class FailingStore: QueueStore {
    let fails = Atomic(false)
    private let store: MemoryQueueStore

    init(_ store: MemoryQueueStore) { self.store = store }

    private func check() throws {
        if fails.load(ordering: .relaxed) { throw QueueStoreError(.full, description: "the disk is full") }
    }

    var isShared: Bool { false }
    func attach() async throws -> QueueWorker { try await store.attach() }
    func detach(_ worker: QueueWorker) async throws { try await store.detach(worker) }
    func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try await store.enqueue(requests, options: options)
    }
    func exchange(_ settlements: [JobSettlement], claiming claim: JobClaim?) async throws -> JobExchange {
        try check()
        return try await store.exchange(settlements, claiming: claim)
    }
    func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try await store.renew(worker, lease: lease)
    }
    func cancel(_ selection: JobSelection) async throws -> JobCancellation { try await store.cancel(selection) }
    func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] { try await store.jobs(ids) }
    func snapshot(listing count: Int) async throws -> QueueSnapshot { try await store.snapshot(listing: count) }
    func remove(_ ids: [JobID]) async throws { try await store.remove(ids) }
    func forget(batch: String) async throws { try await store.forget(batch: batch) }
    func prune(olderThan age: Duration, keeping count: Int) async throws {
        try await store.prune(olderThan: age, keeping: count)
    }
    func close() async throws { try await store.close() }
}
