package import GRDB
package import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// An SQLite database whose operations don't block threads of the cooperative pool.
///
///     let database = try await SluiceDatabase.open(at: url, schema: queueSchema)
///     let waiting = try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM job") }
///     try await database.write { try $0.execute(sql: "DELETE FROM job") }
///
/// It has one connection, in WAL mode. The transactions of this process run one after another. A transaction waits up to ten seconds
/// for a lock of another process. A transaction is applied completely or not at all.
///
/// **Durability.** With ``Synchronous/full``, a transaction is on the disk when `write` returns. With ``Synchronous/normal``, it survives
/// a killed process, but a loss of power may undo the last transactions, each of them completely.
///
/// **Cancellation.** A transaction runs to its end even if the task is cancelled, so that state can be written while work stops.
package struct SluiceDatabase: Sendable {
    /// The durability of transactions after a loss of power. See `PRAGMA synchronous`.
    package enum Synchronous: String, Sendable {
        case full = "FULL"
        case normal = "NORMAL"
    }

    private let queue: DatabaseQueue
    /// The file's path, with symbolic links followed.
    package let path: String
    private let files: FileIO
    private let group = TransactionGroup()

    /// Opens the database at `url`, and creates it if it is missing, readable and writable only by its owner.
    ///
    /// - Throws: ``DatabaseFailure`` if the file isn't a database or belongs to another application, if its schema is newer than
    ///   this program's, or if the directory is missing or not writable.
    package static func open(
        at url: URL, schema: DatabaseSchema, synchronous: Synchronous = .full, using files: FileIO = .shared
    ) async throws -> SluiceDatabase {
        let path = url.path(percentEncoded: false)
        do {
            // SQLite would create a file that is readable by all users that the umask allows.
            let options = FileWriteOptions(
                durability: .none, existing: .fail, permissions: FilePermissions(rawValue: 0o600))
            try await Data().asyncWrite(to: url, options: options, using: files)
        } catch let error as FileError where error.code == .exists {
            // An existing file is opened. At a link without a target, SQLite would create a file that all users can read.
            if (try? await files.exists(url)) == false {
                throw DatabaseFailure(
                    .cannotOpen, path: path, cause: "it is a symbolic link to a missing file",
                    remedy: "Remove the link, or choose another file.")
            }
        } catch let error as FileError {
            throw DatabaseFailure(error, path: path)
        }
        return try await files.runBlocking {
            try DatabaseFailure.mapping(path) {
                let queue = try connect(path, schema, synchronous)
                // SQLite's name for the file, with links followed, is the same for all processes that open the file.
                let list = "SELECT file FROM pragma_database_list WHERE name = 'main'"
                let name = try queue.inDatabase { try String.fetchOne($0, sql: list) }
                return SluiceDatabase(queue, path: name ?? path, files)
            }
        }
    }

    private init(_ queue: DatabaseQueue, path: String, _ files: FileIO) {
        self.queue = queue
        self.path = path
        self.files = files
    }

    private static func connect(
        _ path: String, _ schema: DatabaseSchema, _ synchronous: Synchronous
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.busyMode = LockWait.busyMode
        configuration.label = "sluice.database"
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.inDatabase { database in
            // This must come after opening, because GRDB sets it to NORMAL when it turns WAL on.
            try database.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
            try database.inTransaction(.immediate) {
                try schema.apply(to: database, path: path)
                return .commit
            }
        }
        return queue
    }

    /// Runs `body` in a transaction that may write, and returns its result. Throws ``DatabaseFailure`` or the error of `body`, and then
    /// nothing is written.
    package func write<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        // An immediate transaction takes the write lock first, so that no other process changes what `body` has read.
        try await transaction(.immediate, body)
    }

    /// Runs `body`, which must not write, on one consistent state of the database, and returns its result. Throws ``DatabaseFailure`` or
    /// the error of `body`.
    package func read<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        try await transaction(.deferred, body)
    }

    /// Runs `body` in a transaction that concurrent tasks may share, and returns its result after the commit. A group of small changes takes
    /// much less time than one transaction for each.
    ///
    /// If another member of the group fails, `body` runs again: it must have no other effects that can't happen twice.
    package func grouped<R: Sendable>(
        mayWrite: Bool, _ body: @escaping @Sendable (Database) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let member = TransactionGroup.Member(mayWrite: mayWrite) { database in
                let result = try body(database)
                return { continuation.resume(returning: result) }
            } fail: { error in
                continuation.resume(throwing: error)
            }
            guard group.add(member) else { return }
            queue.asyncWriteWithoutTransaction { [group, path] in group.commit(in: $0, path) }
        }
    }

    /// GRDB's `asyncRead` isn't used here, because it traps when the connection is closed.
    private func transaction<R: Sendable>(
        _ kind: Database.TransactionKind, _ body: @escaping @Sendable (Database) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            queue.asyncWriteWithoutTransaction { database in
                continuation.resume(
                    with: Result {
                        try DatabaseFailure.mapping(path) {
                            var result: R?
                            try database.inTransaction(kind) {
                                result = try body(database)
                                return .commit
                            }
                            return result!
                        }
                    })
            }
        }
    }

    /// Closes the connection after the running transactions. Later transactions fail with ``DatabaseFailure/Code/closed``.
    package func close() async throws {
        // Closing writes the file, and must happen in a cancelled task, too.
        try await FileIO.uninterrupted {
            try await files.runBlocking { try DatabaseFailure.mapping(path) { try queue.close() } }
        }
    }
}
