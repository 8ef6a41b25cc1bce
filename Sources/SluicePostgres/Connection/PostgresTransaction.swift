#if PostgreSQL
/// The settings of a transaction. Its isolation level is READ COMMITTED: each statement sees what was committed before the statement began.
/// In a read-only transaction, all statements see the same state (REPEATABLE READ).
package struct PostgresTransaction: Sendable {
    /// A lock that the transaction takes first, in a separate statement, and holds until it ends.
    package var lock: Int64?
    /// Whether the commit waits for the disk. If not, a server crash may undo the last committed transactions, each one completely.
    package var waitsForDisk: Bool
    /// The schema for names without a schema; `nil` for the server's setting.
    package var namespace: String?
    /// The time limit for each statement. The server ends a statement that takes longer. If the server hasn't responded another five
    /// seconds later, the connection is discarded.
    package var statementTimeout: Duration
    /// How long the server waits for the transaction's next statement before it ends the session.
    package var clientTimeout: Duration
    /// The time limit for each lock wait; `nil` for the statement's limit.
    package var lockTimeout: Duration?
    /// Whether the server uses indexes and their order wherever it can.
    package var usesIndexes = false
    /// Whether running it twice has the same effect as running it once, so it may be retried after a commit with an unknown outcome.
    package var isIdempotent: Bool
    /// How long to retry it; `nil` for the database's setting.
    package var retryTimeout: Duration?
    /// Whether it changes nothing, and all its statements see the same state.
    package var isReadOnly: Bool

    package init(
        lock: Int64? = nil, waitsForDisk: Bool = true, namespace: String? = nil,
        statementTimeout: Duration = .seconds(30), clientTimeout: Duration = .seconds(10), lockTimeout: Duration? = nil,
        isIdempotent: Bool = false, isReadOnly: Bool = false
    ) {
        self.lock = lock
        self.waitsForDisk = waitsForDisk
        self.namespace = namespace
        self.statementTimeout = statementTimeout
        self.clientTimeout = clientTimeout
        self.lockTimeout = lockTimeout
        self.isIdempotent = isIdempotent
        self.isReadOnly = isReadOnly
    }

    /// The statements before the caller's first one. The settings end with the transaction.
    fileprivate var beginning: [PostgresStatement] {
        var settings: [String] = []
        var values: [PostgresValue] = []
        func set(_ name: String, _ value: String) {
            values.append(.text(value))
            settings.append("set_config('\(name)', $\(values.count), true)")
        }
        func set(_ name: String, _ limit: Duration) {
            set(name, "\(Int(min(max(1, limit / .milliseconds(1)), Double(Int32.max))))")
        }
        set("statement_timeout", statementTimeout)
        set("idle_in_transaction_session_timeout", clientTimeout)
        if let lockTimeout { set("lock_timeout", lockTimeout) }
        if usesIndexes {
            for kind in ["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"] { set("enable_\(kind)", "off") }
            // Disabled but unavoidable plan nodes seem expensive enough to JIT-compile.
            set("jit", "off")
        }
        if !waitsForDisk { set("synchronous_commit", "off") }
        if let namespace { set("search_path", PostgresStatement.quoted(namespace)) }
        return [
            PostgresStatement(
                isReadOnly ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL READ COMMITTED"),
            PostgresStatement("SELECT \(settings.joined(separator: ", "))", values),
        ] + (lock.map { [.lock($0)] } ?? [])
    }

    /// How long to wait before the server counts as lost.
    fileprivate var patience: Duration { statementTimeout + .seconds(5) }

    fileprivate static let commit = PostgresStatement("COMMIT")
    fileprivate static let rollback = PostgresStatement("ROLLBACK")
}

extension PostgresConnection {
    /// Runs statements as one transaction in one round trip, and returns their results.
    ///
    /// This holds a lock for the shortest possible time: it is taken, used and released without waiting for the client in between.
    ///
    /// - Throws: ``PostgresError``. If it is ``PostgresError/Code/outcomeUnknown``, the transaction may have been committed.
    package func run(
        _ statements: [PostgresStatement], in transaction: PostgresTransaction
    ) async throws -> [PostgresResult] {
        let beginning = transaction.beginning
        let all = beginning + statements + [PostgresTransaction.commit]
        // Each statement has the server's time limit, and they run one after another.
        let outcome = try await outcome(of: all, timeout: transaction.patience * all.count)
        guard let error = outcome.error else { return Array(outcome.results[beginning.count..<(all.count - 1)]) }
        if outcome.isServerError, !error.endsConnection {
            await rollBack(transaction)
            throw error
        }
        // If the server refused a statement before COMMIT, it didn't run COMMIT.
        let mayBeCommitted = !outcome.isServerError || outcome.results.count == all.count - 1
        throw mayBeCommitted ? error.withUnknownOutcome : error
    }

    /// Runs `body` in a transaction, commits and returns its result. If `body` throws, the transaction is rolled back.
    ///
    ///     let moved = try await connection.transaction(PostgresTransaction(lock: 7)) { connection in
    ///         try await connection.run([PostgresStatement("UPDATE job SET state = 1")])[0].changedRows
    ///     }
    ///
    /// Beginning the transaction and taking the lock is one round trip, each `run` in the body is one, and the end is one.
    ///
    /// - Cancellation: Doesn't end the transaction. `body` can check for it and throw.
    /// - Throws: The error of `body`, or ``PostgresError``. If it is ``PostgresError/Code/outcomeUnknown``, the transaction may have been
    ///   committed.
    package func transaction<R>(
        _ transaction: PostgresTransaction = PostgresTransaction(), _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let beginning = transaction.beginning
        let begun = try await outcome(of: beginning, timeout: transaction.patience * beginning.count)
        if let error = begun.error {
            await rollBack(transaction)
            throw error
        }
        let result: R
        do {
            result = try await body(self)
        } catch {
            await rollBack(transaction)
            throw error
        }
        let ended = try await outcome(of: [PostgresTransaction.commit], timeout: transaction.patience)
        if let error = ended.error {
            guard ended.isServerError, !error.endsConnection else { throw error.withUnknownOutcome }
            await rollBack(transaction)
            throw error
        }
        // If a statement failed and the body ignored its error, the server responds to COMMIT with ROLLBACK.
        guard ended.results.last?.command == "COMMIT" else {
            throw PostgresError(
                .other, subject: subject,
                message: "The transaction was rolled back because one of its statements failed.",
                remedy: "Throw the error of the statement out of the transaction.")
        }
        return result
    }

    /// Ends the transaction, or the connection if that fails.
    private func rollBack(_ transaction: PostgresTransaction) async {
        guard isInTransaction else { return }
        let outcome = try? await outcome(of: [PostgresTransaction.rollback], timeout: transaction.patience)
        if outcome == nil || outcome?.error != nil { close() }
    }
}

extension PostgresError {
    /// The same error, for a commit.
    fileprivate var withUnknownOutcome: PostgresError {
        PostgresError(
            .outcomeUnknown, sqlState: sqlState, subject: subject,
            message: "The connection to the server was lost during a commit.",
            remedy: "Check what was stored before you try again.", cause: self)
    }
}
#endif
