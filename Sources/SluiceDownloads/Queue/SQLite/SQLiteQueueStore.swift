import GRDB
import SluiceConcurrency
import SluiceDatabase
package import SluiceFiles
import SluiceHTTP
import SluiceLock
import Synchronization

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A queue in an SQLite file, which several processes can share. See ``DownloadStore/sqlite(at:using:)``.
///
/// **Several processes.** Each operation is a transaction that begins by taking the write lock, so the limits hold for all processes
/// together. While a worker is alive, it holds a lock on a file beside the database, `NAME-worker-…`. When another worker attaches, it
/// takes over the jobs of killed workers, which no longer hold their locks. Workers that are already attached, and systems without working
/// file locks, wait until the leases have expired.
///
/// **Cost.** A claim looks at the heads of the lanes in order (``QueueSchema``). If the limits hold back more than 64 lanes, it needs a few
/// seeks for each host or each user with waiting jobs, whichever are fewer. The number of waiting jobs doesn't matter.
package final class SQLiteQueueStore: QueueStore {
    private let time: QueueTime
    private let url: URL
    private var path: String { url.path(percentEncoded: false) }
    private let database: AsyncLazy<SluiceDatabase>
    private let isClosed = Atomic(false)
    private let files: FileIO
    private let locks = Lock<[QueueWorker: WorkerLock]>([:])

    package convenience init(at url: URL, using files: FileIO = .shared) {
        self.init(at: url, time: .system, using: files)
    }

    init(
        at url: URL, time: QueueTime, synchronous: SluiceDatabase.Synchronous = .full, using files: FileIO = .shared
    ) {
        self.time = time
        self.url = url
        self.files = files
        database = AsyncLazy {
            try await Self.mapping {
                try await SluiceDatabase.open(
                    at: url, schema: QueueSchema.current, synchronous: synchronous, using: files)
            }
        }
    }

    /// - Throws: ``QueueStoreError`` if the file isn't a queue, has a newer version, or is in a directory that can't be written.
    package static func open(at url: URL, using files: FileIO = .shared) async throws -> SQLiteQueueStore {
        try await open(at: url, time: .system, using: files)
    }

    static func open(
        at url: URL, time: QueueTime, synchronous: SluiceDatabase.Synchronous = .full, using files: FileIO = .shared
    ) async throws -> SQLiteQueueStore {
        let store = SQLiteQueueStore(at: url, time: time, synchronous: synchronous, using: files)
        _ = try await store.opened
        return store
    }

    private var opened: SluiceDatabase {
        get async throws {
            if isClosed.load(ordering: .acquiring) {
                throw QueueStoreError.closed(path)
            }
            return try await database.value
        }
    }

    package var isShared: Bool { true }

    package func close() async throws {
        let held = locks.withLock { locks in
            defer { locks = [:] }
            return Array(locks.values)
        }
        for lock in held { await lock.release() }
        isClosed.store(true, ordering: .releasing)
        if let database = database.valueIfLoaded { try await Self.mapping { try await database.close() } }
    }

    // MARK: Workers

    package func attach() async throws -> QueueWorker {
        let worker = QueueWorker(name: String(UInt64.random(in: 0 ... .max), radix: 36))
        let url = URL(filePath: try await opened.path, directoryHint: .notDirectory)
        if let lock = await WorkerLock.taken(for: worker, beside: url, using: files) {
            locks.withLock { $0[worker] = lock }
            do {
                try await releaseJobsOfTheDead(beside: url)
                try await write { database, _ in
                    try database.run("INSERT INTO worker (name) VALUES (?)", [worker.name])
                }
            } catch {
                _ = locks.withLock { $0.removeValue(forKey: worker) }
                await lock.release()
                throw error
            }
        }
        return worker
    }

    package func detach(_ worker: QueueWorker) async throws {
        let lock = locks.withLock { $0.removeValue(forKey: worker) }
        do {
            try await write { try $0.forget(worker.name, now: $1) }
        } catch {
            await lock?.release()
            throw error
        }
        await lock?.release()
    }

    package func releaseJobsOfDeadWorkers() async throws {
        try await releaseJobsOfTheDead(beside: URL(filePath: try await opened.path, directoryHint: .notDirectory))
        try await write { try $0.takeBackExpiredLeases(now: $1, lease: 0) }
    }

    /// Takes back the jobs of dead workers that had a lock. Other workers' leases have to expire.
    private func releaseJobsOfTheDead(beside url: URL) async throws {
        let names = try await read { database, _ in
            try String.fetchAll(database, sql: "SELECT name FROM worker")
        }
        for name in names where !isMine(name) {
            guard await WorkerLock.isDead(QueueWorker(name: name), beside: url, using: files) else { continue }
            try await write { try $0.forget(name, now: $1) }
        }
    }

    private func isMine(_ name: String) -> Bool {
        locks.withLock { $0[QueueWorker(name: name)] != nil }
    }

    // MARK: Transactions

    func write<R: Sendable>(_ body: @escaping @Sendable (Database, _ now: Int64) throws -> R) async throws -> R {
        let database = try await opened
        return try await Self.mapping { try await database.write { [time] in try body($0, time.now()) } }
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (Database, _ now: Int64) throws -> R) async throws -> R {
        let database = try await opened
        return try await Self.mapping { try await database.read { [time] in try body($0, time.now()) } }
    }

    private static func mapping<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let failure as DatabaseFailure {
            throw QueueStoreError(failure)
        }
    }
}

