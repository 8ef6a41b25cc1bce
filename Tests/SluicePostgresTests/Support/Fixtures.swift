#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluicePostgres
import TestSupport
import Testing

private let mortals = ConcurrencyLimiter(concurrency: 1)

/// Runs a test with the URL of the server that it kills. Only one test at a time does this.
func withMortalServer(_ test: (_ url: String) async throws -> Void) async throws {
    let url = try PostgresServers.mortal
    try await mortals.run { try await test(url) }
}

/// Kills the mortal server, as in a crash, or starts it again.
func controlMortalServer(_ verb: String) async throws {
    let ended = try await PostgresServers.control(verb)
    try #require(ended.status == 0, "\(verb): \(ended)")
}

extension Trait where Self == ConditionTrait {
    static var needsPostgres: ConditionTrait {
        .enabled(if: PostgresServers.areThere, "\(PostgresServers.skipped)")
    }
}

/// Runs `body` with a database, then closes it.
@discardableResult
func withDatabase<R>(
    _ url: String? = nil, configuration: PostgresDatabase.Configuration = .init(),
    _ body: (PostgresDatabase) async throws -> R
) async throws -> R {
    let database = try PostgresDatabase(url ?? PostgresServers.url, configuration: configuration)
    do {
        let result = try await body(database)
        await database.close()
        return result
    } catch {
        await database.close()
        throw error
    }
}

/// Runs `body` with a database and the settings of transactions in a new schema with the table `note (id int8, text text)`. Removes the
/// schema afterwards.
@discardableResult
func withTable<R>(
    _ url: String? = nil, configuration: PostgresDatabase.Configuration = .init(),
    _ body: (PostgresDatabase, PostgresTransaction) async throws -> R
) async throws -> R {
    try await withDatabase(url, configuration: configuration) { database in
        let name = "test_\(UInt64.random(in: 0 ... .max))"
        let settings = PostgresTransaction(namespace: name)
        _ = try await database.run([
            PostgresStatement("CREATE SCHEMA \(name)"),
            PostgresStatement("CREATE TABLE \(name).note (id int8 PRIMARY KEY, text text)"),
        ])
        do {
            let result = try await body(database, settings)
            _ = try await database.run([PostgresStatement("DROP SCHEMA \(name) CASCADE")])
            return result
        } catch {
            _ = try? await database.run([PostgresStatement("DROP SCHEMA \(name) CASCADE")])
            throw error
        }
    }
}

extension PostgresDatabase {
    func count(_ settings: PostgresTransaction) async throws -> Int? {
        try await run([PostgresStatement("SELECT count(*) FROM note")], in: settings)[0].scalar()
    }

    /// Waits until this many sessions of the test's user wait for the advisory lock.
    func waitForWaiters(_ wanted: Int, lock: Int64) async throws {
        let query = """
            SELECT count(*) FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND (classid::int8 << 32 | objid::int8) = $1
            """
        while try await run([PostgresStatement(query, [.integer(lock)])])[0].scalar(as: Int.self) ?? 0 < wanted {
            _ = try await run([PostgresStatement("SELECT pg_sleep(0.01)")])
        }
    }
}

extension PostgresConnection {
    /// The ID of its server process.
    func process() async throws -> Int64 {
        try #require(try await run([PostgresStatement("SELECT pg_backend_pid()")])[0].scalar())
    }
}

/// Returns the ``PostgresError`` of `body`, and records an issue if it has another code or there is none.
@discardableResult
func expectPostgresError(
    _ code: PostgresError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> PostgresError? {
    do {
        try await body()
        Issue.record("no error was thrown instead of \(code.rawValue)", sourceLocation: sourceLocation)
        return nil
    } catch let error as PostgresError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("\(error) was thrown instead of \(code.rawValue)", sourceLocation: sourceLocation)
        return nil
    }
}

/// Workers on one queue, each with its own store and connections.
struct QueueFixture: Sendable {
    let url: String
    let queue: String
    let stores: [PostgresQueueStore]

    /// Runs `body` with an empty queue, in tables that the tests share.
    static func with(
        _ url: String? = nil, workers: Int = 1, time: QueueTime? = nil, _ body: (QueueFixture) async throws -> Void
    ) async throws {
        let url = try url ?? PostgresServers.url
        let queue = PostgresServers.newName()
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

/// Counts running jobs independently of the store, by job number.
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

    /// Before the store knows: from then on, it may hand out other jobs.
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
