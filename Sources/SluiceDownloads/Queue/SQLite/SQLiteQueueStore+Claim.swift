import GRDB
import SluiceDatabase
import HeapModule

extension Database {
    /// Hands out jobs under the limits. The caller's transaction holds the write lock, so that the counts stay true until the claims are
    /// written.
    func claim(_ claim: JobClaim, now: Int64) throws -> [ClaimedJob] {
        guard claim.count > 0 else { return [] }
        var running = try runningCounts()
        guard running.total < claim.limits.total else { return [] }
        for host in claim.avoiding { running.hostLimits[host] = 0 }
        if let batch = claim.batch, !batch.isEmpty { return try self.claim(claim, of: batch, running, now: now) }
        var heads = try Heads(self, resolves: claim.resolves)
        var claimed: [ClaimedJob] = []
        while claimed.count < claim.count, running.total < claim.limits.total,
            let head = try heads.next(&running, claim.limits, now: now)
        {
            // The job may have been claimed from the line of another member, or the batch may want a later one.
            let job = try jobRow(head.job)
            if let job, job.state == 0, claim.batch.map(job.members.hasActive) ?? true {
                guard let charged = job.members.withRoom(host: job.host, running, claim.limits) else { continue }
                claimed.append(try hand(job, to: claim, charging: charged, now: now))
                running.add(host: job.host, user: charged.user)
            }
            // A lane without room has none until the end of this claim.
            guard running.room(host: head.lane.host, user: head.lane.user, under: claim.limits) > 0 else { continue }
            if let next = try self.head(of: head.lane.id, in: claim.batch) {
                // Claimed jobs have left their lines. In a damaged file, this loop could go on forever.
                _ = try required(next.job == head.job ? nil : next.job, "a job of a line")
                heads.insert(LaneHead(priority: ~next.rank, job: next.job, lane: head.lane))
            }
        }
        return claimed
    }

    /// Hands out jobs of one batch, in the order of its line, which has no others.
    private func claim(
        _ claim: JobClaim, of batch: String, _ running: RunningCounts, now: Int64
    ) throws -> [ClaimedJob] {
        var running = running
        var claimed: [ClaimedJob] = []
        var last: (rank: Int, job: Int64) = (.min, -1)
        var size = 16
        while true {
            let query = try cachedStatement(
                sql: """
                    SELECT rank, job, host FROM batch_line
                    WHERE batch = ? AND (rank, job) > (?, ?) ORDER BY rank, job LIMIT ?
                    """)
            let page = try Row.fetchAll(query, arguments: [batch, last.rank, last.job, size])
            for row in page {
                last = (try row.value("rank"), try row.value("job"))
                let host: String = try row.value("host")
                try learnLimit(of: host, &running, now: now)
                guard running.room(host: host, under: claim.limits) > 0,
                    let job = try jobRow(last.job), job.state == 0, claim.resolves || !job.isUnresolved,
                    let charged = job.members.withRoom(host: job.host, running, claim.limits)
                else { continue }
                claimed.append(try hand(job, to: claim, charging: charged, now: now))
                running.add(host: job.host, user: charged.user)
                if claimed.count == claim.count || running.total >= claim.limits.total { return claimed }
            }
            if page.count < size { return claimed }
            size = 256
        }
    }

    private func hand(
        _ job: JobRow, to claim: JobClaim, charging charged: JobMembers.Element, now: Int64
    ) throws -> ClaimedJob {
        let token = Int64.random(in: 1 ... .max)
        try leaveLines(job)
        try run(
            "UPDATE job SET state = 1, worker = ?, token = ?, lease_until = ?, charged = ? WHERE id = ?",
            [claim.worker.name, token, now + claim.lease.milliseconds, charged.user, job.id])
        try record(EventContent(.started, user: charged.user), job.id, now: now)
        let query = "SELECT url, folder, name, priority, failures, may_be_published FROM job WHERE id = ?"
        let row = try required(Row.fetchOne(cachedStatement(sql: query), arguments: [job.id]), "a job")
        return ClaimedJob(
            lease: JobLease(job: JobID(rawValue: job.id), token: token),
            request: try DownloadRequest(row: row, user: charged.user), host: job.host,
            failures: try row.value("failures"),
            mayBePublished: try row.value("may_be_published"))
    }
}

private struct Lane {
    var id: Int64
    var host: String
    var user: String
    var isUnresolved: Bool
}

/// The heads of the lanes with room, in the order in which their jobs are claimed.
///
/// One stream reads all heads in order. If it passes too many lanes without room, the rest is read by one stream for each host with room,
/// or by one for each user: a full host may have ten thousand users before the first lane with room, but no more users are full than jobs
/// run. The streams go on from the current position.
private struct Heads {
    private struct Entry: Comparable {
        var head: LaneHead<Lane>
        /// The index of its stream, or `nil` if it was inserted.
        var stream: Int?

        static func < (one: Self, other: Self) -> Bool { one.head < other.head }
        static func == (one: Self, other: Self) -> Bool { one.head == other.head }
    }

