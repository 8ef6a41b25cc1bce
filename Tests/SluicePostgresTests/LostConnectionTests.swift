#if PostgreSQL
import Foundation
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `Lost connections to PostgreSQL` {
    private static let insert = PostgresStatement("INSERT INTO note SELECT coalesce(max(id), 0) + 1 FROM note")

    @Test func `a session that is terminated during a statement says so`() async throws {
        try await withDatabase { (database) async throws in
            let connection = try await PostgresConnection.open(database.address)
            let process = try await connection.process()
            let lock = Int64.random(in: 0 ... .max)
            let holder = try await PostgresConnection.open(database.address)
            try await holder.transaction(PostgresTransaction(lock: lock)) { _ in
                let statement = Task { try await connection.run([.lock(lock)]) }
                try await database.waitForWaiters(1, lock: lock)
                _ = try await database.run([
                    PostgresStatement("SELECT pg_terminate_backend($1::int4)", [.integer(process)])
                ])
                let error = await expectPostgresError(.connectionLost) { _ = try await statement.value }
                #expect(error?.sqlState == "57P01" && error?.isTransient == true)
            }
            #expect(!connection.isUsable())
            await expectPostgresError(.connectionLost) { _ = try await connection.run([PostgresStatement("SELECT 1")]) }
            connection.close()
            holder.close()
        }
    }

    @Test func `a transaction whose session is terminated runs again, once`() async throws {
        try await withTable { (database, settings) async throws in
            let attempts = Recorder<Int64>()
            try await database.transaction(settings) { connection in
                let process = try await connection.process()
                attempts.note(process)
                _ = try await connection.run([Self.insert])
                if attempts.values.count == 1 {
                    let killer = try await PostgresConnection.open(database.address)
                    _ = try await killer.run([
                        PostgresStatement("SELECT pg_terminate_backend($1::int4, 10000)", [.integer(process)])
                    ])
                    killer.close()
                }
                _ = try await connection.run([Self.insert])
            }
            #expect(attempts.values.count == 2 && Set(attempts.values).count == 2)
            #expect(try await database.count(settings) == 2)
        }
    }

    @Test func `a batch whose session is terminated before the commit runs again`() async throws {
        try await withTable { (database, settings) async throws in
            _ = try await database.run([PostgresStatement("CREATE SEQUENCE attempt")], in: settings)
            // A sequence isn't rolled back, so only the first attempt terminates its session.
            let terminate = PostgresStatement(
                "SELECT CASE WHEN nextval('attempt') = 1 THEN pg_terminate_backend(pg_backend_pid()) END")
            _ = try await database.run([Self.insert, terminate, Self.insert], in: settings)
            #expect(try await database.count(settings) == 2)
        }
    }

    @Test func `idle connections that were terminated are replaced without an error`() async throws {
        try await withTable(configuration: .init(concurrency: 1)) { (database, settings) async throws in
            for _ in 0..<5 {
                let process = try await database.transaction(settings) { try await $0.process() }
                let killer = try await PostgresConnection.open(database.address)
                _ = try await killer.run([
                    PostgresStatement("SELECT pg_terminate_backend($1::int4, 10000)", [.integer(process)])
                ])
                killer.close()
                _ = try await database.run([Self.insert], in: settings)
            }
            #expect(try await database.count(settings) == 5)
        }
    }

    @Test func `a commit without an answer is reported as unknown, and repeated only if that is harmless`() async throws
    {
        try await withTable(configuration: .init(concurrency: 1)) { (database, settings) async throws in
            // A deferred trigger runs in COMMIT and terminates the session there, the first time.
            _ = try await database.run(
                [
                    PostgresStatement("CREATE SEQUENCE attempt"),
                    PostgresStatement(
                        """
                        CREATE FUNCTION terminate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                            IF nextval('attempt') IN (1, 3, 5) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                            RETURN NULL;
                        END $$
                        """),
                    PostgresStatement(
                        """
                        CREATE CONSTRAINT TRIGGER terminate AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION terminate()
                        """),
                ], in: settings)
            let error = await expectPostgresError(.outcomeUnknown) {
                _ = try await database.run([Self.insert], in: settings)
            }
            #expect(error?.isTransient == false && error?.cause is PostgresError)
            #expect(try await database.count(settings) == 0)
            _ = try await database.run([PostgresStatement("SELECT nextval('attempt')")], in: settings)
            await expectPostgresError(.outcomeUnknown) {
                try await database.transaction(settings) { _ = try await $0.run([Self.insert]) }
            }
            _ = try await database.run([PostgresStatement("SELECT nextval('attempt')")], in: settings)
            var idempotent = settings
            idempotent.isIdempotent = true
            _ = try await database.run([Self.insert], in: idempotent)
            #expect(try await database.count(settings) == 1)
        }
    }

    @Test func `a killed server that starts again is found again, and nothing is lost`() async throws {
        try await Servers.withMortal { url in
            try await withTable(url, configuration: .init(concurrency: 2)) {
                (database, settings) async throws in
                let listener = PostgresListener(database, channel: "mortal")
                #expect(try await listener.next(timeout: .seconds(10)).isNewConnection)
                _ = try await database.run([Self.insert], in: settings)
                let connection = try await PostgresConnection.open(database.address)
                let statement = Task { try await connection.run([PostgresStatement("SELECT pg_sleep(60)")]) }
                try await Servers.control("kill")
                await expectPostgresError(.connectionLost) { _ = try await statement.value }
                connection.close()
                // It can't be reached now, and the transaction is tried again until it can. It isn't one round trip, because a connection that
                // is lost during that may be lost during the commit.
                let insert = Task {
                    try await database.transaction(settings) { _ = try await $0.run([Self.insert]) }
                }
                let cancelled = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await database.run([Self.insert], in: settings)
                }
                let error = await expectPostgresError(.cannotConnect) { _ = try await cancelled.value }
                #expect(error?.isTransient == true)
                #expect(try await listener.next(timeout: .milliseconds(200)) == PostgresListener.Wake())
                try await Servers.control("start")
                try await insert.value
                #expect(try await database.count(settings) == 2)
                #expect(try await listener.next(timeout: .seconds(60)).isNewConnection)
                _ = try await database.run([.notify("mortal", "again")])
                #expect(try await listener.next(timeout: .seconds(60)).notifications.map(\.payload) == ["again"])
                listener.close()
            }
        }
    }
}
#endif
