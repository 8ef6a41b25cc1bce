#if PostgreSQL
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// An error of the PostgreSQL server, or of the connection to it.
///
/// Texts never contain the password of the URL, nor the parameters of a statement.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package var rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        private init(_ name: String) { rawValue = name }

        /// The text isn't the URL of a PostgreSQL server.
        package static let invalidURL = Self("invalidURL")
        /// The server can't be reached, or didn't answer in time.
        package static let cannotConnect = Self("cannotConnect")
        /// The server is starting, stopping or has no free connection.
        package static let unavailable = Self("unavailable")
        /// The server refused the user or the password.
        package static let loginRefused = Self("loginRefused")
        package static let unknownDatabase = Self("unknownDatabase")
        /// The connection ended. The transaction has changed nothing.
        package static let connectionLost = Self("connectionLost")
        /// The connection ended during a commit, so that it's unknown whether the transaction was committed.
        package static let outcomeUnknown = Self("outcomeUnknown")
        /// A concurrent transaction changed the same rows (SQLSTATE 40001).
        package static let serializationFailure = Self("serializationFailure")
        /// The server ended this transaction because it and another one waited for each other (SQLSTATE 40P01).
        package static let deadlock = Self("deadlock")
        /// A statement took too long, often because it waited for a lock.
        package static let timedOut = Self("timedOut")
        /// The user lacks a privilege (SQLSTATE 42501).
        package static let notPermitted = Self("notPermitted")
        /// A constraint refused a row (SQLSTATE class 23).
        package static let constraintViolated = Self("constraintViolated")
        /// The disk or memory of the server is full.
        package static let full = Self("full")
        /// The server doesn't accept changes, for example because it is a standby.
        package static let readOnly = Self("readOnly")
        /// A newer version of the program has changed the tables.
        package static let newerVersion = Self("newerVersion")
        /// A value has another type than the program expects.
        package static let unexpectedValue = Self("unexpectedValue")
        /// The connection or the database object was closed.
        package static let closed = Self("closed")
        /// Another failure; see the message and ``PostgresError/sqlState``.
        package static let other = Self("other")
    }

    package var code: Code
    /// The error code of the server, five characters: see appendix A of PostgreSQL's documentation. `nil` if the error isn't from it.
    package var sqlState: String?
    /// The URL of the database, without its password.
    package var subject: String
    package var message: String
    package var remedy: String?
    package var cause: (any Error)?

    package init(
        _ code: Code, sqlState: String? = nil, subject: String, message: String, remedy: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.sqlState = sqlState
        self.subject = subject
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// Whether the transaction has certainly changed nothing, and may succeed if it is tried again.
    package var isTransient: Bool {
        [.cannotConnect, .unavailable, .connectionLost, .serializationFailure, .deadlock].contains(code)
    }

    /// Whether the connection can't be used after this error.
    var endsConnection: Bool {
        [.cannotConnect, .unavailable, .connectionLost, .outcomeUnknown, .closed].contains(code)
    }

    package var description: String { "\(subject): \(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension PostgresError: LocalizedError {
    package var errorDescription: String? { description }
    package var failureReason: String? { message }
    package var recoverySuggestion: String? { remedy }
}

extension PostgresError: Hashable {
    /// Whether two errors are equal apart from their causes.
    package static func == (one: PostgresError, other: PostgresError) -> Bool {
        one.code == other.code && one.sqlState == other.sqlState && one.subject == other.subject
            && one.message == other.message && one.remedy == other.remedy
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(sqlState)
        hasher.combine(subject)
        hasher.combine(message)
    }
}
#endif
