import Foundation
import GRDB
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceDatabase

@Suite struct `Opening databases` {
    private let schema = DatabaseSchema(
        application: 77, migrations: [{ try $0.execute(sql: "CREATE TABLE word (text TEXT NOT NULL)") }])

    private func failure(_ body: () async throws -> Void) async -> DatabaseFailure? {
        do {
            try await body()
            return nil
        } catch {
            return error as? DatabaseFailure
        }
    }

    @Test func `written rows survive closing and reopening the database`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            let first = try await SluiceDatabase.open(at: url, schema: schema)
            try await first.write { try $0.execute(sql: "INSERT INTO word VALUES ('hello')") }
            try await first.close()
            let second = try await SluiceDatabase.open(at: url, schema: schema)
            #expect(try await second.read { try String.fetchAll($0, sql: "SELECT text FROM word") } == ["hello"])
            try await second.close()
            #expect(await failure { try await second.write { _ in } }?.code == .closed)
            #expect(await failure { try await second.read { _ in } }?.code == .closed)
            try await second.close()
        }
    }

    @Test func `the file is private to its owner, in WAL mode, and syncs as configured`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            let database = try await SluiceDatabase.open(at: url, schema: schema)
            #expect(try await FileIO.shared.status(of: url)?.permissions.rawValue == 0o600)
            #expect(try await database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
            #expect(try await database.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
            try await database.close()
        }
    }

    @Test func `a link opens its file under the file's own path, and a dangling link is refused`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            let link = directory.appending(path: "link.db")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
            #expect(await failure { _ = try await SluiceDatabase.open(at: link, schema: schema) }?.code == .cannotOpen)
            #expect(!FileManager.default.fileExists(atPath: url.path))
            let direct = try await SluiceDatabase.open(at: url, schema: schema)
            let linked = try await SluiceDatabase.open(at: link, schema: schema)
            #expect(direct.path == linked.path && direct.path.hasSuffix("words.db"))
            try await direct.close()
            try await linked.close()
        }
    }

    @Test func `a transaction that throws writes nothing`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let database = try await SluiceDatabase.open(at: directory.appending(path: "words.db"), schema: schema)
            await #expect(throws: CancellationError.self) {
                try await database.write { database in
                    try database.execute(sql: "INSERT INTO word VALUES ('hello')")
                    throw CancellationError()
                }
            }
            #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM word") } == 0)
            try await database.close()
        }
    }

    @Test func `a write in a cancelled task still completes`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let database = try await SluiceDatabase.open(at: directory.appending(path: "words.db"), schema: schema)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await database.write { try $0.execute(sql: "INSERT INTO word VALUES ('hello')") }
            }
            try await task.value
            #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM word") } == 1)
            try await database.close()
        }
    }

    @Test func `a newer version is refused and stays unchanged`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            var newer = schema
            newer.migrations.append { try $0.execute(sql: "ALTER TABLE word ADD COLUMN length INTEGER") }
            try await SluiceDatabase.open(at: url, schema: newer).close()
            let error = await failure { _ = try await SluiceDatabase.open(at: url, schema: schema) }
            #expect(error?.code == .newerVersion)
            #expect(
                error?.description.contains("words.db: The database can't be used: its tables have version 2")
                    == true)
            try await SluiceDatabase.open(at: url, schema: newer).close()
        }
    }

    @Test func `an older version is migrated to the newest`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            let old = try await SluiceDatabase.open(at: url, schema: schema)
            try await old.write { try $0.execute(sql: "INSERT INTO word VALUES ('hello')") }
            try await old.close()
            var newer = schema
            newer.migrations.append { try $0.execute(sql: "ALTER TABLE word ADD COLUMN length INTEGER DEFAULT 5") }
            let database = try await SluiceDatabase.open(at: url, schema: newer)
            #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT length FROM word") } == 5)
            try await database.close()
        }
    }

    @Test func `a failed migration leaves the old version unchanged`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            try await SluiceDatabase.open(at: url, schema: schema).close()
            var broken = schema
            broken.migrations.append { database in
                try database.execute(sql: "ALTER TABLE word ADD COLUMN length INTEGER")
                try database.execute(sql: "no statement")
            }
            #expect(await failure { _ = try await SluiceDatabase.open(at: url, schema: broken) } != nil)
            let database = try await SluiceDatabase.open(at: url, schema: schema)
            #expect(try await database.read { try $0.columns(in: "word").map(\.name) } == ["text"])
            try await database.close()
        }
    }

    @Test func `files that aren't our databases are refused with an error that names them`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let text = directory.appending(path: "notes.txt")
            try await Data(repeating: 0x41, count: 5000).asyncWrite(to: text)
            #expect(await failure { _ = try await SluiceDatabase.open(at: text, schema: schema) }?.code == .corrupt)
            let other = directory.appending(path: "other.db")
            var foreign = schema
            foreign.application = 78
            try await SluiceDatabase.open(at: other, schema: foreign).close()
            #expect(await failure { _ = try await SluiceDatabase.open(at: other, schema: schema) }?.code == .foreign)
            let missing = directory.appending(path: "no/such/directory.db")
            let error = await failure { _ = try await SluiceDatabase.open(at: missing, schema: schema) }
            #expect(error?.code == .cannotOpen)
            #expect(error?.description.contains("no/such/directory.db") == true)
            #expect(
                await failure { _ = try await SluiceDatabase.open(at: directory, schema: schema) }?.code == .cannotOpen)
        }
    }
}

