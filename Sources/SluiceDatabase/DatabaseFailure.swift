package import GRDB
import SluiceFiles

package struct DatabaseFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. The names follow SQLite's result codes (sqlite.org/rescode.html).
    package enum Code: Sendable, Hashable {
        /// Another process held the lock for too long.
        case busy
        /// The disk is full, or a limit on the file's size is reached.
        case full
        /// The file is damaged, or isn't a database.
        case corrupt
        /// The database belongs to another application.
        case foreign
        /// A newer version of the program has changed the tables.
        case newerVersion
        /// The database can't be opened or created.
        case cannotOpen
        /// The database can be read but not written.
        case readOnly
        /// The system failed to read or write the file.
        case inputOutput
        case closed
        case other
    }

    package var code: Code
    package var path: String
    /// The reason, without a final period, often from the system or SQLite.
    package var cause: String
    package var remedy: String

    package init(_ code: Code, path: String, cause: String, remedy: String) {
        self.code = code
        self.path = path
        self.cause = cause
        self.remedy = remedy
    }

    package var message: String { "The database can't be used: \(cause)." }

    package var description: String { "\(path): \(message) \(remedy)" }
}

extension DatabaseFailure {
    init(_ error: FileError, path: String) {
        let cause = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        self.init(.cannotOpen, path: path, cause: cause, remedy: "Choose a file in a writable directory.")
    }

    init(_ error: DatabaseError, path: String) {
        let cause = error.message ?? "\(error.resultCode)"
        switch error.resultCode {
        // SQLITE_PROTOCOL: other processes kept taking the log's locks.
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            self.init(
                .busy, path: path, cause: "another process keeps it locked",
                remedy: "Wait until that process has finished or stop it, then try again.")
        case .SQLITE_FULL:
            self.init(
                .full, path: path, cause: "the disk is full, but no stored data is lost",
                remedy: "Free some space, then try again.")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(
                .corrupt, path: path, cause: cause,
                remedy: "Move the file away to start with an empty database, or choose another file.")
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            self.init(
                .cannotOpen, path: path, cause: cause,
                remedy: "Choose a file in a writable directory on a local file system.")
        case .SQLITE_READONLY:
            self.init(
                .readOnly, path: path, cause: cause,
                remedy: "Allow this user to write the file and its directory, or choose another file.")
        case .SQLITE_IOERR:
            self.init(
                .inputOutput, path: path, cause: cause,
                remedy: "Check the disk, which still holds the last confirmed transaction.")
        case .SQLITE_MISUSE:
            self.init(.closed, path: path, cause: cause, remedy: "Open the database again.")
        default:
            self.init(.other, path: path, cause: cause, remedy: "Try again.")
        }
    }

    /// Returns the result of `body`, and converts a `DatabaseError` to a failure with the path.
    static func mapping<R>(_ path: String, _ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw DatabaseFailure(error, path: path)
        } catch is RowDecodingError {
            // Its description contains the statement and the row, which may contain secrets.
            throw DatabaseFailure(
                DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a value in its tables can't be read"), path: path)
        }
    }
}

extension Row {
    /// Decodes a value, or throws if it is NULL or has the wrong type, because the file is damaged or another program changed it. Pass an
    /// optional type if the value may be NULL. GRDB's subscript would trap.
    package func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws -> Value {
        try decode(type, forColumn: column)
    }
}

extension Database {
    /// Returns a value that the tables must have. Throws if it's missing, as in a damaged file.
    package func required<Value>(_ value: Value?, _ what: @autoclosure () -> String) throws -> Value {
        guard let value else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "\(what()) is missing in its tables")
        }
        return value
    }
}
