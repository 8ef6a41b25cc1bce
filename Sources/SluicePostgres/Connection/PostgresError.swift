#if PostgreSQL
internal import CSluicePostgres

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// An error from the PostgreSQL server, or from the connection to it.
///
/// Texts never contain the URL's password or a statement's parameters.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package var rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        private init(_ name: String) { rawValue = name }

        /// The text isn't the URL of a PostgreSQL server.
        package static let invalidURL = Self("invalidURL")
        /// The server can't be reached, or didn't respond in time.
        package static let cannotConnect = Self("cannotConnect")
        /// The server is starting, stopping or has no free connection.
        package static let unavailable = Self("unavailable")
        /// The server refused the user or the password.
        package static let loginRefused = Self("loginRefused")
        package static let unknownDatabase = Self("unknownDatabase")
        /// The connection ended. The transaction has changed nothing.
        package static let connectionLost = Self("connectionLost")
        /// The connection ended during a commit, so we don't know whether the transaction was committed.
        package static let outcomeUnknown = Self("outcomeUnknown")
        /// A concurrent transaction changed the same rows (SQLSTATE 40001).
        package static let serializationFailure = Self("serializationFailure")
        /// The server ended this transaction because it and another one were waiting for each other (SQLSTATE 40P01).
        package static let deadlock = Self("deadlock")
        /// A statement took too long, often because it waited for a lock.
        package static let timedOut = Self("timedOut")
        /// The user lacks a privilege (SQLSTATE 42501).
        package static let notPermitted = Self("notPermitted")
        /// A constraint refused a row (SQLSTATE class 23).
        package static let constraintViolated = Self("constraintViolated")
        /// The server is out of disk space or memory.
        package static let full = Self("full")
        /// The server doesn't accept changes, for example because it is a standby.
        package static let readOnly = Self("readOnly")
        /// A newer version of the program has changed the tables.
        package static let newerVersion = Self("newerVersion")
        /// A value has a different type than the program expects.
        package static let unexpectedValue = Self("unexpectedValue")
        /// The connection or the database object was closed.
        package static let closed = Self("closed")
        /// Another failure; see the message and ``PostgresError/sqlState``.
        package static let other = Self("other")
    }

    package var code: Code
    /// The server's five-character error code (see appendix A of PostgreSQL's documentation), or `nil` if the error isn't from the server.
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

    /// Whether the transaction definitely changed nothing, and may succeed on a retry.
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

// MARK: - The messages of the server and of libpq

extension PostgresError {
    /// Creates the error for a failed statement. An error without an SQLSTATE is a connection error.
    init(result: OpaquePointer, address: PostgresAddress) {
        guard let state = csluice_postgres_sqlstate(result).map({ String(cString: $0) }) else {
            self = .lost(address, String(cString: PQresultErrorMessage(result)))
            return
        }
        let message = csluice_postgres_message(result).map { String(cString: $0) } ?? ""
        self.init(
            sqlState: state, serverMessage: address.withoutSecrets(message), subject: address.subject)
    }

    /// Creates an error from the server's error code and message.
    init(sqlState state: String, serverMessage: String, subject: String) {
        let (code, remedy) = Self.meaning(of: state)
        let message = code == .connectionLost ? "The server ended the connection" : "The server reported an error"
        self.init(
            code, sqlState: state, subject: subject, message: "\(message): \(Self.clause(serverMessage)) (\(state)).",
            remedy: remedy)
    }

    /// Creates the error for a connection that couldn't be established, from libpq's message. With the verbosity that
    /// `csluice_postgres_start` sets, the message contains the server's error code: `FATAL:  28P01: password authentication failed for …`.
    init(connecting text: String, address: PostgresAddress) {
        let text = address.withoutSecrets(text)
        if let (state, message) = Self.serverError(in: text) {
            self.init(sqlState: state, serverMessage: message, subject: address.subject)
            // pgbouncer uses one code for all its errors.
            if state == "08P01", message.contains("password") || message.contains("auth") {
                (code, remedy) = Self.meaning(of: "28")
            } else if state == "08P01", message.contains("database") {
                (code, remedy) = Self.meaning(of: "3D000")
            } else if code == .connectionLost {
                // A connection that doesn't exist yet can't be lost.
                code = .unavailable
            }
            self.message = "The server refused the connection: \(Self.clause(message)) (\(state))."
            return
        }
        // There is a line for each of the host's addresses, and a second line with advice.
        let line = text.split(separator: "\n").first.map(String.init) ?? "the connection failed"
        var reason = Self.clause(line)
        if let range = reason.firstRange(of: " failed: ") { reason = String(reason[range.upperBound...]) }
        let remedy: String
        if line.contains("translate host name") {
            remedy = "Check the host in the URL and the name service of this machine."
        } else if line.contains("refused") || line.contains("No such file") {
            remedy = "Check that the server runs, and that the host and the port in the URL are right."
        } else if line.contains("SSL") || line.contains("certificate") {
            remedy = "Check sslmode and the certificates that the URL or the environment names."
        } else if line.contains("password") {
            remedy = "Put the password into the URL, PGPASSWORD or the password file of libpq."
        } else {
            remedy = "Check the host and the port in the URL, the network, and the firewalls between the machines."
        }
        let code: Code = line.contains("no password supplied") ? .loginRefused : .cannotConnect
        self.init(
            code, subject: address.subject, message: "The server can't be reached: \(reason).", remedy: remedy)
    }

