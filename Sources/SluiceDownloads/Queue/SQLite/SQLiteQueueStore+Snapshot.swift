import GRDB

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
            // Each query uses its own index. One query for all would read the table.
            for column in [0, 5, 1, 6] {
                let query = try database.cachedStatement(sql: "SELECT count(*) FROM job WHERE state = \(column)")
                let found = try Int.fetchOne(query)!
                if found > 0 { snapshot.counts[QueuedDownload.State(column: column), default: 0] += found }
            }
            let ended = try database.cachedStatement(
                sql: "SELECT state, count(*) AS number FROM job WHERE state IN (2, 3, 4) GROUP BY state")
            for row in try Row.fetchAll(ended) {
                snapshot.counts[QueuedDownload.State(column: row["state"])] = row["number"]
            }
            snapshot.running = try database.list("WHERE state = 1 ORDER BY id", limit: count).map {
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
            try QueuedDownload(row: row, members: members(of: row["id"]).members)
        }
    }

    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

extension QueuedDownload {
    fileprivate init(row: Row, members: [Member]) throws {
        let notBefore: Int64? = row["not_before"]
        let user: String = row["charged"] ?? members.first?.user ?? ""
        self.init(
            id: JobID(rawValue: row["id"]), request: try DownloadRequest(row: row, user: user), members: members,
            state: QueuedDownload.State(column: row["state"]), failureCount: row["failures"], bytes: row["bytes"],
            message: row["message"], notBefore: notBefore.map { Date(queueTime: $0) })
        isCancelling = row["is_cancelled"]
    }
}

extension DownloadRequest {
    init(row: Row, user: String) throws {
        let name: String = row["name"]
        let stored = DownloadRequest(
            storedURL: row["url"], directory: row["folder"], name: name, user: user, priority: row["priority"])
        guard let stored else {
            // Another program has written to the table.
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "The job named '\(name)' can't be read.")
        }
        self = stored
    }
}
