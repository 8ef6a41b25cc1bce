import GRDB

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SQLiteQueueStore {
    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try QueueStoreError.refuseSecrets(in: requests)
        return try await write { database, now in
            try requests.map { try database.enqueue($0, options, now: now) }
        }
    }
}

extension Database {
    func enqueue(_ request: DownloadRequest, _ options: EnqueueOptions, now: Int64) throws -> EnqueuedJob {
        let target = Data(request.targetPath.bytes)
        let url = request.url.absoluteString
        let found = try Row.fetchAll(
            cachedStatement(sql: "SELECT id, url, state FROM job WHERE target = ?"), arguments: [target])
        for row in found where row["url"] != url && !QueuedDownload.State(column: row["state"]).isFinal {
            let other = URL(string: row["url"]) ?? request.url
            return EnqueuedJob(id: JobID(rawValue: row["id"]), outcome: .conflict(with: other))
        }
        let element = JobMembers.Element(request, batch: options.batch)
        for row in found where row["url"] == url {
            let id: Int64 = row["id"]
            let state = QueuedDownload.State(column: row["state"])
            if !state.isFinal {
                try join(id, element, now: now)
                return EnqueuedJob(id: JobID(rawValue: id), outcome: .joined)
            }
            if state == .done, options.keepsFinished {
                var members = try members(of: id)
                members.join(element)
                try changeEnded(id, to: members)
                try record(EventContent(.joined, of: element), id, now: now)
                return EnqueuedJob(id: JobID(rawValue: id), outcome: .kept)
            }
            try delete(id, now: now)
        }
        let (host, isUnresolved) = (request.host, request.isUnresolved)
        try run(
            """
            INSERT INTO job (url, folder, name, target, host, is_unresolved, priority, state, created)
            VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)
            """,
            [url, request.directory.absoluteString, request.name, target, host, isUnresolved, request.priority, now])
        let id = lastInsertedRowID
        let members = JobMembers([element])
        try insertMembers(members, of: id)
        try joinLines(
            JobRow(
                id: id, host: host, isUnresolved: isUnresolved, priority: request.priority, state: 0, charged: "",
                isCancelled: false, members: members))
        try record(EventContent(.added, of: element), id, now: now)
        return EnqueuedJob(id: JobID(rawValue: id), outcome: .added)
    }

    private func join(_ id: Int64, _ element: JobMembers.Element, now: Int64) throws {
        try record(EventContent(.joined, of: element), id, now: now)
        var job = try jobRow(id)!
        var members = job.members
        if job.isCancelled {
            // The cancelled members have left. Enqueuing the job again revokes the cancellation.
            members = JobMembers([element])
            job.isCancelled = false
            try run("UPDATE job SET is_cancelled = 0 WHERE id = ?", [id])
        } else {
            members.join(element)
        }
        try changeMembers(of: job, to: members, now: now)
    }
}
