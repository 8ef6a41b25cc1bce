#if PostgreSQL
internal import SluiceConcurrency
public import SluiceDownloads
public import SluiceFiles
internal import SluiceLock
internal import Synchronization

extension DownloadStore {
    /// A queue in a PostgreSQL database, which many machines can share.
    ///
    ///     let downloads = DownloadCoordinator(
    ///         store: .postgres("postgres://sluice@db.example/queue"), limits: .init(total: 100, perHost: 4))
    ///
    /// The first operation connects, and creates the tables if they are missing. The article <doc:FromOneMachineToMany> describes the
    /// privileges, what is exact, and what happens when a part fails.
    ///
    /// **Limits** are exact for all of the queue's workers together, on all machines. They must all use the same limits.
    ///
    /// **Durability.** Enqueued downloads and recorded outcomes are on the server's disk when the operation returns. A server crash may
    /// undo the last claims; the downloads are then claimed again.
    ///
    /// **Secrets.** URLs are stored unchanged, and header fields aren't stored. Errors and logs never contain the password of `url`.
    ///
    /// - Parameters:
    ///   - url: The URL of the database, as libpq reads it. Missing parts come from the environment (`PGHOST`, `PGPASSWORD`) and the
    ///     password file.
    ///   - queue: The name of the queue. A database can have several, each with its own downloads and limits.
    ///   - namespace: The PostgreSQL schema of the tables, which is created if it is missing.
    ///   - files: The engine that waits for the connections.
    public static func postgres(
        _ url: String, queue: String = "default", namespace: String = "sluice", using files: FileIO = .shared
    ) -> DownloadStore {
        DownloadStore(PostgresQueueStore(url, queue: queue, namespace: namespace, using: files))
    }
}

// MARK: - The store

