import GRDB
import HeapModule
import SluiceDatabase

extension SQLiteQueueStore {
    package func takeTurn(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobTurn {
        try await write { database, now in
            var turn = JobTurn()
            for settlement in settlements {
                if let report = settlement.host {
                    try database.note(report, by: settlement.lease.job.rawValue, now: now)
                }
                if try !database.settle(settlement, now: now) { turn.refused.append(settlement.lease) }
            }
            guard let claim else { return turn }
            try database.takeBackExpiredLeases(now: now, lease: claim.lease.milliseconds)
            try database.admitDelayed(now: now)
            turn.claimed = try database.claim(claim, now: now)
            turn.nextDue = try database.nextDue(now: now).map { .milliseconds(max(0, min($0, 1 << 60) - now)) }
            turn.isEmpty = try turn.claimed.count < max(1, claim.count) && !database.hasOpenJobs(in: claim.batch)
            return turn
        }
    }

    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try await write { database, now in
            try database.run(
                "UPDATE job SET lease_until = ? WHERE state = \(JobState.running) AND worker = ?",
                [now + lease.milliseconds, worker.name])
            let query = """
                SELECT id, token, is_cancelled,
                    NOT EXISTS (SELECT 1 FROM member WHERE member.job = job.id AND NOT is_paused) AS is_paused
                FROM job WHERE state = \(JobState.running) AND worker = ? ORDER BY id
                """
            let held = try Row.fetchAll(database.cachedStatement(sql: query), arguments: [worker.name])
            return try held.map { row in
                let isCancelled: Bool = try row.value("is_cancelled")
                let isPaused: Bool = try row.value("is_paused")
                return RenewedLease(
                    lease: JobLease(job: JobID(rawValue: try row.value("id")), token: try row.value("token")),
                    stop: isCancelled ? .cancelled : isPaused ? .paused : nil)
            }
        }
    }
}

// MARK: - Rates

extension SQLiteQueueStore {
    package func setRates(_ rates: DownloadCoordinator.MaximumRates) async throws {
        try await write { database, _ in
            try database.run(
                "INSERT OR REPLACE INTO rate (id, total, per_host) VALUES (1, ?, ?)", [rates.total, rates.perHost])
        }
    }

    package func rates(besides worker: QueueWorker?) async throws -> SharedRates {
        try await read { database, _ in
            let rates = try Row.fetchOne(database.cachedStatement(sql: "SELECT total, per_host FROM rate"))
            guard let rates else { return SharedRates(.init(), otherWorkers: 0) }
            let others = try Int.fetchOne(
                database.cachedStatement(
                    sql: "SELECT count(DISTINCT worker) FROM job WHERE state = \(JobState.running) AND worker IS NOT ?"),
                arguments: [worker?.name])
            return SharedRates(
                .init(total: try rates.value("total"), perHost: try rates.value("per_host")), otherWorkers: others ?? 0)
        }
    }
}

extension Database {
    /// Returns `false` if the lease is no longer valid.
    fileprivate func settle(_ settlement: JobSettlement, now: Int64) throws -> Bool {
        let change: String
        var arguments: StatementArguments
        switch settlement.outcome {
        case .done(let bytes):
            change = "state = \(JobState.done), ended = ?, bytes = ?, message = NULL, error = NULL"
            arguments = [now, bytes]
        case .failed(let error):
            change = "state = \(JobState.failed), ended = ?, failures = failures + 1, message = ?, error = ?"
            arguments = [now, error.storedLine, error.stored]
        case .retry, .postponed, .moved, .released, .cancelled:
            let outcome = settlement.outcome
            let due = outcome.delay.map { now + $0.milliseconds }
            let failures = outcome.failure == nil ? 0 : 1
            // A job that was cancelled while it failed isn't retried.
            change = """
                host = coalesce(?, host), \(Self.cancelled(or: due == nil ? .ready : .delayed)),
                not_before = iif(is_cancelled, NULL, ?), failures = failures + ?,
                message = coalesce(?, message), error = coalesce(?, error)
                """
            let error = outcome.error
            arguments = [outcome.newHost, now, due, failures, error?.storedLine, error?.stored]
        }
        arguments += [settlement.lease.job.rawValue, settlement.lease.token]
        try run(
            "UPDATE job SET \(change), \(Self.endOfLease) WHERE state = \(JobState.running) AND id = ? AND token = ?",
            arguments)
        let job = settlement.lease.job.rawValue
        guard changesCount == 1 else {
            if case .done = settlement.outcome {
                try run(
                    "UPDATE job SET may_be_published = 1 WHERE id = ? AND state IN (\(JobState.waiting), \(JobState.paused))",
                    [job])
            }
            return false
        }
        try record(EventContent(wait(job), after: settlement.outcome), job, now: now)
        return true
    }

