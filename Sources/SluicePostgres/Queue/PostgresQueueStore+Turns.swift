#if PostgreSQL
package import SluiceDownloads
internal import SluiceHTTP
internal import SluiceLock

extension PostgresQueueStore {
    /// Short, because a run retries by itself, and stops transfers in the meantime.
    private static let retryTimeout = Duration.seconds(2)

    package func takeTurn(
        _ settlements: [JobSettlement], claiming claim: JobClaim?
    ) async throws -> JobTurn {
        // Different for each turn, so that a worker recognizes its own leases.
        let token = Int64.random(in: 1...(.max / 2))
        do {
            return try await takeTurn(settlements, claim, token: token, isAgain: false)
        } catch let error as QueueStoreError where error.isUnknownOutcome {
            do {
                return try await takeTurn(settlements, claim, token: token, isAgain: true)
            } catch {
                if let claim { note(LostClaim(worker: claim.worker.name, token: token, count: Int64(claim.count))) }
                throw error
            }
        }
    }

    /// - Parameter isAgain: Whether the same turn, with the same token, may already have been committed.
    package func takeTurn(
        _ settlements: [JobSettlement], _ claim: JobClaim?, token: Int64, isAgain: Bool
    ) async throws -> JobTurn {
        let lost = lost(by: claim?.worker)
        var operations = releasing(lost)
        let preceding = operations.count
        if !settlements.isEmpty {
            operations.append(settling(settlements, isAgain: isAgain || settlements.contains(where: \.mayBeRecorded)))
        }
        if let claim {
            operations.append(claiming(claim, token: token, isAgain: isAgain))
            operations.append(call("outlook", [PostgresValue(claim.batch)]))
        }
        guard operations.count > preceding else { return JobTurn() }
        // Thanks to the tokens, it does no harm if a server crash undoes a claim.
        var results = try await write(
            operations, waitsForDisk: !settlements.isEmpty, isIdempotent: isAgain,
            retryTimeout: Self.retryTimeout)[...].dropFirst(preceding)
        forget(lost)
        return try decoding {
            var turn = JobTurn()
            if !settlements.isEmpty {
                turn.refused = try results.removeFirst().map {
                    let position = try $0.value(at: 0, as: Int.self)
                    guard (1...settlements.count).contains(position) else {
                        throw PostgresError.unreadable("the position of a settlement")
                    }
                    return settlements[position - 1].lease
                }
            }
            guard let claim, let claimed = results.popFirst(), let outlook = results.first?.first else {
                return turn
            }
            turn.claimed = try claimed.map(ClaimedJob.init)
            turn.nextDue = try outlook.value("due", as: Int64?.self).map { .milliseconds($0) }
            let hasOpen = try outlook.value("has_open", as: Bool.self)
            turn.isEmpty = turn.claimed.count < max(1, claim.count) && !hasOpen
            return turn
        }
    }

    func settling(_ settlements: [JobSettlement], isAgain: Bool) -> Operation {
        let outcomes = settlements.map(\.outcome.columns)
        let reports = settlements.map { $0.host?.columns ?? (0, 0, 0) }
        return call(
            "settle",
            [
                .bool(isAgain), .integers(settlements.map(\.lease.job.rawValue)),
                .integers(settlements.map(\.lease.token)), .integers(outcomes.map(\.state)),
                .integers(outcomes.map(\.amount)), .texts(outcomes.map(\.message)), .texts(outcomes.map(\.error)),
                .texts(outcomes.map(\.host)),
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
                PostgresValue(claim.batch), .bool(claim.resolves), .text(claim.machine ?? ""), .integer(token),
                .texts(claim.avoiding.sorted().map(\.storedHost)),
            ])
    }

    package func releaseJobsOfDeadWorkers() async throws {
        // The server knows workers only by their leases. Each claim first takes back the expired ones, and this one claims no jobs.
        let nothing = JobClaim(worker: QueueWorker(name: ""), count: 0, limits: .init(), lease: .zero)
        try await write([claiming(nothing, token: 1, isAgain: false)], waitsForDisk: false)
    }

