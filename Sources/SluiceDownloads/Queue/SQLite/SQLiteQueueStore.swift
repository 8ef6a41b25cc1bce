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

/// A queue in an SQLite file: it survives the process, a kill and a loss of power, and several processes may share it.
///
/// The first operation opens it (``DownloadStore/sqlite(at:using:)``).
///
/// **Durable.** What an operation did is on the disk when it returns (`synchronous = FULL`, write-ahead log).
///
/// **Private.** The file is made readable by its owner only. URLs are stored as they are; header fields never are.
///
/// **Several processes** on one machine may open it: each operation is a transaction that takes the write lock at once, so
/// that the limits hold for all of them together. A worker keeps a lock on a file beside the database, `NAME-worker-…`,
/// while it works: when it is killed, the next worker sees that when it begins and takes its jobs over, where file locks work;
/// elsewhere, and for workers that were there already, the leases have to run out. The file must be on a local file system (sqlite.org/wal.html).
///
/// **Cost.** A claim looks at the first 256 jobs in line; where all of those are held back by limits, it takes a few seeks for
/// each pair of host and user that has jobs waiting, however many those are.
package final class SQLiteQueueStore: QueueStore {
    let time: QueueTime
    private let url: URL
    private let database: AsyncLazy<SluiceDatabase>
    private let isClosed = Atomic(false)
    private let files: FileIO
    /// The locks of the workers that this store introduced.
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

    /// Opens the queue now.
    ///
    /// - Throws: ``QueueStoreError``: a file that is no queue, a newer version, a directory that cannot be written.
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
                throw QueueStoreError.closed(url.path(percentEncoded: false))
            }
            return try await database.value
        }
    }

    /// See ``QueueStore/isShared``.
    package var isShared: Bool { true }

    /// See ``QueueStore/close()``.
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

    /// See ``QueueStore/attach()``.
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

    /// See ``QueueStore/detach(_:)``.
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

    /// Of those that had a lock: the others' leases have to run out.
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
    /// Takes back what a worker holds that has left or died.
    fileprivate func forget(_ worker: String, now: Int64) throws {
        try releaseJobs(of: worker, now: now)
        try run("DELETE FROM worker WHERE name = ?", [worker])
    }
}
