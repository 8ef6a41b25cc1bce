#if PostgreSQL
internal import CSluicePostgres
internal import SluiceConcurrency
package import SluiceFiles
internal import Synchronization

/// One connection to a PostgreSQL server. No thread blocks on the server: SluiceFiles' readiness lane waits for the socket.
///
///     let connection = try await PostgresConnection.open(PostgresAddress(url))
///     let results = try await connection.run([PostgresStatement("SELECT 1")])
///     connection.close()
///
/// It runs one operation at a time; a second concurrent one traps. ``PostgresDatabase`` shares connections among tasks.
///
/// **Cancellation.** A statement that has been sent is completed even if the task is cancelled, so the connection's state is always known.
/// Opening a connection and waiting for notifications can be cancelled.
///
/// **Time limits.** If the server doesn't respond in time, the connection is discarded and the server rolls back its transaction. The
/// kernel ends a connection if sent bytes aren't acknowledged for 30 seconds (`tcp_user_timeout`), and probes idle connections
/// (`keepalives`). Options in the URL take precedence.
///
/// **Poolers.** Nothing is kept in the session between transactions except `LISTEN`, so pgbouncer works in transaction mode.
package final class PostgresConnection: @unchecked Sendable {
    // No lock: `isInUse` ensures that only one operation at a time uses `handle`, `end` and `notifications`.
    private let isInUse = Atomic(false)
    private var handle: OpaquePointer?
    private var end: PostgresError?
    private var notifications: [PostgresNotification] = []

    let address: PostgresAddress
    let files: FileIO

    /// The URL without its password.
    package var subject: String { address.subject }

    init(_ address: PostgresAddress, _ files: FileIO) {
        self.address = address
        self.files = files
    }

    deinit {
        if let handle { PQfinish(handle) }
    }

    /// Gives one operation exclusive use of the connection.
    private func exclusively<R>(_ body: () async throws -> R) async throws -> R {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        return try await body()
    }

    private func begin() {
        let (isFree, _) = isInUse.compareExchange(expected: false, desired: true, ordering: .acquiring)
        precondition(isFree, "A PostgresConnection runs one operation at a time. Use PostgresDatabase to share it.")
    }

    /// Ends the connection. The server rolls back a transaction that isn't committed. Further calls have no effect.
    package func close() {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        discard(because: .closed(subject))
    }

    /// Ends the connection, so later operations throw the error.
    private func discard(because error: PostgresError) {
        if let handle { PQfinish(handle) }
        handle = nil
        end = end ?? error
    }

    // MARK: State

    /// Whether the connection is usable, as far as we know without contacting the server.
    package func isUsable() -> Bool {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        guard let handle else { return false }
        // The first call may read the server's last message, in which case only the second one notices the end.
        if PQconsumeInput(handle) == 1, PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK,
            PQtransactionStatus(handle) == PQTRANS_IDLE
        {
            takeNotifications()
            return true
        }
        discard(because: .lost(address, String(cString: PQerrorMessage(handle))))
        return false
    }

    /// Whether a transaction is open, including a failed one.
    var isInTransaction: Bool {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        guard let handle else { return false }
        return [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(handle))
    }

    private func wait(_ readiness: Readiness) async throws {
        guard let handle else { throw end ?? .closed(subject) }
        try await files.waitUntilReady(PQsocket(handle), readiness, subject)
    }

    private func takeNotifications() {
        while let handle, let found = PQnotifies(handle) {
            notifications.append(
                PostgresNotification(
                    channel: String(cString: found.pointee.relname), payload: String(cString: found.pointee.extra)))
            PQfreemem(found)
        }
    }

    /// Drops notifications that arrived for another user of a pooled session.
    func forgetNotifications() {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        notifications = []
    }
}

// MARK: - Opening

extension PostgresConnection {
    /// Connects to a server.
    ///
    /// Names are looked up on a thread of the file pool, because that blocks. Once begun, a lookup is awaited even if the task is cancelled
    /// or the time limit has passed.
    ///
    /// - Parameters:
    ///   - address: The database.
    ///   - timeout: The time limit, unless the URL has `connect_timeout`.
    ///   - files: The engine that waits for the socket.
    /// - Throws: ``PostgresError``; `CancellationError` if the task is cancelled.
    package static func open(
        _ address: PostgresAddress, timeout: Duration = .seconds(10), using files: FileIO = .shared
    ) async throws -> PostgresConnection {
        let connection = PostgresConnection(address, files)
        let limit = address.connectTimeout ?? timeout
        do {
            try await withDeadline(timeout: limit) {
                try await connection.exclusively { try await connection.connect(address) }
            }
            return connection
        } catch let exceeded as DeadlineExceeded {
            connection.close()
            throw PostgresError(
                .cannotConnect, subject: address.subject,
                message: "The server didn't accept a connection within \(limit.components.seconds) seconds.",
                remedy: "Check the host and the port in the URL, the network, and the firewalls between the machines.",
                cause: exceeded)
        } catch {
            connection.close()
            throw error
        }
    }

