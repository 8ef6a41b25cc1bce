import GRDB
import GRDBSQLite
import SluiceLock

/// Tells whether other connections, of this process or another, have committed transactions, without a query.
///
/// SQLite counts the commits of all connections in the header of the wal-index, which they share in memory (`iChange`,
/// sqlite.org/walformat.html, section 2.1). This connection's own commits are expected to add one each. If the expectation is wrong, for
/// example after another process has recovered the log, the answer is yes, and one call of the observer corrects it.
///
/// ```text
/// this connection   begin (count 7) ─── commit ─▶ 8 expected                          begin (count 9): foreign commits
/// another                                            commit ─▶ 9      hasOccurred ─▶ true
/// ```
final class ForeignCommits: Sendable {
    private struct State: @unchecked Sendable {
        // The lock protects the pointer, which is valid until `close()`.
        var count: UnsafePointer<UInt32>?
        var expected: UInt32
        /// Whether this connection may have added one to the count that is expected.
        var isCommitting = false
    }

    private let state: Lock<State>
    private let observer: @Sendable (Database) throws -> Void

    /// - Parameter observer: Called at the start of the first transaction after foreign commits, within the transaction.
    init(in database: Database, _ observer: @escaping @Sendable (Database) throws -> Void) {
        self.observer = observer
        let count = Self.count(in: database)
        // The first transaction calls the observer.
        state = Lock(State(count: count, expected: (count?.pointee ?? 0) &- 1))
    }

    /// Whether other connections have committed since the last transaction of this one. Doesn't wait. `true` if that is unknown.
    var haveOccurred: Bool {
        state.withLock { state in
            guard let count = state.count?.pointee else { return true }
            return count != state.expected && !(state.isCommitting && count == state.expected &+ 1)
        }
    }

    /// Runs a transaction, in which the observer is called first if there were foreign commits.
    func transaction(
        _ kind: Database.TransactionKind, in database: Database, _ body: () throws -> Void
    ) throws {
        var (hasChanges, hasCommitted) = (false, false)
        defer {
            state.withLock { state in
                state.expected &+= hasCommitted && hasChanges ? 1 : 0
                state.isCommitting = false
            }
        }
        try database.inTransaction(kind) {
            // With the write lock, the count can't change. Without it, it may be too low, and the observer is called once more.
            let (count, expected) = state.withLock { ($0.count?.pointee, $0.expected) }
            if count != expected { try observer(database) }
            state.withLock { state in
                state.expected = count ?? 0
                state.isCommitting = kind == .immediate
            }
            let changes = database.totalChangesCount
            try body()
            hasChanges = database.totalChangesCount != changes
            return .commit
        }
        hasCommitted = true
    }

    /// Must be called before the connection is closed.
    func close() { state.withLock { $0.count = nil } }

    /// Returns the address of `iChange` in the connection's mapping of the wal-index, or `nil` if this SQLite has another format.
    private static func count(in database: Database) -> UnsafePointer<UInt32>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2,
            let map = methods.pointee.xShmMap
        else { return nil }
        var region: UnsafeMutableRawPointer?
        // The first region of 32 KiB, which the connection has mapped since its first transaction.
        guard map(file, 0, 32 << 10, 0, &region) == SQLITE_OK, let region,
            region.load(as: UInt32.self) == 3_007_000
        else { return nil }
        return UnsafePointer((region + 8).assumingMemoryBound(to: UInt32.self))
    }
}
