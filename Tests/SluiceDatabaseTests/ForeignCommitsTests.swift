import Foundation
import GRDB
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceDatabase

@Suite struct `Commits of other connections` {
    private static let schema = DatabaseSchema(
        application: 77, migrations: [{ try $0.execute(sql: "CREATE TABLE word (text TEXT NOT NULL)") }])

    /// Calls `body` with a database that counts how often its observer was called, and another connection to it.
    private func withConnections(
        _ body: (_ own: SluiceDatabase, _ other: SluiceDatabase, _ calls: Recorder<Int>) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            let calls = Recorder<Int>()
            let own = try await SluiceDatabase.open(at: url, schema: Self.schema) { database in
                calls.note(try Int.fetchOne(database, sql: "SELECT count(*) FROM word") ?? 0)
            }
            let other = try await SluiceDatabase.open(at: url, schema: Self.schema)
            try await body(own, other, calls)
            try await own.close()
            try await other.close()
            #expect(own.mayHaveForeignCommits)
        }
    }

    private static func insert(into database: SluiceDatabase) async throws {
        try await database.write { try $0.execute(sql: "INSERT INTO word VALUES ('a')") }
    }

    @Test func `are noticed without a query, and observed once, in the next transaction`() async throws {
        try await withConnections { own, other, calls in
            #expect(own.mayHaveForeignCommits && calls.values.isEmpty)
            try await own.read { _ in }
            #expect(!own.mayHaveForeignCommits && calls.values == [0])

            try await Self.insert(into: other)
            #expect(own.mayHaveForeignCommits && calls.values == [0])
            try await own.read { _ in }
            try await own.read { _ in }
            #expect(!own.mayHaveForeignCommits && calls.values == [0, 1])

            for _ in 0..<3 { try await Self.insert(into: other) }
            try await Self.insert(into: own)
            #expect(!own.mayHaveForeignCommits && calls.values == [0, 1, 4])
        }
    }

    @Test func `aren't confused with this connection's own`() async throws {
        struct Refusal: Error {}
        try await withConnections { own, other, calls in
            try await own.read { _ in }
            for _ in 0..<3 { try await Self.insert(into: own) }
            try await own.grouped(mayWrite: true) { try $0.execute(sql: "INSERT INTO word VALUES ('b')") }
            // Transactions that change nothing, and one that is undone.
            try await own.write { try $0.execute(sql: "DELETE FROM word WHERE text = 'z'") }
            try await own.write { _ in }
            await #expect(throws: Refusal.self) {
                try await own.write {
                    try $0.execute(sql: "INSERT INTO word VALUES ('c')")
                    throw Refusal()
                }
            }
            #expect(!own.mayHaveForeignCommits && calls.values == [0])
            // Enough for SQLite to begin the log again.
            try await own.write { try $0.execute(sql: "INSERT INTO word VALUES (hex(zeroblob(8000000)))") }
            let checkpointing = try DatabaseQueue(path: own.path)
            _ = try await checkpointing.writeWithoutTransaction { try $0.checkpoint(.truncate) }
            try checkpointing.close()
            try await Self.insert(into: own)
            #expect(!own.mayHaveForeignCommits && calls.values == [0])
            try await Self.insert(into: other)
            #expect(own.mayHaveForeignCommits)
        }
    }

    @Test func `are observed in the transaction, which fails with the observer and observes again`() async throws {
        struct Refusal: Error {}
        try await FileIO.shared.withTemporaryDirectory { directory in
            let isBroken = Guarded(true)
            let calls = Recorder<Bool>()
            let url = directory.appending(path: "words.db")
            let database = try await SluiceDatabase.open(at: url, schema: Self.schema) { database in
                calls.note(database.isInsideTransaction)
                if isBroken.withLock({ $0 }) { throw Refusal() }
            }
            await #expect(throws: Refusal.self) { try await Self.insert(into: database) }
            #expect(database.mayHaveForeignCommits)
            isBroken.withLock { $0 = false }
            try await Self.insert(into: database)
            #expect(!database.mayHaveForeignCommits && calls.values == [true, true])
            #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM word") } == 1)
            try await database.close()
        }
    }

    @Test func `of another process are noticed`() async throws {
        try await withConnections { own, _, calls in
            try await own.read { _ in }
            let script =
                "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('DELETE FROM word'); "
                + "d.execute(\"INSERT INTO word VALUES ('p')\"); d.commit(); d.close()"
            let python = try ChildProcess(URL(filePath: "/usr/bin/env"), ["python3", "-c", script, own.path])
            let end = await python.end()
            try #require(!end.wasSignalled && end.status == 0, "\(end)")
            #expect(own.mayHaveForeignCommits)
            try await own.read { _ in }
            #expect(calls.values == [0, 1] && !own.mayHaveForeignCommits)
        }
    }
}
