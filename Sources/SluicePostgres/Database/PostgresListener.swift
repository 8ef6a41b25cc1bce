#if PostgreSQL
internal import SluiceConcurrency
internal import Synchronization

/// Waits for a channel's notifications, on its own connection, which is replaced when it is lost.
///
///     let listener = PostgresListener(database, channel: "jobs")
///     while !Task.isCancelled {
///         _ = try await listener.next(timeout: .seconds(30))
///         try await work()            // also after a timeout, because a notification is a hint
///     }
///     listener.close()
///
/// One task at a time may use it. A second concurrent call traps.
///
/// **Lost notifications.** Notifications that are sent while there is no connection don't arrive. ``Wakeup/isNewConnection`` says that this
/// may have happened.
package final class PostgresListener: @unchecked Sendable {
    // No lock: `isInUse` ensures that only one call at a time uses `connection` and `pending`. The other properties never change.
    private let isInUse = Atomic(false)
    private var connection: PostgresConnection?
    private var pending: [PostgresNotification] = []

    /// The reason why a wait ended.
    package struct Wakeup: Sendable, Hashable {
        /// The notifications that arrived; empty after a timeout.
        package var notifications: [PostgresNotification]
        /// Whether the listener just started listening, so earlier notifications may have been missed.
        package var isNewConnection: Bool

        package init(notifications: [PostgresNotification] = [], isNewConnection: Bool = false) {
            self.notifications = notifications
            self.isNewConnection = isNewConnection
        }
    }

    private let database: PostgresDatabase
    package let channel: String

    package init(_ database: PostgresDatabase, channel: String) {
        self.database = database
        self.channel = channel
    }

    /// Waits for notifications. Returns immediately after connecting, and otherwise when a notification arrives or the timeout expires.
    ///
    /// While the server can't be reached, it tries to connect until the timeout expires, and then returns an empty value. So a caller that
    /// looks for work after each call effectively polls at the timeout's interval.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; ``PostgresError`` if the server refuses the connection or `LISTEN`.
    package func next(timeout: Duration) async throws -> Wakeup {
        try await exclusively {
            let deadline = ContinuousClock.now + timeout
            var attempt = 0
            while true {
                try Task.checkCancellation()
                do {
                    guard let connection else {
                        try await connect()
                        return Wakeup(isNewConnection: true)
                    }
                    if !pending.isEmpty { return Wakeup(notifications: takePending()) }
                    let left = deadline - .now
                    if left <= .zero { return Wakeup() }
                    pending += try await connection.notifications(timeout: left).filter { $0.channel == channel }
                } catch let error as PostgresError where error.isTransient {
                    connection = nil
                    let next = min(.now + database.configuration.pause(before: attempt), deadline)
                    try await Task.sleep(until: next, clock: .continuous)
                    attempt += 1
                    if next >= deadline { return Wakeup() }
                }
            }
        }
    }

    /// Returns whether notifications arrive. Through a pooler in transaction mode, they don't.
    ///
    /// Sends one on one of the database's connections and waits for it.
    ///
    /// - Throws: ``PostgresError``; `CancellationError` if the task is cancelled.
    package func receivesNotifications(timeout: Duration = .seconds(2)) async throws -> Bool {
        try await exclusively {
            if connection?.isUsable() != true { try await connect() }
            guard let connection else { return false }
            let payload = "probe \(UInt64.random(in: 0 ... .max))"
            _ = try await database.run([.notify(channel, payload)], in: PostgresTransaction(isIdempotent: true))
            let deadline = ContinuousClock.now + timeout
            while deadline > .now {
                let arrived = try await connection.notifications(timeout: deadline - .now)
                pending += arrived.filter { $0.channel == channel && $0.payload != payload }
                if arrived.contains(where: { $0.payload == payload }) { return true }
            }
            return false
        }
    }

    /// Closes the connection. The next wait opens another one. No wait may be running.
    package func close() {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        connection?.close()
        connection = nil
        pending = []
    }

    private func connect() async throws {
        connection = nil
        let opened = try await PostgresConnection.open(
            database.address, timeout: database.configuration.connectTimeout, using: database.files)
        _ = try await opened.run([.listen(to: channel)])
        connection = opened
    }

    private func takePending() -> [PostgresNotification] {
        defer { pending = [] }
        return pending
    }

    private func exclusively<R>(_ body: () async throws -> R) async throws -> R {
        begin()
        defer { isInUse.store(false, ordering: .releasing) }
        return try await body()
    }

    private func begin() {
        let (isFree, _) = isInUse.compareExchange(expected: false, desired: true, ordering: .acquiring)
        precondition(isFree, "A PostgresListener is used by one task at a time.")
    }
}
#endif
