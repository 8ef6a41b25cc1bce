#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP
import TestSupport
import Testing

@testable import SluicePostgres

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A queue that many workers share` {
    private static let limits = DownloadCoordinator.Limits(total: 5, perHost: 2, perUser: 2)

    /// Claims and settles until the queue is empty.
    private static func workOff(_ store: PostgresQueueStore, _ tally: Tally) async throws {
        let worker = try await store.attach()
        var finished: [ClaimedJob] = []
        while true {
            tally.end(finished)
            let turn = try await store.takeTurn(
                finished.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1), host: .reached) },
                claiming: JobClaim(worker: worker, count: 2, limits: limits, lease: .seconds(3600)))
            if !turn.refused.isEmpty { tally.note("refused \(turn.refused)") }
            tally.begin(turn.claimed)
            finished = turn.claimed
            if turn.isEmpty { break }
        }
        try await store.detach(worker)
    }

    private static func workOff(_ fixture: QueueFixture, jobs: Int) async throws {
        let requests = (0..<jobs).map { DownloadRequest.numbered($0, hosts: 4, users: 5) }
        let added = try await fixture.store.enqueue(requests, options: .init())
        #expect(added.allSatisfy { $0.admission == .added })
        let tally = Tally(limits: limits)
        try await withThrowingTaskGroup { group in
            for store in fixture.stores { group.addTask { try await Self.workOff(store, tally) } }
            try await group.waitForAll()
        }
        let state = tally.state
        #expect(state.violations == [])
        #expect(state.done.sorted() == added.map(\.id))
        #expect(try await fixture.store.snapshot(listing: 0).counts == [.done: jobs])
        // Each job was added, started and done, and no number is missing.
        let events = try await fixture.store.events(after: nil, atMost: 10_000)
        #expect(events.map(\.id.rawValue) == Array(1...Int64(3 * jobs)))
    }

    @Test func `eight workers with separate connections never exceed the limits`() async throws {
        try await QueueFixture.with(workers: 8) { try await Self.workOff($0, jobs: 400) }
    }

    @Test func `the queue works through a pooler in transaction mode`() async throws {
        try await QueueFixture.with(try PostgresServers.pooler, workers: 8) { try await Self.workOff($0, jobs: 200) }
    }

    /// In one of the variants, a transaction waits for the lock in the same statement that claims. It then sees the queue as it was before
    /// the other claim. The store takes the lock in an earlier statement.
    @Test(arguments: [true, false])
    func `a claim that takes its lock in the same statement exceeds the limit`(_ isWrong: Bool) async throws {
        try await QueueFixture.with { fixture async throws in
            _ = try await fixture.store.enqueue((0..<4).map { .numbered($0) }, options: .init())
            let lock = Int64.random(in: 0 ... .max)
            // The limit is one running job.
            let claim = """
                UPDATE job SET state = 1, charged = '' WHERE queue = (SELECT number FROM queue WHERE name = $1)
                AND id = (SELECT min(id) FROM job AS first WHERE first.queue = job.queue AND state = 0)
                AND NOT EXISTS (SELECT FROM job AS other WHERE other.queue = job.queue AND other.state = 1)
                """
            let locked = PostgresStatement(
                "WITH lock AS MATERIALIZED (SELECT pg_advisory_xact_lock($2)) \(claim) AND EXISTS (SELECT FROM lock)",
                [.text(fixture.queue), .integer(lock)])
            let settings = PostgresTransaction(namespace: QueueFixture.namespace)
            var locking = settings
            locking.lock = lock
            let (plain, withLock) = (settings, locking)
            let running = try await withDatabase(configuration: .init(concurrency: 3)) { database in
                // The first claim holds the lock until the second one waits for it.
                async let second = database.transaction(withLock) { connection in
                    try await database.waitForWaiters(1, lock: lock)
                    return try await connection.run([PostgresStatement(claim, [.text(fixture.queue)])])[0].changedRows
                }
                // Otherwise the claim below might take the lock first, and the other one would see its result.
                try await database.waitForHolder(of: lock)
                let first =
                    isWrong
                    ? try await database.run([locked], in: plain)[0].changedRows
                    : try await database.run([PostgresStatement(claim, [.text(fixture.queue)])], in: withLock)[0]
                        .changedRows
                return try await first + second
            }
            #expect(running == (isWrong ? 2 : 1))
        }
    }

    @Test func `two queues in one database have separate limits and jobs`() async throws {
        try await QueueFixture.with { one in
            try await QueueFixture.with { other in
                let id = try await one.store.enqueue([.numbered(1)], options: .init())[0].id
                let limits = DownloadCoordinator.Limits(total: 1, perHost: 1)
                let worker = try await one.store.attach()
                let claim = JobClaim(worker: worker, count: 1, limits: limits, lease: .seconds(60))
                #expect(try await one.store.takeTurn([], claiming: claim).claimed.count == 1)
                #expect(try await other.store.jobs([id]) == [])
                #expect(try await other.store.takeTurn([], claiming: claim).isEmpty)
                #expect(try await other.store.cancel(.all) == JobChange())
                _ = try await other.store.enqueue([.numbered(1)], options: .init())
                #expect(try await other.store.takeTurn([], claiming: claim).claimed.count == 1)
            }
        }
    }

    @Test func `only new jobs and stops of running jobs are announced`() async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            try await withDatabase { (database) async throws in
                let channel = PostgresQueueStore.channel(QueueFixture.namespace, fixture.queue)
                let connection = try await PostgresConnection.open(database.address)
                _ = try await connection.run([.listen(to: channel)])
                /// The number of notifications before one that is sent now.
                func announced() async throws -> Int {
                    _ = try await database.run([.notify(channel, "end")])
                    var count = 0
                    while true {
                        for one in try await connection.notifications(timeout: .seconds(600)) {
                            if one.payload == "end" { return count }
                            count += 1
                        }
                    }
                }
                _ = try await store.enqueue((0..<3).map { .numbered($0) }, options: .init())
                #expect(try await announced() == 1)
                let claim = JobClaim(
                    worker: worker, count: 2, limits: .init(total: 9, perHost: nil), lease: .seconds(60))
                let claimed = try await store.takeTurn([], claiming: claim).claimed
                _ = try await store.takeTurn(
                    [JobSettlement(lease: claimed[0].lease, outcome: .released)], claiming: nil)
                _ = try await store.renew(worker, lease: .seconds(60))
                #expect(try await announced() == 0)
                #expect(try await store.cancel(.ids([claimed[1].lease.job])).cancelling.count == 1)
                #expect(try await announced() == 1)
                #expect(try await store.cancel(.waiting).stopped.count == 2)
                #expect(try await announced() == 0)
                #expect(try await store.retry(.all).count == 2)
                #expect(try await announced() == 1)
                connection.close()
            }
        }
    }
}

extension PostgresDatabase {
    /// Waits until a session holds the advisory lock.
    func waitForHolder(of lock: Int64) async throws {
        let query = """
            SELECT count(*) FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND (classid::int8 << 32 | objid::int8) = $1
            """
        while try await run([PostgresStatement(query, [.integer(lock)])])[0].scalar(as: Int.self) ?? 0 == 0 {
            _ = try await run([PostgresStatement("SELECT pg_sleep(0.01)")])
        }
    }
}

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A queue that announces changes` {
    /// Runs `body` while a store listens, and passes what it has announced.
    private static func listening(
        _ store: PostgresQueueStore, _ body: (Monitor<[QueueAnnouncement]>) async throws -> Void
    ) async throws {
        let heard = Monitor<[QueueAnnouncement]>([])
        let listening = Task { try await store.listen { news in heard.withState { $0.append(news) } } }
        try await heard.waitUnlessCancelled(where: { $0 == [.anything] })
        try await body(heard)
        listening.cancel()
        await #expect(throws: CancellationError.self) { try await listening.value }
    }

    @Test func `claimable and stopping jobs are announced, claims and settlements aren't`() async throws {
        try await QueueFixture.with(workers: 2) { fixture async throws in
            let (one, other) = (fixture.stores[0], fixture.stores[1])
            try await Self.listening(one) { heard in
                let added = try await other.enqueue([.numbered(1), .numbered(2)], options: .init())
                try await heard.waitUnlessCancelled(where: { $0.last == .jobs })
                let worker = try await other.attach()
                let claim = JobClaim(worker: worker, count: 2, limits: .init(), lease: .seconds(3600))
                let claimed = try await other.takeTurn([], claiming: claim).claimed
                _ = try await other.takeTurn(
                    [JobSettlement(lease: claimed[0].lease, outcome: .done(bytes: 1))], claiming: nil)
                #expect(try await other.cancel(.ids([added[1].id])).cancelling == [added[1].id])
                try await heard.waitUnlessCancelled(where: { $0.count >= 3 })
                #expect(heard.state == [.anything, .jobs, .anything])
            }
        }
    }

    @Test func `listening through a transaction-mode pooler throws and says what to do`() async throws {
        try await QueueFixture.with(try PostgresServers.pooler) { fixture async throws in
            let error = await #expect(throws: QueueStoreError.self) { try await fixture.store.listen { _ in } }
            #expect(error?.code == .other && error?.remedy?.contains("session mode") == true)
        }
    }
}

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `Jobs that belong to a machine` {
    private static let limits = DownloadCoordinator.Limits(total: 100, perHost: nil)

    /// Claims jobs on a machine and returns their names.
    private static func claim(
        _ fixture: QueueFixture, on machine: String?, batch: String? = nil, resolves: Bool = false, count: Int = 9
    ) async throws -> [String] {
        let worker = try await fixture.store.attach()
        let claim = JobClaim(
            worker: worker, count: count, limits: limits, lease: .seconds(3600), batch: batch, resolves: resolves,
            machine: machine)
        return try await fixture.store.takeTurn([], claiming: claim).claimed.map(\.request.name)
    }

    @Test func `are claimed only on that machine, in queue order`() async throws {
        try await QueueFixture.with { fixture in
            for (number, machine) in ["one", nil, "two", "one", nil].enumerated() {
                _ = try await fixture.store.enqueue([.numbered(number)], options: .init(machine: machine))
            }
            #expect(try await Self.claim(fixture, on: nil, count: 1) == ["1"])
            #expect(try await Self.claim(fixture, on: "two") == ["2", "4"])
            #expect(try await Self.claim(fixture, on: "three") == [])
            #expect(try await Self.claim(fixture, on: "one") == ["0", "3"])
        }
    }

    @Test func `have absolute targets, and jobs with relative targets belong to all machines`() async throws {
        try await QueueFixture.with { fixture in
            let url = URL(string: "https://h0.example/song")!
            let requests = [
                DownloadRequest(url, to: URL(filePath: "/music"), name: "absolute"),
                try DownloadRequest(url, below: "music", name: "relative"),
            ]
            let first = try await fixture.store.enqueue(requests, options: .init(machine: "one"))
            let second = try await fixture.store.enqueue(requests, options: .init(machine: "two"))
            #expect(second.map(\.admission) == [.added, .joined] && second[1].id == first[1].id)
            #expect(try await Self.claim(fixture, on: "three") == ["relative"])
            #expect(try await Self.claim(fixture, on: "two") == ["absolute"])
        }
    }

    @Test func `are claimed only on that machine, for a batch or with a resolver too`() async throws {
        try await QueueFixture.with { fixture in
            let directory = URL(string: "file:///music/")!
            for machine in ["one", "two", nil] {
                let requests = [
                    DownloadRequest.numbered(machine?.count ?? 1),
                    DownloadRequest(resolving: "song", host: "h0.example", to: directory, name: machine ?? "any"),
                ]
                _ = try await fixture.store.enqueue(requests, options: .init(batch: "list", machine: machine))
            }
            #expect(try await Self.claim(fixture, on: "one", batch: "list") == ["3", "1"])
            #expect(try await Self.claim(fixture, on: "two", resolves: true) == ["3", "two", "any"])
            #expect(try await Self.claim(fixture, on: "one", batch: "list", resolves: true) == ["one"])
        }
    }

    @Test func `differ from jobs for the same file on another machine`() async throws {
        try await QueueFixture.with { fixture in
            let store = fixture.store
            let song = DownloadRequest.numbered(1)
            var other = song
            other.url = URL(string: "https://other.example/1")!
            let first = try await store.enqueue([song], options: .init(machine: "one"))[0]
            let second = try await store.enqueue([song], options: .init(machine: "two"))[0]
            #expect(second.admission == .added && second.id != first.id)
            #expect(
                try await store.enqueue([song], options: .init(machine: "one"))
                    == [EnqueuedJob(id: first.id, admission: .joined)])
            #expect(
                try await store.enqueue([other], options: .init(machine: "one"))
                    == [EnqueuedJob(id: first.id, admission: .conflict(with: song.url))])
            // On a third machine, the file has no job yet.
            let third = try await store.enqueue([other], options: .init(machine: "three"))[0]
            #expect(third.admission == .added)
            // They still differ when they are retried.
            #expect(try await store.cancel(.all).stopped.count == 3)
            #expect(try await store.retry(.all) == [first.id, second.id, third.id])
        }
    }

    @Test func `include jobs copied on that machine`() async throws {
        try await QueueFixture.with { old in
            try await QueueFixture.with { new in
                _ = try await old.store.enqueue([.numbered(1)], options: .init())
                let downloads = try await old.store.unfinished(after: JobID(rawValue: .min), atMost: 9)
                let jobs = try await new.store.add(downloads, machine: "one")
                #expect(
                    try await new.store.add(downloads, machine: "one") == [
                        EnqueuedJob(id: jobs[0].id, admission: .joined)
                    ])
                #expect(try await new.store.add(downloads, machine: "two").map(\.admission) == [.added])
                #expect(try await Self.claim(new, on: "one") == ["1"])
                #expect(try await Self.claim(new, on: "one") == [])
            }
        }
    }
}

