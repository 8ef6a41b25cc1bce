import GRDB
import SluiceDatabase

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
                if job.state == 0 {
                    try database.leaveLines(job)
                }
                try database.run(
                    "UPDATE job SET state = 4, ended = ?, not_before = NULL WHERE id = ?", [now, job.id])
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
            // One by one, because a job that waits again holds back others that write the same file.
            try database.run(
                """
                UPDATE job SET state = 0, failures = 0, message = NULL, ended = NULL WHERE id = ?
                    AND NOT EXISTS (
                        SELECT 1 FROM job AS other WHERE other.target = job.target AND other.state IN (0, 1, 5, 6))
                """, [job.id])
            guard database.changesCount == 1 else { return }
            try database.run("UPDATE member SET is_paused = 0 WHERE job = ?", [job.id])
            try database.joinLines(database.existingJob(job.id))
            try database.record(EventContent(.retried), job.id, now: now)
            retried.append(JobID(rawValue: job.id))
        }
    }

    /// Calls `body` for each selected job that hasn't ended, in the order of their numbers.
    private func changeUnfinished(
        _ selection: QueuedDownload.Selection,
        _ body: @escaping @Sendable (Database, JobRow, _ now: Int64, inout JobChange) throws -> Void
    ) async throws -> JobChange {
        try await inSteps(selection, [.waiting, .running, .paused], into: JobChange(), body)
    }

    /// Calls `body` for each selected job in some states, in the order of their numbers, at most ``changedAtOnce`` in each transaction: other
    /// processes wait for the write lock for ten seconds at most.
    func inSteps<Result: Sendable>(
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
                    // Between the steps others may have changed it.
                    guard let job = try database.jobRow(id), states.contains(QueuedDownload.State(column: job.state)),
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
    /// Returns the selected jobs in these states, in the order of their numbers.
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
        case .user(let user): return try jobs("id IN (SELECT job FROM member WHERE user = ?)", [user])
        case .host(let host): return try jobs("host = ?", [host])
        case .ids(let ids):
            let find = try cachedStatement(sql: "SELECT id FROM job WHERE state IN (\(columns)) AND id = ?")
            return try Set(ids).sorted().compactMap { try Int64.fetchOne(find, arguments: [$0.rawValue]) }
        }
    }
}