    /// SQL that ends a job if its worker had to cancel it. The end time is an argument.
    private static func cancelled(or state: JobState) -> String {
        "state = iif(is_cancelled, \(JobState.cancelled), \(state)), ended = iif(is_cancelled, ?, NULL)"
    }

    private static let endOfLease =
        """
        worker = NULL, token = NULL, lease_until = NULL, charged = NULL, is_cancelled = 0, received = NULL, total = NULL
        """

    /// Puts a ready or delayed job without a lease back in line, or pauses it if all its members are paused. Returns its state.
    @discardableResult
    private func wait(_ id: Int64) throws -> QueuedDownload.State {
        let job = try existingJob(id)
        guard job.state == .ready || job.state == .delayed else { return job.state.state }
        if job.members.arePaused {
            try run("UPDATE job SET state = \(JobState.paused) WHERE id = ?", [id])
            return .paused
        }
        if job.state == .ready { try joinLines(job) }
        return .waiting
    }

    /// Makes jobs ready whose delays are over.
    fileprivate func admitDelayed(now: Int64) throws {
        let over = try Int64.fetchAll(
            cachedStatement(sql: "SELECT id FROM job WHERE not_before <= ?"), arguments: [now])
        for id in over {
            try run(
                "UPDATE job SET state = iif(state = \(JobState.delayed), \(JobState.ready), state), not_before = NULL WHERE id = ?",
                [id])
            try wait(id)
        }
    }

    /// - Parameter lease: The length of a lease, or 0 if it isn't known.
    func takeBackExpiredLeases(now: Int64, lease: Int64) throws {
        // A lease that ends in the far future was granted before the clock was set back.
        let latest = now + max(600_000, 10 * min(lease, 1 << 50))
        if lease > 0 {
            try run(
                "UPDATE job SET lease_until = ? WHERE state = \(JobState.running) AND lease_until > ?",
                [now + lease, latest])
        }
        // Sorted here, because SQLite would read the whole table to sort by number.
        let query = "SELECT id FROM job WHERE state = \(JobState.running) AND lease_until <= ?"
        try takeBack(Int64.fetchAll(cachedStatement(sql: query), arguments: [now]).sorted(), now: now)
    }

    /// Takes back a worker's running jobs. They go back to waiting, or are cancelled if that was requested.
    func releaseJobs(of worker: String, now: Int64) throws {
        let query = "SELECT id FROM job WHERE state = \(JobState.running) AND worker = ? ORDER BY id"
        try takeBack(Int64.fetchAll(cachedStatement(sql: query), arguments: [worker]), now: now)
    }

    private func takeBack(_ lost: [Int64], now: Int64) throws {
        for id in lost {
            try run(
                """
                UPDATE job SET \(Self.cancelled(or: .ready)), may_be_published = 1,
                    \(Self.endOfLease) WHERE id = ?
                """, [now, id])
            try record(EventContent(wait(id)), id, now: now)
        }
    }

    fileprivate func nextDue(now: Int64) throws -> Int64? {
        let delay = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(not_before) FROM job WHERE not_before IS NOT NULL"))
        let lease = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(lease_until) FROM job WHERE state = \(JobState.running)"))
        let pause = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(until) FROM host WHERE until > ?"), arguments: [now])
        return [delay, lease, pause].compactMap(\.self).min()
    }

    fileprivate func hasOpenJobs(in batch: String?) throws -> Bool {
        guard let batch else {
            return try exists("SELECT 1 FROM job WHERE state IN (\(JobState.waiting))")
                || exists("SELECT 1 FROM job WHERE state = \(JobState.running)")
        }
        // Even a long batch may have only a few jobs left.
        if try exists("SELECT 1 FROM batch_line WHERE batch = ?", [batch]) { return true }
        let ofBatch = """
            EXISTS (SELECT 1 FROM member WHERE member.job = job.id AND batch = ? AND NOT is_paused)
            """
        if try exists("SELECT 1 FROM job WHERE state = \(JobState.running) AND \(ofBatch)", [batch]) { return true }
        if try exists(
            "SELECT 1 FROM job WHERE not_before IS NOT NULL AND state = \(JobState.delayed) AND \(ofBatch)", [batch])
        {
            return true
        }
        // Requests without a batch don't have a batch line.
        return try batch.isEmpty
            && exists("SELECT 1 FROM job WHERE state IN (\(JobState.waiting)) AND \(ofBatch)", [batch])
    }

    private func exists(_ query: String, _ arguments: StatementArguments = []) throws -> Bool {
        try Bool.fetchOne(cachedStatement(sql: "SELECT EXISTS (\(query))"), arguments: arguments) ?? false
    }
}

// MARK: - Claiming

