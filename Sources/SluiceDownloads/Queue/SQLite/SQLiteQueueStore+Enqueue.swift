import GRDB
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SQLiteQueueStore {
    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        for request in requests where !request.headerFields.isEmpty {
            throw QueueStoreError(
                .headerFieldsNotStored, subject: request.url.redactedForDisplay,
                message: "A queue in a file doesn't store header fields, because they can contain secrets.",
                remedy: "Return them from the coordinator's headerFields, which is called before each attempt.")
        }
        for request in requests where request.url.password(percentEncoded: false) != nil {
            throw QueueStoreError(
                .passwordNotStored, subject: request.url.redactedForDisplay,
                message: "The URL has a password, and a queue in a file doesn't store passwords.",
                remedy: "Remove the password and return an Authorization field from the coordinator's headerFields, "
                    + "or keep the queue in memory.")
        }
        return try await write { database, now in
            try requests.map { try database.enqueue($0, options, now: now) }
        }
    }
}

extension Database {
    fileprivate func enqueue(_ request: DownloadRequest, _ options: EnqueueOptions, now: Int64) throws -> EnqueuedJob {
        let target = Data(request.targetPath.bytes)
        let url = request.url.absoluteString
        let found = try Row.fetchAll(
            cachedStatement(sql: "SELECT id, url, state FROM job WHERE target = ?"), arguments: [target])
        for row in found where row["url"] != url && !QueuedDownload.State(column: row["state"]).isFinal {
            let other = URL(string: row["url"]) ?? request.url
            return EnqueuedJob(id: JobID(rawValue: row["id"]), outcome: .conflict(with: other))
        }
        for row in found where row["url"] == url {
            let id = JobID(rawValue: row["id"])
            let state = QueuedDownload.State(column: row["state"])
            if !state.isFinal {
                try join(id, request, options)
                return EnqueuedJob(id: id, outcome: .joined)
            }
            if state == .done, options.keepsFinished {
                try addMembership(of: id, options.batch)
                return EnqueuedJob(id: id, outcome: .kept)
            }
            try run("DELETE FROM job WHERE id = ?", [id.rawValue])
        }
        try run(
            """
            INSERT INTO job (url, folder, name, target, lane, priority, state, created)
            VALUES (?, ?, ?, ?, ?, ?, 0, ?)
            """,
            [
                url, request.directory.absoluteString, request.name, target, try lane(of: request), request.priority,
                now,
            ])
        let id = JobID(rawValue: lastInsertedRowID)
        try addMembership(of: id, options.batch)
        return EnqueuedJob(id: id, outcome: .added)
    }

    private func join(_ id: JobID, _ request: DownloadRequest, _ options: EnqueueOptions) throws {
        // Enqueuing a cancelled job again revokes the cancellation.
        try run(
            "UPDATE job SET priority = max(priority, ?2), is_cancelled = 0 WHERE id = ?1",
            [id.rawValue, request.priority])
        try addMembership(of: id, options.batch)
    }

    private func addMembership(of id: JobID, _ batch: String?) throws {
        try run("INSERT OR IGNORE INTO membership (batch, job) VALUES (?, ?)", [batch ?? "", id.rawValue])
    }

    private func lane(of request: DownloadRequest) throws -> Int64 {
        let arguments: StatementArguments = [request.host, request.user ?? ""]
        let find = try cachedStatement(sql: "SELECT id FROM lane WHERE host = ? AND user = ?")
        if let id = try Int64.fetchOne(find, arguments: arguments) { return id }
        try run("INSERT INTO lane (host, user) VALUES (?, ?)", arguments)
        return lastInsertedRowID
    }
}
