#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A file operation that failed: what was tried, on which path, what the system said, and what to do.
///
///     do {
///         try await data.asyncWrite(to: url)
///     } catch let error as FileError where error.code == .noSpace {
///         print(error)   // Could not write '/data/song.mp3': No space left on device (ENOSPC). Free some space …
///     }
///
/// A cancelled operation throws `CancellationError`, with one exception: a cancelled write to a pipe, terminal or socket that
/// wrote a part of its bytes throws a `FileError` with ``Code/cancelled``, whose ``bytesWritten`` says how many.
///
/// Two errors are equal if they say the same. What caused them isn't compared.
public struct FileError: Error, Sendable {
    /// What went wrong, for programs.
    public var code: Code

    /// What it is about: the path, or the name given for a descriptor.
    public var subject: String

    /// What happened: one sentence, which names the subject.
    public var message: String

    /// What to do: one sentence, where that is known.
    public var remedy: String?

    /// The error of another layer that led to this one.
    public var cause: (any Error)?

    /// What was tried, as a verb: `open`, `write`, `sync`, `rename to '/music/song.mp3'`. Empty for an error with a message of
    /// its own.
    public let operation: String

    /// The system's error number (errno), or 0 if the failure is this library's own (a limit, a bad URL).
    public let systemError: CInt

    /// The number of bytes that a failed write had written before it failed.
    public let bytesWritten: Int

    /// Creates an error with texts of its own.
    ///
    ///     throw FileError(.locked, subject: url.path, message: "Another player has the list open.", remedy: "Close it.")
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - subject: What it is about, such as a path.
    ///   - message: What happened: one sentence.
    ///   - remedy: What to do: one sentence.
    ///   - cause: The error of another layer.
    public init(
        _ code: Code, subject: String, message: String, remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.subject = subject
        self.message = message
        self.remedy = remedy
        self.cause = cause
        operation = ""
        systemError = 0
        bytesWritten = 0
    }

    /// Creates the error of an operation. Code and remedy come from the error number unless they are given.
    package init(
        code: Code? = nil, operation: String, path: String, systemError: CInt = 0, remedy: String? = nil,
        bytesWritten: Int = 0
    ) {
        let known = ErrorNumber.table[systemError]
        let code = code ?? known?.code ?? .other
        let reason = systemError == 0 ? code.description : ErrorNumber.text(of: systemError)
        let progress = bytesWritten > 0 ? " after \(bytesWritten) bytes" : ""
        self.code = code
        self.operation = operation
        self.systemError = systemError
        self.bytesWritten = bytesWritten
        self.remedy = remedy ?? known?.remedy
        subject = path
        message = "Could not \(operation) '\(path)': \(reason)\(progress)."
    }

    /// The same failure of another operation, or about another path.
    package func with(operation: String, path: String) -> FileError {
        var error = FileError(
            code: code, operation: operation, path: path, systemError: systemError, remedy: remedy,
            bytesWritten: bytesWritten)
        error.cause = cause
        return error
    }
}

extension FileError: CustomStringConvertible {
    /// One line: what happened, and what to do.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension FileError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What happened.
    public var failureReason: String? { message }

    /// What to do.
    public var recoverySuggestion: String? { remedy }
}

extension FileError: Hashable {
    /// Whether both say the same. What caused them isn't compared.
    public static func == (one: FileError, other: FileError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy && one.operation == other.operation && one.systemError == other.systemError
            && one.bytesWritten == other.bytesWritten
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(remedy)
        hasher.combine(systemError)
    }
}
