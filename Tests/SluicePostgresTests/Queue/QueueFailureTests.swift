#if PostgreSQL
import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads
@testable import SluicePostgres

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A queue whose server fails` {
    private static let limits = DownloadCoordinator.Limits(total: 4, perHost: nil)

    @Test func `a server killed while workers run loses no job and settles none twice`() async throws {
        try await withMortalServer { url in
            try await QueueFixture.with(url, workers: 4) { fixture async throws in
                let added = try await fixture.store.enqueue((0..<600).map { .numbered($0) }, options: .init())
                let settled = Monitor<[JobID]>([])
                // A store's first connection isn't retried, and a busy machine may start a worker after the first kill.
                for store in fixture.stores { try await store.prepare() }
                try await withThrowingTaskGroup { group in
                    for store in fixture.stores {
                        group.addTask { try await Self.workOff(store, settled) }
                    }
                    group.addTask {
                        for round in 1...3 {
                            try await settled.waitUnlessCancelled(where: { $0.count >= round * 100 })
                            try await controlMortalServer("kill")
                            try await controlMortalServer("start")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(settled.state.sorted() == added.map(\.id))
                #expect(try await fixture.store.snapshot(listing: 0).counts == [.done: 600])
                let events = try await fixture.store.events(after: nil, atMost: 100_000)
                #expect(events.map(\.id.rawValue) == Array(1...Int64(events.count)))
                #expect(events.filter { $0.kind == .done }.map(\.download).sorted() == added.map(\.id))
            }
        }
    }

    /// Claims and settles until the queue is empty, and notes each accepted settlement.
    private static func workOff(_ store: PostgresQueueStore, _ settled: Monitor<[JobID]>) async throws {
        let worker = try await store.attach()
        var settlements: [JobSettlement] = []
        while true {
            let turn: JobTurn
            do {
                // A lease that a crash has undone is refused, and its job is claimed again. If a claim was committed after its worker gave
                // up on it, its job is claimed again once the lease expires.
                turn = try await store.takeTurn(
                    settlements, claiming: JobClaim(worker: worker, count: 1, limits: limits, lease: .seconds(20)))
            } catch let error as QueueStoreError where error.isOutage {
                // On a busy machine, the server may take longer to start than one operation keeps retrying. A run would continue, too.
                for index in settlements.indices { settlements[index].mayBeRecorded = true }
                continue
            }
            for settlement in settlements where !turn.refused.contains(settlement.lease) {
                settled.withState { $0.append(settlement.lease.job) }
            }
            settlements = turn.claimed.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            if turn.isEmpty { break }
        }
        try await store.detach(worker)
    }

    @Test func `a turn whose commit got no response is recognized when it's repeated`() async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            _ = try await store.enqueue((0..<4).map { .numbered($0) }, options: .init())
            let claim = JobClaim(worker: worker, count: 2, limits: Self.limits, lease: .seconds(3600))
            let claimed = try await store.takeTurn([], claiming: claim).claimed
            let settlements = claimed.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            let first = try await store.takeTurn(settlements, claim, token: 1_000, isAgain: false)
            #expect(first.refused == [] && first.claimed.map(\.lease.token) == [1_001, 1_002])
            let again = try await store.takeTurn(settlements, claim, token: 1_000, isAgain: true)
            #expect(again.refused == [] && again.claimed == first.claimed)
            let late = try await store.takeTurn(settlements, claim, token: 2_000, isAgain: false)
            #expect(late.refused == settlements.map(\.lease) && late.claimed == [])
        }
    }

    @Test func `errors say what to do and never contain the password`() async throws {
        let cases: [(url: String, code: QueueStoreError.Code)] = [
            ("postgres://me:secret-word@127.0.0.1:1/queue", .unavailable),
            ("mysql://me:secret-word@127.0.0.1/queue", .unusable),
            (try PostgresServers.url { $0.password = "secret-word" }, .notWritable),
            (try PostgresServers.url { $0.path = "/missing" }, .unusable),
        ]
        for (url, code) in cases {
            let store = DownloadStore.postgres(url).queue
            let error = await #expect(throws: QueueStoreError.self) { try await store.attach() }
            #expect(error?.code == code, "\(String(describing: error))")
            #expect(error?.remedy != nil)
            #expect(!"\(String(describing: error)) \(String(reflecting: error))".contains("secret-word"))
            try await store.close()
        }
    }

    @Test func `enqueue with a password in the URL throws without repeating it`() async throws {
        try await QueueFixture.with { fixture in
            var request = DownloadRequest.numbered(1)
            request.url = URL(string: "https://me:secret-word@host.example/1")!
            let error = await #expect(throws: QueueStoreError.self) {
                try await fixture.store.enqueue([request], options: .init())
            }
            #expect(error?.code == .passwordNotStored && error?.description.contains("secret-word") == false)
        }
    }
}

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A run whose server fails` {
    @Test func `continues when the server is back, and fails no job`()
        async throws
    {
        try await withMortalServer { url in
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                let gate = Gate()
                let answer: LoopbackOrigin.Handler = { _ in
                    await gate.pass()
                    return OriginResponse(body: Array(repeating: 7, count: 1000))
                }
                try await LoopbackOrigin.serve(answer) { origin in
                    try await Self.run(url, origin, gate, directory)
                }
            }
        }
    }

    private static func run(_ url: String, _ origin: LoopbackOrigin, _ gate: Gate, _ directory: URL) async throws {
        let downloads = DownloadCoordinator(
            store: .postgres(url, queue: "run \(UInt64.random(in: 0 ... .max))", namespace: "run_tests"),
            limits: .init(total: 4, perHost: nil), configuration: .init(durability: .none, lease: .seconds(3600)))
        let requests = try (0..<12).map {
            DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory, name: "\($0)")
        }
        let handles = try await downloads.enqueue(requests)
        let warnings = Monitor<[QueueStoreError.Code]>([])
        async let run: Void = downloads.run(until: .whenEmpty) { _ in
        } onWarning: { error in
            warnings.withState { $0.append(error.code) }
        }
        await gate.arrivals(4)
        try await controlMortalServer("kill")
        // Four transfers end now, and their outcomes can't be recorded.
        await gate.open()
        try await warnings.waitUnlessCancelled(where: { $0.contains(.unavailable) })
        try await controlMortalServer("start")
        try await run
        #expect(warnings.state.filter { $0 == .unavailable }.count == 1)
        // A crash may undo the claims, and then the jobs are claimed again and their files compared.
        #expect((12...16).contains(origin.metrics.requests))
        for handle in handles { #expect(try await handle.result.fileSize == 1000) }
        var done: [QueuedDownload.ID] = []
        for try await event in downloads.events() {
            if event.kind == .done { done.append(event.download) }
            #expect(event.kind == .added || event.kind == .started || event.kind == .done)
            if done.count == 12 { break }
        }
        #expect(done.sorted() == handles.map(\.id).sorted())
        try await downloads.close()
    }
}

/// A worker that doesn't know about a claim would keep renewing its leases, and never work on the jobs.
@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A claim whose response was lost` {
    private static let limits = DownloadCoordinator.Limits(total: 9, perHost: nil)

    @Test(arguments: [true, false])
    func `is released before its worker renews or claims again`(_ renews: Bool) async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            let added = try await store.enqueue((0..<4).map { .numbered($0) }, options: .init())
            let claim = JobClaim(worker: worker, count: 2, limits: Self.limits, lease: .seconds(3600))
            let known = try await store.takeTurn([], claim, token: 1_000, isAgain: false).claimed
            // Committed, but the response is lost.
            _ = try await store.takeTurn([], claim, token: 2_000, isAgain: false)
            store.note(LostClaim(worker: worker.name, token: 2_000, count: 2))
            if renews {
                let renewed = try await store.renew(worker, lease: .seconds(3600))
                #expect(renewed.map(\.lease) == known.map(\.lease))
                #expect(try await store.snapshot(listing: 0).counts == [.running: 2, .waiting: 2])
            }
            let again = try await store.takeTurn([], claiming: claim).claimed
            #expect(again.map(\.lease.job) == added[2...].map(\.id))
            // No worker has started them, so none of their files can exist.
            #expect(again.map(\.mayBePublished) == [false, false])
            #expect(store.lost(by: worker) == [])
        }
    }

    @Test func `is remembered if the retry gets no response either`() async throws {
        let store = PostgresQueueStore(
            try PostgresServers.url, queue: "lost \(UInt64.random(in: 0 ... .max))", namespace: "lost_claim_tests",
            configuration: .init(retryTimeout: .zero))
        let worker = try await store.attach()
        let added = try await store.enqueue([.numbered(1)], options: .init())
        try await withDatabase { database in
            let settings = PostgresTransaction(namespace: "lost_claim_tests")
            // This trigger runs during COMMIT and ends the session.
            _ = try await database.run(
                [
                    PostgresStatement(
                        """
                        CREATE OR REPLACE FUNCTION terminate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                            PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$
                        """),
                    PostgresStatement(
                        """
                        CREATE CONSTRAINT TRIGGER terminate AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION terminate()
                        """),
                ], in: settings)
            let claim = JobClaim(worker: worker, count: 3, limits: Self.limits, lease: .seconds(3600))
            let error = await #expect(throws: QueueStoreError.self) { try await store.takeTurn([], claiming: claim) }
            #expect(error?.code == .unavailable)
            #expect(store.lost(by: worker).map(\.count) == [3])
            _ = try await database.run([PostgresStatement("DROP TRIGGER terminate ON event")], in: settings)
            #expect(try await store.takeTurn([], claiming: claim).claimed.map(\.lease.job) == added.map(\.id))
            #expect(store.lost(by: worker) == [])
            _ = try await database.run([PostgresStatement("DROP SCHEMA lost_claim_tests CASCADE")])
        }
        try await store.close()
    }
}