@Suite struct `Grouped transactions` {
    private struct Refusal: Error {}

    /// Calls `body` with a database that has a table of numbers.
    private func withNumbers(_ body: (DatabaseQueue) throws -> Void) throws {
        let queue = try DatabaseQueue()
        try queue.write { try $0.execute(sql: "CREATE TABLE number (n INTEGER UNIQUE) STRICT") }
        try body(queue)
    }

    private func inserting(
        _ number: Int, _ outcomes: Recorder<String>, refusing: Bool = false
    ) -> TransactionGroup.Member {
        TransactionGroup.Member(mayWrite: true) { database in
            try database.execute(sql: "INSERT INTO number VALUES (?)", arguments: [number])
            if refusing { throw Refusal() }
            return { outcomes.note("\(number) is stored") }
        } fail: { error in
            outcomes.note("\(number) failed: \(error is Refusal)")
        }
    }

    @Test func `share one commit, and each gets its own result`() throws {
        try withNumbers { (queue) throws in
            let group = TransactionGroup()
            let outcomes = Recorder<String>()
            #expect(group.add(inserting(1, outcomes)))
            #expect(!group.add(inserting(2, outcomes)))
            let isInTransaction = Recorder<Bool>()
            let reading = TransactionGroup.Member(mayWrite: false) { database in
                isInTransaction.note(database.isInsideTransaction)
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM number") ?? 0
                return { outcomes.note("\(count) numbers") }
            } fail: { _ in
            }
            #expect(!group.add(reading))
            let commits = Commits()
            queue.add(transactionObserver: commits)
            queue.inDatabase { group.commit(in: $0, "numbers.db") }
            #expect(outcomes.values == ["1 is stored", "2 is stored", "2 numbers"])
            #expect(commits.count == 1 && isInTransaction.values == [true])
            // The next one begins a new group.
            #expect(group.add(inserting(3, outcomes)))
        }
    }

    @Test func `run one by one if one of them fails`() throws {
        try withNumbers { (queue) throws in
            let group = TransactionGroup()
            let outcomes = Recorder<String>()
            _ = group.add(inserting(1, outcomes))
            _ = group.add(inserting(2, outcomes, refusing: true))
            // Violates the UNIQUE constraint.
            _ = group.add(inserting(1, outcomes))
            _ = group.add(inserting(4, outcomes))
            queue.inDatabase { group.commit(in: $0, "numbers.db") }
            #expect(outcomes.values == ["1 is stored", "2 failed: true", "1 failed: false", "4 is stored"])
            #expect(try queue.read { try Int.fetchAll($0, sql: "SELECT n FROM number") } == [1, 4])
        }
    }

    @Test func `from many tasks are all committed, and fail once the database is closed`() async throws {
        let schema = DatabaseSchema(
            application: 78, migrations: [{ try $0.execute(sql: "CREATE TABLE number (n INTEGER UNIQUE) STRICT") }])
        try await FileIO.shared.withTemporaryDirectory { directory in
            let database = try await SluiceDatabase.open(at: directory.appending(path: "numbers.db"), schema: schema)
            @Sendable func insert(_ number: Int) async throws {
                try await database.grouped(mayWrite: true) {
                    try $0.execute(sql: "INSERT INTO number VALUES (?)", arguments: [number])
                }
            }
            try await withThrowingTaskGroup { group in
                for number in 0..<100 { group.addTask { try await insert(number) } }
                try await group.waitForAll()
            }
            let count = try await database.grouped(mayWrite: false) {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM number")
            }
            #expect(count == 100)
            try await database.close()
            for _ in 1...2 {
                await #expect(throws: DatabaseFailure.self) { () async throws in try await insert(100) }
            }
        }
    }
}

private final class Commits: TransactionObserver {
    private(set) var count = 0

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ database: Database) { count += 1 }
    func databaseDidRollback(_ database: Database) {}
}
