#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP
import TestSupport
import Testing

@testable import SluicePostgres

/// What an operation reads, and the counts that keep it from reading more.
@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `The cost of a claim` {
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

    @Test(arguments: [1, 500]) func `doesn't grow with the number of waiting jobs and lanes`(_ users: Int) async throws
    {
        try await QueueFixture.with { fixture in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            // The session plans its statements for an empty queue.
            _ = try await store.takeTurn(
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

    /// A session plans its statements once, in this test for tables that had a single row when they were analyzed.
    @Test func `doesn't grow in a session planned for a single job`() async throws {
        let namespace = "cost_tests"
        let store = PostgresQueueStore(try PostgresServers.url, namespace: namespace)
        _ = try await store.enqueue([.numbered(9999)], options: .init())
        try await withDatabase { (database) async throws in
            let settings = PostgresTransaction(namespace: namespace)
            _ = try await database.run([PostgresStatement("ANALYZE job, member, lane, line, head")], in: settings)
            let worker = try await store.attach()
            _ = try await store.enqueue((0..<3000).map { .numbered($0, hosts: 2, users: 500) }, options: .init())
            let limits = DownloadCoordinator.Limits(total: 100, perHost: 40, perUser: 1)
            for round in 0..<3 {
                let claim = JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600))
                let token = Int64(1000 * (round + 1))
                let (claiming, rows) = try await Self.run([store.claiming(claim, token: token, isAgain: false)], store)
                #expect(claiming[0].count == 8)
                #expect(rows < 400)
            }
            try await store.close()
            _ = try await database.run([PostgresStatement("DROP SCHEMA \(namespace) CASCADE")])
        }
    }

    /// More full lanes than a claim passes over one by one.
    @Test func `doesn't grow with the number of full lanes on a few hosts`() async throws {
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

    @Test func `doesn't grow with the number of other machines' lanes`() async throws {
        try await QueueFixture.with { fixture in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            let requests = (0..<1000).map { DownloadRequest.numbered($0, hosts: 2, users: 1000) }
            _ = try await store.enqueue(requests, options: .init(machine: "other"))
            _ = try await store.enqueue((1000..<1008).map { .numbered($0) }, options: .init(machine: "here"))
            let limits = DownloadCoordinator.Limits(total: 100, perHost: nil, perUser: 8)
            let claim = JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600), machine: "here")
            let (results, rows) = try await Self.run([store.claiming(claim, token: 1000, isAgain: false)], store)
            #expect(results[0].count == 8)
            #expect(rows < 400)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the counts of running jobs match the jobs that run`(_ seed: UInt64) async throws {
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
                    let failure = TransferError(.stalled, url: URL(string: "https://a.example/")!)
                    let outcomes: [JobSettlement.Outcome] = [
                        .done(bytes: 1), .released, .moved(host: "h9.example"), .retry(after: .zero, failure),
                    ]
                    let settlements = held.shuffled(using: &random).prefix(3).map {
                        JobSettlement(lease: $0.lease, outcome: outcomes.randomElement(using: &random)!)
                    }
                    let limits = DownloadCoordinator.Limits(total: 9, perHost: 4, perUser: 3)
                    held += try await store.takeTurn(
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

    /// Expects the counts in the table `running` to match the table `job`.
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

/// How much the operations of workers and people read if the history is long.
@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A PostgreSQL queue with a long history` {
    /// The rows that scans and indexes have returned for each table, in the transaction.
    private static let read = PostgresQueueStore.Operation(
        sql: """
            SELECT relname::text AS name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 AS rows
            FROM pg_stat_xact_user_tables WHERE schemaname = current_schema() AND $1::int8 IS NOT NULL
            """, parameters: [])

    /// Runs an operation and returns the numbers of rows that it has read, by table.
    private static func rows(
        _ store: PostgresQueueStore, _ operations: [PostgresQueueStore.Operation]
    ) async throws -> [String: Int] {
        let results = try await store.write([read] + operations + [read])
        func counts(_ result: PostgresResult) throws -> [String: Int] {
            try Dictionary(
                result.map { (try $0.value("name", as: String.self), try $0.value("rows", as: Int.self)) },
                uniquingKeysWith: +)
        }
        let before = try counts(results[0])
        return try counts(results[results.count - 1]).map { ($0, $1 - before[$0, default: 0]) }.filter { $1 > 0 }
            .reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    /// Adds ended jobs with SQL, because the store would take minutes.
    private static func addHistory(_ fixture: QueueFixture, _ count: Int) async throws {
        _ = try await fixture.run([
            PostgresStatement(
                """
                INSERT INTO job (queue, id, url, directory, name, target, host, place, is_unresolved, rank, state, created, ended)
                    SELECT number, 1000000 + i, 'https://h.example/' || i, 'file:///d/', i::text, ('/d/' || i)::bytea, 'h.example',
                        '', false, -1, 2, 0, (extract(epoch FROM now()) * 1000)::int8 - i
                    FROM queue, generate_series(1, $2::int8) AS i WHERE name = $1
                """, [.text(fixture.queue), .integer(Int64(count))]),
            PostgresStatement(
                """
                INSERT INTO member (queue, job, position, user_name, batch, priority)
                    SELECT number, 1000000 + i, 0, 'u', 'old', 0 FROM queue, generate_series(1, $2::int8) AS i WHERE name = $1
                """, [.text(fixture.queue), .integer(Int64(count))]),
            PostgresStatement(
                """
                WITH last AS MATERIALIZED (
                    SELECT queue.number AS queue, coalesce(max(event.number), 0) AS number
                    FROM queue LEFT JOIN event ON event.queue = queue.number WHERE name = $1 GROUP BY queue.number)
                INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                    SELECT queue, number + i, 0, i, 'done', '', '' FROM last, generate_series(1, $2::int8 + 105000) AS i
                """, [.text(fixture.queue), .integer(Int64(count))]),
        ])
    }

    @Test func `is pruned in steps of a few hundred rows`() async throws {
        try await QueueFixture.with { fixture async throws in
            let store = fixture.store
            // The sessions plan their statements for an empty queue.
            #expect(try await !store.pruneSome(olderThan: .seconds(3600), keeping: 1000))
            try await Self.addHistory(fixture, 100_000)
            for _ in 0..<3 {
                let step = store.call(
                    "prune",
                    [
                        .integer(3_600_000), 1000, .integer(10 * Int64(keptEvents)), .integer(1000),
                        .integer(Int64(prunedAtOnce)),
                    ])
                let rows = try await Self.rows(store, [step])
                #expect(rows.values.reduce(0, +) < 6000, "\(rows)")
            }
            #expect(try await store.snapshot(listing: 0).counts == [.done: 100_000 - 3 * prunedAtOnce])
            try await store.prune(olderThan: .seconds(3600), keeping: 99_000)
            let snapshot = try await store.snapshot(listing: 1)
            #expect(snapshot.counts == [.done: 99_000])
            // The latest job stays.
            #expect(snapshot.ended.map(\.id.rawValue) == [1_000_001])
            let events = try await store.events(after: nil, atMost: 200_000)
            #expect(events.last?.kind == .removed && events.count == 10 * keptEvents)
            let left = PostgresStatement(
                "SELECT count(*) FROM member WHERE batch = 'old' AND queue = (SELECT number FROM queue WHERE name = $1)",
                [.text(fixture.queue)])
            #expect(try await fixture.run([left])[0].scalar() == 99_000)
        }
    }

    @Test(arguments: 1...7)
    func `tables from an earlier version are migrated, and their jobs are counted`(_ version: Int) async throws {
        let namespace = "migration_tests_\(version)"
        try await withDatabase { (database) async throws in
            var schema = PostgresQueueSchema.schema(namespace: namespace)
            schema.migrations = Array(schema.migrations.prefix(version))
            try await schema.apply(to: database)
            let settings = PostgresTransaction(namespace: namespace)
            _ = try await database.run(
                [
                    PostgresStatement("INSERT INTO queue (name, channel) VALUES ('default', 'channel')"),
                    PostgresStatement(
                        """
                        INSERT INTO job (queue, id, url, directory, name, target, host, place, is_unresolved, rank, state, created)
                            SELECT number, i, 'https://h.example/' || i, 'file:///d/', i::text, i::text::bytea, 'h.example', '', false,
                                -1, CASE WHEN i < 4 THEN 2 ELSE 6 END, 0
                            FROM queue, generate_series(1, 10) AS i
                        """),
                ], in: settings)
            let store = PostgresQueueStore(try PostgresServers.url, namespace: namespace)
            #expect(try await store.snapshot(listing: 0).counts == [.done: 3, .paused: 7])
            try await store.setRates(.init(total: 5))
            #expect(try await store.rates(besides: nil).rates.total == 5)
            try await store.close()
            _ = try await database.run([PostgresStatement("DROP SCHEMA \(namespace) CASCADE")])
        }
    }

    @Test func `pruning removes empty lanes and idle hosts' counts, and corrects wrong counts`()
        async throws
    {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            _ = try await store.enqueue((0..<600).map { .numbered($0, hosts: 600, users: 300) }, options: .init())
            let limits = DownloadCoordinator.Limits(total: 1000, perHost: 1)
            let claimed = try await store.takeTurn(
                [], claiming: JobClaim(worker: worker, count: 600, limits: limits, lease: .seconds(3600))
            ).claimed
            #expect(claimed.count == 600)
            _ = try await store.takeTurn(
                claimed.dropLast(2).map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }, claiming: nil)
            let number = "(SELECT number FROM queue WHERE name = '\(fixture.queue)')"
            _ = try await fixture.run([
                PostgresStatement("UPDATE running SET number = 77 WHERE kind < 2 AND number > 0 AND queue = \(number)")
            ])
            try await store.prune(olderThan: .seconds(3600), keeping: 1000)
            let left = try await fixture.run([
                PostgresStatement("SELECT count(*) FROM lane WHERE queue = \(number)"),
                PostgresStatement("SELECT sum(number)::int8 FROM running WHERE queue = \(number)"),
                PostgresStatement("SELECT count(*) FROM running WHERE queue = \(number)"),
            ])
            // For the two running jobs, the queue has one count, and so do each of the two hosts and two users.
            #expect(try left.map { try $0.scalar(as: Int.self) } == [0, 6, 5])
        }
    }

    /// Operations, and how many rows of each table they may read: 400 if a table isn't named. A claim for a batch reads its whole batch. A
    /// change of many downloads may scan the lines if there are few, because that is cheaper than looking up each line.
    @Test(arguments: [false, true])
    func `is read only by operations that ask for it`(_ isAnalyzed: Bool) async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            _ = try await store.snapshot(listing: 1)
            _ = try await store.enqueue(
                (0..<3000).map { .numbered($0, hosts: 30, users: 7) }, options: .init(batch: "list"))
            _ = try await store.enqueue((3000..<3040).map { .numbered($0) }, options: .init(batch: "mine"))
            try await Self.addHistory(fixture, 20_000)
            _ = try await fixture.run([
                PostgresStatement(
                    """
                    INSERT INTO host (queue, name, until, failures, is_open)
                        SELECT number, 'bad' || i, 1000, 1, false FROM queue, generate_series(1, 5000) AS i WHERE name = $1
                    """, [.text(fixture.queue)])
            ])
            // Changes of many downloads are planned for the sizes of their sets and tables. Workers' statements don't need statistics.
            if isAnalyzed { _ = try await fixture.run([PostgresStatement("ANALYZE job, member, line, head, lane")]) }
            let limits = DownloadCoordinator.Limits(total: 100, perHost: 4)
            func claim(_ batch: String?) -> PostgresQueueStore.Operation {
                store.claiming(
                    JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600), batch: batch),
                    token: .random(in: 1...1 << 60), isAgain: false)
            }
            let none = PostgresValue.integers([])
            let waiting = PostgresValue.integers([0, 1, 5, 6])
            let ended = PostgresValue.integers([2, 3, 4])
            let stopped = PostgresValue.integers([3, 4])
            let some = PostgresValue.integers([11, 12, 13])
            func enqueue(_ numbers: Range<Int>) -> PostgresQueueStore.Operation {
                let requests = numbers.map { DownloadRequest.numbered($0, hosts: 3, users: 2) }
                return store.call(
                    "enqueue",
                    ["", true] + requests.columns(machine: nil) + [
                        .texts(requests.map { $0.user ?? "" }), .integers(requests.map { Int64($0.priority) }),
                    ])
            }
            func copy(_ numbers: Range<Int>) -> PostgresQueueStore.Operation {
                let requests = numbers.map { DownloadRequest.numbered($0, hosts: 3) }
                return store.call(
                    "copy",
                    requests.columns(machine: nil) + [
                        .integers(requests.map { _ in 0 }), .integers(requests.map { _ in 1 }),
                        .texts(requests.map { _ in "copier" }), .texts(requests.map { _ in "" }),
                        .integers(requests.map { _ in 0 }), .bools(requests.map { _ in false }),
                    ])
            }
            // A batch and its lines.
            let few = ["member": 1000, "line": 10_000, "job": 1000]
            let cases: [(String, PostgresQueueStore.Operation, allowed: [String: Int])] = [
                ("claim", claim(nil), [:]),
                ("claim of a batch behind many jobs", claim("mine"), ["member": 2000, "job": 1500, "running": 1500]),
                ("outlook", store.call("outlook", [.null]), [:]),
                ("outlook of a batch", store.call("outlook", ["mine"]), [:]),
                ("renew", store.call("renew", [.text(worker.name), 1000]), [:]),
                ("detach", store.call("detach", ["none"]), [:]),
                ("find", PostgresQueueStore.find([JobID(rawValue: 5)]), [:]),
                ("enqueue", enqueue(5000..<5003), [:]),
                ("enqueue a list", enqueue(4990..<5030), ["job": 600, "line": 600]),
                ("enqueue a list again", enqueue(4990..<5030), ["job": 600, "member": 600, "line": 600]),
                ("copy", copy(6000..<6010), ["job": 600, "member": 600]),
                ("copy to known downloads", copy(6000..<6010), ["job": 600, "member": 600]),
                ("pause a batch", store.call("change", ["pause", waiting, "batch", "mine", none]), few),
                ("resume a batch", store.call("resume", [waiting, "batch", "mine", none]), few),
                ("prioritize a batch", store.call("prioritize", [7, waiting, "batch", "mine", none]), few),
                ("cancel a batch", store.call("change", ["cancel", waiting, "batch", "mine", none]), few),
                ("retry what failed", store.call("retry", [stopped, "all", "", none]), few),
                ("pause by numbers", store.call("change", ["pause", waiting, "ids", "", some]), [:]),
                ("resume by numbers", store.call("resume", [waiting, "ids", "", some]), [:]),
                ("prioritize by numbers", store.call("prioritize", [7, waiting, "ids", "", some]), [:]),
                ("cancel by numbers", store.call("change", ["cancel", waiting, "ids", "", some]), [:]),
                ("retry by numbers", store.call("retry", [stopped, "ids", "", some]), [:]),
                ("remove by numbers", store.call("remove", [ended, "ids", "", .integers([1_000_001])]), [:]),
                // Reads the downloads that haven't ended.
                (
                    "pause a host's downloads",
                    store.call("change", ["pause", waiting, "host", "h5.example", none]),
                    ["job": 5000, "member": 1500, "line": 15_000, "head": 1500]
                ),
                (
                    "prioritize a user's downloads", store.call("prioritize", [7, waiting, "user", "u5", none]),
                    ["job": 8000, "member": 8000, "line": 15_000, "lane": 1500, "head": 1500]
                ),
            ]
            for (name, operation, allowed) in cases {
                let rows = try await Self.rows(store, [operation])
                for (table, count) in rows {
                    #expect(count <= allowed[table] ?? 400, "\(name): \(table) \(count)")
                }
            }
            // Listing downloads reads only the listed ones.
            let before = try await Self.rows(store, [])
            #expect(before.isEmpty || before.values.allSatisfy { $0 < 50 })
            let snapshot = try await store.snapshot(listing: 5)
            #expect(snapshot.count(in: .done) == 19_999 && snapshot.ended.count == 5 && snapshot.waiting.count == 5)
        }
    }

    @Test func `a change to many downloads uses one transaction per thousand downloads`() async throws {
        let moments = Monitor(0)
        let time = QueueTime {
            moments.withState { $0 += 1 }
            return 1_000_000
        }
        try await QueueFixture.with(time: time) { fixture async throws in
            let store = fixture.store
            let count = 2 * changedAtOnce + 1
            let all = (1...Int64(count)).map { JobID(rawValue: $0) }
            _ = try await store.enqueue((0..<count).map { .numbered($0, users: 2) }, options: .init(batch: "list"))
            func expectSteps<R>(_ expected: Int, _ change: () async throws -> R) async throws -> R {
                let before = moments.state
                let result = try await change()
                #expect(moments.state - before == expected)
                return result
            }
            #expect(try await expectSteps(3) { try await store.pause(.batch("list")).stopped.map(\.id) } == all)
            #expect(try await expectSteps(3) { try await store.resume(.all) } == all)
            let changed = try await expectSteps(2) { try await store.prioritize(.user("u0"), priority: 1) }
            #expect(changed == changedAtOnce + 1)
            #expect(try await expectSteps(3) { try await store.cancel(.state(.waiting)).stopped.map(\.id) } == all)
            #expect(try await expectSteps(3) { try await store.retry(.ids(all.reversed())) } == all)
            #expect(try await expectSteps(3) { try await store.cancel(.host("h0.example")).stopped.map(\.id) } == all)
            #expect(try await expectSteps(3) { try await store.remove(.all) } == count)
            #expect(try await store.snapshot(listing: 0).counts == [:])
        }
    }

    /// The plans of the statements outside of functions, with and without statistics.
    @Test(arguments: [false, true]) func `no snapshot scans or sorts a table`(_ isAnalyzed: Bool) async throws {
        try await QueueFixture.with { fixture async throws in
            let store = fixture.store
            _ = try await store.enqueue(
                (0..<2000).map { .numbered($0, hosts: 30, users: 7) }, options: .init(batch: "list"))
            try await Self.addHistory(fixture, 5000)
            if isAnalyzed { _ = try await fixture.run([PostgresStatement("ANALYZE job, member, event, tally")]) }
            let queries =
                PostgresQueueStore.snapshotQueries(listing: 5) + PostgresQueueStore.eventQueries(after: 5, atMost: 5)
                + [
                    PostgresQueueStore.find([JobID(rawValue: 7)]),
                    PostgresQueueStore.unfinishedQuery(after: JobID(rawValue: 7), atMost: 5),
                    PostgresQueueStore.ratesQuery(besides: nil),
                ]
            for query in queries {
                let explain = PostgresQueueStore.Operation(sql: "EXPLAIN \(query.sql)", parameters: query.parameters)
                let plan = try await store.read([explain])[0].map { try $0.value(at: 0, as: String.self) }
                    .joined(separator: "\n")
                // An index scan can read a whole index, too.
                let results = try await store.read([Self.read, query, Self.read])
                let rows = try [results[0], results[2]].map {
                    try $0.reduce(0) { $0 + (try $1.value("rows", as: Int.self)) }
                }
                #expect(rows[1] - rows[0] < 300, "\(query.sql)\n\(plan)")
                // A queue has seven counts at most.
                #expect(query.sql.contains("FROM tally") || !plan.contains("Seq Scan"), "\(query.sql)\n\(plan)")
                // The limits bound the running jobs.
                let maySort = query.sql.contains("state = 1")
                #expect(maySort || !plan.contains("Sort"), "\(query.sql)\n\(plan)")
            }
        }
    }
}
#endif