/// A program that is stopped by Control-Z, a debugger or a cut cable can hold the queue's lock, which all others need.
@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A program that stops while it holds the lock of a queue` {
    private static let begin = PostgresStatement("BEGIN")

    /// A store that starts looking for the lock's holder early.
    private func withStore(_ body: (PostgresQueueStore, _ lock: Int64) async throws -> Void) async throws {
        let queue = "stopped \(UInt64.random(in: 0 ... .max))"
        let store = PostgresQueueStore(
            try PostgresServers.url, queue: queue, namespace: QueueFixture.namespace,
            configuration: .init(concurrency: 2, lockTimeout: .milliseconds(200)))
        try await store.prepare()
        try await body(store, PostgresQueueStore.lock(QueueFixture.namespace, queue))
        try await store.close()
    }

    @Test func `is disconnected, and other programs continue`() async throws {
        try await withStore { store, lock in
            let stopped = try await PostgresConnection.open(PostgresAddress(PostgresServers.url))
            _ = try await stopped.run([Self.begin, .lock(lock)])
            let added = try await store.enqueue([.numbered(1)], options: .init())
            #expect(added.map(\.admission) == [.added])
            await expectPostgresError(.connectionLost) { _ = try await stopped.run([PostgresStatement("COMMIT")]) }
            stopped.close()
        }
    }

    /// It can't receive more than the socket holds, so the server waits for it inside of a statement.
    @Test func `is disconnected if it no longer reads its results`() async throws {
        try await withStore { store, lock in
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [
                "psql", "-X", "-q", try PostgresServers.url, "-c",
                """
                BEGIN; SELECT pg_advisory_xact_lock(\(lock)); SELECT pg_sleep(0.5);
                SELECT repeat('x', 1000000) FROM generate_series(1, 100);
                """,
            ]
            (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            try process.run()
            try await withDatabase { database in
                func wait(_ condition: String) async throws {
                    let isMet = PostgresStatement(
                        """
                        SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'
                            AND granted AND (classid::int8 << 32 | objid::int8) = $1 AND \(condition)
                        """, [.integer(lock)])
                    while try await database.run([isMet])[0].scalar() == false {}
                }
                try await wait("true")
                kill(process.processIdentifier, SIGSTOP)
                try await wait("wait_event = 'ClientWrite'")
            }
            let added = try await store.enqueue([.numbered(1)], options: .init())
            #expect(added.map(\.admission) == [.added])
            kill(process.processIdentifier, SIGKILL)
            await offPool { process.waitUntilExit() }
        }
    }

    @Test func `isn't disconnected while it's working`() async throws {
        try await withStore { store, lock in
            let working = try await PostgresConnection.open(PostgresAddress(PostgresServers.url))
            async let work = working.run([
                Self.begin, .lock(lock), PostgresStatement("SELECT pg_sleep(1)"), PostgresStatement("COMMIT"),
            ])
            try await withDatabase { database in
                let held = PostgresStatement(
                    "SELECT count(*) FROM pg_locks WHERE (classid::int8 << 32 | objid::int8) = $1", [.integer(lock)])
                while try await database.run([held])[0].scalar() == 0 {}
            }
            _ = try await store.enqueue([.numbered(1)], options: .init())
            #expect(try await work.count == 4)
            working.close()
        }
    }

    @Test func `doesn't delay a program that opens a queue`() async throws {
        try await withStore { _, _ in
            let stopped = try await PostgresConnection.open(PostgresAddress(PostgresServers.url))
            let schema = PostgresQueueSchema.schema(namespace: QueueFixture.namespace)
            _ = try await stopped.run([Self.begin, .lock(schema.lock)])
            let store = PostgresQueueStore(
                try PostgresServers.url, queue: "opened \(UInt64.random(in: 0 ... .max))",
                namespace: QueueFixture.namespace)
            _ = try await store.enqueue([.numbered(1)], options: .init())
            _ = try await stopped.run([PostgresStatement("COMMIT")])
            stopped.close()
            try await store.close()
        }
    }

    @Test func `is disconnected if it exceeds the time limit between two statements`() async throws {
        try await withDatabase { (database) async throws in
            let settings = PostgresTransaction(clientTimeout: .milliseconds(100))
            let connection = try await PostgresConnection.open(database.address)
            await expectPostgresError(.connectionLost) {
                try await connection.transaction(settings) { connection in
                    let process = try await connection.process()
                    let isThere = PostgresStatement(
                        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", [.integer(process)])
                    while try await database.run([isThere])[0].scalar() == 1 {}
                    _ = try await connection.run([PostgresStatement("SELECT 1")])
                }
            }
            connection.close()
        }
    }
}

