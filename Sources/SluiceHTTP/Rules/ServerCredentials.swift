#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// User names and passwords, each with the server that may get it.
///
///     var configuration = HTTPTransport.Configuration()
///     configuration.credentials.set(user: "ann", password: password, for: url)
///     let transport = HTTPTransport(configuration: configuration)
///
/// A transport uses them if the server asks for Digest (RFC 7616) or Basic authentication (RFC 7617). It prefers Digest, which doesn't send
/// the password. So a password is sent only after the server has asked for it, which costs a round trip: with Digest for each request, with
/// Basic for the first request to an origin.
///
/// **Origins.** ``set(user:password:for:)`` binds a password to one origin: scheme, host and port. No redirect takes it elsewhere. The
/// entries of a [netrc file](<doc:ServerCredentials/init(netrc:)>) are bound to a host name, as in other programs.
///
/// **Precedence.** A request with an `Authorization` field, or with a user name in its URL, gets no other credentials. After that, an
/// origin's own password comes before the one in a netrc file.
///
/// **Secrecy.** Descriptions, errors and traces contain neither user names nor passwords.
public struct ServerCredentials: Sendable, Hashable {
    /// A user name and a password.
    package struct Credential: Sendable, Hashable {
        package var user: String
        package var password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        /// Control characters can't be sent in a header field.
        var isUsable: Bool { [user, password].allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } } }
    }

    private var byOrigin: [String: Credential] = [:]
    private var byHost: [String: Credential] = [:]

    /// Creates an empty collection.
    public init() {}

    /// Whether there are no credentials.
    public var isEmpty: Bool { byOrigin.isEmpty && byHost.isEmpty }

    /// Adds a user name and a password for the origin of `url`, and replaces earlier ones.
    ///
    /// If they contain control characters, requests to the origin fail with ``TransferError/Code-swift.struct/invalidCredentials``.
    public mutating func set(user: String, password: String, for url: URL) {
        byOrigin[url.origin] = Credential(user: user, password: password)
    }

    /// Adds credentials from another collection, which replace those for the same origins and hosts.
    public mutating func add(_ others: ServerCredentials) {
        byOrigin.merge(others.byOrigin) { $1 }
        byHost.merge(others.byHost) { $1 }
    }

    /// Returns what to present to the server of `url`, or `nil`.
    package func credential(for url: URL) -> Credential? {
        if isEmpty { return nil }
        return byOrigin[url.origin] ?? byHost[url.canonicalHost]
    }
}

extension ServerCredentials: CustomStringConvertible, CustomReflectable {
    /// The number of servers.
    public var description: String { "credentials for \(byOrigin.count + byHost.count) servers" }

    /// The servers without user names and passwords, for `dump(_:)` and test reports.
    public var customMirror: Mirror {
        Mirror(self, children: ["origins": byOrigin.keys.sorted(), "hosts": byHost.keys.sorted()])
    }
}

extension ServerCredentials.Credential: CustomStringConvertible, CustomReflectable {
    package var description: String { "(left out)" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Netrc files

extension ServerCredentials {
    /// Reads the text of a netrc file, such as `~/.netrc`, which other programs use, too.
    ///
    ///     let text = try String(contentsOf: file, encoding: .utf8)
    ///     configuration.credentials.add(try ServerCredentials(netrc: text))
    ///
    /// ```text
    /// machine files.example login ann password secret
    /// machine 192.0.2.7
    ///   login bob
    ///   password "two words"      # a comment
    /// ```
    ///
    /// An entry holds for all ports of a host, with `http` and `https`. If a host has several entries, the first counts. Quoted words may
    /// contain `\"`, `\\`, `\n`, `\r` and `\t`. Macros (`macdef`) and `account` are skipped.
    ///
    /// The `default` entry is skipped, too: a redirect to any server could fetch its password.
    ///
    /// - Throws: ``InvalidNetrc``, which contains the number of the line but none of its words.
    public init(netrc text: String) throws(InvalidNetrc) {
        var reader = NetrcReader(text)
        try reader.read()
        byHost = reader.found
    }

    /// The error for text that isn't a netrc file.
    public struct InvalidNetrc: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// The number of the line, counted from 1.
        public let line: Int
        /// What is wrong, in one sentence.
        public let message: String

        /// The line's number, the problem and a remedy.
        public var description: String {
            "Line \(line): \(message) Write 'machine HOST login USER password PASSWORD'."
        }

        /// The same text as ``description``.
        public var errorDescription: String? { description }
    }
}

/// Reads the words of a netrc file. See netrc(5).
private struct NetrcReader {
    private enum Entry {
        case none, host(String), unused
    }

