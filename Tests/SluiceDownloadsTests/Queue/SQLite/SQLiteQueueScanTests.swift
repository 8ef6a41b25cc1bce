import Foundation
import GRDB
import GRDBSQLite
import SluiceDatabase
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `Scans of an SQLite queue` {
    /// The number of rows that full table scans have read, in all statements of the connection since the last call.
    private static func scannedRows(_ store: SQLiteQueueStore) async throws -> Int {
        try await store.read { database, _ in
            var count = 0
            var statement = sqlite3_next_stmt(database.sqliteConnection, nil)
            while let one = statement {
                count += Int(sqlite3_stmt_status(one, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
                statement = sqlite3_next_stmt(database.sqliteConnection, one)
            }
            return count
        }
    }

    /// Each operation of a worker reads a few rows, however many jobs wait.
    @Test func `no worker operation scans the jobs table`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            let fixture = StoreFixture(store: store, time: time, worker: try await store.attach())
            let requests = (0..<2000).map { number in
                DownloadRequest.named("\(number)", host: "h\(number % 3).example", user: "u\(number % 7)")
            }
            _ = try await store.enqueue(requests, options: .init(batch: "list"))
            _ = try await Self.scannedRows(store)
            let limits = DownloadCoordinator.Limits(total: 8, perHost: 4, perUser: 2)
            for round in 0..<10 {
                let claimed = try await fixture.claim(
                    8, limits: limits, lease: .seconds(5), batch: round > 5 ? "list" : nil)
                _ = try await store.renew(fixture.worker, lease: .seconds(5))
                for (number, job) in claimed.enumerated() {
                    try await fixture.settle(job, JobSettlement.Outcome.samples[number % 6])
                }
                time.advance(by: .seconds(6))
                _ = try await fixture.takeTurn(claiming: 0, batch: "list")
                try await store.detach(fixture.worker)
                #expect(try await Self.scannedRows(store) < 500)
            }
            try await store.close()
        }
    }

    /// Scans that are allowed, and why.
    private static let allowedScans: [(statement: String, reason: String)] = [
        ("FROM tally", "It has seven rows."), ("FROM sqlite_sequence", "It has a row for each table."),
        ("UPDATE job SET lease_until = ? WHERE state = 1 AND", "The limits bound the number of running jobs."),
        (
            "SELECT name, until, failures, is_open FROM host",
            "It lists the hosts that aren't well, for a snapshot."
        ),
        ("SELECT min(host) FROM lane", "Jumps from one value to the next in an index."),
        ("SELECT min(user) FROM lane", "Jumps from one value to the next in an index."),
        ("FROM job WHERE state = 1", "The limits bound the number of running jobs."),
        ("FROM job WHERE lease_until", "The limits bound the number of running jobs."),
        ("state IN (0, 5, 1, 6) AND", "A change of all downloads of a host or a state reads those of all."),
        ("state IN (2, 3, 4) AND", "Removal from the history reads the history, which is short."),
        ("state IN (3, 4) AND", "A retry reads the history, which is short."),
        (
            "FROM member WHERE user = ?",
            "Changes of all downloads of a user are rare, and an index would slow down each enqueuing."
        ),
        ("SELECT min(number) FROM event", "Reads the first entry."),
        ("SELECT min(not_before)", "Reads the first entry."), ("SELECT min(until)", "Reads the first entry."),
        ("SELECT min(lease_until)", "The limits bound the number of running jobs."),
        ("ORDER BY ended", "Reads the first entries of an index."),
        ("ORDER BY priority", "Reads the first entries of an index."),
        ("ORDER BY number", "Reads the first entries."), ("SELECT EXISTS", "Ends at the first entry."),
        ("FROM worker", "One row for each worker."),
    ]

    /// Runs each operation once, so that the connection has prepared its statements.
    private static func useAll(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        _ = try await store.enqueue(
            (0..<200).map { .named("\($0)", host: "h\($0 % 70).example", user: "u\($0 % 70)") },
            options: .init(batch: "list"))
        for name in ["a", "b", "a"] { try await fixture.add(name, user: "ann", batch: "list") }
        let limits = DownloadCoordinator.Limits(total: 300, perHost: 1, perUser: 1)
        let claimed = try await fixture.claim(100, limits: limits)
        _ = try await fixture.claim(100, limits: limits)
        for (number, job) in claimed.prefix(12).enumerated() {
            let settlement = JobSettlement(
                lease: job.lease, outcome: JobSettlement.Outcome.samples[number % 6],
                host: [.reached, .busy(for: .seconds(9)), .unreachable(limit: 1, pause: .seconds(9))][number % 3])
            _ = try await store.takeTurn([settlement], claiming: nil)
        }
        _ = try await fixture.claim(3, limits: limits, batch: "list")
        fixture.time.advance(by: .seconds(10))
        _ = try await fixture.takeTurn(claiming: 400, batch: "list")
        _ = try await fixture.takeTurn(claiming: 400)
        _ = try await store.renew(fixture.worker, lease: .seconds(9))
        for selection in [
            .user("u1"), .user("u1", ids: [JobID(rawValue: 8)]), .batch("none"), .host("h2.example"),
            .ids([JobID(rawValue: 9)]), .state(.waiting),
        ] as [QueuedDownload.Selection] {
            _ = try await store.pause(selection)
            _ = try await store.resume(selection)
            _ = try await store.prioritize(selection, priority: 3)
            _ = try await store.cancel(selection)
            _ = try await store.retry(selection)
            _ = try await store.remove(selection)
        }
        _ = try await store.snapshot(listing: 9)
        _ = try await store.events(after: 1, atMost: 9)
        _ = try await (store as! SQLiteQueueStore).unfinished(after: JobID(rawValue: 1), atMost: 9)
        try await store.prune(olderThan: .seconds(1), keeping: 1)
        try await store.detach(fixture.worker)
    }

    @Test func `no statement scans a growing table, except the listed ones`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            try await Self.useAll(StoreFixture(store: store, time: time, worker: try await store.attach()))
            let plans = try await store.read { database, _ in
                var statements: [String] = []
                var next = sqlite3_next_stmt(database.sqliteConnection, nil)
                while let one = next {
                    statements.append(String(cString: sqlite3_sql(one)))
                    next = sqlite3_next_stmt(database.sqliteConnection, one)
                }
                return try statements.filter { $0.firstMatch(of: /^(SELECT|INSERT|UPDATE|DELETE|WITH)/) != nil }.map {
                    sql in
                    let statement = try database.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
                    statement.setUncheckedArguments(StatementArguments())
                    return (sql, try Row.fetchAll(statement).map { $0["detail"] as String })
                }
            }
            #expect(plans.count > 50)
            for (sql, plan) in plans {
                let scans = plan.filter {
                    $0.contains("SCAN") && !$0.contains("CONSTANT ROW") && !$0.contains("found")
                        && !$0.contains("(subquery")
                }
                let isAllowed = Self.allowedScans.contains { sql.contains($0.statement) }
                #expect(scans.isEmpty || isAllowed, "\(sql)\n\(plan)")
                // The history and the waiting jobs are never sorted.
                let sorts = plan.contains { $0.contains("TEMP B-TREE FOR ORDER BY") }
                #expect(!sorts || sql.contains("state = 1") || isAllowed || sql.contains("BETWEEN"), "\(sql)\n\(plan)")
            }
        }
    }

    /// The number of steps of SQLite's virtual machine, in all statements since the last call.
    private static func steps(_ store: SQLiteQueueStore) async throws -> Int {
        try await store.read { database, _ in
            var count = 0
            var statement = sqlite3_next_stmt(database.sqliteConnection, nil)
            while let one = statement {
                count += Int(sqlite3_stmt_status(one, SQLITE_STMTSTATUS_VM_STEP, 1))
                statement = sqlite3_next_stmt(database.sqliteConnection, one)
            }
            return count
        }
    }

    @Test func `a claim of a batch doesn't read the jobs before it`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            let fixture = StoreFixture(store: store, time: time, worker: try await store.attach())
            _ = try await store.enqueue((0..<20_000).map { .named("\($0)") }, options: .init(batch: "before"))
            _ = try await store.enqueue((20_000..<20_040).map { .named("\($0)") }, options: .init(batch: "mine"))
            _ = try await Self.steps(store)
            for _ in 0..<3 {
                let turn = try await fixture.takeTurn(
                    claiming: 8, limits: .init(total: 100, perHost: 30), batch: "mine")
                #expect(turn.claimed.count == 8 && turn.claimed.allSatisfy { Int($0.request.name)! >= 20_000 })
                #expect(try await Self.steps(store) < 20_000)
            }
            // The host has room for six more.
            #expect(try await fixture.claim(8, limits: .init(total: 100, perHost: 30), batch: "mine").count == 6)
            #expect(
                try await !fixture.takeTurn(claiming: 1, limits: .init(total: 100, perHost: 30), batch: "mine").isEmpty)
            try await store.close()
        }
    }

    @Test func `a long history is pruned in steps and counted without a scan`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            try await store.execute(
                """
                WITH RECURSIVE one (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM one WHERE i < 100000)
                INSERT INTO job (id, url, folder, name, target, host, priority, state, created, ended)
                    SELECT i, 'https://h.example/' || i, 'file:///d/', i, CAST('/d/' || i AS BLOB), 'h.example', 0, 2, 0, i FROM one;
                INSERT INTO member (job, place, user, batch, priority) SELECT id, 0, '', 'old', 0 FROM job;
                WITH RECURSIVE one (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM one WHERE i < 205000)
                INSERT INTO event (time, job, kind, user, batch) SELECT 0, i, 'done', '', '' FROM one;
                """)
            func changed() async throws -> Int { try await store.read { database, _ in database.totalChangesCount } }
            var before = try await changed()
            for _ in 0..<3 {
                #expect(try await store.pruneSome(olderThan: .seconds(Int64.max), keeping: 1000))
                let after = try await changed()
                // Each removed job changes a job, a member, a new event, four events past the limit, and counts.
                #expect(after - before <= 9 * prunedAtOnce)
                before = after
            }
            // Each removed job costs two scanned index entries.
            #expect(try await Self.scannedRows(store) < 8 * prunedAtOnce)
            _ = try await Self.steps(store)
            #expect(try await store.snapshot(listing: 1).counts == [.done: 100_000 - 3 * prunedAtOnce])
            #expect(try await Self.steps(store) < 1000)
            try await store.prune(olderThan: .seconds(Int64.max), keeping: 98_000)
            let snapshot = try await store.snapshot(listing: 1)
            #expect(snapshot.counts == [.done: 98_000] && snapshot.ended.map(\.id.rawValue) == [100_000])
            #expect(try await store.events(after: nil, atMost: 300_000).count == 10 * keptEvents)
            try await store.close()
        }
    }

    /// A damaged page can contain any value: NULL, which SQLite doesn't convert, or numbers so large that adding to them overflows.
    @Test(arguments: [
        (
            "job",
            [
                "url", "folder", "name", "target", "host", "is_unresolved", "priority", "state", "failures", "token",
                "charged",
                "lease_until", "is_cancelled", "may_be_published", "ended", "worker",
            ]
        ),
        ("member", ["user", "batch", "priority", "is_paused"]),
        ("lane", ["host", "user", "is_unresolved", "head_rank", "head_job"]),
        ("event", ["time", "job", "kind", "user", "batch"]), ("host", ["until", "failures", "is_open"]),
        ("tally", ["number"]), ("batch_line", ["host"]), ("sqlite_sequence", ["seq"]),
    ]) func `a damaged value throws and never crashes the process`(_ table: String, _ columns: [String]) async throws {
        // With an unknown state, nothing else would be read.
        let others = ["state", "url", "folder", "name", "target", "host", "charged", "worker", "user", "batch", "kind"]
        let numbers = columns.filter { !others.contains($0) }
        let extremes = [Int64.max, .min].filter { _ in !numbers.isEmpty }.map { extreme in
            "UPDATE OR IGNORE \(table) SET " + numbers.map { "\($0) = \(extreme)" }.joined(separator: ", ")
        }
        for damage in columns.map({ "UPDATE \(table) SET \($0) = NULL" }) + extremes + ["DELETE FROM \(table)"] {
            try await withQueueFile { url in
                let time = VirtualTime()
                let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
                let fixture = StoreFixture(store: store, time: time, worker: QueueWorker(name: "w"))
                for name in ["a", "b", "c", "d", "e"] { try await fixture.add(name, user: name, batch: "list") }
                let claimed = try await fixture.claim(3)
                let busy = JobSettlement(
                    lease: claimed[0].lease, outcome: .retry(after: .seconds(1), message: "slow"),
                    host: .unreachable(limit: 1, pause: .seconds(1)))
                _ = try await store.takeTurn([busy], claiming: nil)
                try await fixture.settle(claimed[1], .failed(message: "gone"))
                _ = try await store.pause(.user("e"))
                try await store.close()
                let queue = try DatabaseQueue(path: url.path(percentEncoded: false))
                try await queue.writeWithoutTransaction { database in
                    try database.execute(
                        sql:
                            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'"
                    )
                }
                try queue.close()
                let damaging = try DatabaseQueue(path: url.path(percentEncoded: false))
                try await damaging.write { try $0.execute(sql: damage) }
                try damaging.close()
                let damaged = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
                time.advance(by: .seconds(2))
                let after = StoreFixture(store: damaged, time: time, worker: QueueWorker(name: "w"))
                for operation in [
                    { _ = try await after.claim(1) }, { _ = try await after.claim(1, batch: "list") },
                    { _ = try await damaged.renew(after.worker, lease: .seconds(1)) },
                    { _ = try await damaged.snapshot(listing: 9) },
                    { _ = try await damaged.events(after: nil, atMost: 9) },
                    { try await after.settle(claimed[2], .done(bytes: 1)) },
                    { try await after.add("b", user: "z", batch: "y") },
                    { _ = try await damaged.pause(.all) }, { _ = try await damaged.resume(.all) },
                    { _ = try await damaged.prioritize(.all, priority: .max) },
                    { _ = try await damaged.unfinished(after: JobID(rawValue: 0), atMost: 9) },
                    { _ = try await damaged.cancel(.all) }, { _ = try await damaged.retry(.all) },
                    { try await damaged.prune(olderThan: .zero, keeping: 0) }, { _ = try await damaged.remove(.all) },
                    { try await damaged.detach(after.worker) },
                ] as [() async throws -> Void] {
                    do { try await operation() } catch { #expect(error is QueueStoreError, "\(damage): \(error)") }
                }
                try await damaged.close()
            }
        }
    }
}