extension Database {
    /// Hands out jobs under the limits. The caller's transaction holds the write lock, so the counts stay accurate until the claims are
    /// written.
    fileprivate func claim(_ claim: JobClaim, now: Int64) throws -> [ClaimedJob] {
        guard claim.count > 0 else { return [] }
        var rule = ClaimRule(claim, try runningCounts())
        guard rule.running.total < claim.limits.total else { return [] }
        if let batch = claim.batch, !batch.isEmpty {
            var jobs = BatchLine(database: self, now: now, batch: batch)
            return try rule.handOut(from: &jobs)
        }
        var heads = try Heads(self, now: now)
        return try rule.handOut(from: &heads)
    }
}

extension JobRow: ClaimableJob {}

private protocol SQLiteClaimSource: ClaimSource where WaitingJob == JobRow {
    var database: Database { get }
    var now: Int64 { get }
}

extension SQLiteClaimSource {
    /// Looks up only the few hosts that a claim considers, because thousands may be down.
    func learnLimit(of host: String, _ running: inout RunningCounts) throws {
        guard running.hostLimits[host] == nil else { return }
        running.hostLimits[host] = try database.health(of: host)?.limit(now: now) ?? .max
    }

    func waitingJob(_ head: LineHead) throws -> JobRow? {
        let job = try database.jobRow(head.job)
        return job?.state == .ready ? job : nil
    }

    func handOut(_ job: JobRow, to claim: JobClaim, charging charged: JobMembers.Element) throws -> ClaimedJob {
        let token = Int64.random(in: 1 ... .max)
        try database.leaveLines(job)
        try database.run(
            "UPDATE job SET state = \(JobState.running), worker = ?, token = ?, lease_until = ?, charged = ? WHERE id = ?",
            [claim.worker.name, token, now + claim.lease.milliseconds, charged.user, job.id])
        try database.record(EventContent(.started, user: charged.user), job.id, now: now)
        let query =
            "SELECT url, folder, name, priority, failures, may_be_published, checksum, mirrors FROM job WHERE id = ?"
        let row = try database.required(
            Row.fetchOne(database.cachedStatement(sql: query), arguments: [job.id]), "a job")
        return ClaimedJob(
            lease: JobLease(job: JobID(rawValue: job.id), token: token),
            request: try DownloadRequest(row: row, user: charged.user), host: job.host,
            failures: try row.value("failures"),
            mayBePublished: try row.value("may_be_published"))
    }
}

/// The jobs of one batch, in the order of its line. Each counts as a separate line whose users aren't known.
private struct BatchLine: SQLiteClaimSource {
    let database: Database
    let now: Int64
    let batch: String
    private var last: (rank: Int, job: Int64) = (.min, -1)
    private var page: ArraySlice<Row> = []
    private var size = 16
    private var isAtEnd = false

    init(database: Database, now: Int64, batch: String) {
        (self.database, self.now, self.batch) = (database, now, batch)
    }

    mutating func nextLine(before _: LineHead?) throws -> LineHead? {
        if page.isEmpty, !isAtEnd {
            let query = """
                SELECT rank, job, host FROM batch_line
                WHERE batch = ? AND (rank, job) > (?, ?) ORDER BY rank, job LIMIT ?
                """
            page = ArraySlice(
                try Row.fetchAll(
                    database.cachedStatement(sql: query), arguments: [batch, last.rank, last.job, size]))
            isAtEnd = page.count < size
            size = 256
        }
        guard let row = page.popFirst() else { return nil }
        last = (try row.value("rank"), try row.value("job"))
        return LineHead(priority: ~last.rank, job: last.job, line: Line(host: try row.value("host")))
    }

    func next(after head: LineHead, in batch: String?) -> LineHead? { nil }

    func passed(_ head: LineHead, _ rule: inout ClaimRule) {}
}

/// The lines in the order of their heads.
///
/// One stream reads all heads in order. If a claim passes over too many lines without room, it reads the rest with one stream per host with
/// room, or one per user. A full host may have ten thousand users before the first line with room, but there are never more full users than
/// running jobs. The streams continue from the current position.
private struct Heads: SQLiteClaimSource {
    private struct Entry: Comparable {
        var head: LineHead
        /// The index of its stream.
        var stream: Int

        static func < (one: Self, other: Self) -> Bool { one.head < other.head }
        static func == (one: Self, other: Self) -> Bool { one.head == other.head }
    }

    let database: Database
    let now: Int64
    private var streams: [HeadStream] = []
    private var entries = Heap<Entry>()
    private var passedCount = 0

    /// How many lines to pass over before splitting the stream.
    private static let patience = 64

    init(_ database: Database, now: Int64) throws {
        (self.database, self.now) = (database, now)
        try read([HeadStream(.all, after: nil)])
    }

