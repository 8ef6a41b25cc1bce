import Foundation
import GRDB
import SluiceFiles
import Testing

@testable import SluiceDatabase

@Suite struct `Waiting for another process's lock` {
    @Test func `the pauses add up to the limit, and none is much longer than a transaction`() {
        let pauses = (0..<LockWait.maximumCount).map { LockWait.meanPause($0) }
        let total = Duration.microseconds(pauses.reduce(0, +))
        #expect(total >= LockWait.limit && total < LockWait.limit + .milliseconds(8))
        #expect(pauses.allSatisfy { (1000...8000).contains($0) })
        guard case .callback(let wait) = LockWait.busyMode else {
            Issue.record("SQLite's own pauses are in use")
            return
        }
        #expect(wait(0) && wait(LockWait.maximumCount - 1) && !wait(LockWait.maximumCount))
    }

    /// With the pauses of `sqlite3_busy_timeout`, one of these writers waits while the others commit hundreds of times.
    @Test func `eight concurrent writers all commit`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "words.db")
            let schema = DatabaseSchema(
                application: 77, migrations: [{ try $0.execute(sql: "CREATE TABLE word (writer INTEGER NOT NULL)") }])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        let database = try await SluiceDatabase.open(at: url, schema: schema, synchronous: .normal)
                        for _ in 0..<50 {
                            try await database.write {
                                try $0.execute(sql: "INSERT INTO word VALUES (?)", arguments: [writer])
                            }
                        }
                        try await database.close()
                    }
                }
                try await group.waitForAll()
            }
            let database = try await SluiceDatabase.open(at: url, schema: schema)
            #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM word") } == 400)
            try await database.close()
        }
    }
}
