import Foundation
import SluiceDownloads
import SluicePostgres

/// A queue in PostgreSQL, compared with pgbench, which calls the store's functions in the database and does nothing else.
/// Scripts/checks/postgres.sh starts the server.
enum PostgresRows {
    static var all: [Row] { [1, 8, 64].map(working) + [100_000, 1_000_000].map(claiming) + [enqueueing, firstPage] }

    /// The exchanges of a worker, each of which settles jobs and claims others.
    private static func working(lanes: Int) -> Row {
        Row(
            "postgres/jobs without transfers from \(lanes) \(lanes == 1 ? "lane" : "lanes"), 100,000 waiting",
            .perSecond("jobs"), against: "pgbench, 8 jobs for each exchange"
        ) { stage, rounds in
            let count = stage.count(500, quick: 20)
            try await withBench(stage) { bench in
                let waiting = stage.count(100_000, quick: 10_000)
                let ours = try await bench.jobs(waiting, users: lanes)
                let peer = try await bench.jobs(waiting, users: lanes)
                // The peer holds jobs before each round, as ours does after its first exchange.
                try await bench.run(Bench.claiming(perUser: FailingJobs.perUser(lanes)), on: peer, times: 1)
                try await rounds(
                    {
                        var sample = try await ours.work(times: count)
                        sample.operations *= 8
                        return sample
                    },
                    {
                        try await bench.run(
                            Bench.settling + Bench.claiming(perUser: FailingJobs.perUser(lanes)), on: peer,
                            times: count, jobs: 8)
                    })
                try await ours.downloads.close()
                try await peer.downloads.close()
            }
        }
    }

    /// The claim alone, without the store's client. The claimed jobs keep running until they are settled between the rounds.
    private static func claiming(waiting: Int) -> Row {
        Row(
            "postgres/pgbench: claim of 8 jobs, \(Format.number(Double(waiting))) waiting in 10,000 lanes",
            .milliseconds,
            against: "1,000 waiting in 10 lanes", figure: .below(2)
        ) { stage, rounds in
            let count = stage.count(500, quick: 16)
            try await withBench(stage) { bench in
                let many = try await bench.jobs(stage.count(waiting, quick: 10_000), users: 10_000)
                let few = try await bench.jobs(1_000, users: 10)
                try await rounds(
                    { try await bench.claim(on: many, times: count) },
                    {
                        try await few.enqueue(8 * count)
                        return try await bench.claim(on: few, times: count)
                    })
                try await many.downloads.close()
                try await few.downloads.close()
            }
        }
    }

    private static var firstPage: Row {
        Row(
            "postgres/first page in a browser, 1,000,000 downloads", .milliseconds, against: "1,000 downloads",
            figure: .below(300)
        ) { stage, rounds in
            let times = stage.count(10, quick: 2)
            try await withBench(stage) { bench in
                let many = try await bench.jobs(stage.count(1_000_000, quick: 10_000), users: 100)
                let few = try await bench.jobs(1_000, users: 100)
                try await rounds(
                    { try await PageRows.shown(many.downloads, times: times) },
                    { try await PageRows.shown(few.downloads, times: times) })
                try await many.downloads.close()
                try await few.downloads.close()
            }
        }
    }

    private static var enqueueing: Row {
        Row(
            "postgres/enqueue 10,000 requests", .milliseconds, against: "pgbench, whose arrays the server fills"
        ) { stage, rounds in
            let count = stage.count(10_000, quick: 2_000)
            try await withBench(stage) { bench in
                let ours = try await bench.jobs(1, users: 1)
                let peer = try await bench.jobs(1, users: 1)
                try await rounds(
                    {
                        let requests = ours.requests(count)
                        return try await timed(1, expecting: count) {
                            try await ours.downloads.enqueue(requests).count { $0.admission == .added }
                        }
                    },
                    { try await bench.run(Bench.enqueueing(count), on: peer, times: 1) })
                try await ours.downloads.close()
                try await peer.downloads.close()
            }
        }
    }

    private static func withBench(_ stage: Stage, _ body: (Bench) async throws -> Void) async throws {
        guard let url = ProcessInfo.processInfo.environment["SLUICE_POSTGRES"] else {
            throw RowFailure.missing("there is no server; run the benchmarks with Scripts/checks/postgres.sh")
        }
        let pgbench = try Programs.found("pgbench")
        try await stage.withDirectory { directory in
            let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
            try await body(Bench(url: url, pgbench: pgbench, children: children, directory: directory))
        }
    }
}

