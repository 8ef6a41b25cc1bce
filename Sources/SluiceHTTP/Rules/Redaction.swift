#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
package import HTTPTypes

/// Removes secrets from text that a library, another program or a server wrote, before it becomes part of a message.
///
///     let redaction = Redaction(of: request, proxy: "http://ann:secret@proxy.example:x")
///     redaction.redacted("Unsupported proxy syntax in 'http://ann:secret@proxy.example:x'")
///     // Unsupported proxy syntax in 'http://proxy.example:x'
///
/// All such text goes through it: ``TransferError/init(_:url:detail:remedy:cause:)`` applies it to the detail, and an engine adds what only
/// the engine knows, such as the proxy's password. This matters because messages are stored in queues, and written to logs, traces and
/// JSON.
///
/// - Each URL in the text loses its user name, password, query and fragment. The URL of a PostgreSQL database keeps its user name, which is
///   not a token there, and its fragment, which names a queue.
/// - Each given secret is replaced by `…`, in any letter case, whether it is plain, percent-encoded, or in Base64 with its user name as in
///   Basic authentication (RFC 7617).
/// - Each value in a query with at least four bytes is a secret, too. So is a fragment of that length.
/// - A secret of fewer than eight bytes is replaced only where it isn't part of a longer word. Otherwise, the user name `cert` would damage
///   the word "certificate", and the gap would give it away. A secret of fewer than three bytes is replaced only together with the rest of
///   the user name and password, because a user `a` or a cookie `1` would leave gaps everywhere.
package struct Redaction: Sendable {
    /// Secrets of at least this length are found within longer words, too.
    private static let longSecret = 8

    /// Shorter secrets aren't searched for on their own.
    private static let shortestSecret = 3

    /// The maximum number of query values to search for one by one.
    private static let mostValues = 64
    private static let shortestValue = 4

    /// In lowercase, longest first.
    private var secrets: [[UInt8]] = []

    /// Creates a redaction for texts about a URL. If there are no secrets, only URLs in a text are redacted.
    package init(url: URL? = nil, secrets: [String] = []) {
        var found = Set<String>()
        for secret in secrets { Self.add(secret, to: &found) }
        if let url { Self.add(url, to: &found) }
        setSecrets(found)
    }

    /// Creates a redaction for texts about a request that is sent through a proxy, or directly if `proxy` is empty. The proxy needn't be a
    /// valid URL.
    package init(of request: TransportRequest, proxy: String = "") {
        var found = Set<String>()
        Self.add(request.url, to: &found)
        for field in request.headerFields where field.mayBeSecretInRequest { Self.add(field, to: &found) }
        if let credential = request.credential { Self.add(credential, to: &found) }
        if let (user, password) = Self.credentials(ofProxy: proxy) { Self.add(user, password, to: &found) }
        setSecrets(found)
    }

    private mutating func setSecrets(_ found: Set<String>) {
        secrets = found.filter { $0.utf8.count >= Self.shortestSecret }.map { $0.utf8.map(Self.lowercased) }.sorted {
            $0.count > $1.count
        }
    }

    // MARK: The secrets

    private static func add(_ secret: String, to found: inout Set<String>) {
        let decoded = secret.percentDecodedBytes ?? Array(secret.utf8)
        found.formUnion([secret, String(decoding: decoded, as: UTF8.self), percentEncoded(decoded)])
    }

    private static func add(_ user: String, _ password: String, to found: inout Set<String>) {
        add(user, to: &found)
        add(password, to: &found)
        if !password.isEmpty { add("\(user):\(password)", to: &found) }
        let (name, word) = (user.percentDecodedBytes, password.percentDecodedBytes)
        let pair = (name ?? Array(user.utf8)) + [UInt8(ascii: ":")] + (word ?? Array(password.utf8))
        found.insert(Data(pair).base64EncodedString())
    }

    /// These aren't percent-encoded, so `add(_:_:to:)` may not decode them.
    private static func add(_ credential: ServerCredentials.Credential, to found: inout Set<String>) {
        let (user, password) = (credential.user, credential.password)
        for secret in [user, password, password.isEmpty ? "" : "\(user):\(password)"] {
            found.formUnion([secret, percentEncoded(Array(secret.utf8))])
        }
        found.insert(Data("\(user):\(password)".utf8).base64EncodedString())
    }

    private static func add(_ url: URL, to found: inout Set<String>) {
        if let user = url.user(percentEncoded: true) {
            add(user, url.password(percentEncoded: true) ?? "", to: &found)
        }
        if let query = url.query(percentEncoded: true) {
            add(query, to: &found)
            // An item without `=` may be a token.
            let values = query.split(separator: "&").map { item in
                item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).last ?? item
            }
            // A server may redirect to a URL with any number of values. A signature is long; `30` isn't one.
            let longest = values.sorted { $0.utf8.count > $1.utf8.count }.prefix(mostValues)
            for value in longest where value.utf8.count >= shortestValue {
                add(String(value), to: &found)
                if value.contains("+") { add(String(value).replacing("+", with: "%20"), to: &found) }
            }
        }
        if let fragment = url.fragment(percentEncoded: true), fragment.utf8.count >= shortestValue {
            add(fragment, to: &found)
        }
    }

    private static func add(_ field: HTTPField, to found: inout Set<String>) {
        add(field.value, to: &found)
        if field.name == .cookie || field.name == .setCookie {
            for pair in field.value.split(separator: ";") {
                guard let equals = pair.firstIndex(of: "=") else { continue }
                add(String(pair[pair.index(after: equals)...]), to: &found)
            }
            return
        }
        // After the name of a scheme, such as `Bearer`.
        guard let space = field.value.firstIndex(of: " ") else { return }
        let token = String(field.value[field.value.index(after: space)...])
        add(token, to: &found)
        guard field.value[..<space].lowercased() == "basic", let bytes = Data(base64Encoded: token) else { return }
        let pair = String(decoding: bytes, as: UTF8.self)
        let parts = pair.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        for part in [pair] + parts { add(part, to: &found) }
    }

    /// Returns what comes before the last `@`. It needn't be part of a valid URL.
    private static func credentials(ofProxy proxy: String) -> (user: String, password: String)? {
        let rest = proxy.firstRange(of: "://").map { proxy[$0.upperBound...].utf8 } ?? proxy[...].utf8
        // By bytes, as libcurl reads it, because an `@` with a combining mark is a different character.
        guard let at = rest.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let parts = rest[..<at].split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        return (parts.first ?? "", parts.count > 1 ? parts[1] : "")
    }

    private static func percentEncoded(_ bytes: [UInt8]) -> String {
        bytes.reduce(into: "") { text, byte in
            let scalar = Unicode.Scalar(byte)
            if isWord(byte) && byte < 0x80 || "-._~".unicodeScalars.contains(scalar) {
                text.unicodeScalars.append(scalar)
            } else {
                text += "%\([byte].hexadecimal)"
            }
        }
    }

    // MARK: The text

    /// Returns the text without secrets. Takes time proportional to the length of the text and the number of secrets.
    package func redacted(_ text: String) -> String {
        // Secrets first, because they may contain characters that end a part of a URL.
        String(decoding: Self.withoutSecretsOfURLs(withoutSecrets(Array(text.utf8))), as: UTF8.self)
    }

    private func withoutSecrets(_ text: [UInt8]) -> [UInt8] {
        if secrets.isEmpty { return text }
        let lowercased = text.map(Self.lowercased)
        var shown: [UInt8] = []
        var index = 0
        while index < text.count {
            if let secret = secrets.first(where: { Self.occurs($0, in: lowercased, at: index) }) {
                shown += "…".utf8
                index += secret.count
            } else {
                shown.append(text[index])
                index += 1
            }
        }
        return shown
    }

    private static func occurs(_ secret: [UInt8], in text: [UInt8], at start: Int) -> Bool {
        guard text[start] == secret[0], text[start...].starts(with: secret) else { return false }
        if secret.count >= longSecret { return true }
        let end = start + secret.count
        if end < text.count, isWord(text[end]) { return false }
        // The letters in a percent-encoded character aren't part of a word.
        let followsCode = start >= 3 && text[start - 3] == UInt8(ascii: "%")
        return start == 0 || !isWord(text[start - 1]) || followsCode
    }

    private static func withoutSecretsOfURLs(_ text: [UInt8]) -> [UInt8] {
        let mark = Array("://".utf8)
        var shown: [UInt8] = []
        var index = 0
        while index < text.count {
            guard text[index] == mark[0], text[index...].starts(with: mark) else {
                shown.append(text[index])
                index += 1
                continue
            }
            let start = index + mark.count
            var end = text[start...].firstIndex { $0 <= 0x20 || $0 == 0x7F || "'\"<>`".utf8.contains($0) } ?? text.count
            while end > start, ".,:;)]".utf8.contains(text[end - 1]) { end -= 1 }
            let authority = text[start..<end].prefix { !"/?#".utf8.contains($0) }
            var host = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? start
            if host == start, !isHost(authority), let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) {
                // The password contains a `/`, `?` or `#`.
                host = at + 1
            }
            let path = text[host..<end].prefix { !"?#".utf8.contains($0) }
            let isDatabase = isSchemeOfDatabase(text[..<index]) && !text[host..<end].contains(UInt8(ascii: "@"))
            shown += mark
            if isDatabase, host > start {
                shown += text[start..<host - 1].prefix { $0 != UInt8(ascii: ":") } + "@".utf8
            }
            shown += path
            if path.endIndex < end, text[path.endIndex] == UInt8(ascii: "?") { shown += "?…".utf8 }
            if isDatabase, let fragment = text[path.endIndex..<end].firstIndex(of: UInt8(ascii: "#")) {
                shown += text[fragment..<end]
            }
            index = end
        }
        return shown
    }

    /// Whether text without an `@` is a host with or without a port, rather than a user name and the beginning of a password.
    private static func isHost(_ authority: ArraySlice<UInt8>) -> Bool {
        guard authority.first != UInt8(ascii: "["), let colon = authority.firstIndex(of: UInt8(ascii: ":")) else {
            return true
        }
        return authority[(colon + 1)...].allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isSchemeOfDatabase(_ textBefore: ArraySlice<UInt8>) -> Bool {
        ["postgres", "postgresql"].contains { scheme in
            let start = textBefore.endIndex - scheme.utf8.count
            return start >= textBefore.startIndex && textBefore[start...].map(lowercased).elementsEqual(scheme.utf8)
                && (start == textBefore.startIndex || !isWord(textBefore[start - 1]))
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch lowercased(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: true
        default: false
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension URL {
    /// The URL as text without its user name, password, query and fragment, which may contain secrets.
    public var redactedForDisplay: String {
        let parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        let hadQuery = parts?.percentEncodedQuery?.isEmpty == false
        return (textWithoutSecrets ?? "(unreadable URL)") + (hadQuery ? "?…" : "")
    }

    /// The URL without its user name, password, query and fragment, as another program can read it; `nil` if it has no such text.
    package var textWithoutSecrets: String? {
        var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        parts?.query = nil
        parts?.fragment = nil
        return parts?.string
    }
}

extension HTTPField {
    /// Parts of field names that mark the value as a secret.
    private static let wordsOfSecrets = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]

    /// Whether the field's name says that its value is a secret (`Authorization`, `Set-Cookie`, `X-Api-Key`).
    package var isSecret: Bool {
        let name = name.canonicalName
        // A server's challenge isn't a secret (RFC 9110, section 11.6.1).
        if name == "www-authenticate" || name == "proxy-authenticate" { return false }
        return Self.wordsOfSecrets.contains(where: name.contains)
    }

    /// The fields of a request whose values are never secrets. A user may put a secret in any other field.
    private static let harmlessInRequests: Set = [
        "accept", "accept-encoding", "accept-language", "cache-control", "content-length", "content-type", "host",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "range",
        "referer",
        "user-agent",
    ]

    /// Whether the value may be a secret in a request: unlike in a response, any field may contain one, unless its name says otherwise.
    package var mayBeSecretInRequest: Bool { !Self.harmlessInRequests.contains(name.canonicalName) }

    /// The value in a request, without secrets, for messages.
    package var redactedInRequest: String { mayBeSecretInRequest ? "(left out)" : redactedForDisplay }

    /// The value without secrets, for messages. URLs in the value lose their user name, password, query and fragment.
    package var redactedForDisplay: String {
        if isSecret { return "(left out)" }
        switch name.canonicalName {
        case "location", "content-location", "referer":
            return URL(string: value)?.redactedForDisplay ?? "(unreadable URL)"
        case "link", "refresh":
            // For relative URLs, too. By bytes, because a `?` with a combining mark is a different character.
            guard let end = value.utf8.firstIndex(where: { "?#".utf8.contains($0) }) else {
                return Redaction().redacted(value)
            }
            return Redaction().redacted(String(decoding: value.utf8[..<end], as: UTF8.self) + "?…")
        default: return Redaction().redacted(value)
        }
    }
}
