#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// Creates a URL from text that a user typed, if it is an absolute `http` or `https` URL with a host.
    ///
    /// Surrounding spaces are removed. Characters that aren't allowed in a URL are percent-encoded, except control characters, which
    /// are refused.
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