/// Delays and leases are measured by the server's clock, which a test sets here.
@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `A server whose clock is set` {
    /// A queue with two jobs, and two workers with leases of a minute.
    private static func withClock(
        _ test: @Sendable (Guarded<Int64>, PostgresQueueStore, _ workers: [QueueWorker]) async throws -> Void
    ) async throws {
        let now = Guarded<Int64>(10_000_000)
        try await QueueFixture.with(time: QueueTime { now.withLock { $0 } }) { fixture in
            let store = fixture.store
            _ = try await store.enqueue([.numbered(1), .numbered(2)], options: .init())
            try await test(now, store, [try await store.attach(), try await store.attach()])
        }
    }

    private static func claim(
        _ store: PostgresQueueStore, _ worker: QueueWorker, count: Int = 1
    ) async throws -> JobTurn {
        let limits = DownloadCoordinator.Limits(total: 9, perHost: nil)
        return try await store.takeTurn(
            [], claiming: JobClaim(worker: worker, count: count, limits: limits, lease: .seconds(60)))
    }

    @Test func `forward expires all leases, and their tokens can't settle jobs`() async throws {
        try await Self.withClock { now, store, workers in
            let lost = try await Self.claim(store, workers[0]).claimed[0]
            now.withLock { $0 += 3_600_000 }
            #expect(try await Self.claim(store, workers[1], count: 2).claimed.count == 2)
            let late = JobSettlement(lease: lost.lease, outcome: .done(bytes: 1))
            #expect(try await store.takeTurn([late], claiming: nil).refused == [lost.lease])
            #expect(try await store.renew(workers[0], lease: .seconds(60)) == [])
        }
    }

    @Test func `back still renews leases`() async throws {
        try await Self.withClock { now, store, workers in
            let held = try await Self.claim(store, workers[0]).claimed[0]
            now.withLock { $0 -= 3_600_000 }
            #expect(try await store.renew(workers[0], lease: .seconds(60)).map(\.lease) == [held.lease])
            #expect(try await Self.claim(store, workers[1], count: 2).claimed.count == 1)
            #expect(try await store.renew(workers[0], lease: .seconds(60)).map(\.lease) == [held.lease])
        }
    }

    @Test func `back releases a dead worker's job after one lease duration`() async throws {
        try await Self.withClock { now, store, workers in
            let lost = try await Self.claim(store, workers[0]).claimed[0]
            now.withLock { $0 -= 3_600_000 }
            #expect(try await Self.claim(store, workers[1]).claimed.count == 1)
            let turn = try await Self.claim(store, workers[1])
            #expect(turn.claimed == [] && turn.nextDue == .seconds(60))
            now.withLock { $0 += 60_000 }
            let claimed = try await Self.claim(store, workers[1], count: 2).claimed
            #expect(claimed.map(\.lease.job).contains(lost.lease.job))
        }
    }

    @Test func `back extends a delay until the clock reaches its end again`() async throws {
        try await Self.withClock { now, store, workers in
            let claimed = try await Self.claim(store, workers[0]).claimed[0]
            let retry = JobSettlement(
                lease: claimed.lease,
                outcome: .retry(after: .seconds(5), TransferError(.stalled, url: claimed.request.url)))
            _ = try await store.takeTurn([retry], claiming: nil)
            now.withLock { $0 -= 3_600_000 }
            #expect(try await Self.claim(store, workers[1], count: 2).claimed.count == 1)
            now.withLock { $0 += 3_605_000 }
            let again = try await Self.claim(store, workers[1], count: 2).claimed
            #expect(again.map(\.lease.job).contains(claimed.lease.job))
        }
    }
}

