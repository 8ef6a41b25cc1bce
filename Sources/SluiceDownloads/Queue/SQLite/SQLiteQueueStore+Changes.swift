import GRDB
import SluiceDatabase
import SluiceHTTP
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - Enqueuing

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
    /// Adds jobs if none of them shares its target with another one or with a job in the queue; otherwise returns `nil`. This is the usual
    /// case. The members, lines and events of all jobs then take one statement each, which halves the time.
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
            jobs.append(EnqueuedJob(id: JobID(rawValue: id), admission: .added))
        }
        // Job numbers are consecutive within a transaction.
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
            INSERT INTO job (url, folder, name, target, host, is_unresolved, priority, state, created, checksum,
                mirrors)
            VALUES (?, ?, ?, ?, ?, ?, ?, \(JobState.ready), ?, ?, ?)
            """,
            [
                request.url.absoluteString, request.directory.absoluteString, request.name, target, request.host,
                request.isUnresolved, request.priority, now, request.checksum?.description, request.storedMirrors,
            ])
        return lastInsertedRowID
    }

    fileprivate func enqueue(_ request: DownloadRequest, _ options: EnqueueOptions, now: Int64) throws -> EnqueuedJob {
        let target = Data(request.targetPath.bytes)
        let resource = DownloadRequest.resource(of: request.url.absoluteString)
        let found = try Row.fetchAll(
            cachedStatement(sql: "SELECT id, url, state FROM job WHERE target = ?"), arguments: [target])
        for row in found {
            let other: String = try row.value("url")
            guard DownloadRequest.resource(of: other) != resource,
                try !QueuedDownload.State(column: row.value("state")).isFinal
            else { continue }
            return EnqueuedJob(
                id: JobID(rawValue: try row.value("id")), admission: .conflict(with: URL(string: other) ?? request.url))
        }
        let element = JobMembers.Element(request, batch: options.batch)
        for row in found where DownloadRequest.resource(of: try row.value("url")) == resource {
            let id: Int64 = try row.value("id")
            let state = QueuedDownload.State(column: try row.value("state"))
            if !state.isFinal {
                try join(id, element, now: now)
                if let checksum = request.checksum {
                    try run("UPDATE job SET checksum = ? WHERE id = ?", [checksum.description, id])
                }
                if let mirrors = request.storedMirrors {
                    try run("UPDATE job SET mirrors = ? WHERE id = ?", [mirrors, id])
                }
                return EnqueuedJob(id: JobID(rawValue: id), admission: .joined)
            }
            if state == .done, options.keepsFinished {
                var members = try members(of: id)
                members.join(element)
                try changeEnded(id, to: members)
                try record(EventContent(.joined, of: element), id, now: now)
                return EnqueuedJob(id: JobID(rawValue: id), admission: .kept)
            }
            try delete(id, now: now)
        }
        let id = try insertJob(request, target: target, now: now)
        let members = JobMembers([element])
        try insertMembers(members, of: id)
        try joinLines(
            JobRow(
                id: id, host: request.host, isUnresolved: request.isUnresolved, priority: request.priority,
                state: .ready,
                charged: "",
                isCancelled: false, members: members))
        try record(EventContent(.added, of: element), id, now: now)
        return EnqueuedJob(id: JobID(rawValue: id), admission: .added)
    }

    private func join(_ id: Int64, _ element: JobMembers.Element, now: Int64) throws {
        try record(EventContent(.joined, of: element), id, now: now)
        var job = try existingJob(id)
        var members = job.members
        if job.isCancelled {
            // The cancelled members have left. Enqueuing the job again revokes its cancellation.
            members = JobMembers([element])
            job.isCancelled = false
            try run("UPDATE job SET is_cancelled = 0 WHERE id = ?", [id])
        } else {
            members.join(element)
        }
        try changeMembers(of: job, to: members, now: now)
    }
}

// MARK: - Changing selected jobs

extension SQLiteQueueStore {
    package func cancel(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try await changeUnfinished(selection) { database, job, now, change in
            let remaining = job.isCancelled ? [] : job.members.without(selection)
            if !remaining.isEmpty {
                for element in job.members.all where selection.means(element.member) {
                    try database.record(EventContent(.left, of: element), job.id, now: now)
                }
                let members = JobMembers(remaining)
                try database.changeMembers(of: job, to: members, now: now)
                change.continuing.append(JobID(rawValue: job.id))
                if job.isRunning, members.arePaused { change.pausing.append(JobID(rawValue: job.id)) }
            } else if job.isRunning {
                try database.run("UPDATE job SET is_cancelled = 1 WHERE id = ?", [job.id])
                change.cancelling.append(JobID(rawValue: job.id))
            } else {
                if job.state == .ready {
                    try database.leaveLines(job)
                }
                try database.run(
                    "UPDATE job SET state = \(JobState.cancelled), ended = ?, not_before = NULL WHERE id = ?",
                    [now, job.id])
                try database.record(EventContent(.cancelled), job.id, now: now)
                change.stopped.append(try database.required(database.queuedDownload(job.id), "a job"))
            }
        }
    }

    package func pause(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try await changeUnfinished(selection) { database, job, now, change in
            guard !job.isCancelled, !job.members.arePaused else { return }
            var members = job.members
            members.setPaused(true, selection)
            try database.changeMembers(of: job, to: members, now: now)
            if !members.arePaused {
                change.continuing.append(JobID(rawValue: job.id))
            } else if job.isRunning {
                change.pausing.append(JobID(rawValue: job.id))
            } else {
                change.stopped.append(try database.required(database.queuedDownload(job.id), "a job"))
            }
        }
    }

    package func resume(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        try await changeUnfinished(selection) { database, job, now, change in
            guard !job.isCancelled else { return }
            var members = job.members
            members.setPaused(false, selection)
            try database.changeMembers(of: job, to: members, now: now)
            if job.members.arePaused { change.continuing.append(JobID(rawValue: job.id)) }
        }.continuing
    }

    package func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int {
        try await changeUnfinished(selection) { database, job, now, change in
            var members = job.members
            members.prioritize(selection, priority)
            try database.changeMembers(of: job, to: members, now: now)
            change.continuing.append(JobID(rawValue: job.id))
        }.continuing.count
    }

    package func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        let states: [QueuedDownload.State] = [.failed, .cancelled]
        return try await inSteps(selection, states, into: [JobID]()) { database, job, now, retried in
            // One by one, because once a job is waiting again, it blocks others that write the same file.
            try database.run(
                """
                UPDATE job SET state = \(JobState.ready), failures = 0, message = NULL, error = NULL, ended = NULL WHERE id = ?
                    AND NOT EXISTS (
                        SELECT 1 FROM job AS other WHERE other.target = job.target AND other.state IN (\(JobState.unfinished)))
                """, [job.id])
            guard database.changesCount == 1 else { return }
            try database.run("UPDATE member SET is_paused = 0 WHERE job = ?", [job.id])
            try database.joinLines(database.existingJob(job.id))
            try database.record(EventContent(.retried), job.id, now: now)
            retried.append(JobID(rawValue: job.id))
        }
    }

    /// Calls `body` for each selected job that hasn't ended, ordered by number.
    private func changeUnfinished(
        _ selection: QueuedDownload.Selection,
        _ body: @escaping @Sendable (Database, JobRow, _ now: Int64, inout JobChange) throws -> Void
    ) async throws -> JobChange {
        try await inSteps(selection, [.waiting, .running, .paused], into: JobChange(), body)
    }

    /// Calls `body` for each selected job in the given states, ordered by number. A transaction handles at most ``changedAtOnce`` jobs,
    /// because other processes give up on the write lock after ten seconds.
    private func inSteps<Result: Sendable>(
        _ selection: QueuedDownload.Selection, _ states: [QueuedDownload.State], into empty: Result,
        _ body: @escaping @Sendable (Database, JobRow, _ now: Int64, inout Result) throws -> Void
    ) async throws -> Result {
        var (result, left) = try await write { database, now in
            var result = empty
            let ids = try database.jobs(in: selection, states)
            for id in ids.prefix(changedAtOnce) { try body(database, database.existingJob(id), now, &result) }
            return (result, ids.dropFirst(changedAtOnce))
        }
        var states = states
        if case .state(let state) = selection { states = states.filter { $0 == state } }
        while !left.isEmpty {
            let (step, before) = (left.prefix(changedAtOnce), result)
            left = left.dropFirst(changedAtOnce)
            result = try await write { [states] database, now in
                var result = before
                for id in step {
                    // Others may have changed it between the steps.
                    guard let job = try database.jobRow(id), states.contains(job.state.state),
                        job.members.contains(selection)
                    else { continue }
                    try body(database, job, now, &result)
                }
                return result
            }
        }
        return result
    }
}

extension Database {
    /// Returns the selected jobs in these states, ordered by number.
    func jobs(in selection: QueuedDownload.Selection, _ states: [QueuedDownload.State]) throws -> [Int64] {
        let columns = states.map(\.columns).joined(separator: ", ")
        func jobs(_ condition: String, _ arguments: StatementArguments = []) throws -> [Int64] {
            let query = "SELECT id FROM job WHERE state IN (\(columns)) AND \(condition) ORDER BY id"
            return try Int64.fetchAll(cachedStatement(sql: query), arguments: arguments)
        }
        switch selection {
        case .all: return try jobs("true")
        case .state(let state): return try jobs("state IN (\(state.columns))")
        case .batch(let batch): return try jobs("id IN (SELECT job FROM member WHERE batch = ?)", [batch])
        case .user(let user, ids: nil): return try jobs("id IN (SELECT job FROM member WHERE user = ?)", [user])
        case .host(let host): return try jobs("host = ?", [host])
        case .ids(let ids):
            let find = try cachedStatement(sql: "SELECT id FROM job WHERE state IN (\(columns)) AND id = ?")
            return try Set(ids).sorted().compactMap { try Int64.fetchOne(find, arguments: [$0.rawValue]) }
        case .user(let user, ids: let ids?):
            let find = try cachedStatement(
                sql: """
                    SELECT id FROM job WHERE state IN (\(columns)) AND id = ?
                        AND EXISTS (SELECT 1 FROM member WHERE job = job.id AND user = ?)
                    """)
            return try Set(ids).sorted().compactMap { try Int64.fetchOne(find, arguments: [$0.rawValue, user]) }
        }
    }
}

// MARK: - Removing

extension SQLiteQueueStore {
    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        let ended = QueuedDownload.State.allCases.filter(\.isFinal)
        return try await inSteps(selection, ended, into: 0) { database, job, now, count in
            let remaining = job.members.without(selection)
            if remaining.isEmpty {
                try database.delete(job.id, now: now)
            } else if remaining.count < job.members.all.count {
                try database.changeEnded(job.id, to: JobMembers(remaining))
            }
            count += 1
        }
    }

    package func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool {
        try await write { database, now in
            let most = Int64(prunedAtOnce)
            let ended = "SELECT id FROM job WHERE state IN (\(JobState.ended))"
            let excess = try database.endedCount.addingClamped(-Int64(max(0, count)))
            let many = try Int64.fetchAll(
                database.cachedStatement(sql: "\(ended) ORDER BY ended, id LIMIT ?"),
                arguments: [max(0, min(excess, most))])
            let old = try Int64.fetchAll(
                database.cachedStatement(sql: "\(ended) AND ended < ? ORDER BY ended, id LIMIT ?"),
                arguments: [now - age.milliseconds, most])
            // Both start with the oldest.
            let gone = many.count > old.count ? many : old
            for id in gone { try database.delete(id, now: now) }
            // Keep more than promised, because a list of many requests has many events.
            let end = try database.lastEvent.addingClamped(-10 * Int64(keptEvents))
            let next = try min(end, database.firstEvent.addingClamped(4 * most - 1))
            try database.run("DELETE FROM event WHERE number <= ?", [next])
            try database.run(
                "DELETE FROM host WHERE name IN (SELECT name FROM host WHERE until < ? ORDER BY until LIMIT ?)",
                [now - HostHealth.memory, most])
            return gone.count == prunedAtOnce || next < end || database.changesCount == prunedAtOnce
        }
    }
}

extension Database {
    /// The number of jobs that are done, have failed or were cancelled.
    fileprivate var endedCount: Int64 {
        get throws {
            let query = "SELECT ifnull(sum(number), 0) FROM tally WHERE state IN (\(JobState.ended))"
            return try Int64.fetchOne(cachedStatement(sql: query)) ?? 0
        }
    }

    /// Deletes an ended job.
    fileprivate func delete(_ id: Int64, now: Int64) throws {
        try record(EventContent(.removed), id, now: now)
        try run("DELETE FROM member WHERE job = ?", [id])
        try run("DELETE FROM job WHERE id = ?", [id])
    }
}

// MARK: - Copying

extension SQLiteQueueStore: CopyableQueue {
    package func unfinished(after id: JobID, atMost count: Int) async throws -> [QueuedDownload] {
        try await read { database, _ in
            let query =
                "SELECT id FROM job WHERE id > ? AND state IN (\(JobState.unfinished)) AND NOT is_cancelled ORDER BY id LIMIT ?"
            let ids = try Int64.fetchAll(database.cachedStatement(sql: query), arguments: [id.rawValue, count])
            return try ids.compactMap { try database.queuedDownload($0) }
        }
    }

    package func add(_ downloads: [QueuedDownload], machine _: String?) async throws -> [EnqueuedJob] {
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
        guard job.admission == .added || job.admission == .joined else { return job }
        // Enqueuing resumes a member that is paused here, and doesn't pause the members it adds.
        let known = before?.all ?? []
        let new = members.filter { member in !known.contains { $0.user == member.user && $0.batch == member.batch } }
        // Enqueuing has recorded the first member.
        for element in new where element != members[0] {
            try record(EventContent(.joined, of: element), job.id.rawValue, now: now)
        }
        try changeMembers(of: existingJob(job.id.rawValue), to: JobMembers(known + new), now: now)
        if job.admission == .added {
            try run("UPDATE job SET failures = ? WHERE id = ?", [download.failureCount, job.id.rawValue])
        }
        return job
    }

    /// Returns the members of the unfinished job for this request, unless it is being cancelled.
    private func unfinishedMembers(of request: DownloadRequest) throws -> JobMembers? {
        let query =
            "SELECT id, url FROM job WHERE target = ? AND state IN (\(JobState.unfinished)) AND NOT is_cancelled"
        let found = try Row.fetchAll(cachedStatement(sql: query), arguments: [Data(request.targetPath.bytes)])
        let resource = DownloadRequest.resource(of: request.url.absoluteString)
        let same = try found.first { DownloadRequest.resource(of: try $0.value("url")) == resource }
        return try same.map { try members(of: try $0.value("id")) }
    }
}
