import GRDB
import SluiceConcurrency
import SluiceDatabase
package import SluiceFiles
import SluiceLock
import Synchronization

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A queue in an SQLite file, which several processes can share. See ``DownloadStore/sqlite(at:using:)``.
///
/// **Several processes.** Each operation is a transaction that takes the write lock at its beginning, so that the limits hold for all
/// processes together. While a worker works, it holds a lock on a file beside the database, `NAME-worker-…`. When another worker attaches,
/// it takes over the jobs of workers that were killed and therefore no longer hold their locks. Workers that are already attached, and
/// systems without working file locks, wait until the leases have expired.
///
/// **Cost.** A claim looks at the heads of the lanes in order (``QueueSchema``). If the limits hold back more than 64 lanes, it needs a few
/// seeks for each host or for each user with waiting jobs, whichever are fewer. The number of waiting jobs doesn't matter.
package final class SQLiteQueueStore: QueueStore {
    let time: QueueTime
    private let url: URL
    var path: String { url.path(percentEncoded: false) }
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

    /// Takes back the jobs of dead workers that had a lock. The leases of other workers have to expire.
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
    fileprivate func forget(_ worker: String, now: Int64) throws {
        try releaseJobs(of: worker, now: now)
        try run("DELETE FROM worker WHERE name = ?", [worker])
    }
}
