#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluicePostgres
import TestSupport
import Testing

/// Workers on one queue, each with a store and connections of its own.
struct QueueFixture: Sendable {
    let url: String
    let queue: String
    let stores: [PostgresQueueStore]

    /// Runs `body` with an empty queue, in tables that the tests share.
    static func with(
        _ url: String? = nil, workers: Int = 1, time: QueueTime? = nil, _ body: (QueueFixture) async throws -> Void
    ) async throws {
        let url = try url ?? Servers.url
        let queue = "test \(UInt64.random(in: 0 ... .max))"
        let stores = (0..<workers).map { _ in
            PostgresQueueStore(
                url, queue: queue, namespace: namespace, time: time,
                configuration: .init(concurrency: 2, connectTimeout: .seconds(60)))
        }
        try await body(QueueFixture(url: url, queue: queue, stores: stores))
        for store in stores { try await store.close() }
    }

    static let namespace = "queue_tests"

    var store: PostgresQueueStore { stores[0] }

    /// Runs SQL on the tables.
    func run(_ statements: [PostgresStatement]) async throws -> [PostgresResult] {
        try await withDatabase(url) { database in
            try await database.run(statements, in: PostgresTransaction(namespace: Self.namespace))
        }
    }
}

extension DownloadRequest {
    static func numbered(_ number: Int, hosts: Int = 1, users: Int = 1) -> DownloadRequest {
        DownloadRequest(
            URL(string: "https://h\(number % hosts).example/\(number)")!, to: URL(string: "file:///music/")!,
            name: "\(number)", user: "u\(number % users)")
    }
}

/// Counts independently of the store what runs, by the numbers of the jobs.
final class Tally: Sendable {
    struct State {
        var running: [JobID: DownloadRequest] = [:]
        var most = 0
        var violations: [String] = []
        var done: [JobID] = []
    }

    private let limits: DownloadCoordinator.Limits
    private let monitor = Monitor(State())

    init(limits: DownloadCoordinator.Limits) { self.limits = limits }

    var state: State { monitor.state }

    func begin(_ jobs: [ClaimedJob]) {
        monitor.withState { state in
            for job in jobs {
                if state.running.updateValue(job.request, forKey: job.lease.job) != nil {
                    state.violations.append("\(job.lease.job) runs twice")
                }
                let running = state.running.values
                state.most = max(state.most, running.count)
                if running.count > limits.total { state.violations.append("\(running.count) run") }
                if running.count(where: { $0.host == job.request.host }) > limits.perHost ?? .max {
                    state.violations.append(job.request.host)
                }
                if running.count(where: { $0.user == job.request.user }) > limits.perUser ?? .max {
                    state.violations.append(job.request.user ?? "")
                }
            }
        }
    }

    /// Before the store knows: until it does, the jobs run.
    func end(_ jobs: [ClaimedJob]) {
        monitor.withState { state in
            for job in jobs {
                state.running[job.lease.job] = nil
                state.done.append(job.lease.job)
            }
        }
    }

    func note(_ violation: String) { monitor.withState { $0.violations.append(violation) } }
}
#endif