/// Which errors a worker waits out, and which ones end its run.
@Suite struct `Errors of a queue on PostgreSQL` {
    @Test(
        arguments: [
            // Errors that pass by themselves.
            ("08000", .connectionLost, .unavailable), ("08003", .connectionLost, .unavailable),
            ("08006", .connectionLost, .unavailable), ("08P01", .connectionLost, .unavailable),
            ("25006", .readOnly, .unavailable), ("25P03", .connectionLost, .unavailable),
            ("25P04", .connectionLost, .unavailable), ("40001", .serializationFailure, .busy),
            ("40P01", .deadlock, .busy), ("53000", .unavailable, .unavailable), ("53200", .unavailable, .unavailable),
            ("53300", .unavailable, .unavailable), ("53400", .unavailable, .unavailable), ("55P03", .timedOut, .busy),
            ("57014", .timedOut, .busy), ("57P01", .connectionLost, .unavailable),
            ("57P02", .connectionLost, .unavailable), ("57P03", .unavailable, .unavailable),
            ("57P05", .connectionLost, .unavailable),
            // Errors that somebody has to fix.
            ("22021", .other, .other), ("23505", .constraintViolated, .unusable),
            ("28000", .loginRefused, .notWritable),
            ("28P01", .loginRefused, .notWritable), ("3D000", .unknownDatabase, .unusable),
            ("42501", .notPermitted, .notWritable), ("42P01", .other, .other), ("53100", .full, .full),
            ("58030", .full, .full), ("XX001", .other, .other),
        ] as [(String, PostgresError.Code, QueueStoreError.Code)])
    func `each maps to a queue error`(_ state: String, _ code: PostgresError.Code, _ queueCode: QueueStoreError.Code) {
        let error = PostgresError(sqlState: state, serverMessage: "something", subject: "postgres://db/queue")
        #expect(error.code == code && error.remedy != nil)
        let queueError = QueueStoreError(error)
        #expect(queueError.code == queueCode)
        #expect(queueError.isOutage == [.unavailable, .busy].contains(queueCode))
    }

