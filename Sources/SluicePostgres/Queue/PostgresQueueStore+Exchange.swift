#if PostgreSQL
package import SluiceDownloads

extension PostgresQueueStore {
    package func exchange(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobExchange {
        // Different for each exchange, so that a worker recognizes its own leases.
        let token = Int64.random(in: 1...(.max / 2))
        do {
            return try await exchange(settlements, claim, token: token, isAgain: false)
        } catch let error as QueueStoreError where error.isUnknownOutcome {
            return try await exchange(settlements, claim, token: token, isAgain: true)
        }
    }

    /// - Parameter isAgain: Whether the same exchange, with the same token, may have been committed.
    package func exchange(
        _ settlements: [JobSettlement], _ claim: JobClaim?, token: Int64, isAgain: Bool
    ) async throws -> JobExchange {
        var operations: [Operation] = []
        if !settlements.isEmpty { operations.append(settling(settlements, isAgain: isAgain)) }
        if let claim {
            operations.append(claiming(claim, token: token, isAgain: isAgain))
            operations.append(call("outlook", [PostgresValue(claim.batch)]))
        }
        guard !operations.isEmpty else { return JobExchange() }
        // The tokens make it harmless if a crash of the server undoes a claim.
        var results = try await write(operations, waitsForDisk: !settlements.isEmpty, isIdempotent: isAgain)[...]
        return try decoding {
            var exchange = JobExchange()
            if !settlements.isEmpty {
                exchange.refused = try results.removeFirst().map {
                    settlements[try $0.value(at: 0, as: Int.self) - 1].lease
                }
            }
            guard let claim, let claimed = results.popFirst(), let outlook = results.first?.first else {
                return exchange
            }
            exchange.claimed = try claimed.map(ClaimedJob.init)
            exchange.nextDue = try outlook.value("due", as: Int64?.self).map { .milliseconds($0) }
            let hasOpen = try outlook.value("has_open", as: Bool.self)
            exchange.isEmpty = exchange.claimed.count < claim.count && !hasOpen
            return exchange
        }
    }

    func settling(_ settlements: [JobSettlement], isAgain: Bool) -> Operation {
        let outcomes = settlements.map(\.outcome.columns)
        let reports = settlements.map { $0.host?.columns ?? (0, 0, 0) }
        return call(
            "settle",
            [
                .bool(isAgain), .integers(settlements.map(\.lease.job.rawValue)),
                .integers(settlements.map(\.lease.token)), .integers(outcomes.map(\.outcome)),
                .integers(outcomes.map(\.amount)), .texts(outcomes.map(\.message)), .texts(outcomes.map(\.host)),
                .integers(reports.map(\.report)),
                .integers(reports.map(\.limit)), .integers(reports.map(\.time)),
            ])
    }

    func claiming(_ claim: JobClaim, token: Int64, isAgain: Bool) -> Operation {
        call(
            "claim",
            [
                .bool(isAgain), .text(claim.worker.name), .integer(Int64(claim.count)),
                .integer(Int64(claim.limits.total)), PostgresValue(claim.limits.perHost.map(Int64.init)),
                PostgresValue(claim.limits.perUser.map(Int64.init)), .integer(claim.lease.milliseconds),
                PostgresValue(claim.batch), .bool(claim.resolves), .text(claim.place ?? ""), .integer(token),
            ])
    }

    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        let operation = call("renew", [.text(worker.name), .integer(lease.milliseconds)])
        let rows = try await write([operation], waitsForDisk: false)[0]
        return try decoding {
            try rows.map { row in
                let lease = JobLease(job: JobID(rawValue: try row.value("job")), token: try row.value("token"))
                let isCancelled = try row.value("is_cancelled", as: Bool.self)
                let isPaused = try row.value("is_paused", as: Bool.self)
                return RenewedLease(lease: lease, stop: isCancelled ? .cancelled : isPaused ? .paused : nil)
            }.sorted { $0.lease.job < $1.lease.job }
        }
    }
}

extension ClaimedJob {
    fileprivate init(_ row: PostgresRow) throws {
        let user: String = try row.value("charged")
        self.init(
            lease: JobLease(job: JobID(rawValue: try row.value("id")), token: try row.value("token")),
            request: try DownloadRequest(row, user: user), host: try row.value("host"),
            failures: try row.value("failures"),
            mayBePublished: try row.value("may_be_published"))
    }
}

extension JobSettlement.Outcome {
    /// The parameters of the function `settle`.
    fileprivate var columns: (outcome: Int64?, amount: Int64?, message: String?, host: String?) {
        switch self {
        case .done(let bytes): (2, bytes, nil, nil)
        // The server doesn't store NUL characters in a text.
        case .failed(let message): (3, nil, message.replacing("\0", with: ""), nil)
        case .retry(let delay, let message): (5, delay.milliseconds, message.replacing("\0", with: ""), nil)
        case .moved(let host): (0, nil, nil, host)
        case .released, .cancelled: (0, nil, nil, nil)
        }
    }
}

extension HostReport {
    /// The parameters of the function `note_host`.
    fileprivate var columns: (report: Int64?, limit: Int64?, time: Int64?) {
        switch self {
        case .reached: (1, 0, 0)
        case .busy(let time): (2, 0, time.milliseconds)
        case .unreachable(let limit, let pause): (3, Int64(limit), pause.milliseconds)
        }
    }
}
#endif
