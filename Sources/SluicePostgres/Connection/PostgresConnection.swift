#if PostgreSQL
internal import CSluicePostgres
internal import SluiceFiles
internal import Synchronization

/// One connection to a PostgreSQL server. No thread waits for the server: the socket is waited for by SluiceFiles' readiness lane.
///
///     let connection = try await PostgresConnection.open(PostgresAddress(url))
///     let results = try await connection.run([PostgresStatement("SELECT 1")])
///     connection.close()
///
/// It runs one operation at a time; a second concurrent one traps. ``PostgresDatabase`` shares connections between tasks.
///
/// **Cancellation.** A statement that was sent is completed even if the task is cancelled, so the state of the connection is always known.
/// Opening a connection and waiting for notifications can be cancelled.
///
/// **Time limits.** If the server doesn't answer in time, the connection is discarded and the server rolls its transaction back. The kernel
/// ends a connection that doesn't confirm sent bytes for 30 seconds (`tcp_user_timeout`), and checks idle ones (`keepalives`). Options in
/// the URL have precedence.
///
/// **Poolers.** Nothing is kept in the session between two transactions except `LISTEN`, so pgbouncer works in transaction mode.
package final class PostgresConnection: @unchecked Sendable {
    // No lock: `isInUse` makes one operation at a time the only user of `handle`, `end` and `notifications`.
    private let isInUse = Atomic(false)
    var handle: OpaquePointer?
    private(set) var end: PostgresError?
    var notifications: [PostgresNotification] = []

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

    /// Gives one operation the exclusive use of the connection.
    func exclusively<R>(_ body: () async throws -> R) async throws -> R {
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

    /// Ends the connection, so that later operations throw the error.
    func discard(because error: PostgresError) {
        if let handle { PQfinish(handle) }
        handle = nil
        end = end ?? error
    }

    // MARK: State

    /// Whether the connection can be used, as far as it's known without asking the server.
    package func isUsable() -> Bool {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        guard let handle else { return false }
        // The first call may read the server's last message, and then only the second one notices the end.
        if PQconsumeInput(handle) == 1, PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK,
            PQtransactionStatus(handle) == PQTRANS_IDLE
        {
            takeNotifications()
            return true
        }
        discard(because: .lost(address, String(cString: PQerrorMessage(handle))))
        return false
    }

    /// Whether a transaction is open, including one that has failed.
    var isInTransaction: Bool {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        guard let handle else { return false }
        return [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(handle))
    }

    func wait(_ readiness: Readiness) async throws {
        guard let handle else { throw end ?? .closed(subject) }
        try await files.waitUntilReady(PQsocket(handle), readiness, subject)
    }

    func takeNotifications() {
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
#endif