    @Test func `server messages are shown without passwords, encoded or not`() throws {
        let address = try PostgresAddress("postgres://me:pass%2Fword@db/queue?sslpassword=key%20word")
        for secret in ["pass/word", "pass%2Fword", "key word", "key%20word"] {
            #expect(!address.withoutSecrets("FATAL: refused \(secret) today").contains("word"))
            #expect(!PostgresError.lost(address, "no \(secret)").description.contains("word"))
        }
    }

    /// As after a failover, while the new primary is still a standby.
    @Test(.needsPostgres, .timeLimit(.minutes(15)))
    func `on a read-only server, a running worker waits and a new one fails`() async throws {
        try await withMortalServer { url in
            let store = PostgresQueueStore(
                url, queue: "failover \(UInt64.random(in: 0 ... .max))", namespace: QueueFixture.namespace,
                configuration: .init(retryTimeout: .zero))
            let worker = try await store.attach()
            try await withDatabase(url) { database in
                let others = PostgresStatement(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user"
                )
                func setReadOnly(_ value: String) async throws {
                    _ = try await database.run([
                        PostgresStatement("SET TRANSACTION READ WRITE"),
                        PostgresStatement("ALTER ROLE sluice SET default_transaction_read_only = \(value)"),
                    ])
                    _ = try await database.run([others])
                }
                try await setReadOnly("on")
                let claim = JobClaim(worker: worker, count: 1, limits: .init(total: 1), lease: .seconds(60))
                for operation in [
                    { _ = try await store.takeTurn([], claiming: claim) },
                    { _ = try await store.renew(worker, lease: .seconds(1)) }, { _ = try await store.attach() },
                ] as [() async throws -> Void] {
                    let error = await #expect(throws: QueueStoreError.self) { try await operation() }
                    #expect(error?.isOutage == true && error?.remedy?.contains("primary") == true)
                }
                #expect(try await store.snapshot(listing: 1).counts == [:])
                try await setReadOnly("off")
            }
            _ = try await store.renew(worker, lease: .seconds(1))
            try await store.close()
        }
    }
}
#endif
