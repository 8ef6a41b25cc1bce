import Foundation
import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

#if PostgreSQL
import SluicePostgres
#endif

/// The stores that the conformance suite tests.
enum StoreKind: CaseIterable, Sendable {
    case memory
    case sqlite
    case postgres

    /// Without the package trait or a server, the PostgreSQL store isn't tested. CI always tests it, and fails without a server.
    static let allCases: [StoreKind] = {
        #if PostgreSQL
        if PostgresServers.areThere { return [.memory, .sqlite, .postgres] }
        #endif
        return [.memory, .sqlite]
    }()
}

@Suite struct `The store on PostgreSQL` {
    #if PostgreSQL
    @Test(.enabled(if: PostgresServers.areThere, "\(PostgresServers.skipped)"))
    func `is tested by the suites of all stores`() {
        #expect(throws: Never.self) { try PostgresServers.url }
        #expect(StoreKind.allCases.contains(.postgres))
    }
    #endif
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
                // No test simulates a power loss, so this skips thousands of syncs.
                let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
                try await test(StoreFixture(store: store, time: time, worker: store.attach()))
                try await store.close()
            }
        case .postgres:
            #if PostgreSQL
            // A separate queue, in tables that all tests share.
            let store = PostgresQueueStore(
                try PostgresServers.url, queue: PostgresServers.newName(), namespace: "conformance",
                time: time.queueTime,
                configuration: .init(connectTimeout: .seconds(60)))
            try await test(StoreFixture(store: store, time: time, worker: store.attach()))
            try await store.close()
            #endif
        }
    }

    // MARK: Common operations

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
        try await takeTurn(claiming: count, limits: limits, lease: lease, batch: batch, by: other).claimed
    }

    /// Returns the names of the claimed jobs.
    func claimNames(_ count: Int = 1, limits: DownloadCoordinator.Limits = .none, batch: String? = nil) async throws
        -> [String]
    {
        try await claim(count, limits: limits, batch: batch).map(\.request.name)
    }

    func takeTurn(
        _ settlements: [JobSettlement] = [], claiming count: Int = 0, limits: DownloadCoordinator.Limits = .none,
        lease: Duration = .seconds(60), batch: String? = nil, by other: QueueWorker? = nil
    ) async throws -> JobTurn {
        let claim = JobClaim(worker: other ?? worker, count: count, limits: limits, lease: lease, batch: batch)
        return try await store.takeTurn(settlements, claiming: claim)
    }

    /// Settles a job, and returns whether the store accepted it.
    @discardableResult
    func settle(_ job: ClaimedJob, _ outcome: JobSettlement.Outcome) async throws -> Bool {
        try await settle(job.lease, outcome)
    }

    @discardableResult
    func settle(_ lease: JobLease, _ outcome: JobSettlement.Outcome) async throws -> Bool {
        let turn = try await store.takeTurn([JobSettlement(lease: lease, outcome: outcome)], claiming: nil)
        #expect(turn.refused.isEmpty || turn.refused == [lease])
        #expect(turn.claimed.isEmpty)
        return turn.refused.isEmpty
    }

    func job(_ id: JobID) async throws -> QueuedDownload? { try await store.jobs([id]).first }

    func state(_ id: JobID) async throws -> QueuedDownload.State? { try await job(id)?.state }

    /// Returns the number of jobs in each state that occurs.
    func counts() async throws -> [QueuedDownload.State: Int] { try await store.snapshot(listing: 0).counts }
}

extension DownloadCoordinator.Limits {
    /// More jobs than any test has.
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
    static func failed(message: String) -> Self { .failed(.sample(message)) }

    static func retry(after delay: Duration, message: String) -> Self { .retry(after: delay, .sample(message)) }

    /// One of each kind.
    static let samples: [Self] = [
        .done(bytes: 7), .failed(message: "gone"), .retry(after: .seconds(5), message: "slow"), .released, .cancelled,
        .moved(host: "y.example"), .postponed(by: .seconds(5)), .postponed(by: .seconds(5), host: "z.example"),
        .postponed(by: .seconds(5), because: .sample("locked")),
    ]
}

extension TransferError {
    /// An error whose description is its message, as an earlier version stored it.
    static func sample(_ message: String) -> TransferError {
        TransferError(line: message, parts: nil, url: URL(string: "https://a.example/")!)
    }
}

extension QueuedDownload {
    var message: String? { error?.description }
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
