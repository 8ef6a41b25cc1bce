#if PostgreSQL
import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluicePostgres

@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `A queue whose server fails` {
    private static let limits = DownloadCoordinator.Limits(total: 4, perHost: nil)

    @Test func `a server that is killed while workers work loses no job, and no job is settled twice`() async throws {
        try await Servers.withMortal { url in
            try await QueueFixture.with(url, workers: 4) { fixture async throws in
                let added = try await fixture.store.enqueue((0..<600).map { .numbered($0) }, options: .init())
                let settled = Monitor<[JobID]>([])
                try await withThrowingTaskGroup { group in
                    for store in fixture.stores {
                        group.addTask { try await Self.workOff(store, settled) }
                    }
                    group.addTask {
                        for round in 1...3 {
                            try await settled.waitUnlessCancelled(where: { $0.count >= round * 100 })
                            try await Servers.control("kill")
                            try await Servers.control("start")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(settled.state.sorted() == added.map(\.id))
                #expect(try await fixture.store.snapshot(listing: 0).counts == [.done: 600])
                let events = try await fixture.store.events(after: nil, atMost: 100_000)
                #expect(events.map(\.id.rawValue) == Array(1...Int64(events.count)))
                #expect(events.filter { $0.kind == .done }.map(\.job).sorted() == added.map(\.id))
            }
        }
    }

    /// Claims and settles until the queue is empty, and notes each accepted settlement.
    private static func workOff(_ store: PostgresQueueStore, _ settled: Monitor<[JobID]>) async throws {
        let worker = try await store.attach()
        var held: [ClaimedJob] = []
        while true {
            let settlements = held.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            // A lease that a crash has undone is refused, and its job is claimed again. A claim that was committed after its worker had
            // given it up is found again when its lease ends.
            let exchange = try await store.exchange(
                settlements, claiming: JobClaim(worker: worker, count: 1, limits: limits, lease: .seconds(20)))
            for job in held where !exchange.refused.contains(job.lease) {
                settled.withState { $0.append(job.lease.job) }
            }
            held = exchange.claimed
            if exchange.isEmpty { break }
        }
        try await store.detach(worker)
    }

    @Test func `an exchange whose commit had no answer is recognized when it runs again`() async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            _ = try await store.enqueue((0..<4).map { .numbered($0) }, options: .init())
            let claim = JobClaim(worker: worker, count: 2, limits: Self.limits, lease: .seconds(3600))
            let claimed = try await store.exchange([], claiming: claim).claimed
            let settlements = claimed.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            let first = try await store.exchange(settlements, claim, token: 1_000, isAgain: false)
            #expect(first.refused == [] && first.claimed.map(\.lease.token) == [1_001, 1_002])
            let again = try await store.exchange(settlements, claim, token: 1_000, isAgain: true)
            #expect(again.refused == [] && again.claimed == first.claimed)
            let late = try await store.exchange(settlements, claim, token: 2_000, isAgain: false)
            #expect(late.refused == settlements.map(\.lease) && late.claimed == [])
        }
    }

    @Test func `the errors name what to do and never the password`() async throws {
        let cases: [(url: String, code: QueueStoreError.Code)] = [
            ("postgres://me:secret-word@127.0.0.1:1/queue", .unavailable),
            ("mysql://me:secret-word@127.0.0.1/queue", .unusable),
            (try Servers.url { $0.password = "secret-word" }, .notWritable),
            (try Servers.url { $0.path = "/missing" }, .unusable),
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

    @Test func `secrets are refused`() async throws {
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

@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `A run whose server fails` {
    @Test func `goes on when the server is back, and fails no job`()
        async throws
    {
        try await Servers.withMortal { url in
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
        try await Servers.control("kill")
        // Four transfers end now, and their outcomes can't be recorded.
        await gate.open()
        try await warnings.waitUnlessCancelled(where: { $0.contains(.unavailable) })
        try await Servers.control("start")
        try await run
        #expect(warnings.state.filter { $0 == .unavailable }.count == 1)
        // A crash may undo the claims, and then the jobs are claimed again and their files compared.
        #expect((12...16).contains(origin.metrics.requests))
        for handle in handles { #expect(try await handle.result.bytes == 1000) }
        var done: [QueuedDownload.ID] = []
        for try await event in downloads.events() {
            if event.kind == .done { done.append(event.job) }
            #expect(event.kind == .added || event.kind == .started || event.kind == .done)
            if done.count == 12 { break }
        }
        #expect(done.sorted() == handles.map(\.id).sorted())
        try await downloads.close()
    }
}

/// A worker that doesn't know of a claim would renew its leases as long as it runs, and never work on the jobs.
@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `A claim whose answer was lost` {
    private static let limits = DownloadCoordinator.Limits(total: 9, perHost: nil)

    @Test(arguments: [true, false])
    func `is given up before its worker renews or claims again`(_ renews: Bool) async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            let added = try await store.enqueue((0..<4).map { .numbered($0) }, options: .init())
            let claim = JobClaim(worker: worker, count: 2, limits: Self.limits, lease: .seconds(3600))
            let known = try await store.exchange([], claim, token: 1_000, isAgain: false).claimed
            // Committed, without an answer.
            _ = try await store.exchange([], claim, token: 2_000, isAgain: false)
            store.note(LostClaim(worker: worker.name, token: 2_000, count: 2))
            if renews {
                let renewed = try await store.renew(worker, lease: .seconds(3600))
                #expect(renewed.map(\.lease) == known.map(\.lease))
                #expect(try await store.snapshot(listing: 0).counts == [.running: 2, .waiting: 2])
            }
            let again = try await store.exchange([], claiming: claim).claimed
            #expect(again.map(\.lease.job) == added[2...].map(\.id))
            // No worker has begun them, so no file of theirs can be there.
            #expect(again.map(\.mayBePublished) == [false, false])
            #expect(store.lost(by: worker) == [])
        }
    }

    @Test func `is remembered if the second attempt gets no answer either`() async throws {
        let store = PostgresQueueStore(
            try Servers.url, queue: "lost \(UInt64.random(in: 0 ... .max))", namespace: "lost_claim_tests",
            configuration: .init(retryTimeout: .zero))
        let worker = try await store.attach()
        let added = try await store.enqueue([.numbered(1)], options: .init())
        try await withDatabase { database in
            let settings = PostgresTransaction(namespace: "lost_claim_tests")
            // It runs in COMMIT, and ends the session there.
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
            let error = await #expect(throws: QueueStoreError.self) { try await store.exchange([], claiming: claim) }
            #expect(error?.code == .unavailable)
            #expect(store.lost(by: worker).map(\.count) == [3])
            _ = try await database.run([PostgresStatement("DROP TRIGGER terminate ON event")], in: settings)
            #expect(try await store.exchange([], claiming: claim).claimed.map(\.lease.job) == added.map(\.id))
            #expect(store.lost(by: worker) == [])
            _ = try await database.run([PostgresStatement("DROP SCHEMA lost_claim_tests CASCADE")])
        }
        try await store.close()
    }
}
#endif
