import Foundation
import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import Testing

@testable import SluiceDownloads

/// The stores that the conformance suite tests.
enum StoreKind: CaseIterable, Sendable {
    case memory
    case sqlite
}

/// A store with a manual clock, and one worker.
struct StoreFixture: Sendable {
    let store: any QueueStore
    let time: VirtualTime
    let worker: QueueWorker

    /// Creates an empty store for a test.
    static func with(_ kind: StoreKind, _ test: (StoreFixture) async throws -> Void) async throws {
        let time = VirtualTime()
        switch kind {
        case .memory:
            let store = MemoryQueueStore(time: time.queueTime)
            try await test(StoreFixture(store: store, time: time, worker: store.attach()))
        case .sqlite:
            try await withQueueFile { url in
                // The tests cut no power, so thousands of syncs are skipped.
                let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
                try await test(StoreFixture(store: store, time: time, worker: store.attach()))
                try await store.close()
            }
        }
    }

    // MARK: Common operations

    /// Enqueues one request.
    @discardableResult
    func enqueue(_ request: DownloadRequest, batch: String? = nil, keepsFinished: Bool = false) async throws
        -> EnqueuedJob
    {
        try await store.enqueue([request], options: EnqueueOptions(batch: batch, keepsFinished: keepsFinished))[0]
    }

    /// Enqueues a request of this name and returns its job.
    @discardableResult
    func add(
        _ name: String, host: String = "host.example", user: String? = nil, priority: Int = 0, batch: String? = nil
    ) async throws -> JobID {
        try await enqueue(.named(name, host: host, user: user, priority: priority), batch: batch).id
    }

    /// Claims jobs, without limits by default.
    func claim(
        _ count: Int = 1, limits: DownloadCoordinator.Limits = .none, lease: Duration = .seconds(60),
        batch: String? = nil,
        by other: QueueWorker? = nil
    ) async throws -> [ClaimedJob] {
        try await exchange(claiming: count, limits: limits, lease: lease, batch: batch, by: other).claimed
    }

    /// Returns the names of the claimed jobs.
    func claimNames(_ count: Int = 1, limits: DownloadCoordinator.Limits = .none, batch: String? = nil) async throws
        -> [String]
    {
        try await claim(count, limits: limits, batch: batch).map(\.request.name)
    }

    func exchange(
        _ settlements: [JobSettlement] = [], claiming count: Int = 0, limits: DownloadCoordinator.Limits = .none,
        lease: Duration = .seconds(60), batch: String? = nil, by other: QueueWorker? = nil
    ) async throws -> JobExchange {
        let claim = JobClaim(worker: other ?? worker, count: count, limits: limits, lease: lease, batch: batch)
        return try await store.exchange(settlements, claiming: claim)
    }

    /// Settles a job, and returns whether the store accepted it.
    @discardableResult
    func settle(_ job: ClaimedJob, _ outcome: JobSettlement.Outcome) async throws -> Bool {
        try await settle(job.lease, outcome)
    }

    @discardableResult
    func settle(_ lease: JobLease, _ outcome: JobSettlement.Outcome) async throws -> Bool {
        let exchange = try await store.exchange([JobSettlement(lease: lease, outcome: outcome)], claiming: nil)
        #expect(exchange.refused.isEmpty || exchange.refused == [lease])
        #expect(exchange.claimed.isEmpty)
        return exchange.refused.isEmpty
    }

    func job(_ id: JobID) async throws -> QueuedDownload? { try await store.jobs([id]).first }

    func state(_ id: JobID) async throws -> QueuedDownload.State? { try await job(id)?.state }

    /// Returns the number of jobs in each state that occurs.
    func counts() async throws -> [QueuedDownload.State: Int] { try await store.snapshot(listing: 0).counts }
}

extension DownloadCoordinator.Limits {
    /// More than the jobs of any test.
    static let none = DownloadCoordinator.Limits(total: 1_000_000, perHost: nil)
}

extension DownloadRequest {
    /// A request for `https://HOST/NAME` to a directory of the tests.
    static func named(
        _ name: String, host: String = "host.example", user: String? = nil, priority: Int = 0
    ) -> DownloadRequest {
        var url = URLComponents()
        (url.scheme, url.path) = ("https", "/" + name)
        let parts = host.split(separator: ":", maxSplits: 1)
        url.host = String(parts[0])
        if parts.count > 1 { url.port = Int(parts[1]) }
        return DownloadRequest(
            url.url!, to: URL(string: "file:///music/")!, name: name, user: user, priority: priority)
    }
}

extension JobSettlement.Outcome {
    /// One of each kind.
    static let samples: [Self] = [
        .done(bytes: 7), .failed(message: "gone"), .retry(after: .seconds(5), message: "slow"), .released, .cancelled,
        .moved(host: "y.example"),
    ]
}

/// The file of a queue in an empty directory.
func withQueueFile(_ test: (URL) async throws -> Void) async throws {
    try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
        try await test(directory.appending(path: "queue.db", directoryHint: .notDirectory))
    }
}

extension SQLiteQueueStore {
    /// Runs SQL as another program might.
    func execute(_ sql: String) async throws {
        try await write { database, _ in try database.execute(sql: sql) }
    }
}
