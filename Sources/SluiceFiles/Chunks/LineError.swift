#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A text that could not be cut into lines: which line, where it begins, and why.
///
///     do {
///         for try await line in url.chunks().lines() { … }
///     } catch let error as LineError where error.code == .tooLong {
///         print(error)   // line 7 (at byte 4096) is too long. It has more than 1048576 bytes: raise `limit`, or …
///     }
public struct LineError: Error, Sendable, Hashable {
    /// The kinds of failure. More may be added: switch with a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String

        /// The line has more bytes than the caller's `limit`.
        public static let tooLong = Code(description: "is too long")
        /// The line's bytes are not UTF-8.
        public static let invalidUTF8 = Code(description: "is not UTF-8")
    }

    /// What kind of failure it is, for programs.
    public var code: Code

    /// The number of the line, from 1.
    public var line: Int

    /// The place of the line's first byte in the text, from 0.
    public var offset: Int64

    /// What to do: one sentence.
    public var remedy: String

    /// Makes an error.
    public init(code: Code, line: Int, offset: Int64, remedy: String) {
        self.code = code
        self.line = line
        self.offset = offset
        self.remedy = remedy
    }
}

extension LineError: CustomStringConvertible {
    /// One line: which line, what is wrong with it, what to do.
    public var description: String { "\(message) \(remedy)" }

    /// What it is about: the line and its place.
    public var subject: String { "line \(line) (at byte \(offset))" }

    /// What happened: one sentence.
    public var message: String { "\(subject) \(code)." }
}

extension LineError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What happened.
    public var failureReason: String? { message }

    /// What to do.
    public var recoverySuggestion: String? { remedy }
}
