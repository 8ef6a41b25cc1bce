#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A text that is not a URL that can be fetched: what is wrong, and what to write.
///
///     do {
///         _ = try URL(fetchable: text)
///     } catch {
///         print(error)                // "song.mp3" is not a URL: it has no scheme. Write it in full, such as …
///     }
public struct URLRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, for programs.
    ///
    /// A later version may add codes: a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as in the program.
        public let description: String

        private init(_ name: String) { description = name }

        /// The text is empty.
        public static let empty = Self("empty")
        /// There is no scheme in front.
        public static let noScheme = Self("noScheme")
        /// The scheme is not `http` or `https`.
        public static let unsupportedScheme = Self("unsupportedScheme")
        /// There is no host after the scheme.
        public static let noHost = Self("noHost")
        /// The port is not between 1 and 65,535.
        public static let invalidPort = Self("invalidPort")
        /// There are characters, or a structure, that no URL has.
        public static let malformed = Self("malformed")
    }

    /// What is wrong, for programs.
    public var code: Code
    /// The text without what may be secret in it: user name and password, query and fragment.
    public var subject: String
    /// What is wrong: one sentence.
    public var message: String
    /// What to write: one sentence.
    public var remedy: String?

    init(_ code: Code, _ text: String, scheme: String = "") {
        let subject = Self.redacted(text)
        self.code = code
        self.subject = subject
        message =
            switch code {
            case .empty: "The URL is empty."
            case .noScheme: "\"\(subject)\" is not a URL: it has no scheme."
            case .unsupportedScheme: "\"\(subject)\" has the scheme \"\(scheme)\", which is not supported."
            case .noHost: "\"\(subject)\" has no host."
            case .invalidPort: "\"\(subject)\" has a port outside 1 to 65535."
            default: "\"\(subject)\" is not a URL."
            }
        remedy =
            code == .unsupportedScheme
            ? "Use http or https." : "Write it in full, such as https://example.com/file."
    }

    /// One line: the text, what is wrong, and what to write.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }

    private static func redacted(_ text: String) -> String {
        var shown = text
        if let end = shown.firstIndex(where: { $0 == "?" || $0 == "#" }) { shown = shown[..<end] + "…" }
        if let start = shown.firstRange(of: "://")?.upperBound {
            let authority = shown[start...].prefix { $0 != "/" }
            if let at = authority.lastIndex(of: "@") { shown.removeSubrange(start...at) }
        }
        return shown
    }
}

extension URLRefusal: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What is wrong.
    public var failureReason: String? { message }

    /// What to write.
    public var recoverySuggestion: String? { remedy }
}