    mutating func nextLine(before head: LineHead?) throws -> LineHead? {
        guard let entry = entries.min, head.map({ entry.head < $0 }) ?? true else { return nil }
        entries.removeMin()
        try advance(entry.stream)
        return entry.head
    }

    func next(after head: LineHead, in batch: String?) throws -> LineHead? {
        guard let next = try database.head(of: head.line.id, in: batch) else { return nil }
        // Claimed jobs have left their lines. In a damaged file, a claim could otherwise loop forever.
        _ = try database.required(next.job == head.job ? nil : next.job, "a job of a line")
        return LineHead(priority: ~next.rank, job: next.job, line: head.line)
    }

    mutating func passed(_ head: LineHead, _ rule: inout ClaimRule) throws {
        passedCount += 1
        guard passedCount == Self.patience else { return }
        var hosts = try database.distinct("host", atMost: 64)
        var users = hosts.count < 64 ? nil : try database.distinct("user", atMost: 64)
        if hosts.count == 64, users?.count == 64 {
            hosts = try database.distinct("host", atMost: .max)
            users = try database.distinct("user", atMost: hosts.count)
        }
        let limits = rule.claim.limits
        if let users, users.count < hosts.count {
            let open = users.filter { rule.running.room(user: $0, under: limits) > 0 }
            try read(open.map { HeadStream(.ofUser($0), after: head) })
        } else {
            for host in hosts { try learnLimit(of: host, &rule.running) }
            let open = hosts.filter { rule.running.room(host: $0, under: limits) > 0 }
            try read(open.map { HeadStream(.ofHost($0), after: head) })
        }
    }

    /// Replaces the current streams.
    private mutating func read(_ streams: [HeadStream]) throws {
        (self.streams, entries) = (streams, Heap())
        for stream in streams.indices { try advance(stream) }
    }

    private mutating func advance(_ stream: Int) throws {
        guard let head = try streams[stream].next(database) else { return }
        entries.insert(Entry(head: head, stream: stream))
    }
}

/// The heads of some lines in order, read in pages.
private struct HeadStream {
    enum Lines {
        case all
        case ofHost(String)
        case ofUser(String)
    }

    private let lines: Lines
    private var last: (rank: Int, job: Int64)
    private var page: ArraySlice<LineHead> = []
    private var isAtEnd = false

    init(_ lines: Lines, after head: LineHead?) {
        self.lines = lines
        last = head.map { (~$0.priority, $0.job) } ?? (.min, -1)
    }

    mutating func next(_ database: Database) throws -> LineHead? {
        if page.isEmpty, !isAtEnd { try readPage(database) }
        return page.popFirst()
    }

    private mutating func readPage(_ database: Database) throws {
        var condition = ""
        var arguments: StatementArguments = []
        var size = 16
        switch lines {
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
                LineHead(
                    priority: ~(try row.value("head_rank", as: Int.self)), job: try row.value("head_job"),
                    line: Line(
                        host: try row.value("host"), user: try row.value("user"),
                        isUnresolved: try row.value("is_unresolved"), id: try row.value("id")))
            })
        isAtEnd = page.count < size
        if let head = page.last { last = (~head.priority, head.job) }
    }
}

extension Database {
    /// The distinct values of a column of `lane`. The query jumps from one value to the next in the index.
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

// MARK: - Hosts

extension Database {
    /// The hosts that may be unhealthy.
    func hosts() throws -> [String: HostHealth] {
        var hosts: [String: HostHealth] = [:]
        let rows = try Row.fetchCursor(cachedStatement(sql: "SELECT name, until, failures, is_open FROM host"))
        while let row = try rows.next() { hosts[try row.value("name")] = try HostHealth(row) }
        return hosts
    }

    fileprivate func health(of host: String) throws -> HostHealth? {
        let query = "SELECT until, failures, is_open FROM host WHERE name = ?"
        return try Row.fetchOne(cachedStatement(sql: query), arguments: [host]).map(HostHealth.init)
    }

    /// Records what an attempt at a job learned about its host.
    fileprivate func note(_ report: HostReport, by job: Int64, now: Int64) throws {
        let query = "SELECT host FROM job WHERE id = ?"
        guard let host = try String.fetchOne(cachedStatement(sql: query), arguments: [job]) else { return }
        let before = try health(of: host)
        let after = HostHealth.after(report, before, now: now)
        guard after != before else { return }
        if let after {
            try run(
                "INSERT OR REPLACE INTO host (name, until, failures, is_open) VALUES (?, ?, ?, ?)",
                [host, after.until, after.failures, after.isOpen])
        } else {
            try run("DELETE FROM host WHERE name = ?", [host])
        }
    }
}

extension HostHealth {
    fileprivate init(_ row: Row) throws {
        self.init(
            until: try row.value("until"), failures: try row.value("failures"), isOpen: try row.value("is_open"))
    }
}
