#if !canImport(Darwin) || os(macOS)
import CSluiceHTTP
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The cookies of one user: servers set them, and requests send them back (RFC 6265).
///
///     let text = String(decoding: try await Data(asyncContentsOf: file), as: UTF8.self)
///     let jar = try CookieJar(netscape: text)
///     let transport = HTTPTransport(configuration: .init(cookies: jar))
///     // … requests …
///     try await Data(jar.netscapeText.utf8).asyncWrite(to: file, options: .init(permissions: 0o600))
///
/// A cookie goes only to the servers that its domain, path and `Secure` attribute allow, also after a redirect. All requests with a jar share
/// its cookies, even if they run concurrently, in several transports. Give each user a jar of their own.
///
/// **Public suffixes.** A server can't set a cookie for all servers below `com` or `co.uk`. libcurl knows the list of such suffixes
/// if it was built with libpsl (``knowsPublicSuffixes``), as on Debian and Fedora. Otherwise, it refuses only names without a dot, such as
/// `com`: a server below `co.uk` could then set a cookie for the others. A cookie file can name any domain; the cookies of a domain without
/// a dot are sent only to the host with that name.
///
/// **Limits** are those of libcurl: a cookie has at most 4 KiB, a response sets at most 50, and a request sends at most 150. Larger or further
/// cookies are ignored.
///
/// **Secrecy.** Descriptions, errors and traces contain no cookies. Only ``netscapeText`` does.
///
/// With URLSession, a request with a jar fails.
public final class CookieJar: Sendable {
    #if !canImport(Darwin) || os(macOS)
    /// libcurl's cookies. It locks them itself.
    nonisolated(unsafe) let storage: OpaquePointer
    #else
    private let lines: [String]
    #endif

    /// Creates an empty jar.
    public convenience init() { self.init(lines: []) }

    /// Creates a jar with the cookies of a file in the Netscape format, which curl and browser extensions also write.
    ///
    /// Each line is a cookie, in seven fields separated by tabs: the domain, whether the cookie also goes to hosts below it (`TRUE` or
    /// `FALSE`), the path, whether it is only for `https`, the time at which it expires in seconds since 1970 (0 for the end of the session),
    /// the name and the value. Empty lines are skipped, and lines that begin with `#`, unless they begin with `#HttpOnly_`. Cookies that
    /// have expired are dropped.
    ///
    /// - Throws: ``InvalidCookies``, which contains the number of the line but nothing of its text.
    public convenience init(netscape text: String) throws(InvalidCookies) {
        self.init(lines: try Self.lines(of: text))
    }

    #if !canImport(Darwin) || os(macOS)
    private init(lines: [String]) {
        guard let storage = csluice_cookies_create() else {
            preconditionFailure(
                "libcurl couldn't create a store for cookies, because memory is short or it has no cookies.")
        }
        self.storage = storage
        if lines.isEmpty { return }
        var texts = lines.map { UnsafePointer(strdup($0)!) }
        defer { for text in texts { free(UnsafeMutableRawPointer(mutating: text)) } }
        _ = csluice_cookies_add(storage, &texts, texts.count)
    }

    deinit { csluice_cookies_free(storage) }
    #else
    private init(lines: [String]) { self.lines = lines }
    #endif

    /// The cookies as text that ``init(netscape:)`` reads, with those of the session. It contains secrets: store it so that only its owner
    /// can read it.
    public var netscapeText: String {
        "# Netscape HTTP Cookie File\n" + unexpiredLines.sorted().map { $0 + "\n" }.joined()
    }

    /// The number of cookies that haven't expired.
    public var count: Int { unexpiredLines.count }

    /// libcurl drops expired cookies only when it sends a request.
    private var unexpiredLines: [String] {
        allLines.filter { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            return fields.count < 5 || !Self.isExpired(fields[4])
        }
    }