/// A queue in a PostgreSQL database. See `DownloadStore.postgres(_:queue:namespace:using:)`.
///
/// **Locking.** Each operation that writes is one transaction under READ COMMITTED. Its first statement takes the queue's lock, and the
/// next one calls a function (``PostgresQueueSchema``), which therefore sees everything that earlier holders of the lock committed. All of
/// it is sent in one round trip, so the lock is never held while waiting for a program. ``PostgresDatabase`` describes what happens if a
/// program stops in the middle of sending.
///
/// **Leases.** A worker is known by the leases that it renews. A dead worker's jobs go back to waiting when its leases expire, by the
/// server's clock.
///
/// **Unknown outcomes.** If the connection is lost during a commit, the operation runs again. A turn uses its tokens to recognize what it
/// has already done. Other operations can safely run twice, but may then report that there was nothing left to change.
package final class PostgresQueueStore: QueueStore {
    private let subject: String
    private let database: Result<PostgresDatabase, PostgresError>
    private let namespace: String
    private let queue: String
    private let number: AsyncLazy<Int64>
    private let isClosed = Atomic(false)
    /// Claims whose responses were lost, until their jobs are released.
    let lostClaims = Lock<[LostClaim]>([])
    /// A test's clock, or `nil` for the server's.
    private let time: QueueTime?

    package init(
        _ url: String, queue: String = "default", namespace: String = "sluice", time: QueueTime? = nil,
        configuration: PostgresDatabase.Configuration = .init(concurrency: 4), using files: FileIO = .shared
    ) {
        let database = Result { () throws(PostgresError) in
            do {
                return try PostgresDatabase(url, configuration: configuration, using: files)
            } catch let error as PostgresError {
                throw error
            } catch {
                throw PostgresError(.other, subject: "PostgreSQL", message: "\(error)")
            }
        }
        self.database = database
        self.queue = queue
        self.namespace = namespace
        self.time = time
        subject = (try? database.get().address.subject) ?? "PostgreSQL"
        let (lock, channel) = (Self.lock(namespace, queue), Self.channel(namespace, queue))
        number = AsyncLazy {
            let database = try database.get()
            try await PostgresQueueSchema.schema(namespace: namespace).apply(to: database)
            return try await database.findQueue(queue, namespace: namespace, channel: channel, lock: lock)
        }
    }

    package var isShared: Bool { true }
    package var spansMachines: Bool { true }

    /// The key of the queue's lock.
    static func lock(_ namespace: String, _ queue: String) -> Int64 {
        Int64(bitPattern: "sluice_queue/\(namespace)/\(queue)".stableHash)
    }

    /// The channel that announces the queue's changes.
    package static func channel(_ namespace: String, _ queue: String) -> String {
        "sluice_" + String(UInt64(bitPattern: lock(namespace, queue)), radix: 16)
    }

    /// Connects, and creates whatever is missing.
    package func prepare() async throws { _ = try await opened }

    /// Whether the queue exists. Creates nothing.
    package func exists() async throws -> Bool {
        try await mapping { try await database.get().hasQueue(queue, namespace: namespace) }
    }

    /// Returns a value that distinguishes the queue from all others, even on other servers, or `nil` if it is missing. Creates nothing.
    package func identity() async throws -> String? {
        try await mapping { try await database.get().identity(ofQueue: queue, namespace: namespace) }
    }

    package func attach() async throws -> QueueWorker {
        try await prepare()
        let worker = QueueWorker(name: String(UInt64.random(in: 0 ... .max), radix: 36))
        // On a read-only server, a worker fails when it begins. If a server becomes read-only later, the worker waits.
        try await write([call("renew", [.text(worker.name), 0])], waitsForDisk: false)
        return worker
    }

    package func detach(_ worker: QueueWorker) async throws {
        try await write([call("detach", [.text(worker.name)])])
    }

    package func close() async throws {
        isClosed.store(true, ordering: .releasing)
        if case .success(let database) = database { await database.close() }
    }

    package func listen(_ onAnnouncement: @Sendable (QueueAnnouncement) -> Void) async throws {
        let listener = PostgresListener(try await opened.database, channel: Self.channel(namespace, queue))
        defer { listener.close() }
        try await mapping {
            guard try await listener.receivesNotifications() else {
                throw QueueStoreError(
                    .other, subject: subject,
                    message: "Notifications (NOTIFY) don't arrive, so the queue is polled every second.",
                    remedy: "Connect to the server itself, or through a pooler in session mode.")
            }
            onAnnouncement(.anything)
            while true {
                let wake = try await listener.next(timeout: .seconds(30))
                if wake.isNewConnection || wake.notifications.contains(where: { $0.payload == "stops" }) {
                    onAnnouncement(.anything)
                } else if !wake.notifications.isEmpty {
                    onAnnouncement(.jobs)
                }
            }
        }
    }

    // MARK: Transactions

    fileprivate struct Opened {
        var database: PostgresDatabase
        var number: Int64
    }

    private var opened: Opened {
        get async throws {
            if isClosed.load(ordering: .acquiring) { throw QueueStoreError.closed(subject) }
            return try await mapping { Opened(database: try database.get(), number: try await number.value) }
        }
    }

    /// A statement whose first parameter, `$1`, is the queue's number, which isn't in `parameters`.
    struct Operation: Sendable {
        var sql: String
        var parameters: [PostgresValue]
    }

    /// Calls one of the queue's functions with the queue's number, the time, and other parameters.
    func call(_ function: String, _ parameters: [PostgresValue] = []) -> Operation {
        let placeholders = (0..<parameters.count).map { ", $\($0 + 3)" }.joined()
        return Operation(
            sql: "SELECT * FROM \(function)($1, $2::int8\(placeholders))",
            parameters: [time.map { .integer($0.now()) } ?? .null] + parameters)
    }

    /// Runs operations as one transaction that holds the queue's lock.
    @discardableResult
    func write(
        _ operations: [Operation], waitsForDisk: Bool = true, isIdempotent: Bool = true, retryTimeout: Duration? = nil
    ) async throws -> [PostgresResult] {
        let opened = try await opened
        var settings = writing(waitsForDisk: waitsForDisk, isIdempotent: isIdempotent)
        settings.retryTimeout = retryTimeout
        return try await mapping { try await opened.database.run(opened.statements(operations), in: settings) }
    }

    /// Runs queries that see the same state.
    func read(_ queries: [Operation]) async throws -> [PostgresResult] {
        let opened = try await opened
        var settings = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        // With missing or outdated statistics, the server would scan and sort the whole queue.
        settings.usesIndexes = true
        return try await mapping { try await opened.database.run(opened.statements(queries), in: settings) }
    }

    private func writing(waitsForDisk: Bool, isIdempotent: Bool) -> PostgresTransaction {
        PostgresTransaction(
            lock: Self.lock(namespace, queue), waitsForDisk: waitsForDisk, namespace: namespace,
            isIdempotent: isIdempotent)
    }

    private func mapping<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as PostgresError {
            throw QueueStoreError(error)
        }
    }

    func decoding<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as PostgresError {
            throw QueueStoreError(error)
        }
    }

    func eventsRemoved(after number: Int64) -> QueueStoreError { .eventsRemoved(after: number, subject) }
}

