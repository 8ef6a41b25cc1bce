#if PostgreSQL
internal import CSluicePostgres
internal import SluiceConcurrency
internal import SluiceFiles

extension PostgresConnection {
    /// Waits for notifications of the channels that the connection listens to, and returns them; none if the time is over.
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
#endif
