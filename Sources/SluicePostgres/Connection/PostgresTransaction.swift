#if PostgreSQL
/// The settings of a transaction. Its isolation is READ COMMITTED: each statement sees what was committed before the statement began. The
/// statements of one that only reads see the same state (REPEATABLE READ).
package struct PostgresTransaction: Sendable {
    /// A lock that the transaction takes first, in a statement of its own, and holds to its end.
    package var lock: Int64?
    /// Whether the commit waits for the disk. Without it, a crash of the server may undo the last committed transactions, each completely.
    package var waitsForDisk: Bool
    /// The schema in which names without a schema are found and created; `nil` for the server's setting.
    package var namespace: String?
    /// The limit for each statement. The server ends a statement that takes longer. If the server doesn't answer even five seconds later,
    /// the connection is discarded.
    package var statementTimeout: Duration
    /// The time after which the server ends the session if it waits for the next statement of the transaction.
    package var clientTimeout: Duration
    /// The limit for each wait for a lock; `nil` for that of the statement.
    package var lockTimeout: Duration?
    /// Whether the server plans statements by indexes and their order wherever one can be used.
    package var usesIndexes = false
    /// Whether it has the same effect if it runs twice, so that it may run again after a commit with unknown outcome.
    package var isIdempotent: Bool
    /// The time after which it isn't tried again; `nil` for that of the database.
    package var retryTimeout: Duration?
    /// Whether it changes nothing, and its statements see the same state.
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

    /// The statements before the first one of the caller. The settings end with the transaction.
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
            // What is off but unavoidable seems to cost enough for a compiler.
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

    /// The time after which the server counts as lost.
    fileprivate var patience: Duration { statementTimeout + .seconds(5) }

    fileprivate static let commit = PostgresStatement("COMMIT")
    fileprivate static let rollback = PostgresStatement("ROLLBACK")
}

extension PostgresConnection {
    /// Runs statements as one transaction in one round trip, and returns their results.
    ///
    /// The shortest way to hold a lock: it is taken, used and released without waiting for the client in between.
    ///
    /// - Throws: ``PostgresError``. If it is ``PostgresError/Code/outcomeUnknown``, the transaction may have been committed.
    package func run(
        _ statements: [PostgresStatement], in transaction: PostgresTransaction
    ) async throws -> [PostgresResult] {
        let beginning = transaction.beginning
        let all = beginning + statements + [PostgresTransaction.commit]
        // Each statement has the server's limit, and they run one after another.
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
    /// The beginning, with the lock, is one round trip, each `run` of the body is one, and the end is one.
    ///
    /// - Cancellation: Doesn't end the transaction. `body` may check it and throw.
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
        // A server answers COMMIT with ROLLBACK if a statement failed before and the body ignored its error.
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
    /// The same error, of a commit.
    fileprivate var withUnknownOutcome: PostgresError {
        PostgresError(
            .outcomeUnknown, sqlState: sqlState, subject: subject,
            message: "The connection to the server was lost during a commit.",
            remedy: "Check what was stored before you try again.", cause: self)
    }
}
#endif