    private func connect(_ address: PostgresAddress) async throws {
        let started = try await files.runBlocking { Handle(Self.start(address)) }
        guard let handle = started.pointer else { throw PostgresError.lost(address, "no memory") }
        self.handle = handle
        // PQconnectPoll must first be called as if it had asked to write (see section 34.1 of PostgreSQL's documentation).
        let isBad = PQstatus(handle) == CONNECTION_BAD
        var progress = Progress(
            status: isBad ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING, socket: PQsocket(handle))
        while progress.status != PGRES_POLLING_OK {
            switch progress.status {
            case PGRES_POLLING_READING: try await files.waitUntilReady(progress.socket, .reading, subject)
            case PGRES_POLLING_WRITING: try await files.waitUntilReady(progress.socket, .writing, subject)
            default:
                throw PostgresError(connecting: String(cString: PQerrorMessage(handle)), address: address)
            }
            // On the pool, because this looks up the next host's name and reads certificates. It may also open another socket.
            progress = try await files.runBlocking { [handle = Handle(handle)] in
                let status = PQconnectPoll(handle.pointer)
                return Progress(status: status, socket: PQsocket(handle.pointer))
            }
        }
        guard csluice_postgres_prepare(handle) == 1 else {
            throw PostgresError.lost(address, String(cString: PQerrorMessage(handle)))
        }
    }

    /// A connection that is passed to a pool thread and back, while the task waits.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer?
        init(_ pointer: OpaquePointer?) { self.pointer = pointer }
    }

    private struct Progress: Sendable {
        var status: PostgresPollingStatusType
        var socket: CInt
    }

    private static func start(_ address: PostgresAddress) -> OpaquePointer? {
        // Later entries take precedence.
        let options = [
            ("keepalives", "1"), ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "30000"), ("fallback_application_name", "sluice"),
            ("dbname", address.url), ("client_encoding", "UTF8"),
        ]
        return withStrings(options.map(\.0)) { keywords in
            withStrings(options.map(\.1)) { values in csluice_postgres_start(keywords, values) }
        }
    }
}

/// Calls `body` with the strings as a NULL-terminated array of C strings.
private func withStrings<R>(_ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R) -> R {
    var bytes: [CChar] = []
    let starts = strings.map { string in
        defer { bytes += string.utf8CString }
        return bytes.count
    }
    return bytes.withUnsafeBufferPointer { memory in
        let pointers = starts.map { Optional(memory.baseAddress! + $0) } + [nil]
        return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
    }
}

// MARK: - Statements

extension PostgresConnection {
    /// Runs statements in order, in one round trip, and returns the results.
    ///
    /// Outside of a transaction, they form one: if a statement fails, the ones before it are undone, and the ones after it don't run.
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
        // In a separate task, because a cancelled task can't wait. It ends before this function returns.
        try await Task {
            try await exclusively {
                guard let handle else { throw end ?? .closed(subject) }
                let error: PostgresError
                do {
                    return try await withDeadline(timeout: timeout) { try await roundTrip(statements, handle) }
                } catch is DeadlineExceeded {
                    error = .timedOut(subject, after: timeout)
                } catch let failure {
                    // We can't wait for the socket, so we don't know what the server does.
                    error = .lost(address, "\(failure)")
                }
                discard(because: error)
                return PipelineOutcome(error: error)
            }
        }.value
    }

    private func roundTrip(
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
                // A nil result separates the results of two statements.
                if PQstatus(handle) == CONNECTION_BAD { return lose(after: outcome) }
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                outcome.results.append(PostgresResult(result))
                continue
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                // The server continues, although it uses the code for a lost connection: 08P01 also means a wrong number of parameters.
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

    /// Discards the connection. The server's last message, if there is one, is the reason.
    private func lose(after outcome: PipelineOutcome = PipelineOutcome()) -> PipelineOutcome {
        var outcome = outcome
        // Otherwise, PQgetResult could block.
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

// MARK: - Notifications

extension PostgresConnection {
    /// Waits for notifications on the channels that the connection listens to, and returns them; none after a timeout.
    ///
    ///     _ = try await connection.run([.listen(to: "jobs")])
    ///     let arrived = try await connection.notifications(timeout: .seconds(5))
    ///
    /// - Throws: ``PostgresError`` if the connection is lost; `CancellationError` if the task is cancelled. Cancellation doesn't harm
    ///   the connection.
    package func notifications(timeout: Duration) async throws -> [PostgresNotification] {
        try await exclusively {
            try Task.checkCancellation()
            do {
                try await withDeadline(timeout: timeout) { try await waitForNotification() }
            } catch is DeadlineExceeded {}
            defer { notifications = [] }
            return notifications
        }
    }

    private func waitForNotification() async throws {
        while true {
            guard let handle else { throw end ?? .closed(subject) }
            guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else {
                throw lose().error ?? .closed(subject)
            }
            takeNotifications()
            if !notifications.isEmpty { return }
            try await wait(.reading)
        }
    }
}

/// A NOTIFY message.
package struct PostgresNotification: Sendable, Hashable {
    package var channel: String
    package var payload: String
}

extension PostgresStatement {
    /// Receives a channel's notifications on this connection, starting at the end of the transaction. A pooler in transaction mode accepts
    /// the statement, but the notifications don't arrive.
    package static func listen(to channel: String) -> PostgresStatement {
        PostgresStatement("LISTEN \(quoted(channel))")
    }

    /// Sends a notification when the transaction is committed. Duplicates within a transaction are sent once.
    package static func notify(_ channel: String, _ payload: String = "") -> PostgresStatement {
        PostgresStatement("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
    }

    /// Returns a name as a quoted identifier, which may contain any characters. PostgreSQL truncates identifiers after 63 bytes.
    package static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
#endif
