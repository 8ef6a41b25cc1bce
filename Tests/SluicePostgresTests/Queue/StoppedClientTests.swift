#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import TestSupport
import Testing

@testable import SluicePostgres

/// A program that Control-Z, a debugger or a cut cable stops can hold the queue's lock, which all others need.
@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `A program that stops while it holds the lock of a queue` {
    private static let begin = PostgresStatement("BEGIN")

    /// A store that soon looks for the holder of the lock.
    private func withStore(_ body: (PostgresQueueStore, _ lock: Int64) async throws -> Void) async throws {
        let queue = "stopped \(UInt64.random(in: 0 ... .max))"
        let store = PostgresQueueStore(
            try Servers.url, queue: queue, namespace: QueueFixture.namespace,
            configuration: .init(concurrency: 2, lockTimeout: .milliseconds(200)))
        try await store.prepare()
        try await body(store, PostgresQueueStore.lock(QueueFixture.namespace, queue))
        try await store.close()
    }

    @Test func `is disconnected, and the others go on`() async throws {
        try await withStore { store, lock in
            let stopped = try await PostgresConnection.open(PostgresAddress(Servers.url))
            _ = try await stopped.run([Self.begin, .lock(lock)])
            let added = try await store.enqueue([.numbered(1)], options: .init())
            #expect(added.map(\.outcome) == [.added])
            await expectPostgresError(.connectionLost) { _ = try await stopped.run([PostgresStatement("COMMIT")]) }
            stopped.close()
        }
    }

    /// It can't receive more than the socket holds, so the server waits for it inside of a statement.
    @Test func `is disconnected too if it no longer receives its results`() async throws {
        try await withStore { store, lock in
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [
                "psql", "-X", "-q", try Servers.url, "-c",
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
            #expect(added.map(\.outcome) == [.added])
            kill(process.processIdentifier, SIGKILL)
            await offPool { process.waitUntilExit() }
        }
    }

    @Test func `is waited for if it works`() async throws {
        try await withStore { store, lock in
            let working = try await PostgresConnection.open(PostgresAddress(Servers.url))
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
            let stopped = try await PostgresConnection.open(PostgresAddress(Servers.url))
            let schema = PostgresQueueSchema.schema(namespace: QueueFixture.namespace)
            _ = try await stopped.run([Self.begin, .lock(schema.lock)])
            let store = PostgresQueueStore(
                try Servers.url, queue: "opened \(UInt64.random(in: 0 ... .max))", namespace: QueueFixture.namespace)
            _ = try await store.enqueue([.numbered(1)], options: .init())
            _ = try await stopped.run([PostgresStatement("COMMIT")])
            stopped.close()
            try await store.close()
        }
    }

    @Test func `is disconnected after the time limit between two statements`() async throws {
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
#endif
