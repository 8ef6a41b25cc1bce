#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error of a failed file operation: the operation, the path, the system's error, and a remedy.
///
///     do {
///         try await data.asyncWrite(to: url)
///     } catch let error as FileError where error.code == .noSpace {
///         print(error)   // Could not write '/data/song.mp3': No space left on device (ENOSPC). Free some space …
///     }
///
/// A cancelled operation throws `CancellationError`, with one exception: a cancelled write to a pipe, terminal or socket that
/// wrote a part of its bytes throws a `FileError` with code ``Code/cancelled``. Its ``bytesWritten`` is the number of these bytes.
///
/// Comparing and hashing ignore ``cause``.
public struct FileError: Error, Sendable {
    /// The kind of failure.
    public var code: Code

    /// The path, or the name that the caller gave for a descriptor.
    public var subject: String

    /// What happened: one sentence that includes the subject.
    public var message: String

    /// What to do: one sentence, or `nil` if there is no advice.
    public var remedy: String?

    /// The underlying error of another layer.
    public var cause: (any Error)?

    /// The operation as a verb phrase: `open`, `write`, `sync`, `copy '/music/song.mp3' to`. Empty if the error was created with
    /// its own message.
    public let operation: String

    /// The system's error number (errno), or 0 if the error comes from this library (a limit, an invalid URL).
    public let systemError: CInt

    /// The number of bytes that a write had written when it failed.
    public let bytesWritten: Int

    /// Creates an error with the given texts.
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

    /// Creates the error of an operation. The code and the remedy are derived from the error number unless they are given.
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

    package func with(operation: String, path: String) -> FileError {
        var error = FileError(
            code: code, operation: operation, path: path, systemError: systemError, remedy: remedy,
            bytesWritten: bytesWritten)
        error.cause = cause
        return error
    }
}

extension FileError: CustomStringConvertible {
    /// The message and the remedy, in one line.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension FileError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// The message.
    public var failureReason: String? { message }

    /// The remedy.
    public var recoverySuggestion: String? { remedy }
}

extension FileError: Hashable {
    /// Returns whether two errors are equal apart from their causes.
    public static func == (one: FileError, other: FileError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy && one.operation == other.operation && one.systemError == other.systemError
            && one.bytesWritten == other.bytesWritten
    }

    /// Hashes some of the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(remedy)
        hasher.combine(systemError)
    }
}
