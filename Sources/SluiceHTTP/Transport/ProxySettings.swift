#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The proxies that a transport uses, by the scheme of the URL.
///
///     var configuration = HTTPTransport.Configuration()
///     configuration.proxy = ProxySettings("socks5h://127.0.0.1:1080")
///
/// A proxy is a URL with the scheme `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, and a user name and password if the proxy
/// requires them. With `socks4a` and `socks5h`, the proxy looks up host names. A URL without a scheme means an `http` proxy.
public struct ProxySettings: Sendable, Hashable {
    /// The proxy for `http` URLs, or `nil` for none.
    public var http: String?
    /// The proxy for `https` URLs, or `nil` for none.
    public var https: String?
    /// The hosts that are contacted without a proxy: names (with their subdomains) and addresses, separated by commas; `*` for all hosts.
    public var exceptions: String

    /// Creates settings with one proxy for all URLs except those whose host is in `exceptions`.
    public init(_ proxy: String, exceptions: String = "") {
        (http, https, self.exceptions) = (proxy, proxy, exceptions)
    }

    /// No proxy.
    public static let none = ProxySettings(variables: [:])

    /// The proxies from the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
    ///
    /// The names may be in uppercase, except `HTTP_PROXY`: in a CGI program, that variable contains the request's `Proxy` field
    /// (httpoxy.org).
    public static var environment: ProxySettings { ProxySettings(variables: ProcessInfo.processInfo.environment) }

    init(variables: [String: String]) {
        func value(_ names: String...) -> String? {
            names.lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
        }
        let all = value("all_proxy", "ALL_PROXY")
        http = value("http_proxy") ?? all
        https = value("https_proxy", "HTTPS_PROXY") ?? all
        exceptions = value("no_proxy", "NO_PROXY") ?? ""
    }

    /// Returns the proxy for a URL, or `nil` for none. libcurl checks the exceptions again, and also supports address ranges
    /// (CURLOPT_NOPROXY(3)).
    func proxy(for url: URL) -> String? {
        if http == nil, https == nil { return nil }
        guard let proxy = url.scheme?.lowercased() == "https" ? https : http, !proxy.isEmpty else { return nil }
        let host = url.canonicalHost
        let isException = exceptions.split { $0 == "," || $0 == " " }.contains { exception in
            let name = HostName.canonical(String(exception.drop { $0 == "." }))
            return exception == "*" || host == name || host.hasSuffix(".\(name)")
        }
        return isException ? nil : proxy
    }

    // MARK: Invalid proxies

    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    package static let remedy =
        "Write a URL such as http://proxy.example:8080, with % codes for special characters in the user name and password."

    /// Returns what is wrong with a proxy's URL, without quoting it, or `nil` if libcurl can use it. Empty text means no proxy.
    package static func problem(of proxy: String) -> String? {
        if proxy.isEmpty { return nil }
        // libcurl reads bytes: an `@` with a combining mark is an `@`.
        if proxy.contains(where: { $0.unicodeScalars.count > 1 }) { return encodingProblem }
        var rest = proxy[...]
        if let mark = proxy.firstRange(of: "://") {
            guard schemes.contains(proxy[..<mark.lowerBound].lowercased()) else {
                return "the scheme isn't one of \(schemes.joined(separator: ", "))"
            }
            rest = proxy[mark.upperBound...]
        }
        var authority = rest.prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") {
            // libcurl ignores a proxy whose credentials contain a control character, even an encoded one.
            let decoded = authority[..<at].percentDecodedBytes ?? []
            guard !authority[..<at].contains("@"), authority[..<at].utf8.allSatisfy(isVisible),
                decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return encodingProblem }
            authority = authority[authority.index(after: at)...]
        }
        // A slash in a password ends the authority too early.
        if rest[authority.endIndex...].contains("@") { return encodingProblem }
        var host = authority
        var port: Substring?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return hostProblem }
            let tail = host[host.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { return hostProblem }
            port = tail.isEmpty ? nil : tail.dropFirst()
            host = host[..<end].dropFirst()
        } else if let colon = host.lastIndex(of: ":") {
            port = host[host.index(after: colon)...]
            host = host[..<colon]
            if host.contains(":") { return hostProblem }
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ isVisible($0) && !"[]{}\\$'\"^`*<>=;,!@".utf8.contains($0) }) else {
            return hostProblem
        }
        // Without a number, the scheme's port is used.
        if let port, !port.isEmpty {
            guard port.isDigits, let number = Int(port), (1...65535).contains(number) else {
                return "the port isn't from 1 to 65535"
            }
        }
        return nil
    }

    private static let hostProblem = "the host isn't valid"
    private static let encodingProblem = "the user name or password has a character that must be percent-encoded"

    private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7F }
}

extension ProxySettings: CustomStringConvertible, CustomReflectable {
    /// The proxies without their user names and passwords, and the exceptions.
    public var description: String {
        "http: \(Self.shown(http)), https: \(Self.shown(https)), exceptions: \(exceptions.isEmpty ? "none" : exceptions)"
    }

    /// The parts of the description, so that `dump(_:)` and test reports contain no password.
    public var customMirror: Mirror {
        Mirror(self, children: ["http": Self.shown(http), "https": Self.shown(https), "exceptions": exceptions])
    }

    private static func shown(_ proxy: String?) -> String {
        guard let proxy, !proxy.isEmpty else { return "none" }
        // If the text isn't a URL, any part of it may be the password.
        guard problem(of: proxy) == nil else { return "…" }
        let scheme = proxy.firstRange(of: "://").map { proxy[..<$0.upperBound] } ?? ""
        let rest = proxy.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let host = rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
        return "\(scheme)\(host)"
    }
}
