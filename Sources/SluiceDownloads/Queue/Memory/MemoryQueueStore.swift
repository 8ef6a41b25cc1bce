import SluiceLock

/// A queue in memory: it ends with the process.
///
///     let downloads = DownloadCoordinator(store: .memory, transport: transport)
///
/// Every operation takes one lock for as long as it computes, and never suspends. A claim looks at each pair of host and
/// user that has jobs waiting; listing what waits sorts it.
package final class MemoryQueueStore: QueueStore {
    /// Nil once it is closed.
    private let state = Lock<MemoryQueueState?>(MemoryQueueState())
    private let time: QueueTime

    /// An empty queue.
    package convenience init() { self.init(time: .system) }

    init(time: QueueTime) { self.time = time }

    /// See ``QueueStore/isShared``.
    package var isShared: Bool { false }

    /// See ``QueueStore/attach()``.
    package func attach() async throws -> QueueWorker {
        try access { _ in QueueWorker(name: String(UInt64.random(in: 0 ... .max), radix: 36)) }
    }

    /// See ``QueueStore/detach(_:)``.
    package func detach(_ worker: QueueWorker) async throws {
        try access { $0.releaseJobs(of: worker, now: time.now()) }
    }

    /// See ``QueueStore/enqueue(_:options:)``.
    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try access { state in requests.map { state.enqueue($0, options) } }
    }

    /// See ``QueueStore/exchange(_:claiming:)``.
    package func exchange(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobExchange {
        try access { state in
            let now = time.now()
            var exchange = JobExchange()
            for settlement in settlements where !state.settle(settlement, now: now) {
                exchange.refused.append(settlement.lease)
            }
            guard let claim else { return exchange }
            state.takeBackExpiredLeases(now: now)
            state.admitDelayed(now: now)
            exchange.claimed = state.claim(claim, now: now)
            exchange.nextDue = state.nextDue.map { .milliseconds(max(0, $0 - now)) }
            exchange.isEmpty = exchange.claimed.count < claim.count && !state.hasOpenJobs(in: claim.batch)
            return exchange
        }
    }

    /// See ``QueueStore/renew(_:lease:)``.
    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try access { $0.renew(worker, until: time.now() + lease.milliseconds) }
    }

    /// See ``QueueStore/cancel(_:)``.
    package func cancel(_ selection: QueuedDownload.Selection) async throws -> JobCancellation {
        try access { $0.cancel(selection, now: time.now()) }
    }

    /// See ``QueueStore/jobs(_:)``.
    package func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] {
        try access { state in ids.compactMap { state.jobs[$0]?.download } }
    }

    /// See ``QueueStore/snapshot(listing:)``.
    package func snapshot(listing count: Int) async throws -> QueueSnapshot {
        try access { $0.snapshot(listing: count) }
    }

    /// See ``QueueStore/forget(batch:)``.
    package func forget(batch: String) async throws {
        try access { $0.forget(batch: batch) }
    }

    /// See ``QueueStore/prune(olderThan:keeping:)``.
    package func prune(olderThan age: Duration, keeping count: Int) async throws {
        try access { $0.prune(endedBefore: time.now() - age.milliseconds, keeping: count) }
    }

    /// See ``QueueStore/close()``.
    package func close() async throws {
        // What it held is destroyed after the lock is given back.
        let held = state.withLock { $0.take() }
        _ = held
    }

    private func access<R>(_ body: (inout MemoryQueueState) -> R) throws -> R {
        let result = state.withLock { state -> R? in
            guard state != nil else { return nil }
            return body(&state!)
        }
        guard let result else {
            throw QueueStoreError.closed("queue in memory")
        }
        return result
    }
}
