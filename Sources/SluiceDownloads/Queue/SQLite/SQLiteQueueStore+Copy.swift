import GRDB
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SQLiteQueueStore: CopyableQueue {
    package func unfinished(after id: JobID, atMost count: Int) async throws -> [QueuedDownload] {
        try await read { database, _ in
            let query =
                "SELECT id FROM job WHERE id > ? AND state IN (0, 1, 5, 6) AND NOT is_cancelled ORDER BY id LIMIT ?"
            let ids = try Int64.fetchAll(database.cachedStatement(sql: query), arguments: [id.rawValue, count])
            return try ids.compactMap { try database.queuedDownload($0) }
        }
    }

    package func add(_ downloads: [QueuedDownload], place _: String?) async throws -> [EnqueuedJob] {
        try QueueStoreError.refuseNames(
            of: downloads.map(\.request), downloads.flatMap(\.members).map { ($0.user, $0.batch) })
        return try await write { database, now in try downloads.map { try database.add($0, now: now) } }
    }
}

extension Database {
    fileprivate func add(_ download: QueuedDownload, now: Int64) throws -> EnqueuedJob {
        let members = download.members.map { JobMembers.Element($0) }
        var request = download.request
        let first = try required(download.members.first, "a member of a job")
        (request.user, request.priority) = (first.user, first.priority)
        let options = EnqueueOptions(batch: first.batch, keepsFinished: true)
        let before = try unfinishedMembers(of: request)
        let job = try enqueue(request, options, now: now)
        guard job.outcome == .added || job.outcome == .joined else { return job }
        // Enqueuing resumes a member that is paused here, and adds members without their pause.
        let known = before?.all ?? []
        let new = members.filter { member in !known.contains { $0.user == member.user && $0.batch == member.batch } }
        // Enqueuing has recorded the first member.
        for element in new where element != members[0] {
            try record(EventContent(.joined, of: element), job.id.rawValue, now: now)
        }
        try changeMembers(of: existingJob(job.id.rawValue), to: JobMembers(known + new), now: now)
        if job.outcome == .added {
            try run("UPDATE job SET failures = ? WHERE id = ?", [download.failureCount, job.id.rawValue])
        }
        return job
    }

    /// Returns the members of the unfinished job for this request, unless it is being cancelled.
    private func unfinishedMembers(of request: DownloadRequest) throws -> JobMembers? {
        let query = "SELECT id FROM job WHERE target = ? AND url = ? AND state IN (0, 1, 5, 6) AND NOT is_cancelled"
        let id = try Int64.fetchOne(
            cachedStatement(sql: query), arguments: [Data(request.targetPath.bytes), request.url.absoluteString])
        return try id.map { try members(of: $0) }
    }
}
