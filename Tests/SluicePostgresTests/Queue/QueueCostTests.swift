#if PostgreSQL
import Foundation
import SluiceDownloads
import TestSupport
import Testing

@testable import SluicePostgres

/// What an operation reads, and the counts that keep it from reading more.
@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `The cost of a claim` {
    /// The rows that the statements of a session have read, which the server counts. It clears the count from time to time, but not during
    /// a transaction.
    private static let rowsRead = PostgresQueueStore.Operation(
        sql: """
            SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int8 FROM pg_stat_xact_user_tables
            WHERE schemaname = current_schema() AND $1::int8 IS NOT NULL
            """, parameters: [])

    /// Runs operations, and returns their results and the number of rows that they have read.
    private static func run(
        _ operations: [PostgresQueueStore.Operation], _ store: PostgresQueueStore
    ) async throws -> ([PostgresResult], rows: Int) {
        let results = try await store.write([rowsRead] + operations + [rowsRead])
        let rows = try results.last!.scalar(as: Int.self)! - results[0].scalar(as: Int.self)!
        return (Array(results.dropFirst().dropLast()), rows)
    }

    @Test(arguments: [1, 500]) func `does not grow with the number of waiting jobs and lanes`(_ users: Int) async throws
    {
        try await QueueFixture.with { fixture in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            // The session plans its statements for an empty queue.
            _ = try await store.exchange(
                [],
                claiming: JobClaim(worker: worker, count: 1, limits: .init(total: 1, perHost: 1), lease: .seconds(60)))
            let requests = (0..<3000).map { DownloadRequest.numbered($0, hosts: 2, users: users) }
            _ = try await store.enqueue(requests, options: .init())
            let limits = DownloadCoordinator.Limits(total: 100, perHost: 40, perUser: users == 1 ? nil : 1)
            for round in 0..<8 {
                let token = Int64(1000 * (round + 1))
                let claim = JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600))
                let (claiming, rows) = try await Self.run(
                    [store.claiming(claim, token: token, isAgain: false), store.call("outlook", [.null])], store)
                #expect(claiming[0].count == 8)
                #expect(rows < 400)
                guard round > 2 else { continue }
                let leases = try claiming[0].map {
                    JobLease(job: JobID(rawValue: try $0.value("id")), token: try $0.value("token"))
                }
                let settlements = leases.map { JobSettlement(lease: $0, outcome: .released, host: .reached) }
                let (settling, settled) = try await Self.run([store.settling(settlements, isAgain: false)], store)
                #expect(settling[0].isEmpty)
                #expect(settled < 300)
            }
        }
    }

    /// More full lanes than a claim passes one by one.
    @Test func `does not grow with the number of full lanes of few hosts`() async throws {
        try await QueueFixture.with { fixture in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            var requests = (0..<1000).map { DownloadRequest.numbered($0, hosts: 1, users: 1000) }
            requests.append(
                DownloadRequest(URL(string: "https://other.example/x")!, to: URL(string: "file:///music/")!, user: "me")
            )
            _ = try await store.enqueue(requests, options: .init())
            let limits = DownloadCoordinator.Limits(total: 100, perHost: 2)
            let claim = JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600))
            let (results, rows) = try await Self.run([store.claiming(claim, token: 1000, isAgain: false)], store)
            #expect(
                try results[0].map { try $0.value("host", as: String.self) } == [
                    "h0.example", "h0.example", "other.example",
                ])
            #expect(rows < 1000)
        }
    }

    @Test func `does not grow with the number of lanes of other machines`() async throws {
        try await QueueFixture.with { fixture in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            let requests = (0..<1000).map { DownloadRequest.numbered($0, hosts: 2, users: 1000) }
            _ = try await store.enqueue(requests, options: .init(place: "other"))
            _ = try await store.enqueue((1000..<1008).map { .numbered($0) }, options: .init(place: "here"))
            let limits = DownloadCoordinator.Limits(total: 100, perHost: nil, perUser: 8)
            let claim = JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600), place: "here")
            let (results, rows) = try await Self.run([store.claiming(claim, token: 1000, isAgain: false)], store)
            #expect(results[0].count == 8)
            #expect(rows < 400)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the counted running jobs are those that run`(_ seed: UInt64) async throws {
        try await QueueFixture.with { fixture in
            var random = SeededRandom(seed: seed)
            let store = fixture.store
            let workers = [try await store.attach(), try await store.attach()]
            var held: [ClaimedJob] = []
            for step in 0..<150 {
                let user = QueuedDownload.Selection.user("u\(Int.random(in: 0..<3, using: &random))")
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<3:
                    let requests = (0..<4).map { _ in
                        let number = Int.random(in: 0..<30, using: &random)
                        var request = DownloadRequest.numbered(number, hosts: 3)
                        request.user = "u\(Int.random(in: 0..<3, using: &random))"
                        return request
                    }
                    _ = try await store.enqueue(requests, options: .init())
                case 3..<7:
                    let outcomes: [JobSettlement.Outcome] = [
                        .done(bytes: 1), .released, .moved(host: "h9.example"), .retry(after: .zero, message: "again"),
                    ]
                    let settlements = held.shuffled(using: &random).prefix(3).map {
                        JobSettlement(lease: $0.lease, outcome: outcomes.randomElement(using: &random)!)
                    }
                    let limits = DownloadCoordinator.Limits(total: 9, perHost: 4, perUser: 3)
                    held += try await store.exchange(
                        settlements,
                        claiming: JobClaim(worker: workers[step % 2], count: 3, limits: limits, lease: .seconds(3600))
                    ).claimed
                case 7: _ = try await store.cancel(user)
                case 8:
                    _ = step % 2 == 0 ? try await store.pause(user).stopped.count : try await store.resume(user).count
                default: try await store.detach(workers[step % 2])
                }
                try await Self.expectCounts(fixture)
            }
            try await store.prune(olderThan: .zero, keeping: 0)
            try await Self.expectCounts(fixture)
        }
    }

    /// Expects the table `running` to have what the table `job` says.
    private static func expectCounts(_ fixture: QueueFixture) async throws {
        let counted = """
            SELECT kind, running.name, running.number FROM running JOIN queue ON queue.number = running.queue
            WHERE queue.name = $1 AND running.number <> 0
            """
        let found = """
            SELECT kind, of.name, count(*) FROM job JOIN queue ON queue.number = job.queue
            CROSS JOIN LATERAL (VALUES (0, ''), (1, host), (2, charged)) AS of (kind, name)
            WHERE queue.name = $1 AND state = 1 AND (kind < 2 OR charged <> '') GROUP BY kind, of.name
            """
        let differences = PostgresStatement(
            "(\(counted) EXCEPT \(found)) UNION ALL (\(found) EXCEPT \(counted))", [.text(fixture.queue)])
        #expect(try await fixture.run([differences])[0].isEmpty)
    }
}
#endif
