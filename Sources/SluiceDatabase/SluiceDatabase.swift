package import GRDB
package import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// An SQLite database whose operations don't block the cooperative thread pool.
///
///     let database = try await SluiceDatabase.open(at: url, schema: queueSchema)
///     let waiting = try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM job") }
///     try await database.write { try $0.execute(sql: "DELETE FROM job") }
///
/// It has one connection, in WAL mode. This process's transactions run one after another. A transaction waits up to ten seconds for another
/// process's lock. A transaction is applied completely or not at all.
///
/// **Durability.** With ``Synchronous/full``, a transaction is on the disk when `write` returns. With ``Synchronous/normal``, it survives a
/// killed process, but a power loss may undo the last transactions, each of them completely.
///
/// **Cancellation.** A transaction finishes even if the task is cancelled, so that state can still be written during shutdown.
package struct SluiceDatabase: Sendable {
    /// Whether transactions survive a power loss. See `PRAGMA synchronous`.
    package enum Synchronous: String, Sendable {
        case full = "FULL"
        case normal = "NORMAL"
    }

    private let queue: DatabaseQueue
    /// The file's path, with symbolic links followed.
    package let path: String
    private let files: FileIO
    private let group = TransactionGroup()
    /// `nil` if no one observes them.
    private let foreignCommits: ForeignCommits?

    /// Opens the database at `url`, and creates it if it is missing, readable and writable only by its owner.
    ///
    /// - Parameter onForeignCommits: Called at the start of the first transaction, and of each transaction before which another connection
    ///   has committed, within the transaction. It must not write. See also ``mayHaveForeignCommits``.
    /// - Throws: ``DatabaseFailure`` if the file isn't a database or belongs to another application, if its schema is newer than
    ///   this program's, or if the directory is missing or not writable.
    package static func open(
        at url: URL, schema: DatabaseSchema, synchronous: Synchronous = .full, using files: FileIO = .shared,
        onForeignCommits: (@Sendable (Database) throws -> Void)? = nil
    ) async throws -> SluiceDatabase {
        let path = url.path(percentEncoded: false)
        do {
            // SQLite would create a file that any user the umask allows can read.
            let options = FileWriteOptions(
                durability: .none, existing: .fail, permissions: FilePermissions(rawValue: 0o600))
            try await Data().asyncWrite(to: url, options: options, using: files)
        } catch let error as FileError where error.code == .exists {
            // An existing file is opened. For a dangling link, SQLite would create a file that everyone can read.
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
                let commits = queue.inDatabase { database in
                    onForeignCommits.map { ForeignCommits(in: database, $0) }
                }
                return SluiceDatabase(queue, path: name ?? path, files, commits)
            }
        }
    }

    private init(_ queue: DatabaseQueue, path: String, _ files: FileIO, _ foreignCommits: ForeignCommits?) {
        self.queue = queue
        self.path = path
        self.files = files
        self.foreignCommits = foreignCommits
    }

    /// Whether another connection may have committed since the last transaction of this one. Takes nanoseconds, and doesn't wait. Always
    /// true if no one observes foreign commits.
    package var mayHaveForeignCommits: Bool { foreignCommits?.haveOccurred ?? true }

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

    /// Runs `body` in a transaction that may write, and returns its result. If it throws, either ``DatabaseFailure`` or the error of
    /// `body`, nothing is written.
    package func write<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        // An immediate transaction takes the write lock first, so no other process can change what `body` has read.
        try await transaction(.immediate, body)
    }

    /// Runs `body`, which must not write, on one consistent state of the database, and returns its result. Throws ``DatabaseFailure`` or
    /// the error of `body`.
    package func read<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        try await transaction(.deferred, body)
    }

    /// Runs `body` in a transaction that concurrent tasks may share, and returns its result after the commit. Grouping small changes takes
    /// much less time than a transaction for each.
    ///
    /// If another member of the group fails, `body` runs again, so its other effects must be safe to repeat.
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
            queue.asyncWriteWithoutTransaction { [group, path, foreignCommits] in
                group.commit(in: $0, path, foreignCommits)
            }
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
                            try database.inTransaction(kind, foreignCommits) { result = try body(database) }
                            return result!
                        }
                    })
            }
        }
    }

    /// Waits for running transactions and closes the connection. Later transactions fail with ``DatabaseFailure/Code/closed``.
    package func close() async throws {
        // Closing writes the file, and must happen in a cancelled task, too.
        try await FileIO.uninterrupted {
            foreignCommits?.close()
            try await files.runBlocking { try DatabaseFailure.mapping(path) { try queue.close() } }
        }
    }
}

