#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// The URL that a person typed, if it can be fetched: absolute, `http` or `https`, with a host.
    ///
    ///     let url = try URL(fetchable: "https://example.com/song.mp3")
    ///
    /// Spaces around it are dropped. Characters that a URL cannot hold are percent-encoded, except controls, which are
    /// refused.
    ///
    /// - Throws: ``URLRefusal``, which says what is wrong with the text and what to do.
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

    /// Whether the port, if there is one, is one that a connection can be made to.
    var hasUsablePort: Bool {
        port.map { (1...65535).contains($0) } ?? true
    }

    /// Whether the authority ends in a colon and digits. (A number that is too large for an `Int` is no port to URL.)
    private static func namesPort(_ text: String) -> Bool {
        guard let start = text.firstRange(of: "://")?.upperBound else { return false }
        let authority = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let colon = authority.lastIndex(of: ":") else { return false }
        return authority[authority.index(after: colon)...].isDigits
    }

    /// The part before the first colon, in lower case, where that part is a scheme (RFC 3986, section 3.1).
    private static func scheme(of text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon]
        // `localhost:8080/x` is a host and a port to the person who typed it, not the scheme `localhost`.
        let afterColon = text[text.utf8.index(after: colon)...]
        guard afterColon.utf8.first == UInt8(ascii: "/") || !(afterColon.first?.isNumber ?? false) else { return nil }
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ byte in
                isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
            })
        else { return nil }
        return scheme.lowercased()
    }

    /// What is asked for: the URL without its fragment; nil if it is not an `http` or `https` URL with a host and a usable port.
    var addressForTransport: String? {
        let text = absoluteString
        if PlainURL(text) != nil { return text }
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https",
            host(percentEncoded: false)?.isEmpty == false, hasUsablePort
        else { return nil }
        return String(text.prefix { $0 != "#" })
    }

    /// The port that a connection to this URL uses.
    var effectivePort: Int {
        port ?? (scheme?.lowercased() == "https" ? 443 : 80)
    }

    /// Scheme, host in lower case and port: who may see a request's secrets (RFC 6454).
    var origin: String {
        "\(scheme?.lowercased() ?? "")://\(host(percentEncoded: false)?.lowercased() ?? ""):\(effectivePort)"
    }

    /// The URL as messages may show it: without user name, password, query and fragment, which may hold secrets.
    public var redactedForDisplay: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(unreadable URL)" }
        let hadQuery = parts.percentEncodedQuery?.isEmpty == false
        parts.user = nil
        parts.password = nil
        parts.query = nil
        parts.fragment = nil
        return (parts.string ?? "(unreadable URL)") + (hadQuery ? "?…" : "")
    }
}
