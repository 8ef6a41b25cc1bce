#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An exchange that could not be carried out: what failed, for which URL, and what to do about it.
///
/// Its description is one line for a person. The URL's user name, password, query and fragment stay out of it: they may
/// hold secrets.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, as far as a program cares.
    public enum Code: Sendable, Hashable, CaseIterable {
        /// Not an absolute `http` or `https` URL with a host.
        case invalidURL
        /// The host's name has no address, or the resolver could not be asked.
        case hostNotFound
        /// The host refused the connection: nothing listens on the port.
        case connectionRefused
        /// The host could not be reached for another reason: no route, no network.
        case connectionFailed
        /// The host did not accept the connection in time.
        case connectTimedOut
        /// The proxy could not be reached, or did not let the request pass.
        case proxyFailed
        /// TLS failed: a certificate that is not trusted, expired or for another name, or no common protocol.
        case tlsFailed
        /// The connection was open and the server sent nothing for the stall timeout.
        case stalled
        /// The connection was closed or reset before the response was complete.
        case connectionClosed
        /// The server does not speak HTTP as RFC 9112 asks.
        case protocolViolation
        /// More redirects than allowed, or a circle of them.
        case tooManyRedirects
        /// A redirect that must not be followed: from https to http, to another scheme, or to no URL at all.
        case redirectRefused
        /// The transport has been shut down.
        case shutDown
    }

    /// What went wrong.
    public var code: Code
    /// The URL that was asked for.
    public var url: URL
    /// What the layer below said, in its words.
    public var cause: String?
    /// What to do about it.
    public var remedy: String

    /// An error with the usual remedy for its code.
    public init(_ code: Code, url: URL, cause: String? = nil, remedy: String? = nil) {
        self.code = code
        self.url = url
        self.cause = cause
        self.remedy = remedy ?? Self.remedy(for: code, url: url)
    }

    /// One line: the URL, what failed, and what to do.
    public var description: String {
        let reason = cause.map { " (\($0))" } ?? ""
        return "\(url.redactedForDisplay): \(Self.summary(of: code))\(reason); \(remedy)"
    }

    static func summary(of code: Code) -> String {
        switch code {
        case .invalidURL: "not a URL that can be fetched"
        case .hostNotFound: "the host was not found"
        case .connectionRefused: "the connection was refused"
        case .connectionFailed: "the host cannot be reached"
        case .connectTimedOut: "the host did not answer in time"
        case .proxyFailed: "the proxy could not be used"
        case .tlsFailed: "the secure connection could not be made"
        case .stalled: "the server stopped sending"
        case .connectionClosed: "the server closed the connection before the response was complete"
        case .protocolViolation: "the server's answer is not valid HTTP"
        case .tooManyRedirects: "too many redirects"
        case .redirectRefused: "a redirect was refused"
        case .shutDown: "the transport has been shut down"
        }
    }

    static func remedy(for code: Code, url: URL) -> String {
        switch code {
        case .invalidURL: "give an absolute URL such as https://example.com/file"
        case .hostNotFound: "check the spelling of the host and the network's name service"
        case .connectionRefused: "check that a server listens on port \(url.effectivePort) of the host"
        case .connectionFailed: "check the network connection"
        case .connectTimedOut: "check the host and the network, or allow more time to connect"
        case .proxyFailed: "check the proxy's address, user name and password"
        case .tlsFailed: "check the host's certificate and this machine's clock and certificate authorities"
        case .stalled: "try again later, or allow a longer stall"
        case .connectionClosed: "try again; if it goes on, the server cuts its responses short"
        case .protocolViolation: "check that the port belongs to an HTTP server"
        case .tooManyRedirects: "open the URL in a browser to see where it leads"
        case .redirectRefused: "fetch the redirect's target yourself if you trust it"
        case .shutDown: "open a new transport"
        }
    }
}
