#if PostgreSQL
import Foundation
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `Notifications of PostgreSQL` {
    /// A channel of its own, with a name that must be quoted.
    private let channel = "test \"\(UInt64.random(in: 0 ... .max))\""

    @Test func `a notification ends a wait, and equal ones of one transaction arrive once`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            #expect(try await listener.next(timeout: .seconds(60)) == PostgresListener.Wake(isNewConnection: true))
            let wait = Task { try await listener.next(timeout: .seconds(60)) }
            _ = try await database.run([.notify(channel, "a"), .notify(channel, "a"), .notify(channel, "b")])
            #expect(try await wait.value.notifications.map(\.payload) == ["a", "b"])
            listener.close()
        }
    }

    @Test func `a rolled back transaction sends none, and a wait ends when its time is over`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            _ = try await listener.next(timeout: .seconds(60))
            await #expect(throws: PostgresError.self) {
                try await database.run([.notify(channel), PostgresStatement("SELECT 1 / 0")])
            }
            #expect(try await listener.next(timeout: .milliseconds(100)) == PostgresListener.Wake())
            listener.close()
        }
    }

    @Test func `a cancelled wait loses no notification`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            _ = try await listener.next(timeout: .seconds(60))
            for round in 0..<30 {
                let wait = Task { try await listener.next(timeout: .seconds(60)) }
                await suspend(times: round % 8)
                wait.cancel()
                _ = await wait.result
            }
            _ = try await database.run([.notify(channel, "after")])
            #expect(try await listener.next(timeout: .seconds(60)).notifications.map(\.payload) == ["after"])
            listener.close()
        }
    }

    @Test func `a terminated session is replaced, and the caller learns that it may have missed some`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            _ = try await listener.next(timeout: .seconds(60))
            let terminate = PostgresStatement(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query = $1",
                [.text("LISTEN \(PostgresStatement.quoted(channel))")])
            #expect(try await database.run([terminate])[0].count == 1)
            #expect(try await listener.next(timeout: .seconds(60)).isNewConnection)
            _ = try await database.run([.notify(channel, "new")])
            #expect(try await listener.next(timeout: .seconds(60)).notifications.map(\.payload) == ["new"])
            listener.close()
        }
    }

    @Test func `they arrive directly, but not through pgbouncer`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            #expect(try await listener.receivesNotifications(timeout: .seconds(60)))
            #expect(try await listener.next(timeout: .milliseconds(10)) == PostgresListener.Wake())
            listener.close()
        }
        try await withDatabase(try Servers.pooler) { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            #expect(try await listener.receivesNotifications(timeout: .milliseconds(500)) == false)
            listener.close()
        }
    }
}
#endif