/// Runs pgbench.
///
/// The statements fail, by dividing by zero, if they do less than what is measured. Then pgbench exits with 2.
private struct Bench {
    let url: String
    let pgbench: URL
    let children: Children
    let directory: URL

    private static let namespace = "benchmarks"

    /// Creates a queue.
    func jobs(_ count: Int, users: Int) async throws -> FailingJobs {
        let name = "benchmark \(UInt64.random(in: 0 ... .max))"
        return try await FailingJobs(
            count, users: users, in: directory, name: name,
            store: .postgres(url, queue: name, namespace: Self.namespace))
    }

    /// Runs statements as one transaction under a lock, in one round trip, `count` times.
    @discardableResult
    func run(
        _ statements: [String], on queue: FailingJobs, times count: Int, jobs: Int = 1, waitsForDisk: Bool = true
    ) async throws -> Sample {
        let script = directory.appending(path: "script.sql")
        let lines =
            ["\\set token random(1, 4000000000000000000)", "BEGIN\\;"]
            + (["SET LOCAL search_path = \(Self.namespace)"]
            + (waitsForDisk ? [] : ["SET LOCAL synchronous_commit = off"])
            + ["SELECT pg_advisory_xact_lock(1)"] + statements)
            .map { $0.replacing("QUEUE", with: "(SELECT number FROM queue WHERE name = '\(queue.name)')") + "\\;" }
            + ["COMMIT;"]
        try Data(lines.joined(separator: "\n").utf8).write(to: script)
        return try await children.run(pgbench, ["-n", "-M", "simple", "-f", script.path, "-t", "\(count)", url])
            .sample(operations: count * jobs, bytes: 0)
    }

    /// Claims eight jobs `count` times, and settles them all after the time has been taken.
    func claim(on queue: FailingJobs, times count: Int) async throws -> Sample {
        let sample = try await run(Self.claiming(perUser: nil), on: queue, times: count, waitsForDisk: false)
        try await run(Self.settling, on: queue, times: 1)
        return sample
    }

    static let settling = [
        """
        SELECT 1 / (count(*) = 0)::int FROM (
            SELECT array_agg(id) AS jobs, array_agg(token) AS tokens, ARRAY[count(*)::int] AS number
            FROM job WHERE queue = QUEUE AND state = 1 AND worker = 'pgbench') AS held
        CROSS JOIN LATERAL settle(QUEUE, NULL, false, jobs, tokens, array_fill(3::int8, number), array_fill(NULL::int8, number),
            array_fill('refused'::text, number), array_fill(NULL::text, number), array_fill(0::int8, number),
            array_fill(0::int8, number), array_fill(0::int8, number))
        """
    ]

    static func claiming(perUser: Int?) -> [String] {
        let limits = perUser.map { "8, NULL, \($0)" } ?? "1000000, NULL, NULL"
        return [
            """
            SELECT 1 / (count(*) = 8)::int
            FROM claim(QUEUE, NULL, false, 'pgbench', 8, \(limits), 3600000, NULL, false, 'machine', :token)
            """,
            "SELECT due FROM outlook(QUEUE, NULL, NULL)",
        ]
    }

    static func enqueueing(_ count: Int) -> [String] {
        let numbers = "FROM generate_series(last_job + 1, last_job + \(count)) AS i"
        func all(_ value: String) -> String { "array_fill(\(value), ARRAY[\(count)])" }
        return [
            """
            SELECT 1 / (count(*) = \(count))::int FROM queue CROSS JOIN LATERAL enqueue(number, NULL, '', false,
                ARRAY(SELECT 'https://host.example/' || i \(numbers)), \(all("'file:///music/'::text")),
                ARRAY(SELECT i::text \(numbers)), ARRAY(SELECT ('/music/' || i)::bytea \(numbers)),
                \(all("'host.example'::text")), \(all("''::text")), \(all("false")), \(all("'user 0'::text")),
                \(all("0::int8"))) WHERE number = QUEUE AND outcome = 0
            """
        ]
    }
}
