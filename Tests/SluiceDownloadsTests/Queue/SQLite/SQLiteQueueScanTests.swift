import Foundation
import GRDB
import GRDBSQLite
import SluiceDatabase
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `Reading of an SQLite queue` {
    /// The number of rows that scans of whole tables have read, by all statements of the connection since the last call.
    private static func scannedRows(_ store: SQLiteQueueStore) async throws -> Int {
        try await store.read { database, _ in
            var count = 0
            var statement = sqlite3_next_stmt(database.sqliteConnection, nil)
            while let one = statement {
                count += Int(sqlite3_stmt_status(one, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
                statement = sqlite3_next_stmt(database.sqliteConnection, one)
            }
            return count
        }
    }

    /// Each operation of a worker reads a few rows, however many jobs wait.
    @Test func `no operation of a worker scans the jobs`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            let fixture = StoreFixture(store: store, time: time, worker: try await store.attach())
            let requests = (0..<2000).map { number in
                DownloadRequest.named("\(number)", host: "h\(number % 3).example", user: "u\(number % 7)")
            }
            _ = try await store.enqueue(requests, options: .init(batch: "list"))
            _ = try await Self.scannedRows(store)
            let limits = DownloadCoordinator.Limits(total: 8, perHost: 4, perUser: 2)
            for round in 0..<10 {
                let claimed = try await fixture.claim(
                    8, limits: limits, lease: .seconds(5), batch: round > 5 ? "list" : nil)
                _ = try await store.renew(fixture.worker, lease: .seconds(5))
                for (number, job) in claimed.enumerated() {
                    try await fixture.settle(job, JobSettlement.Outcome.samples[number % 6])
                }
                time.advance(by: .seconds(6))
                _ = try await fixture.exchange(claiming: 0, batch: "list")
                try await store.detach(fixture.worker)
                #expect(try await Self.scannedRows(store) < 500)
            }
            try await store.close()
        }
    }
}