    private(set) var found: [String: ServerCredentials.Credential] = [:]
    private let lines: [Substring.UTF8View]
    private var entry = Entry.none
    private var user: String?
    private var password: String?
    /// The keyword whose value is the next word, and its line.
    private var keyword: (name: String, line: Int)?
    private var isMacro = false

    init(_ text: String) {
        lines = text.utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "\n") }
    }

    mutating func read() throws(ServerCredentials.InvalidNetrc) {
        for (index, line) in lines.enumerated() {
            var rest = line[...]
            if rest.last == UInt8(ascii: "\r") { rest = rest.dropLast() }
            // A macro ends at an empty line.
            if isMacro {
                isMacro = !rest.isEmpty
                continue
            }
            while let word = try nextWord(&rest, index + 1) {
                try take(word.text, isQuoted: word.isQuoted, index + 1)
                if isMacro { break }
            }
        }
        if let keyword { throw problem("'\(keyword.name)' has no value.", keyword.line) }
        endEntry()
    }

    private func problem(_ message: String, _ line: Int) -> ServerCredentials.InvalidNetrc {
        ServerCredentials.InvalidNetrc(line: line, message: message)
    }

    private func nextWord(
        _ rest: inout Substring.UTF8View, _ line: Int
    ) throws(ServerCredentials.InvalidNetrc) -> (text: String, isQuoted: Bool)? {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        rest = rest.drop(while: isBlank)
        guard let first = rest.first else { return nil }
        // A password may begin with a number sign.
        if first == UInt8(ascii: "#"), keyword == nil {
            rest = rest.dropFirst(rest.count)
            return nil
        }
        guard first == UInt8(ascii: "\"") else {
            let word = rest.prefix { !isBlank($0) }
            rest = rest.dropFirst(word.count)
            return (String(Substring(word)), false)
        }
        rest = rest.dropFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return (String(decoding: bytes, as: UTF8.self), true) }
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch next {
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            default: bytes.append(next)
            }
        }
        throw problem("A quoted word has no end.", line)
    }

    private mutating func take(_ word: String, isQuoted: Bool, _ line: Int) throws(ServerCredentials.InvalidNetrc) {
        if let keyword {
            self.keyword = nil
            return setValue(word, of: keyword.name)
        }
        switch isQuoted ? "" : word {
        case "machine":
            endEntry()
            keyword = (word, line)
        case "default":
            endEntry()
            entry = .unused
        case "macdef": isMacro = true
        case "login", "password", "account":
            if case .none = entry { throw problem("'\(word)' comes before the first 'machine'.", line) }
            keyword = (word, line)
        default: throw problem("A word isn't 'machine', 'login', 'password', 'account', 'default' or 'macdef'.", line)
        }
    }

    private mutating func setValue(_ value: String, of keyword: String) {
        switch keyword {
        case "machine": entry = .host(HostName.canonical(value))
        case "login": user = value
        case "password": password = value
        default: break
        }
    }

    private mutating func endEntry() {
        if case .host(let host) = entry, found[host] == nil, user != nil || password != nil {
            found[host] = .init(user: user ?? "", password: password ?? "")
        }
        (entry, user, password) = (.none, nil, nil)
    }
}
