#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// Creates a URL from text that a user typed, if it is an absolute `http` or `https` URL with a host.
    ///
    /// Surrounding spaces are removed. Characters that aren't allowed in a URL are percent-encoded, except control characters, which are
    /// rejected.
    ///
    /// - Throws: ``URLRefusal``, which describes the problem and a remedy.
    public init(fetchable text: String) throws(URLRefusal) {
        if PlainURL(text) != nil, let url = URL(string: text) {
            self = url
            return
        }
        let text = text.trimmingSpaces()
        guard !text.isEmpty else { throw URLRefusal(.empty, text) }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw URLRefusal(.malformed, text)
        }
        guard let scheme = Self.scheme(of: text) else { throw URLRefusal(.noScheme, text) }
        guard scheme == "http" || scheme == "https" else { throw URLRefusal(.unsupportedScheme, text, scheme: scheme) }
        guard let url = URL(string: text) else { throw URLRefusal(.malformed, text) }
        guard let host = url.host(percentEncoded: false), !host.isEmpty else {
            throw URLRefusal(.noHost, text)
        }
        guard url.hasUsablePort, url.port != nil || !Self.namesPort(text) else {
            throw URLRefusal(.invalidPort, text)
        }
        self = url
    }

    var hasUsablePort: Bool {
        port.map { (1...65535).contains($0) } ?? true
    }

    /// Returns whether the authority ends in a colon and digits. Foundation's `port` is `nil` if the number doesn't fit into an `Int`.
    private static func namesPort(_ text: String) -> Bool {
        guard let start = text.firstRange(of: "://")?.upperBound else { return false }
        let authority = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let colon = authority.lastIndex(of: ":") else { return false }
        return authority[authority.index(after: colon)...].isDigits
    }

    /// Returns the part before the first colon, in lowercase, or `nil` if that part isn't a scheme (RFC 3986, section 3.1).
    private static func scheme(of text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon]
        // A user who types `localhost:8080/x` means a host and a port, not the scheme `localhost`.
        let afterColon = text[text.utf8.index(after: colon)...]
        guard afterColon.utf8.first == UInt8(ascii: "/") || !(afterColon.first?.isNumber ?? false) else { return nil }
        // Nor is `ann:password@host/x` a URL with the scheme `ann`.
        guard afterColon.hasPrefix("//") || scheme.lowercased() == "mailto" || !afterColon.contains("@") else {
            return nil
        }
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ byte in
                isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
            })
        else { return nil }
        return scheme.lowercased()
    }

    /// The URL to request, without its fragment; `nil` if it isn't an `http` or `https` URL with a host and a usable port.
    var addressForTransport: String? {
        let text = absoluteString
        if PlainURL(text) != nil { return text }
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https",
            host(percentEncoded: false)?.isEmpty == false, hasUsablePort
        else { return nil }
        return String(text.prefix { $0 != "#" })
    }
}

// MARK: - The error

/// The error that `URL(fetchable:)` throws if the text isn't a URL that can be fetched.
///
///     do {
///         _ = try URL(fetchable: text)
///     } catch {
///         print(error)                // "song.mp3" is not a URL: it has no scheme. Write the full URL, such as …
///     }
public struct URLRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problem. Later versions may add kinds, so a `switch` needs a `default`.
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

    /// Returns the text without anything that may be a user name, a password, a query or a fragment. The text isn't a URL, so a password
    /// may contain characters that would end it in a URL. If there is an `@` elsewhere, only the scheme is shown.
    private static func redacted(_ text: String) -> String {
        // An `@` with a combining mark is a different character.
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
