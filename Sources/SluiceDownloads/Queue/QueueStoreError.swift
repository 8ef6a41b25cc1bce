#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import SluiceDatabase
import SluiceHTTP

/// An error from reading or writing a queue. No part of the failed operation has taken effect, unless the code is ``Code/unavailable``.
///
///     do {
///         try await downloads.enqueue(songs)
///     } catch let error as QueueStoreError where error.code == .busy {
///         …                                                       // another process holds the database
///     }
public struct QueueStoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of error, for programs.
    ///
    /// Later versions may add codes, so a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name in Swift.
        public let description: String

        private init(_ name: String) { description = name }

        /// Another process held the database for too long.
        public static let busy = Self("busy")
        /// The disk is full.
        public static let full = Self("full")
        /// The file is damaged, isn't a database, or is a different kind of database; or the URL doesn't name a database.
        public static let unusable = Self("unusable")
        /// A newer version of the program has changed the tables.
        public static let newerVersion = Self("newerVersion")
        /// The file can't be opened or written, or the server doesn't allow this user to change the queue.
        public static let notWritable = Self("notWritable")
        /// The server can't be reached, or accepts no changes right now, for example during a failover. If the connection was lost during a
        /// commit, the operation may have taken effect.
        public static let unavailable = Self("unavailable")
        /// The queue has been closed.
        public static let closed = Self("closed")
        /// A request has header fields, which a queue that outlives the process doesn't store.
        public static let headerFieldsNotStored = Self("headerFieldsNotStored")
        /// The URL of a request has a password, which a queue that outlives the process doesn't store.
        public static let passwordNotStored = Self("passwordNotStored")
        /// The name of a user or a batch is too long for a queue that outlives the process, or contains a NUL character.
        public static let nameNotStored = Self("nameNotStored")
        /// The download was removed from the queue.
        public static let removed = Self("removed")
        /// The queue no longer has all events after a cursor.
        public static let eventsRemoved = Self("eventsRemoved")
        /// Another failure; see the message.
        public static let other = Self("other")
    }

    /// The kind of error, for programs.
    public var code: Code
    /// The path or the URL of the database, or the URL of a request, without secrets.
    public var subject: String
    /// What happened, in one sentence.
    public var message: String
    /// What to do, in one sentence.
    public var remedy: String?
    /// The underlying error.
    public var cause: (any Error)?

    package init(
        _ code: Code, subject: String, message: String, remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.subject = subject
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// Whether the operation may succeed later.
    var isOutage: Bool { code == .unavailable || code == .busy }

    package static func closed(_ subject: String) -> QueueStoreError {
        QueueStoreError(
            .closed, subject: subject, message: "The queue has been closed.", remedy: "Create a new coordinator.")
    }

    package static func eventsRemoved(after number: Int64, _ subject: String) -> QueueStoreError {
        QueueStoreError(
            .eventsRemoved, subject: subject, message: "The queue no longer has all events after \(number).",
            remedy: "Take a snapshot, and continue after its cursor.")
    }

    /// Throws if a request contains a secret, for queues that outlive the process.
    package static func refuseSecrets(in requests: [DownloadRequest]) throws(QueueStoreError) {
        for request in requests where !request.headerFields.isEmpty {
            throw QueueStoreError(
                .headerFieldsNotStored, subject: request.url.redactedForDisplay,
                message:
                    "A queue that outlives the process doesn't store header fields, because they can contain secrets.",
                remedy: "Return them from the coordinator's headerFields, which is called before each attempt.")
        }
        for request in requests where request.url.password(percentEncoded: false) != nil {
            throw QueueStoreError(
                .passwordNotStored, subject: request.url.redactedForDisplay,
                message: "The URL has a password, and a queue that outlives the process doesn't store passwords.",
                remedy: "Remove the password and return an Authorization field from the coordinator's headerFields, "
                    + "or keep the queue in memory.")
        }
    }

    /// The longest name of a user, a batch or a host in a queue that outlives the process, in UTF-8 bytes. PostgreSQL's indexes have
    /// entries of at most 2.7 kB, and one entry has up to three names.
    package static let longestName = 500

    /// Throws if the name of a user or a batch can't be stored. All queues that outlive the process accept the same names.
    package static func refuseNames(
        of requests: [DownloadRequest], _ members: some Sequence<(user: String?, batch: String?)>
    ) throws(QueueStoreError) {
        for member in members {
            for (what, name) in [("user", member.user), ("batch", member.batch)] {
                guard let name, name.utf8.count > longestName || name.utf8.contains(0) else { continue }
                throw QueueStoreError(
                    .nameNotStored, subject: requests.first?.url.redactedForDisplay ?? "queue",
                    message: "The name of a \(what) has \(name.utf8.count) bytes or contains a NUL character.",
                    remedy: "Use a name of at most \(longestName) bytes, for example a digest of the long name.")
            }
        }
    }

    init(_ failure: DatabaseFailure) {
        let code: Code =
            switch failure.code {
            case .busy: .busy
            case .full: .full
            case .corrupt, .foreign: .unusable
            case .newerVersion: .newerVersion
            case .cannotOpen, .readOnly, .inputOutput: .notWritable
            case .closed: .closed
            case .other: .other
            }
        self.init(
            code, subject: failure.path, message: failure.message, remedy: failure.remedy, cause: failure)
    }

    /// The subject, what happened, and what to do, in one line.
    public var description: String { "\(subject): \(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension QueueStoreError: LocalizedError {
    /// The same as ``description``.
    public var errorDescription: String? { description }

    /// What happened.
    public var failureReason: String? { message }

    /// What to do.
    public var recoverySuggestion: String? { remedy }
}

extension QueueStoreError: Hashable {
    /// Whether two errors have the same code, subject, message and remedy. Their causes aren't compared.
    public static func == (one: QueueStoreError, other: QueueStoreError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy
    }

    /// Hashes the code, the subject and the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(subject)
        hasher.combine(message)
    }
}