extension Database {
    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    fileprivate func forget(_ worker: String, now: Int64) throws {
        try releaseJobs(of: worker, now: now)
        try run("DELETE FROM worker WHERE name = ?", [worker])
        try run("DELETE FROM presence WHERE worker = ?", [worker])
    }
}

// MARK: - Reading

extension SQLiteQueueStore {
    package func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] {
        try await read { database, _ in try ids.compactMap { try database.queuedDownload($0.rawValue) } }
    }

    package func jobs(
        in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int
    ) async throws -> [QueuedDownload] {
        try await read { database, _ in
            let ids = try database.jobs(in: selection, QueuedDownload.State.allCases)
            let later = ids.drop { other in id.map { other <= $0.rawValue } ?? false }
            return try later.prefix(max(0, count)).compactMap { try database.queuedDownload($0) }
        }
    }

    package func snapshot(listing count: Int) async throws -> QueueSnapshot {
        let count = max(0, count)
        return try await read { database, now in
            var snapshot = QueueSnapshot()
            let tally = try database.cachedStatement(sql: "SELECT state, number FROM tally WHERE number > 0")
            for row in try Row.fetchAll(tally) {
                let state = QueuedDownload.State(column: try row.value("state"))
                snapshot.counts[state] = try snapshot.count(in: state).addingClamped(row.value("number"))
            }
            // The plus sign keeps SQLite from scanning the whole table in this order.
            snapshot.running = try database.list("WHERE state = \(JobState.running) ORDER BY +id", limit: count).map {
                .init(download: $0)
            }
            snapshot.waiting = try database.list(
                "WHERE state IN (\(JobState.waiting)) ORDER BY priority DESC, id", limit: count)
            snapshot.paused = try database.list(
                "WHERE state = \(JobState.paused) ORDER BY priority DESC, id", limit: count)
            snapshot.ended = try database.list(
                "WHERE state IN (\(JobState.ended)) ORDER BY ended DESC, id DESC", limit: count)
            snapshot.cursor = QueueEvent.Cursor(rawValue: try database.lastEvent)
            snapshot.hosts = try database.hosts().compactMap { QueueSnapshot.Host($0, $1, now: now) }
                .sorted { $0.name < $1.name }
            return snapshot
        }
    }
}

extension Database {
    func queuedDownload(_ id: Int64) throws -> QueuedDownload? {
        try list("WHERE id = ?", [id], limit: 1).first
    }

    /// The columns of a ``QueuedDownload``.
    static let downloadColumns = """
        id, url, folder, name, priority, state, failures, not_before, bytes, message, error, charged, is_cancelled, checksum, mirrors
        """

    fileprivate func list(
        _ rest: String, _ arguments: StatementArguments = [], limit count: Int
    ) throws -> [QueuedDownload] {
        let query = "SELECT \(Self.downloadColumns) FROM job \(rest) LIMIT ?"
        return try Row.fetchAll(cachedStatement(sql: query), arguments: arguments + [count]).map { row in
            try QueuedDownload(row: row, members: members(of: row.value("id")).members)
        }
    }
}

extension QueuedDownload {
    init(row: Row, members: [Member]) throws {
        let notBefore: Int64? = try row.value("not_before")
        let user: String = try row.value("charged", as: String?.self) ?? members.first?.user ?? ""
        let request = try DownloadRequest(row: row, user: user)
        let (line, parts): (String?, String?) = (try row.value("message"), try row.value("error"))
        self.init(
            id: JobID(rawValue: try row.value("id")), request: request, members: members,
            state: QueuedDownload.State(column: try row.value("state")), failureCount: try row.value("failures"),
            fileSize: try row.value("bytes"),
            error: line.map { TransferError(line: $0, parts: parts, url: request.url) },
            notBefore: notBefore.map { Date(queueTime: $0) })
        isCancelling = try row.value("is_cancelled")
    }
}

