#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import SluiceDatabase

/// A queue that could not be read or written: what happened, and what to do. No part of the operation was carried out.
///
///     do {
///         try await downloads.enqueue(songs)
///     } catch let error as QueueStoreError where error.code == .busy {
///         …                                                       // another process holds the database
///     }
///
/// Two errors are equal if they say the same. What caused them is not compared.
public struct QueueStoreError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    ///
    /// A later version may add codes: a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as in the program.
        public let description: String

        private init(_ name: String) { description = name }

        /// Another process held the database for too long.
        public static let busy = Self("busy")
        /// The disk is full.
        public static let full = Self("full")
        /// The file is damaged, is no database, or is one of another kind.
        public static let unusable = Self("unusable")
        /// A newer program has changed its tables.
        public static let newerVersion = Self("newerVersion")
        /// It cannot be opened or written.
        public static let notWritable = Self("notWritable")
        /// The queue has been closed.
        public static let closed = Self("closed")
        /// A request has header fields, which a queue that outlives the process does not store.
        public static let headerFieldsNotStored = Self("headerFieldsNotStored")
        /// A request's URL has a password, which a queue that outlives the process does not store.
        public static let passwordNotStored = Self("passwordNotStored")
        /// The job was removed from the queue.
        public static let removed = Self("removed")
        /// Another failure; see the message.
        public static let other = Self("other")
    }

    /// What went wrong, for programs.
    public var code: Code
    /// What it is about: the path of the database, or the URL of a request without its secrets.
    public var subject: String
    /// What happened: one sentence.
    public var message: String
    /// What to do: one sentence.
    public var remedy: String?
    /// The error of the layer below.
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

    static func closed(_ subject: String) -> QueueStoreError {
        QueueStoreError(
            .closed, subject: subject, message: "The queue has been closed.", remedy: "Make a new coordinator.")
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

    /// One line: what it is about, what happened, and what to do.
    public var description: String { "\(subject): \(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension QueueStoreError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What happened.
    public var failureReason: String? { message }

    /// What to do.
    public var recoverySuggestion: String? { remedy }
}

extension QueueStoreError: Hashable {
    /// Whether both say the same. What caused them is not compared.
    public static func == (one: QueueStoreError, other: QueueStoreError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(subject)
        hasher.combine(message)
    }
}
