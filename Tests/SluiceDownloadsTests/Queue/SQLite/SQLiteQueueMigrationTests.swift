import Foundation
import GRDB
import SluiceDatabase
import TestSupport
import Testing

@testable import SluiceDownloads

/// `version-1.sql` is the dump of a file that the program wrote with the first version of the tables.
@Suite struct `Migrations of an SQLite queue` {
    private static func withVersion1(_ test: (URL) async throws -> Void) async throws {
        try await withQueueFile { url in
            let dump = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "version-1.sql")
            let sql = try String(contentsOf: dump, encoding: .utf8)
            var configuration = Configuration()
            // A dump has its tables in no particular order.
            configuration.foreignKeysEnabled = false
            let queue = try DatabaseQueue(path: url.path(percentEncoded: false), configuration: configuration)
            try await queue.write { database in
                let statements = sql.replacing("BEGIN TRANSACTION;", with: "").replacing("COMMIT;", with: "")
                try database.execute(sql: statements)
                try database.execute(sql: "PRAGMA application_id = \(0x534C_4451); PRAGMA user_version = 1")
            }
            try queue.close()
            try await test(url)
        }
    }

    @Test func `a file of version 1 keeps its jobs, and every batch becomes a member`() async throws {
        try await Self.withVersion1 { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime)
            let jobs = try await store.jobs((1...20).map { JobID(rawValue: $0) })
            let seen = jobs.map { job in
                let members = job.members.map { "\($0.user ?? "-")/\($0.batch ?? "-")/\($0.priority)" }
                return "\(job.id) \(job.request.name) \(job.state) \(members.joined(separator: " "))"
            }
            #expect(
                seen == [
                    "2 done done ann/list/0", "3 failed failed -/list/0", "4 cancelled running ben/-/0",
                    "6 running running ann/list/4 ann/second/4", "7 delayed waiting ben/list/0",
                    "8 cancelling running ben/-/0", "9 w1 waiting cleo/list/1",
                    "10 w2 waiting cleo/list/2 cleo/other/2",
                    "11 it's \"x\" \u{1F3B5} caf\u{e9} waiting cleo/list/1", "12 w3 waiting -/-/0 -/other/0",
                ])
            #expect(jobs[0].bytes == 7 && jobs[1].message == "gone" && jobs[1].failureCount == 1)
            try await store.close()
        }
    }

    @Test func `a migrated queue goes on: leases expire, delays end, and numbers are not used again`() async throws {
        try await Self.withVersion1 { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            let fixture = StoreFixture(store: store, time: time, worker: QueueWorker(name: "new"))
            let limits = DownloadCoordinator.Limits(total: 100, perHost: nil, perUser: 1)
            // Ann still runs one job, and ben runs two.
            #expect(try await fixture.claimNames(9, limits: limits) == ["w2", "w3"])
            // All leases have expired.
            time.advance(by: .seconds(61))
            #expect(try await fixture.claimNames(9, limits: limits) == ["running", "w2", "delayed", "w3"])
            #expect(try await fixture.counts() == [.done: 1, .failed: 1, .cancelled: 2, .running: 4, .waiting: 2])
            #expect(try await fixture.add("new").rawValue == 13)
            try await store.close()
        }
    }

    @Test func `several openers migrate a file once`() async throws {
        try await Self.withVersion1 { url in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let store = try await SQLiteQueueStore.open(at: url, time: .system)
                        let count = try await store.snapshot(listing: 0).counts.values.reduce(0, +)
                        try await store.close()
                        return count
                    }
                }
                for try await count in group { #expect(count == 10) }
            }
        }
    }

    @Test func `a migrated file has the tables of a new one`() async throws {
        func tables(_ url: URL) throws -> [String] {
            try DatabaseQueue(path: url.path(percentEncoded: false)).read { database in
                try String.fetchAll(
                    database, sql: "SELECT type || name || ifnull(sql, '') FROM sqlite_schema ORDER BY 1")
            }
        }
        try await withQueueFile { new in
            try await SQLiteQueueStore.open(at: new, time: .system).close()
            let expected = try tables(new)
            try await Self.withVersion1 { url in
                try await SQLiteQueueStore.open(at: url, time: .system).close()
                #expect(try tables(url) == expected)
            }
        }
    }
}