    private let database: Database
    /// Whether the claim wants jobs whose URLs have to be resolved.
    private let resolves: Bool
    private var streams: [HeadStream] = []
    private var entries = Heap<Entry>()
    private var passed = 0

    /// The number of lanes to pass before the stream is divided.
    private static let patience = 64

    init(_ database: Database, resolves: Bool) throws {
        self.database = database
        self.resolves = resolves
        streams = [HeadStream(.all, after: nil)]
        try advance(0)
    }

    mutating func insert(_ head: LaneHead<Lane>) { entries.insert(Entry(head: head)) }

    mutating func next(
        _ running: inout RunningCounts, _ limits: DownloadCoordinator.Limits, now: Int64
    ) throws -> LaneHead<Lane>? {
        while let entry = entries.popMin() {
            if let stream = entry.stream { try advance(stream) }
            try database.learnLimit(of: entry.head.lane.host, &running, now: now)
            if resolves || !entry.head.lane.isUnresolved,
                running.room(host: entry.head.lane.host, user: entry.head.lane.user, under: limits) > 0
            {
                return entry.head
            }
            passed += 1
            if passed == Self.patience { try divide(after: entry.head, &running, limits, now: now) }
        }
        return nil
    }

    private mutating func advance(_ stream: Int) throws {
        guard let head = try streams[stream].next(database) else { return }
        entries.insert(Entry(head: head, stream: stream))
    }

    private mutating func divide(
        after head: LaneHead<Lane>, _ running: inout RunningCounts, _ limits: DownloadCoordinator.Limits, now: Int64
    ) throws {
        var hosts = try database.distinct("host", atMost: 64)
        var users = hosts.count < 64 ? nil : try database.distinct("user", atMost: 64)
        if hosts.count == 64, users?.count == 64 {
            hosts = try database.distinct("host", atMost: .max)
            users = try database.distinct("user", atMost: hosts.count)
        }
        // What was inserted stays; the stream of all lanes ends here.
        let inserted = entries.unordered.filter { $0.stream == nil }
        entries = Heap(inserted)
        if let users, users.count < hosts.count {
            let open = users.filter { running.room(user: $0, under: limits) > 0 }
            streams = open.map { HeadStream(.ofUser($0), after: head) }
        } else {
            for host in hosts { try database.learnLimit(of: host, &running, now: now) }
            let open = hosts.filter { running.room(host: $0, under: limits) > 0 }
            streams = open.map { HeadStream(.ofHost($0), after: head) }
        }
        for stream in streams.indices { try advance(stream) }
    }
}

/// The heads of some lanes in order, read in pages.
private struct HeadStream {
    enum Lanes {
        case all
        case ofHost(String)
        case ofUser(String)
    }

    private let lanes: Lanes
    private var last: (rank: Int, job: Int64)
    private var page: ArraySlice<LaneHead<Lane>> = []
    private var isAtEnd = false

    init(_ lanes: Lanes, after head: LaneHead<Lane>?) {
        self.lanes = lanes
        last = head.map { (~$0.priority, $0.job) } ?? (.min, -1)
    }

    mutating func next(_ database: Database) throws -> LaneHead<Lane>? {
        if page.isEmpty, !isAtEnd { try turn(database) }
        return page.popFirst()
    }

    private mutating func turn(_ database: Database) throws {
        var condition = ""
        var arguments: StatementArguments = []
        var size = 16
        switch lanes {
        case .all: break
        case .ofHost(let host): (condition, arguments, size) = ("host = ? AND", [host], 4)
        case .ofUser(let user): (condition, arguments, size) = ("user = ? AND", [user], 4)
        }
        let query = """
            SELECT id, host, user, is_unresolved, head_rank, head_job FROM lane
            WHERE \(condition) (head_rank, head_job) > (?, ?) ORDER BY head_rank, head_job LIMIT \(size)
            """
        arguments += [last.rank, last.job]
        let rows = try Row.fetchAll(database.cachedStatement(sql: query), arguments: arguments)
        page = ArraySlice(
            try rows.map { row in
                LaneHead(
                    priority: ~(try row.value("head_rank", as: Int.self)), job: try row.value("head_job"),
                    lane: Lane(
                        id: try row.value("id"), host: try row.value("host"), user: try row.value("user"),
                        isUnresolved: try row.value("is_unresolved")))
            })
        isAtEnd = page.count < size
        if let head = page.last { last = (~head.priority, head.job) }
    }
}

extension Database {
    /// The values of a column of `lane`. The query jumps in the index from one value to the next.
    fileprivate func distinct(_ column: String, atMost count: Int) throws -> [String] {
        let query = """
            WITH RECURSIVE found (value) AS (
                SELECT min(\(column)) FROM lane
                UNION ALL
                SELECT (SELECT min(\(column)) FROM lane WHERE \(column) > found.value) FROM found
                WHERE found.value IS NOT NULL)
            SELECT value FROM found WHERE value IS NOT NULL LIMIT ?
            """
        return try String.fetchAll(cachedStatement(sql: query), arguments: [count])
    }
}
