#if PostgreSQL
internal import CSluicePostgres
internal import SluiceConcurrency
package import SluiceFiles

extension PostgresConnection {
    /// Connects to a server.
    ///
    /// Names are looked up on a thread of the file pool, because that blocks. A lookup that has begun is awaited even if the task is
    /// cancelled or the time limit has passed.
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
        // PQconnectPoll is called as if it had asked to write before: see section 34.1 of PostgreSQL's documentation.
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
            // On the pool, because it looks up the next host's name and reads certificates. It may also open another socket.
            progress = try await files.runBlocking { [handle = Handle(handle)] in
                let status = PQconnectPoll(handle.pointer)
                return Progress(status: status, socket: PQsocket(handle.pointer))
            }
        }
        guard csluice_postgres_prepare(handle) == 1 else {
            throw PostgresError.lost(address, String(cString: PQerrorMessage(handle)))
        }
    }

    /// A connection that is passed to a thread of the pool and back. The task waits meanwhile.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer?
        init(_ pointer: OpaquePointer?) { self.pointer = pointer }
    }

    private struct Progress: Sendable {
        var status: PostgresPollingStatusType
        var socket: CInt
    }

    private static func start(_ address: PostgresAddress) -> OpaquePointer? {
        // Later entries have precedence.
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

/// Calls `body` with the strings as an array of C strings that ends with NULL.
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
#endif