extension DownloadRequest {
    init(row: Row, user: String) throws {
        let name: String = try row.value("name")
        let stored = DownloadRequest(
            storedURL: try row.value("url"), directory: try row.value("folder"), name: name, user: user,
            priority: try row.value("priority"), checksum: try row.value("checksum"),
            mirrors: try row.value("mirrors"))
        guard let stored else {
            // Another program has written to the table.
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "The job named '\(name)' can't be read.")
        }
        self = stored
    }
}

// MARK: - Events

extension SQLiteQueueStore {
    package func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent] {
        try await read { [path] database, _ in
            if let number, try number < database.firstEvent.addingClamped(-1) {
                throw QueueStoreError.eventsRemoved(after: number, path)
            }
            let query = """
                SELECT number, time, job, kind, user, batch, bytes, message FROM event WHERE number > ?
                ORDER BY number LIMIT ?
                """
            let rows = try Row.fetchAll(database.cachedStatement(sql: query), arguments: [number ?? 0, count])
            return try rows.map { try QueueEvent(row: $0) }
        }
    }

    package func events(of job: JobID, atMost count: Int) async throws -> [QueueEvent] {
        try await read { database, _ in
            // Without an index: there are some ten thousand events, and each change would have to maintain it.
            let query = """
                SELECT number, time, job, kind, user, batch, bytes, message FROM event WHERE job = ?
                ORDER BY number DESC LIMIT ?
                """
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: query), arguments: [job.rawValue, max(0, count)])
            return try rows.map { try QueueEvent(row: $0) }
        }
    }
}

extension QueueEvent {
    fileprivate init(row: Row) throws {
        var content = EventContent(
            Kind(rawValue: try row.value("kind")), user: try row.value("user"), bytes: try row.value("bytes"),
            message: try row.value("message"))
        content.batch = try row.value("batch")
        self = content.event(
            number: try row.value("number"), job: JobID(rawValue: try row.value("job")), time: try row.value("time"))
    }
}

extension Database {
    /// Gives an event the next number. Only one transaction writes at a time, and if it fails, its numbers are reused.
    func record(_ content: EventContent, _ job: Int64, now: Int64) throws {
        try run(
            "INSERT INTO event (time, job, kind, user, batch, bytes, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [now, job, content.kind.rawValue, content.user, content.batch, content.bytes, content.message])
    }

    /// The number of the last event, even if it has been removed; 0 if there was none.
    var lastEvent: Int64 {
        get throws {
            let query = "SELECT seq FROM sqlite_sequence WHERE name = 'event'"
            return try Int64.fetchOne(cachedStatement(sql: query)) ?? 0
        }
    }

    /// The number of the first event that has been kept, or of the next event if there is none.
    var firstEvent: Int64 {
        get throws {
            try Int64.fetchOne(cachedStatement(sql: "SELECT min(number) FROM event")) ?? lastEvent.addingClamped(1)
        }
    }
}

// MARK: - Locks of workers

/// A file lock that shows that a worker is alive. The system releases it when the process ends for any reason.
final class WorkerLock: Sendable {
    private let stream: Lock<AsyncFileStream<WriteMode>?>

    private init(_ stream: consuming sending AsyncFileStream<WriteMode>) {
        self.stream = Lock(stream)
    }

    private static func file(of worker: QueueWorker, beside database: URL) -> URL {
        database.deletingLastPathComponent()
            .appending(path: "\(database.lastPathComponent)-worker-\(worker.name)", directoryHint: .notDirectory)
    }

    /// Returns `nil` if locks don't work here. A worker's death is then noticed when its leases expire.
    static func taken(for worker: QueueWorker, beside database: URL, using files: FileIO) async -> WorkerLock? {
        let file = file(of: worker, beside: database)
        guard let stream = try? await file.openForWriting(existing: .fail, locked: true, using: files) else {
            return nil
        }
        let lock = WorkerLock(stream)
        // Some mounted file systems grant every lock, so every worker would look dead.
        guard await !isFree(file, using: files) else {
            await lock.release()
            return nil
        }
        return lock
    }

    /// Whether a worker of another process is dead. If so, its file is removed.
    static func isDead(_ worker: QueueWorker, beside database: URL, using files: FileIO) async -> Bool {
        await isFree(file(of: worker, beside: database), removing: true, using: files)
    }

    /// Free means that no process holds a lock on the file, or that the file doesn't exist.
    private static func isFree(_ file: URL, removing: Bool = false, using files: FileIO) async -> Bool {
        do {
            guard try await files.status(of: file) != nil else { return true }
            let stream = try await file.openForWriting(existing: .append, locked: true, using: files)
            if removing { try await stream.discard() } else { try await stream.close() }
            return true
        } catch {
            return false
        }
    }

    func release() async {
        let held = stream.withLock { $0.take() }
        if let held { try? await held.discard() }
    }
}
