#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error of `URL(fetchable:)` for text that isn't a URL that can be fetched.
///
///     do {
///         _ = try URL(fetchable: text)
///     } catch {
///         print(error)                // "song.mp3" is not a URL: it has no scheme. Write the full URL, such as …
///     }
public struct URLRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problem. Kinds may be added: switch with a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind's static member, such as `noScheme`.
        public let description: String

        private init(_ name: String) { description = name }

        /// The text is empty.
        public static let empty = Self("empty")
        /// The text has no scheme.
        public static let noScheme = Self("noScheme")
        /// The scheme isn't `http` or `https`.
        public static let unsupportedScheme = Self("unsupportedScheme")
        /// The URL has no host.
        public static let noHost = Self("noHost")
        /// The port isn't between 1 and 65535.
        public static let invalidPort = Self("invalidPort")
        /// The text contains control characters, or isn't a URL for another reason.
        public static let malformed = Self("malformed")
    }

    /// What went wrong, for programs.
    public var code: Code
    /// The text without its user name, password, query and fragment, which may be secrets.
    public var subject: String
    /// What is wrong, in one sentence.
    public var message: String
    /// What to write instead, in one sentence.
    public var remedy: String?

    init(_ code: Code, _ text: String, scheme: String = "") {
        let subject = Self.redacted(text)
        self.code = code
        self.subject = subject
        message =
            switch code {
            case .empty: "The URL is empty."
            case .noScheme: "'\(subject)' isn't a URL, because it has no scheme."
            case .unsupportedScheme: "'\(subject)' has the scheme '\(scheme)', which isn't supported."
            case .noHost: "'\(subject)' has no host."
            case .invalidPort: "'\(subject)' has a port that isn't from 1 to 65535."
            default: "'\(subject)' isn't a URL."
            }
        remedy =
            code == .unsupportedScheme
            ? "Use http or https." : "Write the full URL, such as https://example.com/file."
    }

    /// What is wrong and what to write instead, on one line.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }

    /// Returns the text without what may be a user name, a password, a query or a fragment. The text is no URL, so a password may contain
    /// what ends it in a URL: if there is an `@` elsewhere, only the scheme is shown.
    private static func redacted(_ text: String) -> String {
        // An `@` with a combining mark is another character.
        if text.contains(where: { $0.unicodeScalars.first == "@" && $0 != "@" }) { return "…" }
        var rest = text[...]
        if let mark = text.firstRange(of: "://"), !text[..<mark.lowerBound].contains(where: { "/?#@:".contains($0) }) {
            rest = text[mark.upperBound...]
        } else if text.hasPrefix("//") {
            rest = text.dropFirst(2)
        }
        let scheme = String(text[..<rest.startIndex])
        let head = rest.prefix { $0 != "?" && $0 != "#" }
        let end = head.endIndex < rest.endIndex ? "…" : ""
        if text.lowercased().hasPrefix("mailto:") { return head + end }
        let authority = head.prefix { $0 != "/" }
        if rest[authority.endIndex...].contains("@") { return scheme + "…" }
        let host = authority.lastIndex(of: "@").map { head.index(after: $0) } ?? head.startIndex
        return scheme + head[host...] + end
    }
}

extension URLRefusal: LocalizedError {
    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The same text as ``message``.
    public var failureReason: String? { message }

    /// The same text as ``remedy``.
    public var recoverySuggestion: String? { remedy }
}
