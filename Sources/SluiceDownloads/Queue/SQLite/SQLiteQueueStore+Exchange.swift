import GRDB
import SluiceDatabase

extension SQLiteQueueStore {
    package func exchange(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobExchange {
        try await write { database, now in
            var exchange = JobExchange()
            for settlement in settlements {
                if let report = settlement.host {
                    try database.note(report, by: settlement.lease.job.rawValue, now: now)
                }
                if try !database.settle(settlement, now: now) { exchange.refused.append(settlement.lease) }
            }
            guard let claim else { return exchange }
            try database.takeBackExpiredLeases(now: now, lease: claim.lease.milliseconds)
            try database.admitDelayed(now: now)
            exchange.claimed = try database.claim(claim, now: now)
            exchange.nextDue = try database.nextDue(now: now).map { .milliseconds(max(0, min($0, 1 << 60) - now)) }
            exchange.isEmpty = try exchange.claimed.count < claim.count && !database.hasOpenJobs(in: claim.batch)
            return exchange
        }
    }

    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try await write { database, now in
            try database.run(
                "UPDATE job SET lease_until = ? WHERE state = 1 AND worker = ?",
                [now + lease.milliseconds, worker.name])
            let query = """
                SELECT id, token, is_cancelled,
                    NOT EXISTS (SELECT 1 FROM member WHERE member.job = job.id AND NOT is_paused) AS is_paused
                FROM job WHERE state = 1 AND worker = ? ORDER BY id
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

extension Database {
    /// Returns `false` if the lease is no longer valid.
    fileprivate func settle(_ settlement: JobSettlement, now: Int64) throws -> Bool {
        let change: String
        var arguments: StatementArguments
        switch settlement.outcome {
        case .done(let bytes):
            change = "state = 2, ended = ?, bytes = ?, message = NULL"
            arguments = [now, bytes]
        case .failed(let message):
            change = "state = 3, ended = ?, failures = failures + 1, message = ?"
            arguments = [now, message]
        case .retry(let delay, let message):
            // A job that was cancelled while it failed isn't tried again.
            change = """
                state = iif(is_cancelled, 4, 5), ended = iif(is_cancelled, ?, NULL),
                not_before = iif(is_cancelled, NULL, ?), failures = failures + 1, message = ?
                """
            arguments = [now, now + delay.milliseconds, message]
        case .postponed(let delay, let host):
            change = """
                host = coalesce(?, host), state = iif(is_cancelled, 4, 5), ended = iif(is_cancelled, ?, NULL),
                not_before = iif(is_cancelled, NULL, ?)
                """
            arguments = [host, now, now + delay.milliseconds]
        case .moved(let host):
            change = "host = ?, state = iif(is_cancelled, 4, 0), ended = iif(is_cancelled, ?, NULL)"
            arguments = [host, now]
        case .released, .cancelled:
            change = "state = iif(is_cancelled, 4, 0), ended = iif(is_cancelled, ?, NULL)"
            arguments = [now]
        }
        arguments += [settlement.lease.job.rawValue, settlement.lease.token]
        try run("UPDATE job SET \(change), \(Self.endOfLease) WHERE state = 1 AND id = ? AND token = ?", arguments)
        let job = settlement.lease.job.rawValue
        guard changesCount == 1 else {
            if case .done = settlement.outcome {
                try run("UPDATE job SET may_be_published = 1 WHERE id = ? AND state IN (0, 5, 6)", [job])
            }
            return false
        }
        try record(EventContent(wait(job), after: settlement.outcome), job, now: now)
        return true
    }

    private static let endOfLease =
        "worker = NULL, token = NULL, lease_until = NULL, charged = NULL, is_cancelled = 0"

    /// Makes a job without a lease and in the state 0 or 5 wait, or pauses it if all its members are paused. Returns its state.
    @discardableResult
    private func wait(_ id: Int64) throws -> QueuedDownload.State {
        let job = try existingJob(id)
        guard job.state == 0 || job.state == QueueSchema.delayed else { return QueuedDownload.State(column: job.state) }
        if job.members.arePaused {
            try run("UPDATE job SET state = 6 WHERE id = ?", [id])
            return .paused
        }
        if job.state == 0 { try joinLines(job) }
        return .waiting
    }

    /// Makes jobs ready whose delays are over.
    fileprivate func admitDelayed(now: Int64) throws {
        let over = try Int64.fetchAll(
            cachedStatement(sql: "SELECT id FROM job WHERE not_before <= ?"), arguments: [now])
        for id in over {
            try run("UPDATE job SET state = iif(state = 5, 0, state), not_before = NULL WHERE id = ?", [id])
            try wait(id)
        }
    }

    fileprivate func takeBackExpiredLeases(now: Int64, lease: Int64) throws {
        // A lease that ends in the far future is from before the clock was set back. A claim of nothing has no lease.
        let latest = now + max(600_000, 10 * min(lease, 1 << 50))
        if lease > 0 {
            try run("UPDATE job SET lease_until = ? WHERE state = 1 AND lease_until > ?", [now + lease, latest])
        }
        // Sorted here: to sort by number, SQLite would read the whole table.
        let query = "SELECT id FROM job WHERE state = 1 AND lease_until <= ?"
        try takeBack(Int64.fetchAll(cachedStatement(sql: query), arguments: [now]).sorted(), now: now)
    }

    /// Takes back a worker's running jobs: they wait again, or are cancelled if that was requested.
    func releaseJobs(of worker: String, now: Int64) throws {
        let query = "SELECT id FROM job WHERE state = 1 AND worker = ? ORDER BY id"
        try takeBack(Int64.fetchAll(cachedStatement(sql: query), arguments: [worker]), now: now)
    }

    private func takeBack(_ lost: [Int64], now: Int64) throws {
        for id in lost {
            try run(
                """
                UPDATE job SET state = iif(is_cancelled, 4, 0), ended = iif(is_cancelled, ?, NULL), may_be_published = 1,
                    \(Self.endOfLease) WHERE id = ?
                """, [now, id])
            try record(EventContent(wait(id)), id, now: now)
        }
    }

    fileprivate func nextDue(now: Int64) throws -> Int64? {
        let delay = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(not_before) FROM job WHERE not_before IS NOT NULL"))
        let lease = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(lease_until) FROM job WHERE state = 1"))
        let pause = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(until) FROM host WHERE until > ?"), arguments: [now])
        return [delay, lease, pause].compactMap(\.self).min()
    }

    fileprivate func hasOpenJobs(in batch: String?) throws -> Bool {
        guard let batch else {
            return try exists("SELECT 1 FROM job WHERE state IN (0, 5)") || exists("SELECT 1 FROM job WHERE state = 1")
        }
        // A long batch may have ended but for a few jobs.
        if try exists("SELECT 1 FROM batch_line WHERE batch = ?", [batch]) { return true }
        let ofBatch = """
            EXISTS (SELECT 1 FROM member WHERE member.job = job.id AND batch = ? AND NOT is_paused)
            """
        if try exists("SELECT 1 FROM job WHERE state = 1 AND \(ofBatch)", [batch]) { return true }
        if try exists("SELECT 1 FROM job WHERE not_before IS NOT NULL AND state = 5 AND \(ofBatch)", [batch]) {
            return true
        }
        // Requests without a batch have no line of their own.
        return try batch.isEmpty && exists("SELECT 1 FROM job WHERE state IN (0, 5) AND \(ofBatch)", [batch])
    }

    private func exists(_ query: String, _ arguments: StatementArguments = []) throws -> Bool {
        try Bool.fetchOne(cachedStatement(sql: "SELECT EXISTS (\(query))"), arguments: arguments) ?? false
    }
}
