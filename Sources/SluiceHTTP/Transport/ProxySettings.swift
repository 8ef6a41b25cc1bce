#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which proxy a transport asks for which URL.
///
///     var configuration = HTTPTransport.Configuration()
///     configuration.proxy = ProxySettings("socks5h://127.0.0.1:1080")
///
/// A proxy is a URL: `http://`, `https://`, `socks4://`, `socks4a://`, `socks5://` and `socks5h://` (the proxy looks up names), with
/// user name and password if it asks for them. Without a scheme it is `http://`.
public struct ProxySettings: Sendable, Hashable {
    /// The proxy of `http` URLs; nil for none.
    public var http: String?
    /// The proxy of `https` URLs; nil for none.
    public var https: String?
    /// The hosts that are asked without a proxy: names, which include their subdomains, and addresses, separated by commas; `*` for all.
    public var exceptions: String

    /// One proxy for all URLs but those of `exceptions`.
    public init(_ proxy: String, exceptions: String = "") {
        (http, https, self.exceptions) = (proxy, proxy, exceptions)
    }

    /// No proxy at all.
    public static let none = ProxySettings(variables: [:])

    /// The proxies of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
    ///
    /// The names may be in capital letters, but for `HTTP_PROXY`: a CGI program gets a field of the request under that name (httpoxy.org).
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

    /// The proxy to ask for a URL; nil for none.
    ///
    /// libcurl looks at the exceptions too, and knows ranges of addresses among them (CURLOPT_NOPROXY(3)).
    func proxy(for url: URL) -> String? {
        if http == nil, https == nil { return nil }
        guard let proxy = url.scheme?.lowercased() == "https" ? https : http, !proxy.isEmpty else { return nil }
        let host = url.host(percentEncoded: false)?.lowercased() ?? ""
        let isException = exceptions.lowercased().split { $0 == "," || $0 == " " }.contains { exception in
            let name = exception.drop { $0 == "." }
            return exception == "*" || host == name || host.hasSuffix(".\(name)")
        }
        return isException ? nil : proxy
    }
}
