import SluiceLock

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A queue in memory. Every operation holds one lock while it computes, and never suspends.
///
/// A claim looks at the host/user pairs that are next, and at the earlier ones that have no room. Listing the waiting jobs sorts them.
package final class MemoryQueueStore: QueueStore {
    /// `nil` if the store is closed.
    private let state = Lock<MemoryQueueState?>(MemoryQueueState())
    /// Leases and delays use a monotonic clock. If they used the time of day, setting it would end them early or late.
    private let time: QueueTime
    /// The clock for times that users see; `nil` if it is the same clock.
    private let timeOfDay: QueueTime?

    package convenience init() { self.init(time: .steady(), timeOfDay: .system) }

    init(time: QueueTime, timeOfDay: QueueTime? = nil) {
        self.time = time
        self.timeOfDay = timeOfDay
    }

    package var isShared: Bool { false }

    package func attach() async throws -> QueueWorker {
        try access { _ in QueueWorker(name: String(UInt64.random(in: 0 ... .max), radix: 36)) }
    }

    package func detach(_ worker: QueueWorker) async throws {
        try access { $0.releaseJobs(of: worker, now: time.now()) }
    }

    package func releaseJobsOfDeadWorkers() async throws {
        // All workers are in this process.
        try access { $0.takeBackExpiredLeases(now: time.now()) }
    }

    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try access { state in requests.map { state.enqueue($0, options) } }
    }

    package func takeTurn(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobTurn {
        try access { state in
            let now = state.now
            var turn = JobTurn()
            for settlement in settlements where !state.settle(settlement, now: now) {
                turn.refused.append(settlement.lease)
            }
            guard let claim else { return turn }
            state.takeBackExpiredLeases(now: now)
            state.admitDelayed(now: now)
            turn.claimed = try state.claim(claim, now: now)
            turn.nextDue = state.nextDue(now: now).map { .milliseconds(max(0, $0 - now)) }
            turn.isEmpty = turn.claimed.count < max(1, claim.count) && !state.hasOpenJobs(in: claim.batch)
            return turn
        }
    }

    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try access { $0.renew(worker, until: time.now() + lease.milliseconds) }
    }

    package func setRates(_ rates: DownloadCoordinator.MaximumRates) async throws {
        try access { $0.rates = rates }
    }

    package func rates(besides worker: QueueWorker?) async throws -> SharedRates {
        try access { SharedRates($0.rates, otherWorkers: $0.workers.subtracting(worker.map { [$0] } ?? []).count) }
    }

    package func cancel(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try access { $0.cancel(selection, now: time.now()) }
    }

    package func pause(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try access { $0.pause(selection) }
    }

    package func resume(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        try access { $0.resume(selection) }
    }

    package func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        try access { $0.retry(selection) }
    }

    package func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int {
        try access { $0.prioritize(selection, priority: priority) }
    }

    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        try access { $0.remove(selection) }
    }

    package func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] {
        try access { state in ids.compactMap { state.jobs[$0]?.seen } }
    }

    package func jobs(
        in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int
    ) async throws -> [QueuedDownload] {
        try access { $0.seen(in: selection, after: id, atMost: count) }
    }

    package func snapshot(listing count: Int) async throws -> QueueSnapshot {
        try access { $0.snapshot(listing: count, now: time.now()) }
    }

    package func list(
        _ filter: DownloadFilter, after position: ListPosition?, atMost count: Int
    ) async throws -> [ListedDownload] {
        try access { $0.list(filter, after: position, atMost: count) }
    }

    package func count(_ filter: DownloadFilter) async throws -> Int {
        try access { $0.list(filter, after: nil, atMost: .max).count }
    }

    package func report(
        _ presence: WorkerPresence, of worker: QueueWorker, _ progress: [ReportedProgress]
    ) async throws {
        try access { $0.report(presence, of: worker, progress) }
    }

    package func workers() async throws -> [SeenWorker] { try access { $0.seenWorkers } }

    package func runningCounts() async throws -> RunningCounts { try access { $0.shownRunning } }

    package func minutes(since time: Date) async throws -> [QueueMinute] {
        try access { $0.minutes(since: time) }
    }

    package func events(of job: JobID, atMost count: Int) async throws -> [QueueEvent] {
        try access { $0.events(of: job, atMost: count) }
    }

    package func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent] {
        guard let events = try access({ $0.events(after: number, atMost: count) }) else {
            throw QueueStoreError.eventsRemoved(after: number ?? 0, "queue in memory")
        }
        return events
    }

    package func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool {
        try access { $0.prune(endedBefore: time.now() - age.milliseconds, keeping: count) }
        return false
    }

    package func close() async throws {
        // The state is destroyed after unlocking.
        let held = state.withLock { $0.take() }
        _ = held
    }

    private func access<R: Sendable>(_ body: (inout MemoryQueueState) throws -> R) throws -> R {
        let result = try state.withLock { state -> R? in
            guard state != nil else { return nil }
            let now = time.now()
            state!.now = now
            if let timeOfDay { state!.ahead = timeOfDay.now() - now }
            return try body(&state!)
        }
        guard let result else {
            throw QueueStoreError.closed("queue in memory")
        }
        return result
    }
}
