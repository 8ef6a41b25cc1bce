import GRDB
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SQLiteQueueStore {
    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try QueueStoreError.refuseSecrets(in: requests)
        try QueueStoreError.refuseNames(of: requests, requests.map { ($0.user, options.batch) })
        return try await write { database, now in
            try database.addNew(requests, options, now: now)
                ?? requests.map { try database.enqueue($0, options, now: now) }
        }
    }
}

extension Database {
    /// Adds jobs if none of them has the target of another one, or of a job in the queue. That is the usual case, and the members, lines and
    /// events of all jobs then take one statement each, which halves the time. Returns `nil` in other cases.
    fileprivate func addNew(
        _ requests: [DownloadRequest], _ options: EnqueueOptions, now: Int64
    ) throws -> [EnqueuedJob]? {
        let targets = requests.map { Data($0.targetPath.bytes) }
        guard requests.count > 1, Set(targets).count == targets.count, try !hasJob(withTargetIn: targets) else {
            return nil
        }
        var jobs: [EnqueuedJob] = []
        jobs.reserveCapacity(requests.count)
        for (request, target) in zip(requests, targets) {
            let id = try insertJob(request, target: target, now: now)
            try insertMembers(JobMembers([.init(request, batch: options.batch)]), of: id)
            jobs.append(EnqueuedJob(id: JobID(rawValue: id), outcome: .added))
        }
        // The numbers of jobs are consecutive within a transaction.
        let added: StatementArguments = [jobs[0].id.rawValue, jobs[jobs.count - 1].id.rawValue]
        try run(
            """
            INSERT INTO lane (host, user, is_unresolved, head_rank, head_job)
                SELECT host, user, is_unresolved, rank, id FROM (
                    SELECT host, user, is_unresolved, ~job.priority AS rank, id,
                        row_number() OVER (PARTITION BY host, user, is_unresolved ORDER BY ~job.priority, id) AS place
                    FROM job JOIN member ON member.job = job.id WHERE job.id BETWEEN ? AND ?)
                WHERE place = 1
            ON CONFLICT (host, user, is_unresolved) DO UPDATE SET head_rank = excluded.head_rank, head_job = excluded.head_job
                WHERE (excluded.head_rank, excluded.head_job) < (lane.head_rank, lane.head_job)
            """, added)
        try run(
            """
            INSERT INTO line (lane, rank, job)
                SELECT lane.id, ~job.priority, job.id
                FROM job CROSS JOIN member ON member.job = job.id
                    CROSS JOIN lane ON (lane.host, lane.user, lane.is_unresolved) = (job.host, member.user, job.is_unresolved)
                WHERE job.id BETWEEN ? AND ?
            """, added)
        if options.batch ?? "" != "" {
            try run(
                """
                INSERT INTO batch_line (batch, rank, job, host)
                    SELECT batch, ~job.priority, job.id, host FROM job CROSS JOIN member ON member.job = job.id
                    WHERE job.id BETWEEN ? AND ?
                """, added)
        }
        try run(
            """
            INSERT INTO event (time, job, kind, user, batch)
                SELECT ?, job, ?, user, batch FROM member WHERE job BETWEEN ? AND ? ORDER BY job
            """, [now, QueueEvent.Kind.added.rawValue] + added)
        return jobs
    }

    private func hasJob(withTargetIn targets: [Data]) throws -> Bool {
        // One statement for all lengths, so that it is compiled once.
        let count = 50
        let marks = Array(repeating: "?", count: count).joined(separator: ", ")
        for start in stride(from: 0, to: targets.count, by: count) {
            let some = (start..<start + count).map { targets[min($0, targets.count - 1)] }
            let query = try cachedStatement(sql: "SELECT 1 FROM job WHERE target IN (\(marks)) LIMIT 1")
            if try Bool.fetchOne(query, arguments: StatementArguments(some)) != nil { return true }
        }
        return false
    }

    private func insertJob(_ request: DownloadRequest, target: Data, now: Int64) throws -> Int64 {
        try run(
            """
            INSERT INTO job (url, folder, name, target, host, is_unresolved, priority, state, created)
            VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)
            """,
            [
                request.url.absoluteString, request.directory.absoluteString, request.name, target, request.host,
                request.isUnresolved, request.priority, now,
            ])
        return lastInsertedRowID
    }

    func enqueue(_ request: DownloadRequest, _ options: EnqueueOptions, now: Int64) throws -> EnqueuedJob {
        let target = Data(request.targetPath.bytes)
        let url = request.url.absoluteString
        let found = try Row.fetchAll(
            cachedStatement(sql: "SELECT id, url, state FROM job WHERE target = ?"), arguments: [target])
        for row in found {
            let other: String = try row.value("url")
            guard other != url, try !QueuedDownload.State(column: row.value("state")).isFinal else { continue }
            return EnqueuedJob(
                id: JobID(rawValue: try row.value("id")), outcome: .conflict(with: URL(string: other) ?? request.url))
        }
        let element = JobMembers.Element(request, batch: options.batch)
        for row in found where try row.value("url") == url {
            let id: Int64 = try row.value("id")
            let state = QueuedDownload.State(column: try row.value("state"))
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
        let id = try insertJob(request, target: target, now: now)
        let members = JobMembers([element])
        try insertMembers(members, of: id)
        try joinLines(
            JobRow(
                id: id, host: request.host, isUnresolved: request.isUnresolved, priority: request.priority, state: 0,
                charged: "",
                isCancelled: false, members: members))
        try record(EventContent(.added, of: element), id, now: now)
        return EnqueuedJob(id: JobID(rawValue: id), outcome: .added)
    }

    private func join(_ id: Int64, _ element: JobMembers.Element, now: Int64) throws {
        try record(EventContent(.joined, of: element), id, now: now)
        var job = try existingJob(id)
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
