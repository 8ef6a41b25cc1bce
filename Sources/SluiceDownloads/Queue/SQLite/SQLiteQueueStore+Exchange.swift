import GRDB

extension SQLiteQueueStore {
    package func exchange(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobExchange {
        try await write { database, now in
            var exchange = JobExchange()
            for settlement in settlements where try !database.settle(settlement, now: now) {
                exchange.refused.append(settlement.lease)
            }
            guard let claim else { return exchange }
            try database.takeBackExpiredLeases(now: now)
            try database.run("UPDATE job SET state = 0, not_before = NULL WHERE state = 5 AND not_before <= ?", [now])
            exchange.claimed = try database.claim(claim, now: now)
            exchange.nextDue = try database.nextDue().map { .milliseconds(max(0, $0 - now)) }
            exchange.isEmpty = try exchange.claimed.count < claim.count && !database.hasOpenJobs(in: claim.batch)
            return exchange
        }
    }

    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        try await write { database, now in
            try database.run(
                "UPDATE job SET lease_until = ? WHERE state = 1 AND worker = ?",
                [now + lease.milliseconds, worker.name])
            let held = try database.cachedStatement(
                sql: "SELECT id, token, is_cancelled FROM job WHERE state = 1 AND worker = ? ORDER BY id")
            return try Row.fetchAll(held, arguments: [worker.name]).map { row in
                RenewedLease(
                    lease: JobLease(job: JobID(rawValue: row["id"]), token: row["token"]),
                    isCancelled: row["is_cancelled"])
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
        case .released, .cancelled:
            change = "state = iif(is_cancelled, 4, 0), ended = iif(is_cancelled, ?, NULL)"
            arguments = [now]
        }
        arguments += [settlement.lease.job.rawValue, settlement.lease.token]
        try run(
            """
            UPDATE job SET \(change), worker = NULL, token = NULL, lease_until = NULL, is_cancelled = 0
            WHERE state = 1 AND id = ? AND token = ?
            """, arguments)
        return changesCount == 1
    }

    fileprivate func takeBackExpiredLeases(now: Int64) throws {
        let expired = try cachedStatement(
            sql: "SELECT DISTINCT worker FROM job WHERE state = 1 AND lease_until <= ?")
        for worker in try String.fetchAll(expired, arguments: [now]) {
            try releaseJobs(of: worker, expiredAt: now, now: now)
        }
    }

    /// Takes back a worker's running jobs: they wait again, or are cancelled if that was requested.
    func releaseJobs(of worker: String, expiredAt limit: Int64 = .max, now: Int64) throws {
        try run(
            """
            UPDATE job SET state = iif(is_cancelled, 4, 0), ended = iif(is_cancelled, ?, NULL),
                may_be_published = 1,
                worker = NULL, token = NULL, lease_until = NULL, is_cancelled = 0
            WHERE state = 1 AND worker = ? AND lease_until <= ?
            """, [now, worker, limit])
    }

    fileprivate func nextDue() throws -> Int64? {
        let delay = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(not_before) FROM job WHERE state = 5"))
        let lease = try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(lease_until) FROM job WHERE state = 1"))
        return [delay, lease].compactMap(\.self).min()
    }

    fileprivate func hasOpenJobs(in batch: String?) throws -> Bool {
        guard let batch else {
            return try Bool.fetchOne(cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM job WHERE state IN (0, 5))"))!
                || Bool.fetchOne(cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM job WHERE state = 1)"))!
        }
        let query = """
            SELECT EXISTS (
                SELECT 1 FROM membership JOIN job ON job.id = membership.job
                WHERE membership.batch = ? AND job.state IN (0, 1, 5))
            """
        return try Bool.fetchOne(cachedStatement(sql: query), arguments: [batch])!
    }
}
