#if PostgreSQL
internal import CSluicePostgres
internal import SluiceConcurrency
internal import SluiceFiles

extension PostgresConnection {
    /// Runs statements in order, in one round trip, and returns the results.
    ///
    /// Outside of a transaction they are one: if a statement fails, those before it are undone, and those after it don't run.
    ///
    /// - Throws: ``PostgresError``: the error of the first statement that failed, or of the connection.
    package func run(
        _ statements: [PostgresStatement], timeout: Duration = .seconds(60)
    ) async throws -> [PostgresResult] {
        let outcome = try await outcome(of: statements, timeout: timeout)
        if let error = outcome.error { throw error }
        return outcome.results
    }

    /// Runs statements in order, and returns the results up to the first error.
    func outcome(of statements: [PostgresStatement], timeout: Duration) async throws -> PipelineOutcome {
        // In a task of its own, because a cancelled task can't wait. It ends before this function returns.
        try await Task {
            try await exclusively {
                guard let handle else { throw end ?? .closed(subject) }
                let error: PostgresError
                do {
                    return try await withDeadline(timeout: timeout) { try await exchange(statements, handle) }
                } catch is DeadlineExceeded {
                    error = .timedOut(subject, after: timeout)
                } catch let failure {
                    // The socket can't be waited for, so what the server does is unknown.
                    error = .lost(address, "\(failure)")
                }
                discard(because: error)
                return PipelineOutcome(error: error)
            }
        }.value
    }

    private func exchange(
        _ statements: [PostgresStatement], _ handle: OpaquePointer
    ) async throws -> PipelineOutcome {
        for statement in statements where !statement.send(on: handle) { return lose() }
        guard PQpipelineSync(handle) == 1 else { return lose() }
        while true {
            let left = PQflush(handle)
            if left == 0 { break }
            if left < 0 { return lose() }
            // The server may stop reading until its results are read.
            try await wait([.reading, .writing])
            guard PQconsumeInput(handle) == 1 else { return lose() }
        }
        return try await collect(handle)
    }

    /// Reads results until the server has confirmed the end of the pipeline.
    private func collect(_ handle: OpaquePointer) async throws -> PipelineOutcome {
        var outcome = PipelineOutcome()
        while true {
            while PQisBusy(handle) == 1 {
                try await wait(.reading)
                guard PQconsumeInput(handle) == 1 else { return lose(after: outcome) }
            }
            takeNotifications()
            guard let result = PQgetResult(handle) else {
                // It separates the results of two statements.
                if PQstatus(handle) == CONNECTION_BAD { return lose(after: outcome) }
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                outcome.results.append(PostgresResult(result))
                continue
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                // The server goes on, although it uses the code of a lost connection: 08P01 is also a wrong number of parameters.
                if outcome.error?.endsConnection == true { outcome.error?.code = .other }
                return outcome
            case PGRES_PIPELINE_ABORTED: break
            default:
                if outcome.error == nil {
                    outcome.error = PostgresError(result: result, address: address)
                    outcome.isServerError = csluice_postgres_sqlstate(result) != nil
                }
            }
            PQclear(result)
        }
    }

    /// Discards the connection. The reason is the server's last message, if there is one.
    func lose(after outcome: PipelineOutcome = PipelineOutcome()) -> PipelineOutcome {
        var outcome = outcome
        // Otherwise PQgetResult could block.
        if let handle, outcome.error == nil, PQstatus(handle) == CONNECTION_BAD, let result = PQgetResult(handle) {
            if PQresultStatus(result) == PGRES_FATAL_ERROR {
                outcome.error = PostgresError(result: result, address: address)
                outcome.isServerError = csluice_postgres_sqlstate(result) != nil
            }
            PQclear(result)
        }
        let reason = handle.map { String(cString: PQerrorMessage($0)) } ?? ""
        let error = outcome.error ?? .lost(address, reason)
        outcome.error = error
        discard(because: error.endsConnection ? error : .lost(address, reason))
        return outcome
    }
}

/// The results of a pipeline, and the error that ended it.
struct PipelineOutcome: Sendable {
    var results: [PostgresResult] = []
    var error: PostgresError?
    /// Whether the server reported the error, rather than libpq.
    var isServerError = false
}
#endif
