#if PostgreSQL
internal import SluiceConcurrency
package import SluiceFiles
internal import SluiceLock

/// A PostgreSQL database with a few connections, which are opened on demand and replaced when they are lost.
///
///     let database = try PostgresDatabase("postgres://sluice@db.example/queue")
///     let claimed = try await database.run(statements, in: PostgresTransaction(lock: 7))
///     await database.close()
///
/// **Lost connections.** A transaction that definitely changed nothing is retried: after a lost connection, a serialization failure or a
/// deadlock. With ``PostgresTransaction/isIdempotent``, it is also retried after a commit with an unknown outcome. Retries back off
/// exponentially, until ``Configuration/retryTimeout``. If the very first connection fails, the error is thrown immediately, because the
/// URL may be wrong.
///
/// **Stopped programs.** A program that is suspended or cut off while it sends a transaction can hold a lock. A transaction that has waited
/// for ``Configuration/lockTimeout`` looks for the session that holds the lock. If the server is waiting for that session's program, the
/// transaction ends the session. The server allows this for the same user's sessions, and for all sessions if the user has the role
/// `pg_signal_backend`. A holder that is working isn't disturbed.
///
/// **Cancellation.** A cancelled task makes one attempt, so that state can still be written during shutdown. It waits for a free
/// connection, but doesn't retry.
package final class PostgresDatabase: Sendable {
    /// The settings of a database.
    package struct Configuration: Sendable {
        /// The maximum number of concurrent transactions, each on its own connection.
        package var concurrency: Int
        package var connectTimeout: Duration
        /// How long to retry a failed transaction.
        package var retryTimeout: Duration
        /// The pause before the second attempt. Each further pause is twice as long, with random jitter of up to a half.
        package var firstPause: Duration
        package var maximumPause: Duration
        /// How long a transaction waits for its lock before it looks for a stopped holder.
        package var lockTimeout: Duration

        package init(
            concurrency: Int = 2, connectTimeout: Duration = .seconds(10), retryTimeout: Duration = .seconds(60),
            firstPause: Duration = .milliseconds(50), maximumPause: Duration = .seconds(5),
            lockTimeout: Duration = .seconds(10)
        ) {
            precondition(concurrency > 0, "A database's concurrency must be at least 1; it is \(concurrency).")
            self.concurrency = concurrency
            self.connectTimeout = connectTimeout
            self.retryTimeout = retryTimeout
            self.firstPause = firstPause
            self.maximumPause = maximumPause
            self.lockTimeout = lockTimeout
        }

        func pause(before attempt: Int) -> Duration {
            let pause = min(firstPause * (1 << min(attempt, 20)), maximumPause)
            return pause * Double.random(in: 0.5...1)
        }
    }

    private struct State {
        var idle: [PostgresConnection] = []
        /// Whether a connection was ever opened, which means that the URL is right.
        var wasConnected = false
        /// Whether a writing transaction was ever committed. If so, a server that is now read-only has changed.
        var hasWritten = false
        var isClosed = false
    }

    package let address: PostgresAddress
    package let configuration: Configuration
    let files: FileIO
    private let limiter: ConcurrencyLimiter
    private let state = Lock(State())

    /// Creates a database object. The first transaction connects.
    ///
    /// - Throws: ``PostgresError/Code/invalidURL``.
    package init(_ url: String, configuration: Configuration = .init(), using files: FileIO = .shared) throws {
        address = try PostgresAddress(url)
        self.configuration = configuration
        self.files = files
        limiter = ConcurrencyLimiter(concurrency: configuration.concurrency)
    }

    /// Closes the connections. Running transactions are completed; later ones throw ``PostgresError/Code/closed``. Listeners have their own
    /// connections: see ``PostgresListener/close()``.
    package func close() async {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for connection in idle { connection.close() }
        await limiter.waitUntilIdle()
    }

    // MARK: Transactions

    /// Runs statements as one transaction in one round trip, and returns their results.
    ///
    /// - Throws: ``PostgresError``.
    package func run(
        _ statements: [PostgresStatement], in transaction: PostgresTransaction = PostgresTransaction()
    ) async throws -> [PostgresResult] {
        try await retrying(transaction) { try await $0.run(statements, in: $1) }
    }

    /// Runs `body` in a transaction, commits, and returns its result. If `body` throws, the transaction is rolled back.
    ///
    /// If the transaction is retried, `body` runs again. It must not use another connection of this database.
    ///
    /// - Throws: The error of `body`, or ``PostgresError``.
    package func transaction<R>(
        _ transaction: PostgresTransaction = PostgresTransaction(), _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        try await retrying(transaction) { try await $0.transaction($1, body) }
    }

    private func retrying<R>(
        _ transaction: PostgresTransaction,
        _ body: (PostgresConnection, PostgresTransaction) async throws -> R
    ) async throws -> R {
        let start = ContinuousClock.now
        let deadline = start + (transaction.retryTimeout ?? configuration.retryTimeout)
        var transaction = transaction
        if transaction.lock != nil, transaction.lockTimeout == nil {
            transaction.lockTimeout = configuration.lockTimeout
        }
        var attempt = 0
        while true {
            do {
                let result = try await withConnection { try await body($0, transaction) }
                if !transaction.isReadOnly { state.withLock { $0.hasWritten = true } }
                return result
            } catch let error as PostgresError {
                let (wasConnected, hasWritten) = state.withLock { ($0.wasConnected && !$0.isClosed, $0.hasWritten) }
                if error.sqlState == "55P03", let lock = transaction.lock, wasConnected {
                    // Even in a cancelled task, which has already waited.
                    try? await endStoppedHolder(of: lock)
                    guard ContinuousClock.now < start + transaction.statementTimeout else { throw error }
                    continue
                }
                // After a failover, a new connection may lead to another server.
                if error.code == .readOnly { closeIdle() }
                let mayRepeat =
                    error.isTransient || (error.code == .outcomeUnknown && transaction.isIdempotent)
                    || (error.code == .readOnly && hasWritten)
                guard mayRepeat, wasConnected else { throw error }
                let next = ContinuousClock.now + configuration.pause(before: attempt)
                guard next < deadline, (try? await Task.sleep(until: next, clock: .continuous)) != nil else {
                    throw error
                }
                attempt += 1
            }
        }
    }

    /// Ends the session that holds a lock, if the server has been waiting for its program for a while, either to send the rest of a
    /// transaction or to receive the results.
    private func endStoppedHolder(of lock: Int64) async throws {
        let holder = """
            FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::int8 << 32 | objid::int8) = $1
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND wait_event_type = 'Client' AND state_change < clock_timestamp() - interval '1 millisecond' * $2
            """
        let patience = PostgresValue.integer(Int64(configuration.lockTimeout / .milliseconds(2)))
        let find = PostgresStatement("SELECT pid::int8, state_change::text \(holder)", [.integer(lock), patience])
        let pause = PostgresStatement("SELECT pg_sleep(0.2)")
        // The server also waits while a program receives its results, but then the session isn't in the same state twice.
        guard let found = try await withConnection({ try await $0.run([find, pause])[0].first }) else { return }
        let end = PostgresStatement(
            "SELECT pg_terminate_backend(pid) \(holder) AND pid = $3 AND state_change::text = $4",
            [.integer(lock), patience, .integer(try found.value(at: 0)), .text(try found.value(at: 1))])
        _ = try await withConnection { try await $0.run([end]) }
    }

    private func withConnection<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        try await limiter.runUninterrupted {
            let connection = try await takeConnection()
            defer { putBack(connection) }
            return try await body(connection)
        }
    }

    private func takeConnection() async throws -> PostgresConnection {
        while true {
            let (idle, isClosed) = state.withLock { ($0.idle.popLast(), $0.isClosed) }
            if isClosed { throw PostgresError.closed(address.subject) }
            guard let idle else { break }
            if idle.isUsable() { return idle }
        }
        return try await connect()
    }

    /// Opens a connection. Cancellation doesn't stop that; only the time limit does.
    private func connect() async throws -> PostgresConnection {
        let opening = Task { [address, configuration, files] in
            try await PostgresConnection.open(address, timeout: configuration.connectTimeout, using: files)
        }
        let connection = try await opening.value
        state.withLock { $0.wasConnected = true }
        return connection
    }

    private func closeIdle() {
        let idle = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for connection in idle { connection.close() }
    }

    private func putBack(_ connection: PostgresConnection) {
        guard connection.isUsable() else { return }
        connection.forgetNotifications()
        let isKept = state.withLock { state in
            if state.isClosed { return false }
            state.idle.append(connection)
            return true
        }
        if !isKept { connection.close() }
    }
}
#endif
