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
/// A proxy is a URL with the scheme `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, and with a user name and a password if
/// the proxy requires them. With `socks4a` and `socks5h`, the proxy looks up host names. Without a scheme, the proxy is an `http` proxy.
public struct ProxySettings: Sendable, Hashable {
    /// The proxy of `http` URLs, or `nil` for none.
    public var http: String?
    /// The proxy of `https` URLs, or `nil` for none.
    public var https: String?
    /// The hosts that are contacted without a proxy: names (with their subdomains) and addresses, separated by commas; `*` for all hosts.
    public var exceptions: String

    /// Creates settings with one proxy for all URLs except those whose host is in `exceptions`.
    public init(_ proxy: String, exceptions: String = "") {
        (http, https, self.exceptions) = (proxy, proxy, exceptions)
    }

    /// No proxy.
    public static let none = ProxySettings(variables: [:])

    /// The proxies of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
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

    /// Returns the proxy for a URL, or `nil` for none. libcurl checks the exceptions again, and also supports address ranges in them
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
}
