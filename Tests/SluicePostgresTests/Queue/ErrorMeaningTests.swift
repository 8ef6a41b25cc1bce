#if PostgreSQL
import SluiceDownloads
import TestSupport
import Testing

@testable import SluiceDownloads
@testable import SluicePostgres

/// Which errors a worker waits out, and which end it.
@Suite struct `Errors of a queue on PostgreSQL` {
    @Test(
        arguments: [
            // What passes by itself.
            ("08000", .connectionLost, .unavailable), ("08003", .connectionLost, .unavailable),
            ("08006", .connectionLost, .unavailable), ("08P01", .connectionLost, .unavailable),
            ("25006", .readOnly, .unavailable), ("25P03", .connectionLost, .unavailable),
            ("25P04", .connectionLost, .unavailable), ("40001", .serializationFailure, .busy),
            ("40P01", .deadlock, .busy), ("53000", .unavailable, .unavailable), ("53200", .unavailable, .unavailable),
            ("53300", .unavailable, .unavailable), ("53400", .unavailable, .unavailable), ("55P03", .timedOut, .busy),
            ("57014", .timedOut, .busy), ("57P01", .connectionLost, .unavailable),
            ("57P02", .connectionLost, .unavailable), ("57P03", .unavailable, .unavailable),
            ("57P05", .connectionLost, .unavailable),
            // What a person has to change.
            ("22021", .other, .other), ("23505", .constraintViolated, .unusable),
            ("28000", .loginRefused, .notWritable),
            ("28P01", .loginRefused, .notWritable), ("3D000", .unknownDatabase, .unusable),
            ("42501", .notPermitted, .notWritable), ("42P01", .other, .other), ("53100", .full, .full),
            ("58030", .full, .full), ("XX001", .other, .other),
        ] as [(String, PostgresError.Code, QueueStoreError.Code)])
    func `each has a meaning`(_ state: String, _ code: PostgresError.Code, _ queueCode: QueueStoreError.Code) {
        let error = PostgresError(sqlState: state, serverMessage: "something", subject: "postgres://db/queue")
        #expect(error.code == code && error.remedy != nil)
        let queueError = QueueStoreError(error)
        #expect(queueError.code == queueCode)
        #expect(queueError.isOutage == [.unavailable, .busy].contains(queueCode))
    }

    @Test func `no text of the server repeats a password, in any form that a URL can have`() throws {
        let address = try PostgresAddress("postgres://me:pass%2Fword@db/queue?sslpassword=key%20word")
        for secret in ["pass/word", "pass%2Fword", "key word", "key%20word"] {
            #expect(!address.withoutSecrets("FATAL: refused \(secret) today").contains("word"))
            #expect(!PostgresError.lost(address, "no \(secret)").description.contains("word"))
        }
    }

    /// As after a failover, while the new primary is still a standby.
    @Test(.needsPostgres, .timeLimit(.minutes(2)))
    func `a server that can only be read makes a running worker wait, and a new one fail`() async throws {
        try await Servers.withMortal { url in
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
                    { _ = try await store.exchange([], claiming: claim) },
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