// MARK: - Migrations

/// The migrations that create and change the tables of a database. The number of applied migrations is stored in SQLite's `user_version`,
/// and ``application`` in `application_id`.
package struct DatabaseSchema: Sendable {
    package var application: Int32
    /// The migrations, oldest first. A released migration must not change.
    package var migrations: [@Sendable (Database) throws -> Void]

    package init(application: Int32, migrations: [@Sendable (Database) throws -> Void]) {
        self.application = application
        self.migrations = migrations
    }

    /// Applies all missing migrations or none. The caller must be in a transaction.
    func apply(to database: Database, path: String) throws {
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let owner = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        guard owner == application || (owner == 0 && tables == 0) else {
            throw DatabaseFailure(
                .foreign, path: path, cause: "it belongs to another application, so it wasn't changed",
                remedy: "Choose another file.")
        }
        guard found >= 0 else {
            throw DatabaseFailure(
                .foreign, path: path, cause: "its tables have the invalid version \(found), so it wasn't changed",
                remedy: "Choose another file.")
        }
        guard found <= migrations.count else {
            throw DatabaseFailure(
                .newerVersion, path: path,
                cause:
                    "its tables have version \(found) and this program knows version \(migrations.count), so it wasn't changed",
                remedy: "Use the newer program that wrote it, or choose another file.")
        }
        guard found < migrations.count else { return }
        for migration in migrations[found...] { try migration(database) }
        try database.execute(sql: "PRAGMA application_id = \(application)")
        try database.execute(sql: "PRAGMA user_version = \(migrations.count)")
    }
}

// MARK: - Groups of transactions

/// Commits the transactions of concurrent tasks together, because a commit costs more than a few small changes.
///
/// ```text
/// task 1   ─ write ─▶ commit 1
/// task 2      ─ write ──────────▶ commit 2        while commit 1 runs, the next ones wait and form a group
/// task 3        ─ write ────────▶ commit 2
/// ```
///
/// A group grows until its transaction begins, so a transaction without concurrent ones isn't delayed. If a group fails, each member runs
/// again in its own transaction.
final class TransactionGroup: Sendable {
    struct Member: Sendable {
        let mayWrite: Bool
        /// Returns a closure that delivers the result.
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private let waiting = Lock<[Member]>([])

    /// Adds a member. Returns whether the caller must schedule ``commit(in:_:)``.
    func add(_ member: Member) -> Bool {
        waiting.withLock { waiting in
            waiting.append(member)
            return waiting.count == 1
        }
    }

    /// Runs the waiting members. Runs on the connection's queue.
    func commit(in database: Database, _ path: String, _ foreignCommits: ForeignCommits? = nil) {
        let members = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        do {
            for deliver in try commit(members, in: database, path, foreignCommits) { deliver() }
        } catch {
            guard members.count > 1 else { return members.forEach { $0.fail(error) } }
            for member in members {
                do {
                    for deliver in try commit([member], in: database, path, foreignCommits) { deliver() }
                } catch {
                    member.fail(error)
                }
            }
        }
    }

    private func commit(
        _ members: [Member], in database: Database, _ path: String, _ foreignCommits: ForeignCommits?
    ) throws -> [@Sendable () -> Void] {
        try DatabaseFailure.mapping(path) {
            var deliveries: [@Sendable () -> Void] = []
            let kind: Database.TransactionKind = members.contains(where: \.mayWrite) ? .immediate : .deferred
            try database.inTransaction(kind, foreignCommits) {
                deliveries = try members.map { try $0.run(database) }
            }
            return deliveries
        }
    }
}

extension Database {
    fileprivate func inTransaction(
        _ kind: TransactionKind, _ foreignCommits: ForeignCommits?, _ body: () throws -> Void
    ) throws {
        if let foreignCommits { return try foreignCommits.transaction(kind, in: self, body) }
        try inTransaction(kind) {
            try body()
            return .commit
        }
    }
}
