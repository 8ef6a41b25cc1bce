import Foundation
import GRDB
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceDatabase

@Suite struct `Transactions in groups` {
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

    @Test func `have one commit, and each its result`() throws {
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

    @Test func `run alone if one of them fails`() throws {
        try withNumbers { (queue) throws in
            let group = TransactionGroup()
            let outcomes = Recorder<String>()
            _ = group.add(inserting(1, outcomes))
            _ = group.add(inserting(2, outcomes, refusing: true))
            // Not unique.
            _ = group.add(inserting(1, outcomes))
            _ = group.add(inserting(4, outcomes))
            queue.inDatabase { group.commit(in: $0, "numbers.db") }
            #expect(outcomes.values == ["1 is stored", "2 failed: true", "1 failed: false", "4 is stored"])
            #expect(try queue.read { try Int.fetchAll($0, sql: "SELECT n FROM number") } == [1, 4])
        }
    }

    @Test func `of many tasks are all committed, and after the end all fail`() async throws {
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