    package func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease] {
        let lost = lost(by: worker)
        let operations =
            releasing(lost) + [call("renew", [.text(worker.name), .integer(lease.milliseconds)])]
        let results = try await write(operations, waitsForDisk: false, retryTimeout: Self.retryTimeout)
        forget(lost)
        return try decoding {
            try results[operations.count - 1].map { row in
                let lease = JobLease(job: JobID(rawValue: try row.value("job")), token: try row.value("token"))
                let isCancelled = try row.value("is_cancelled", as: Bool.self)
                let isPaused = try row.value("is_paused", as: Bool.self)
                return RenewedLease(lease: lease, stop: isCancelled ? .cancelled : isPaused ? .paused : nil)
            }.sorted { $0.lease.job < $1.lease.job }
        }
    }
}

// MARK: - Rates

extension PostgresQueueStore {
    package func setRates(_ rates: DownloadCoordinator.MaximumRates) async throws {
        let limits = [rates.total, rates.perHost].map { PostgresValue($0.map(Int64.init)) }
        try await write([call("set_rates", limits)])
    }

    package func rates(besides worker: QueueWorker?) async throws -> SharedRates {
        let rows = try await read([Self.ratesQuery(besides: worker)])[0]
        return try decoding {
            guard let row = rows.first else { return SharedRates(.init(), otherWorkers: 0) }
            return SharedRates(
                .init(total: try row.value("maximum_rate"), perHost: try row.value("maximum_rate_per_host")),
                otherWorkers: try row.value("others"))
        }
    }

    /// Counts the workers only if there is a limit, because thousands of jobs may be running.
    static func ratesQuery(besides worker: QueueWorker?) -> Operation {
        Operation(
            sql: """
                SELECT maximum_rate, maximum_rate_per_host,
                    CASE WHEN maximum_rate IS NULL AND maximum_rate_per_host IS NULL THEN 0 ELSE
                        (SELECT count(DISTINCT worker) FROM job
                            WHERE job.queue = $1 AND state = \(JobState.running) AND worker <> $2) END AS others
                FROM queue WHERE number = $1
                """, parameters: [.text(worker?.name ?? "")])
    }
}

/// A claim whose transaction may have been committed, although no response arrived. Its worker doesn't know about the jobs, so it would
/// renew their leases without working on them.
struct LostClaim: Sendable, Hashable {
    var worker: String
    /// The tokens of its jobs follow this number.
    var token: Int64
    var count: Int64
}

extension PostgresQueueStore {
    func note(_ claim: LostClaim) { lostClaims.withLock { $0.append(claim) } }

    func lost(by worker: QueueWorker?) -> [LostClaim] {
        lostClaims.withLock { $0.filter { $0.worker == worker?.name } }
    }

    /// Releases the jobs of a worker's lost claims before its leases are renewed.
    private func releasing(_ lost: [LostClaim]) -> [Operation] {
        guard let worker = lost.first?.worker else { return [] }
        return [
            call(
                "release_claims",
                [.text(worker), .integers(lost.map(\.token)), .integers(lost.map(\.count))])
        ]
    }

    private func forget(_ released: [LostClaim]) {
        if released.isEmpty { return }
        lostClaims.withLock { $0.removeAll(where: released.contains) }
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
    fileprivate var columns: (state: Int64, amount: Int64?, message: String?, error: String?, host: String?) {
        let state =
            switch self {
            case .done: JobState.done.rawValue
            case .failed: JobState.failed.rawValue
            case .retry: JobState.delayed.rawValue
            case .postponed: PostgresQueueSchema.postponed
            case .moved, .released, .cancelled: JobState.ready.rawValue
            }
        let amount = if case .done(let bytes) = self { bytes } else { delay?.milliseconds }
        return (Int64(state), amount, error?.storedLine, error?.stored, newHost?.storedHost)
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