    static func lost(_ address: PostgresAddress, _ reason: String) -> PostgresError {
        let line = address.withoutSecrets(reason).split(separator: "\n").first.map(String.init) ?? ""
        return PostgresError(
            .connectionLost, subject: address.subject,
            message: "The connection to the server was lost\(line.isEmpty ? "" : ": \(clause(line))").",
            remedy: "Check that the server runs and that the network works, then try again.")
    }

    static func timedOut(_ subject: String, after limit: Duration) -> PostgresError {
        PostgresError(
            .timedOut, subject: subject,
            message: "The server didn't answer a statement within \(limit.formattedSeconds).",
            remedy: "Check that the server isn't overloaded and that no other session holds locks for long.")
    }

    static func closed(_ subject: String) -> PostgresError {
        PostgresError(
            .closed, subject: subject, message: "The connection to the server was closed.",
            remedy: "Open the database again.")
    }

    /// Finds `FATAL:  28P01: the message` in a libpq message.
    private static func serverError(in text: String) -> (state: String, message: String)? {
        for line in text.split(separator: "\n") {
            if let match = line.firstMatch(of: /:  ([0-9A-Z]{5}): (.*)$/) {
                return (String(match.1), String(match.2))
            }
        }
        return nil
    }

    /// Returns one line without the final period.
    private static func clause(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return line.hasSuffix(".") ? String(line.dropLast()) : line
    }

    /// Maps the error codes of appendix A of PostgreSQL's documentation. The first entry with a matching prefix counts.
    private static func meaning(of state: String) -> (Code, remedy: String) {
        meanings.first { state.hasPrefix($0.prefix) }.map { ($0.code, $0.remedy) }
            ?? (.other, "Check the log of the server for the details.")
    }

    private static let meanings: [(prefix: String, code: Code, remedy: String)] = [
        ("28", .loginRefused, "Check the user and the password in the URL, and pg_hba.conf of the server."),
        ("3D000", .unknownDatabase, "Check the name of the database in the URL, or create it with createdb."),
        ("3F000", .notPermitted, "Create the schema, or name one in which the user may create tables."),
        ("40001", .serializationFailure, "Try again, because another transaction changed the same rows."),
        ("40P01", .deadlock, "Try again, because the server ended only one of the transactions."),
        ("55P03", .timedOut, "Try again when the other session has released the lock."),
        ("57014", .timedOut, "Check that the server isn't overloaded and that no other session holds locks for long."),
        ("57P03", .unavailable, "Wait until the server has started, then try again."),
        ("57P", .connectionLost, "Try again when the server accepts connections."),
        ("25P03", .connectionLost, "Try again, because the transaction was idle for too long."),
        ("25P04", .connectionLost, "Try again, because the transaction took too long."),
        ("25006", .readOnly, "Connect to the primary server instead of a standby."),
        ("53300", .unavailable, "Raise max_connections of the server, or put a pooler in front of it."),
        ("53100", .full, "Free space on the disk of the server, then try again."),
        ("53", .unavailable, "Give the server more memory or raise its limits, then try again."),
        ("54", .other, "Split the work into smaller statements."),
        ("58", .full, "Check the disk of the server."),
        ("08", .connectionLost, "Check that the server or the pooler runs, then try again."),
        ("42501", .notPermitted, "Grant the user this privilege, or choose a schema that the user owns."),
        ("23", .constraintViolated, "Check that no other program has changed the tables."),
        ("42P01", .other, "Check that no other program has removed the tables."),
    ]
}

extension Duration {
    /// The duration, formatted like `1.5 s`.
    fileprivate var formattedSeconds: String {
        let tenths = (components.seconds * 10) + components.attoseconds / 100_000_000_000_000_000
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}
#endif
