import GRDB
import SluiceFiles

/// A database that could not be opened, read or written: which one, why, and what to do.
package struct DatabaseFailure: Error, Sendable, CustomStringConvertible {
    /// What is wrong, for a program. The names follow SQLite's result codes (sqlite.org/rescode.html).
    package enum Code: Sendable, Hashable {
        /// Another process held the lock for too long.
        case busy
        /// The disk is full, or a limit on the file's size reached.
        case full
        /// The file is damaged, or is no database.
        case corrupt
        /// It is a database, but not one of this kind.
        case foreign
        /// A newer program has changed its tables.
        case newerVersion
        /// It cannot be opened or made.
        case cannotOpen
        /// It may be read but not written.
        case readOnly
        /// The system failed to read or write it.
        case inputOutput
        /// It is closed already.
        case closed
        /// Something else.
        case other
    }

    package var code: Code
    /// The database's file.
    package var path: String
    /// What the system or SQLite says.
    package var cause: String
    /// What a person can do.
    package var remedy: String

    package init(_ code: Code, path: String, cause: String, remedy: String) {
        self.code = code
        self.path = path
        self.cause = cause
        self.remedy = remedy
    }

    /// What happened: one sentence.
    package var message: String { "The database cannot be used: \(cause)." }

    /// One line: which file, what is wrong, and what to do.
    package var description: String { "\(path): \(message) \(remedy)" }
}

extension DatabaseFailure {
    init(_ error: FileError, path: String) {
        let cause = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        self.init(.cannotOpen, path: path, cause: cause, remedy: "Choose a file in a directory that can be written.")
    }

    init(_ error: DatabaseError, path: String) {
        let cause = error.message ?? "\(error.resultCode)"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(
                .busy, path: path, cause: "another process has kept it locked",
                remedy: "See which process works with it, and try again.")
        case .SQLITE_FULL:
            self.init(.full, path: path, cause: "the disk is full", remedy: "Make room and try again; nothing is lost.")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(
                .corrupt, path: path, cause: cause,
                remedy: "Move the file away to begin with an empty one, or choose another.")
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            self.init(
                .cannotOpen, path: path, cause: cause,
                remedy: "Choose a file in a directory that can be written, on a local file system.")
        case .SQLITE_READONLY:
            self.init(
                .readOnly, path: path, cause: cause,
                remedy: "Allow this user to write the file and its directory, or choose another.")
        case .SQLITE_IOERR:
            self.init(
                .inputOutput, path: path, cause: cause,
                remedy: "Check the disk; the last transaction that was confirmed is there.")
        case .SQLITE_MISUSE:
            self.init(.closed, path: path, cause: cause, remedy: "Open it again.")
        default:
            self.init(.other, path: path, cause: cause, remedy: "Try again.")
        }
    }

    /// What `body` returns; errors of the database become failures with the path.
    static func mapping<R>(_ path: String, _ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw DatabaseFailure(error, path: path)
        }
    }
}
