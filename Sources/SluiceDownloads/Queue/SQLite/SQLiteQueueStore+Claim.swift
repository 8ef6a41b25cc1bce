import GRDB

extension Database {
    private struct Lane {
        var id: Int64
        var host: String
        var user: String
    }

    private struct Candidate {
        var id: Int64
        var priority: Int
        var lane: Lane
    }

    /// Hands out jobs under the limits. The caller's transaction holds the write lock, so that the counts stay true until the claims are
    /// written.
    func claim(_ claim: JobClaim, now: Int64) throws -> [ClaimedJob] {
        var running = RunningCounts()
        let counted = try cachedStatement(
            sql: "SELECT host, user FROM job JOIN lane ON lane.id = job.lane WHERE job.state = 1")
        let rows = try Row.fetchCursor(counted)
        while let row = try rows.next() { running.add(host: row["host"], user: row["user"]) }

        let room = min(claim.count, claim.limits.total - running.total)
        guard room > 0 else { return [] }
        let fromFront = try firstInLine(room, running, claim)
        let candidates = try fromFront ?? firstOfLanes(room, running, claim)

        return try candidates.map { try hand($0.id, of: $0.lane.user, to: claim, now: now) }
    }

    /// The number of jobs to look at before the search continues lane by lane.
    private static let glance = 256

    /// The first jobs in line for which the limits leave room. Returns `nil` if there are too many held-back jobs among the first `glance`
    /// ones.
    private func firstInLine(_ room: Int, _ running: RunningCounts, _ claim: JobClaim) throws -> [Candidate]? {
        let member = claim.batch == nil ? "1" : Self.isMember
        let query = """
            SELECT job.id, priority, state, lane, host, user, \(member) AS is_wanted
            FROM job JOIN lane ON lane.id = job.lane
            WHERE state IN (0, 5) ORDER BY priority DESC, job.id LIMIT \(Self.glance)
            """
        var running = running
        var found: [Candidate] = []
        var looked = 0
        let arguments: StatementArguments = claim.batch.map { [$0] } ?? []
        let rows = try Row.fetchCursor(cachedStatement(sql: query), arguments: arguments)
        while found.count < room, let row = try rows.next() {
            looked += 1
            let lane = Lane(id: row["lane"], host: row["host"], user: row["user"])
            guard row["state"] == QueuedDownload.State.waiting.rawValue, row["is_wanted"],
                running.room(host: lane.host, user: lane.user, under: claim.limits) > 0
            else { continue }
            running.add(host: lane.host, user: lane.user)
            found.append(Candidate(id: row["id"], priority: row["priority"], lane: lane))
        }
        return found.count == room || looked < Self.glance ? found : nil
    }

    /// The same jobs from the heads of all lanes, with one or two seeks for each lane, regardless of the number of held-back jobs.
    private func firstOfLanes(_ room: Int, _ running: RunningCounts, _ claim: JobClaim) throws -> [Candidate] {
        var heads: [Candidate] = []
        for lane in try lanesInLine() {
            let most = min(room, running.room(host: lane.host, user: lane.user, under: claim.limits))
            if most > 0 { heads += try self.heads(of: lane, most, in: claim.batch) }
        }
        heads.sort { ($1.priority, $0.id) < ($0.priority, $1.id) }
        var running = running
        var found: [Candidate] = []
        for head in heads where found.count < room {
            guard running.room(host: head.lane.host, user: head.lane.user, under: claim.limits) > 0 else { continue }
            running.add(host: head.lane.host, user: head.lane.user)
            found.append(head)
        }
        return found
    }

    private static let isMember =
        "EXISTS (SELECT 1 FROM membership WHERE membership.batch = ? AND membership.job = job.id)"

    /// The lanes with jobs to claim. The query jumps in the index from one lane to the next, past the jobs between.
    private func lanesInLine() throws -> [Lane] {
        let query = """
            WITH RECURSIVE line (lane) AS (
                SELECT min(lane) FROM job WHERE state = 0
                UNION ALL
                SELECT (SELECT min(lane) FROM job WHERE state = 0 AND lane > line.lane) FROM line
                WHERE line.lane IS NOT NULL)
            SELECT id, host, user FROM line JOIN lane ON lane.id = line.lane
            """
        return try Row.fetchAll(cachedStatement(sql: query)).map { row in
            Lane(id: row["id"], host: row["host"], user: row["user"])
        }
    }

    private func heads(of lane: Lane, _ count: Int, in batch: String?) throws -> [Candidate] {
        let member = batch == nil ? "" : "AND \(Self.isMember)"
        let query = """
            SELECT id, priority FROM job WHERE state = 0 AND lane = ? \(member)
            ORDER BY priority DESC, id LIMIT ?
            """
        var arguments: StatementArguments = [lane.id]
        if let batch { arguments += [batch] }
        arguments += [count]
        return try Row.fetchAll(cachedStatement(sql: query), arguments: arguments).map { row in
            Candidate(id: row["id"], priority: row["priority"], lane: lane)
        }
    }

    private func hand(_ id: Int64, of user: String, to claim: JobClaim, now: Int64) throws -> ClaimedJob {
        let token = Int64.random(in: 1 ... .max)
        try run(
            "UPDATE job SET state = 1, not_before = NULL, worker = ?, token = ?, lease_until = ? WHERE id = ?",
            [claim.worker.name, token, now + claim.lease.milliseconds, id])
        let query = """
            SELECT url, folder, name, priority, failures, may_be_published FROM job WHERE id = ?
            """
        let row = try Row.fetchOne(cachedStatement(sql: query), arguments: [id])!
        return ClaimedJob(
            lease: JobLease(job: JobID(rawValue: id), token: token),
            request: try DownloadRequest(row: row, user: user), failures: row["failures"],
            mayBePublished: row["may_be_published"])
    }
}

struct RunningCounts {
    private(set) var total = 0
    private var ofHost: [String: Int] = [:]
    private var ofUser: [String: Int] = [:]

    mutating func add(host: String, user: String) {
        total += 1
        ofHost[host, default: 0] += 1
        if !user.isEmpty { ofUser[user, default: 0] += 1 }
    }

    mutating func remove(host: String, user: String) {
        total -= 1
        ofHost[host] = ofHost[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        if !user.isEmpty { ofUser[user] = ofUser[user].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }

    func room(host: String, user: String, under limits: DownloadCoordinator.Limits) -> Int {
        var room = limits.total - total
        if let most = limits.perHost { room = min(room, most - ofHost[host, default: 0]) }
        if let most = limits.perUser, !user.isEmpty { room = min(room, most - ofUser[user, default: 0]) }
        return room
    }
}
