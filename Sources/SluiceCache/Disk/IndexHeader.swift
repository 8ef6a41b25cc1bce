import GRDB
import GRDBSQLite
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The numbers in an SQLite file that tell what it is, read without changing anything in its directory.
///
/// The file is never opened without SQLite. If a process closes any descriptor of a file, it loses all its locks on it, also those of SQLite
/// (sqlite.org/howtocorrupt.html, section 2.2). Then another process that closes the database takes itself for the last one and removes the
/// log, and the transactions of this process are lost.
struct IndexHeader: Sendable {
    var application: Int32
    var version: Int32

    /// Reads the file without its log. Blocks.
    ///
    /// - Throws: A `DatabaseError`.
    init(of file: URL) throws {
        // An immutable database is read without a lock. Otherwise, SQLite would create the files of the log beside it.
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2("\(file.absoluteURL.absoluteString)?immutable=1", &connection, flags, nil)
        defer { sqlite3_close_v2(connection) }
        guard code == SQLITE_OK else { throw Self.error(code, connection) }
        application = try Self.number("PRAGMA application_id", connection)
        version = try Self.number("PRAGMA user_version", connection)
    }

    /// Reads the file and its log. Blocks.
    ///
    /// - Throws: A `DatabaseError`.
    init(withLogOf file: URL) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = LockWait.busyMode
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false), configuration: configuration)
        defer { try? queue.close() }
        (application, version) = try queue.read { database in
            (
                try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0,
                try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            )
        }
    }

    private static func number(_ sql: String, _ connection: OpaquePointer?) throws -> Int32 {
        var statement: OpaquePointer?
        var code = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        guard code == SQLITE_OK else { throw error(code, connection) }
        code = sqlite3_step(statement)
        guard code == SQLITE_ROW else { throw error(code, connection) }
        return sqlite3_column_int(statement, 0)
    }

    private static func error(_ code: CInt, _ connection: OpaquePointer?) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code), message: connection.map { String(cString: sqlite3_errmsg($0)) })
    }
}