extension PostgresQueueStore.Opened {
    fileprivate func statements(_ operations: [PostgresQueueStore.Operation]) -> [PostgresStatement] {
        operations.map { PostgresStatement($0.sql, [.integer(number)] + $0.parameters) }
    }
}

// MARK: - The rows of queues

extension PostgresDatabase {
    /// Whether the schema has queue tables, and a queue with this name.
    fileprivate func hasQueue(_ name: String, namespace: String) async throws -> Bool {
        let reading = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        // The server rejects a statement that names a missing table.
        let tables = PostgresStatement("SELECT to_regclass('queue') IS NOT NULL")
        guard try await run([tables], in: reading)[0].scalar() ?? false else { return false }
        let queue = PostgresStatement("SELECT EXISTS (SELECT FROM queue WHERE name = $1)", [.text(name)])
        return try await run([queue], in: reading)[0].scalar() ?? false
    }

    /// The numbers of the server's data directory, the table and the queue, or `nil` if the queue is missing.
    fileprivate func identity(ofQueue name: String, namespace: String) async throws -> String? {
        guard try await hasQueue(name, namespace: namespace) else { return nil }
        let reading = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        let query = """
            SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                (SELECT oid FROM pg_database WHERE datname = current_database()), 'queue'::regclass::oid, number)
            FROM queue WHERE name = $1
            """
        return try await run([PostgresStatement(query, [.text(name)])], in: reading)[0].scalar()
    }

    /// Returns a queue's number. Creates the queue if it is missing.
    fileprivate func findQueue(
        _ name: String, namespace: String, channel: String, lock: Int64
    ) async throws -> Int64 {
        let find = PostgresStatement("SELECT number FROM queue WHERE name = $1", [.text(name)])
        let reading = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        if let number: Int64 = try await run([find], in: reading)[0].scalar() { return number }
        // Two processes may create it at once.
        let create = PostgresStatement(
            "INSERT INTO queue (name, channel) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            [.text(name), .text(channel)])
        let writing = PostgresTransaction(lock: lock, namespace: namespace, isIdempotent: true)
        guard let number: Int64 = try await run([create, find], in: writing)[1].scalar() else {
            throw PostgresError.unreadable("the queue '\(name)'")
        }
        return number
    }
}

// MARK: - Errors

extension QueueStoreError {
    /// Converts an error, with its message and its remedy.
    init(_ error: PostgresError) {
        let code: Code =
            switch error.code {
            // During a failover, a server can be read before it can be written.
            case .cannotConnect, .unavailable, .connectionLost, .outcomeUnknown, .readOnly: .unavailable
            case .serializationFailure, .deadlock, .timedOut: .busy
            case .full: .full
            case .loginRefused, .notPermitted: .notWritable
            case .invalidURL, .unknownDatabase, .unexpectedValue, .constraintViolated: .unusable
            case .newerVersion: .newerVersion
            case .closed: .closed
            default: .other
            }
        self.init(code, subject: error.subject, message: error.message, remedy: error.remedy, cause: error)
    }

    /// Whether the operation may have taken effect.
    var isUnknownOutcome: Bool { (cause as? PostgresError)?.code == .outcomeUnknown }
}

extension PostgresError {
    /// A value that another program has written.
    static func unreadable(_ what: String) -> PostgresError {
        PostgresError(
            .unexpectedValue, subject: what, message: "The value can't be read.",
            remedy: "Check that no other program has changed the tables.")
    }
}
#endif