@Suite struct `A worker of an earlier version` {
    @Test func `stores only an error's description, and the last error's parts are ignored`() async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            let job = try await store.enqueue([.numbered(1)], options: .init())[0].id
            func claim() async throws -> ClaimedJob {
                let claim = JobClaim(worker: worker, count: 1, limits: .init(), lease: .seconds(60))
                return try #require(try await store.takeTurn([], claiming: claim).claimed.first)
            }
            let first = try await claim()
            let stalled = TransferError(.stalled, url: first.request.url)
            _ = try await store.takeTurn(
                [JobSettlement(lease: first.lease, outcome: .retry(after: .zero, stalled))], claiming: nil)
            let second = try await claim()
            #expect(try await store.jobs([job])[0].error == stalled)
            // Since version 4, the function has another parameter.
            let settle = """
                SELECT settle((SELECT number FROM queue WHERE name = $1), NULL, false, ARRAY[$2::int8], ARRAY[$3::int8],
                    ARRAY[\(JobState.failed)::int8], ARRAY[NULL::int8], ARRAY['h: It is gone.'], ARRAY[NULL::text], ARRAY[0::int8],
                    ARRAY[0::int8], ARRAY[0::int8])
                """
            _ = try await fixture.run([
                PostgresStatement(
                    settle, [.text(fixture.queue), .integer(job.rawValue), .integer(second.lease.token)])
            ])
            let failed = try await store.jobs([job])[0]
            #expect(failed.state == .failed && failed.failureCount == 2)
            #expect(failed.error?.code == .unknown && failed.error?.description == "h: It is gone.")
        }
    }
}
#endif
