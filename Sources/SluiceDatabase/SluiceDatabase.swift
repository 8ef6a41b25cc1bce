import Dispatch
package import GRDB
package import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// An SQLite database that is opened, read and written off the cooperative pool.
///
///     let database = try await SluiceDatabase.open(at: url, schema: queueSchema)
///     let waiting = try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM job") }
///     try await database.write { try $0.execute(sql: "DELETE FROM job") }
///
/// One connection, in WAL mode: the transactions of this process take turns, those of other processes wait for each other
/// up to ten seconds. What a `write` did is all there after it returns, or nothing of it.
///
/// **Durability.** With ``Synchronous/full`` a transaction is on the disk when `write` returns, with
/// ``Synchronous/normal`` it survives a killed process, and a loss of power may take the last ones back, whole.
///
/// **Cancellation.** Transactions are short and run to their end also when the calling task is cancelled: what has to be
/// written when work is stopped is written.
package struct SluiceDatabase: Sendable {
    /// What is promised after a loss of power. See `PRAGMA synchronous`.
    package enum Synchronous: String, Sendable {
        case full = "FULL"
        case normal = "NORMAL"
    }

    private let queue: DatabaseQueue
    /// The file's path, with symbolic links followed.
    package let path: String

    /// Opens the database at `url`, which is made if it is missing, readable by its owner only.
    ///
    /// - Throws: ``DatabaseFailure``: a file that is no database or somebody else's, a schema that is newer than this
    ///   program's, a folder that is missing or not writable.
    package static func open(
        at url: URL, schema: DatabaseSchema, synchronous: Synchronous = .full, using files: FileIO = .shared
    ) async throws -> SluiceDatabase {
        let path = url.path(percentEncoded: false)
        do {
            // SQLite would make it readable by everybody whom the umask allows.
            let options = FileWriteOptions(
                durability: .none, existing: .fail, permissions: FilePermissions(rawValue: 0o600))
            try await Data().asyncWrite(to: url, options: options, using: files)
        } catch let error as FileError where error.code == .exists {
            // Then it is opened as it is. Where a link leads nowhere, SQLite would make a file that everybody can read.
            if (try? await files.exists(url)) == false {
                throw DatabaseFailure(
                    .cannotOpen, path: path, cause: "it is a symbolic link that leads nowhere",
                    remedy: "Remove the link, or choose another file.")
            }
        } catch let error as FileError {
            throw DatabaseFailure(error, path: path)
        }
        return try await offPool {
            try DatabaseFailure.mapping(path) {
                let queue = try connect(path, schema, synchronous)
                // By the name that SQLite uses, with links followed: all who open the same file have the same name for it.
                let list = "SELECT file FROM pragma_database_list WHERE name = 'main'"
                let name = try queue.inDatabase { try String.fetchOne($0, sql: list) }
                return SluiceDatabase(queue, path: name ?? path)
            }
        }
    }

    private init(_ queue: DatabaseQueue, path: String) {
        self.queue = queue
        self.path = path
    }

    private static func connect(
        _ path: String, _ schema: DatabaseSchema, _ synchronous: Synchronous
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(10)
        configuration.label = "sluice.database"
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.inDatabase { database in
            // After opening: turning WAL on sets it to NORMAL.
            try database.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
            try database.inTransaction(.immediate) {
                try schema.apply(to: database, path: path)
                return .commit
            }
        }
        return queue
    }

    /// Runs `body` in a transaction that may write, and returns what it returns.
    ///
    /// - Throws: ``DatabaseFailure``, or what `body` throws; then nothing is written.
    package func write<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        // Immediate: the lock for writing is taken at once, so that what is read stays true.
        try await transaction(.immediate, body)
    }

    /// Runs `body`, which does not write, on one consistent state of the database, and returns what it returns.
    ///
    /// - Throws: ``DatabaseFailure``, or what `body` throws.
    package func read<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        try await transaction(.deferred, body)
    }

    /// Not GRDB's `asyncRead`: it stops the program when the connection is closed.
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

    /// Closes the connection, after the transactions that are under way. Later ones fail.
    package func close() async throws {
        try await Self.offPool { try DatabaseFailure.mapping(path) { try queue.close() } }
    }

    /// Opening and closing read and write files.
    private static func offPool<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }
}
