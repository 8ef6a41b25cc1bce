#if PostgreSQL
internal import SluiceConcurrency
package import SluiceFiles
internal import SluiceLock

/// A PostgreSQL database with a few connections, which are opened when they are needed and replaced when they are lost.
///
///     let database = try PostgresDatabase("postgres://sluice@db.example/queue")
///     let claimed = try await database.run(statements, in: PostgresTransaction(lock: 7))
///     await database.close()
///
/// **Lost connections.** A transaction that certainly changed nothing is tried again: after a lost connection, a serialization failure or
/// a deadlock, and with ``PostgresTransaction/isIdempotent`` also after a commit with unknown outcome. The pauses grow exponentially, and
/// end at ``Configuration/retryTimeout``. If the first connection of all fails, the error is thrown immediately, because the URL may be
/// wrong.
///
/// **Cancellation.** A cancelled task makes one attempt, so that state can be written while work stops. It waits for a free connection, but
/// not before another attempt.
package final class PostgresDatabase: Sendable {
    /// The settings of a database.
    package struct Configuration: Sendable {
        /// The largest number of concurrent transactions, each on a connection of its own.
        package var concurrency: Int
        package var connectTimeout: Duration
        /// The time after which a failed transaction isn't tried again.
        package var retryTimeout: Duration
        /// The pause before the second attempt. Each further pause is twice as long, and each is shortened at random by up to a half.
        package var firstPause: Duration
        package var maximumPause: Duration

        package init(
            concurrency: Int = 2, connectTimeout: Duration = .seconds(10), retryTimeout: Duration = .seconds(60),
            firstPause: Duration = .milliseconds(50), maximumPause: Duration = .seconds(5)
        ) {
            precondition(concurrency > 0, "A database's concurrency must be at least 1; it is \(concurrency).")
            self.concurrency = concurrency
            self.connectTimeout = connectTimeout
            self.retryTimeout = retryTimeout
            self.firstPause = firstPause
            self.maximumPause = maximumPause
        }

        func pause(before attempt: Int) -> Duration {
            let pause = min(firstPause * (1 << min(attempt, 20)), maximumPause)
            return pause * Double.random(in: 0.5...1)
        }
    }

    private struct State {
        var idle: [PostgresConnection] = []
        /// Whether a connection was ever opened, so that the URL is right.
        var wasConnected = false
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

    /// Closes the connections. Transactions that run are completed; later ones throw ``PostgresError/Code/closed``. Listeners have
    /// connections of their own: see ``PostgresListener/close()``.
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
        try await retrying(transaction) { try await $0.run(statements, in: transaction) }
    }

    /// Runs `body` in a transaction, commits and returns its result. If `body` throws, the transaction is rolled back.
    ///
    /// `body` runs again if the transaction is tried again, and must use no other connection of this database.
    ///
    /// - Throws: The error of `body`, or ``PostgresError``.
    package func transaction<R>(
        _ transaction: PostgresTransaction = PostgresTransaction(), _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        try await retrying(transaction) { try await $0.transaction(transaction, body) }
    }

    private func retrying<R>(
        _ transaction: PostgresTransaction, _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let deadline = ContinuousClock.now + (transaction.retryTimeout ?? configuration.retryTimeout)
        var attempt = 0
        while true {
            do {
                return try await withConnection(body)
            } catch let error as PostgresError {
                let mayRepeat = error.isTransient || (error.code == .outcomeUnknown && transaction.isIdempotent)
                guard mayRepeat, state.withLock({ $0.wasConnected && !$0.isClosed }) else { throw error }
                let next = ContinuousClock.now + configuration.pause(before: attempt)
                guard next < deadline, (try? await Task.sleep(until: next, clock: .continuous)) != nil else {
                    throw error
                }
                attempt += 1
            }
        }
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

    /// Opens a connection, also in a cancelled task: the time limit ends it.
    private func connect() async throws -> PostgresConnection {
        let opening = Task { [address, configuration, files] in
            try await PostgresConnection.open(address, timeout: configuration.connectTimeout, using: files)
        }
        let connection = try await opening.value
        state.withLock { $0.wasConnected = true }
        return connection
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
