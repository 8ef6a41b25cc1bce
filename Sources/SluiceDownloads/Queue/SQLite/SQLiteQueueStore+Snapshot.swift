import GRDB
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SQLiteQueueStore {
    package func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] {
        try await read { database, _ in try ids.compactMap { try database.queuedDownload($0.rawValue) } }
    }

    package func snapshot(listing count: Int) async throws -> QueueSnapshot {
        let count = max(0, count)
        return try await read { database, now in
            var snapshot = QueueSnapshot()
            let tally = try database.cachedStatement(sql: "SELECT state, number FROM tally WHERE number > 0")
            for row in try Row.fetchAll(tally) {
                snapshot.counts[QueuedDownload.State(column: try row.value("state")), default: 0] += try row.value(
                    "number")
            }
            // The plus keeps SQLite from reading the whole table in this order.
            snapshot.running = try database.list("WHERE state = 1 ORDER BY +id", limit: count).map {
                .init(download: $0)
            }
            snapshot.waiting = try database.list("WHERE state IN (0, 5) ORDER BY priority DESC, id", limit: count)
            snapshot.paused = try database.list("WHERE state = 6 ORDER BY priority DESC, id", limit: count)
            snapshot.ended = try database.list(
                "WHERE state IN (2, 3, 4) ORDER BY ended DESC, id DESC", limit: count)
            snapshot.cursor = QueueEvent.Cursor(rawValue: try database.lastEvent)
            snapshot.hosts = try database.hosts().compactMap { QueueSnapshot.Host($0, $1, now: now) }
                .sorted { $0.name < $1.name }
            return snapshot
        }
    }
}

extension Database {
    /// The number of jobs that are done, have failed or were cancelled.
    var endedCount: Int64 {
        get throws {
            let query = "SELECT ifnull(sum(number), 0) FROM tally WHERE state IN (2, 3, 4)"
            return try Int64.fetchOne(cachedStatement(sql: query)) ?? 0
        }
    }

    func queuedDownload(_ id: Int64) throws -> QueuedDownload? {
        try list("WHERE id = ?", [id], limit: 1).first
    }

    fileprivate func list(
        _ rest: String, _ arguments: StatementArguments = [], limit count: Int
    ) throws -> [QueuedDownload] {
        let query = """
            SELECT id, url, folder, name, priority, state, failures, not_before, bytes, message, charged, is_cancelled FROM job \(rest) LIMIT ?
            """
        return try Row.fetchAll(cachedStatement(sql: query), arguments: arguments + [count]).map { row in
            try QueuedDownload(row: row, members: members(of: row.value("id")).members)
        }
    }

    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

extension QueuedDownload {
    fileprivate init(row: Row, members: [Member]) throws {
        let notBefore: Int64? = try row.value("not_before")
        let user: String = try row.value("charged", as: String?.self) ?? members.first?.user ?? ""
        self.init(
            id: JobID(rawValue: try row.value("id")), request: try DownloadRequest(row: row, user: user),
            members: members,
            state: QueuedDownload.State(column: try row.value("state")), failureCount: try row.value("failures"),
            bytes: try row.value("bytes"), message: try row.value("message"),
            notBefore: notBefore.map { Date(queueTime: $0) })
        isCancelling = try row.value("is_cancelled")
    }
}

extension DownloadRequest {
    init(row: Row, user: String) throws {
        let name: String = try row.value("name")
        let stored = DownloadRequest(
            storedURL: try row.value("url"), directory: try row.value("folder"), name: name, user: user,
            priority: try row.value("priority"))
        guard let stored else {
            // Another program has written to the table.
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "The job named '\(name)' can't be read.")
        }
        self = stored
    }
}
