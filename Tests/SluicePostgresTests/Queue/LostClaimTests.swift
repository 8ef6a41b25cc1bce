#if PostgreSQL
import SluiceDownloads
import TestSupport
import Testing

@testable import SluicePostgres

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
