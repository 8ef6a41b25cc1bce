#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An error about a line of a text. See `AsyncSequence.lines(endingWith:invalidUTF8:maximumLength:)`.
///
///     do {
///         for try await line in url.chunks().lines() { … }
///     } catch let error as LineError where error.code == .tooLong {
///         print(error)   // Line 7 (at byte 4096) is too long. Raise maximumLength, which is 1048576 bytes, or …
///     }
public struct LineError: Error, Sendable, Hashable {
    /// The kinds of failure. Kinds may be added: switch with a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The predicate of the message, such as "is too long".
        public let description: String

        /// The line has more bytes than the caller's `maximumLength`.
        public static let tooLong = Code(description: "is too long")
        /// The bytes of the line aren't valid UTF-8.
        public static let invalidUTF8 = Code(description: "isn't UTF-8")
    }

    /// The kind of failure.
    public var code: Code

    /// The number of the line, from 1.
    public var line: Int

    /// The offset of the line's first byte in the text, starting at 0.
    public var offset: Int64

    /// What to do, as one sentence.
    public var remedy: String

    /// Creates an error.
    public init(code: Code, line: Int, offset: Int64, remedy: String) {
        self.code = code
        self.line = line
        self.offset = offset
        self.remedy = remedy
    }
}

extension LineError: CustomStringConvertible {
    /// The message and the remedy.
    public var description: String { "\(message) \(remedy)" }

    /// The line and its offset.
    public var subject: String { "Line \(line) (at byte \(offset))" }

    /// What happened, as one sentence.
    public var message: String { "\(subject) \(code)." }
}

extension LineError: LocalizedError {
    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The message.
    public var failureReason: String? { message }

    /// The remedy.
    public var recoverySuggestion: String? { remedy }
}