    #if !canImport(Darwin) || os(macOS)
    /// Whether the list of public suffixes is known, so that a server can't set a cookie for all servers below `co.uk`.
    public static var knowsPublicSuffixes: Bool { csluice_cookies_know_suffixes() }

    private var allLines: [String] {
        let list = csluice_cookies_list(storage)
        defer { curl_slist_free_all(list) }
        var lines: [String] = []
        var next = list
        while let item = next?.pointee {
            if let line = String(validatingCString: item.data) { lines.append(line) }
            next = item.next
        }
        return lines
    }
    #else
    /// Whether the list of public suffixes is known, so that a server can't set a cookie for all servers below `co.uk`.
    public static var knowsPublicSuffixes: Bool { false }

    private var allLines: [String] { lines }
    #endif
}

extension CookieJar: CustomStringConvertible, CustomReflectable {
    /// The number of cookies.
    public var description: String { "\(count) \(count == 1 ? "cookie" : "cookies")" }

    /// The number of cookies, for `dump(_:)` and test reports.
    public var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}

// MARK: - Cookie files

extension CookieJar {
    /// The error for text that isn't a cookie file in the Netscape format.
    public struct InvalidCookies: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// The number of the line, counted from 1.
        public let line: Int
        /// What is wrong, in one sentence.
        public let message: String

        /// The line's number, the problem and a remedy.
        public var description: String {
            "Line \(line): \(message) Use a cookie file in the Netscape format, with seven fields separated by tabs in each line."
        }

        /// The same text as ``description``.
        public var errorDescription: String? { description }
    }

    /// What libcurl writes before the domain of a cookie that scripts can't read.
    private static let httpOnly = "#HttpOnly_"

    /// The longest line that libcurl reads from a file.
    private static let longestLine = 5000

    /// Whether the time in a cookie's fifth field has passed. 0 means the end of the session.
    private static func isExpired(_ time: some StringProtocol) -> Bool {
        guard let time = Int64(time), time > 0 else { return false }
        return Double(time) < Date().timeIntervalSince1970
    }

    /// Returns the lines with cookies. libcurl parses them, but takes some other texts for commands, such as `ALL`.
    private static func lines(of text: String) throws(InvalidCookies) -> [String] {
        var lines: [String] = []
        var number = 0
        for part in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let bytes = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
            let isCookie = bytes.first != UInt8(ascii: "#") || bytes.starts(with: httpOnly.utf8)
            guard isCookie, bytes.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else {
                continue
            }
            guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }) else {
                throw InvalidCookies(line: number, message: "It has a control character.")
            }
            // libcurl writes no last field for an empty value.
            var fields = bytes.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
                String(Substring($0))
            }
            let prefix = fields[0].hasPrefix(httpOnly) ? httpOnly : ""
            let dot = UInt8(ascii: ".")
            let domain = fields[0].utf8.dropFirst(prefix.utf8.count).drop { $0 == dot }
            // A domain with a # would be written as a comment, or as another cookie.
            guard (6...7).contains(fields.count), !fields.prefix(6).contains(""),
                let first = domain.first, first != UInt8(ascii: "#")
            else {
                throw InvalidCookies(line: number, message: "It isn't a cookie.")
            }
            // Of several dots at the beginning, libcurl would remove one each time that it reads the cookie.
            if fields[0].hasPrefix(prefix + "..") { fields[0] = "\(prefix).\(Substring(domain))" }
            guard fields[4].isDigits else {
                throw InvalidCookies(line: number, message: "The time at which the cookie expires isn't a number.")
            }
            guard bytes.count <= longestLine else {
                throw InvalidCookies(line: number, message: "It has more than \(longestLine) bytes.")
            }
            if isExpired(fields[4]) { continue }
            // The cookies of `com` would go to all servers below it.
            if !domain.contains(dot) { fields[1] = "FALSE" }
            lines.append(fields.joined(separator: "\t"))
        }
        return lines
    }
}
