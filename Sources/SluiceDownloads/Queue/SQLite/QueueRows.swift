import GRDB
import SluiceDatabase

/// The parts of a job's row that are needed to change its state.
struct JobRow {
    var id: Int64
    var host: String
    var isUnresolved: Bool
    var priority: Int
    var state: JobState
    var charged: String
    var isCancelled: Bool
    var members: JobMembers

    var isRunning: Bool { state == .running }
    var hasEnded: Bool { state.state.isFinal }
}

extension Database {
    func jobRow(_ id: Int64) throws -> JobRow? {
        let query = "SELECT host, is_unresolved, priority, state, charged, is_cancelled FROM job WHERE id = ?"
        guard let row = try Row.fetchOne(cachedStatement(sql: query), arguments: [id]) else { return nil }
        return JobRow(
            id: id, host: try row.value("host"), isUnresolved: try row.value("is_unresolved"),
            priority: try row.value("priority"), state: JobState(column: try row.value("state")),
            charged: try row.value("charged", as: String?.self) ?? "", isCancelled: try row.value("is_cancelled"),
            members: try members(of: id))
    }

    /// The job that an entry in an index or a line refers to. In a damaged file, it may be missing.
    func existingJob(_ id: Int64) throws -> JobRow { try required(jobRow(id), "a job") }

    // MARK: Members

    func members(of id: Int64) throws -> JobMembers {
        let query = "SELECT user, batch, priority, is_paused FROM member WHERE job = ? ORDER BY place"
        let rows = try Row.fetchAll(cachedStatement(sql: query), arguments: [id])
        return JobMembers(
            try rows.map { row in
                JobMembers.Element(
                    QueuedDownload.Member(
                        user: try row.value("user"), batch: try row.value("batch"), priority: try row.value("priority"),
                        isPaused: try row.value("is_paused")))
            })
    }

    func insertMembers(_ members: JobMembers, of id: Int64) throws {
        for (place, element) in members.all.enumerated() {
            try run(
                "INSERT INTO member (job, place, user, batch, priority, is_paused) VALUES (?, ?, ?, ?, ?, ?)",
                [id, place, element.user, element.batch, element.member.priority, element.member.isPaused])
        }
    }

    private func replaceMembers(of id: Int64, by members: JobMembers) throws {
        try run("DELETE FROM member WHERE job = ?", [id])
        try insertMembers(members, of: id)
    }

    /// Writes the changed members of an ended job.
    func changeEnded(_ id: Int64, to members: JobMembers) throws {
        try replaceMembers(of: id, by: members)
        try run("UPDATE job SET priority = ? WHERE id = ?", [members.priority, id])
    }

    /// Writes the changed members of an unfinished job, and then its lines, its state and its charge. `row` has the previous members.
    func changeMembers(of row: JobRow, to members: JobMembers, now: Int64) throws {
        guard members != row.members else { return }
        let priority = members.priority
        try replaceMembers(of: row.id, by: members)
        if row.isRunning {
            let user = row.isCancelled ? row.charged : members.charge(row.charged, try runningCounts())
            try run("UPDATE job SET priority = ?, charged = ? WHERE id = ?", [priority, user, row.id])
            return
        }
        if row.state == .ready { try leaveLines(row) }
        // A job that was paused during a delay waits for the rest of it.
        try run(
            """
            UPDATE job SET priority = ?,
                state = iif(?, \(JobState.paused), iif(not_before IS NULL, \(JobState.ready), \(JobState.delayed))) WHERE id = ?
            """,
            [priority, members.arePaused, row.id])
        if members.arePaused != row.members.arePaused {
            try record(EventContent(members.arePaused ? .paused : .resumed), row.id, now: now)
        }
        let isReady = try Bool.fetchOne(
            cachedStatement(sql: "SELECT state = \(JobState.ready) FROM job WHERE id = ?"), arguments: [row.id])
        if isReady == true {
            var changed = row
            (changed.members, changed.priority) = (members, priority)
            try joinLines(changed)
        }
    }

    // MARK: Lines

    func joinLines(_ job: JobRow) throws {
        let (id, rank) = (job.id, ~job.priority)
        for user in job.members.activeUsers {
            var lane: Int64
            if let row = try laneRow(job, user) {
                lane = try row.value("id")
                let head: (Int, Int64) = (try row.value("head_rank"), try row.value("head_job"))
                if (rank, id) < head {
                    try run("UPDATE lane SET head_rank = ?, head_job = ? WHERE id = ?", [rank, id, lane])
                }
            } else {
                try run(
                    "INSERT INTO lane (host, user, is_unresolved, head_rank, head_job) VALUES (?, ?, ?, ?, ?)",
                    [job.host, user, job.isUnresolved, rank, id])
                lane = lastInsertedRowID
            }
            try run("INSERT INTO line (lane, rank, job) VALUES (?, ?, ?)", [lane, rank, id])
        }
        for batch in job.members.activeBatches {
            // A program that uses older tables may have claimed the job without removing it from this line.
            try run(
                "INSERT OR REPLACE INTO batch_line (batch, rank, job, host) VALUES (?, ?, ?, ?)",
                [batch, rank, id, job.host])
        }
    }

    func leaveLines(_ job: JobRow) throws {
        for user in job.members.activeUsers {
            guard let row = try laneRow(job, user) else { continue }
            let lane: Int64 = try row.value("id")
            try run("DELETE FROM line WHERE lane = ? AND rank = ? AND job = ?", [lane, ~job.priority, job.id])
            guard try row.value("head_job") == job.id else { continue }
            if let head = try head(of: lane) {
                try run("UPDATE lane SET head_rank = ?, head_job = ? WHERE id = ?", [head.rank, head.job, lane])
            } else {
                try run("DELETE FROM lane WHERE id = ?", [lane])
            }
        }
        for batch in job.members.activeBatches {
            try run("DELETE FROM batch_line WHERE batch = ? AND rank = ? AND job = ?", [batch, ~job.priority, job.id])
        }
    }

    private func laneRow(_ job: JobRow, _ user: String) throws -> Row? {
        let query = "SELECT id, head_rank, head_job FROM lane WHERE host = ? AND user = ? AND is_unresolved = ?"
        return try Row.fetchOne(cachedStatement(sql: query), arguments: [job.host, user, job.isUnresolved])
    }

    /// The first job in a lane's line or, with a batch, the first one that has an active member in it. If there is none, this reads the
    /// whole line.
    func head(of lane: Int64, in batch: String? = nil) throws -> (rank: Int, job: Int64)? {
        let isWanted = batch == nil ? "" : "AND \(Self.hasActiveMember)"
        let query = "SELECT rank, job FROM line WHERE lane = ? \(isWanted) ORDER BY rank, job LIMIT 1"
        var arguments: StatementArguments = [lane]
        if let batch { arguments += [batch] }
        let row = try Row.fetchOne(cachedStatement(sql: query), arguments: arguments)
        return try row.map { (try $0.value("rank"), try $0.value("job")) }
    }

    private static let hasActiveMember =
        "EXISTS (SELECT 1 FROM member WHERE member.job = line.job AND member.batch = ? AND NOT is_paused)"

    // MARK: Counting

    func runningCounts() throws -> RunningCounts {
        var running = RunningCounts()
        let rows = try Row.fetchCursor(
            cachedStatement(sql: "SELECT host, charged FROM job WHERE state = \(JobState.running)"))
        while let row = try rows.next() { running.add(host: try row.value("host"), user: try row.value("charged")) }
        return running
    }
}
