import Foundation
import SluiceConcurrency
import TestSupport

@testable import SluiceDownloads

/// A queue in memory. A test can perform, fail or extend its turns, fail its renewals, and send announcements.
final class InterceptedStore: QueueStore {
    typealias Turn =
        @Sendable (_ store: MemoryQueueStore, _ settlements: [JobSettlement], _ claim: JobClaim?) async throws ->
        JobTurn

    let isShared: Bool
    let spansMachines: Bool
    /// The options of each call of `enqueue`.
    let enqueued = Recorder<EnqueueOptions>()
    /// What the workers have reported.
    let reports = AsyncQueue<WorkerPresence>()
    /// What the store announces.
    let announcements = AsyncQueue<QueueAnnouncement>()
    /// The queue itself, for tests that act as another process. By default its time stands still, so that no lease expires in a slow
    /// test.
    let store: MemoryQueueStore
    private let onTurn: Turn
    private let onRenewal: @Sendable () throws -> Void
    private let onPruning: (@Sendable () async throws -> Bool)?
    private let onLookUp: @Sendable () async -> Void

    init(
        isShared: Bool = false,
        spansMachines: Bool = false,
        store: MemoryQueueStore = MemoryQueueStore(time: VirtualTime().queueTime),
        onTurn: @escaping Turn = { try await $0.takeTurn($1, claiming: $2) },
        onRenewal: @escaping @Sendable () throws -> Void = {},
        onPruning: (@Sendable () async throws -> Bool)? = nil,
        onLookUp: @escaping @Sendable () async -> Void = {}
    ) {
        self.isShared = isShared
        self.spansMachines = spansMachines
        self.store = store
        self.onTurn = onTurn
        self.onRenewal = onRenewal
        self.onPruning = onPruning
        self.onLookUp = onLookUp
    }

    func listen(_ onAnnouncement: @Sendable (QueueAnnouncement) -> Void) async throws {
        for await announcement in announcements.elements { onAnnouncement(announcement) }
    }

    func takeTurn(_ settlements: [JobSettlement], claiming claim: JobClaim?) async throws -> JobTurn {
        try await onTurn(store, settlements, claim)
    }

    func attach() async throws -> QueueWorker { try await store.attach() }
    func detach(_ worker: QueueWorker) async throws { try await store.detach(worker) }
    func releaseJobsOfDeadWorkers() async throws { try await store.releaseJobsOfDeadWorkers() }
    func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        enqueued.note(options)
        return try await store.enqueue(requests, options: options)
    }
    func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try onRenewal()
        return try await store.renew(worker, lease: lease)
    }
    func setRates(_ rates: DownloadCoordinator.MaximumRates) async throws { try await store.setRates(rates) }
    func rates(besides worker: QueueWorker?) async throws -> SharedRates { try await store.rates(besides: worker) }
    func cancel(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try await store.cancel(selection)
    }
    func pause(_ selection: QueuedDownload.Selection) async throws -> JobChange { try await store.pause(selection) }
    func resume(_ selection: QueuedDownload.Selection) async throws -> [JobID] { try await store.resume(selection) }
    func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID] { try await store.retry(selection) }
    func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int {
        try await store.prioritize(selection, priority: priority)
    }
    func remove(_ selection: QueuedDownload.Selection) async throws -> Int { try await store.remove(selection) }
    func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] {
        let jobs = try await store.jobs(ids)
        await onLookUp()
        return jobs
    }
    func jobs(
        in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int
    ) async throws -> [QueuedDownload] {
        try await store.jobs(in: selection, after: id, atMost: count)
    }
    func snapshot(listing count: Int) async throws -> QueueSnapshot { try await store.snapshot(listing: count) }
    func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent] {
        try await store.events(after: number, atMost: count)
    }
    func events(of job: JobID, atMost count: Int) async throws -> [QueueEvent] {
        try await store.events(of: job, atMost: count)
    }
    func list(
        _ filter: DownloadFilter, after position: ListPosition?, atMost count: Int
    ) async throws -> [ListedDownload] {
        try await store.list(filter, after: position, atMost: count)
    }
    func count(_ filter: DownloadFilter) async throws -> Int { try await store.count(filter) }
    func report(
        _ presence: WorkerPresence, of worker: QueueWorker, _ progress: [ReportedProgress]
    ) async throws {
        try await store.report(presence, of: worker, progress)
        reports.enqueue(presence)
    }
    func workers() async throws -> [SeenWorker] { try await store.workers() }
    func runningCounts() async throws -> RunningCounts { try await store.runningCounts() }
    func minutes(since time: Date) async throws -> [QueueMinute] { try await store.minutes(since: time) }
    func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool {
        if let onPruning { return try await onPruning() }
        return try await store.pruneSome(olderThan: age, keeping: count)
    }
    func close() async throws { try await store.close() }
}
