#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransferError {
    /// What went wrong, for programs.
    ///
    /// A later version may add codes: a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as in the program.
        public let description: String
        /// What happened, without the full stop.
        let summary: String
        private let usualRemedy: String?
        /// Whether another attempt may succeed.
        let isTransient: Bool

        private init(_ name: String, _ summary: String, _ remedy: String?, isTransient: Bool = false) {
            description = name
            self.summary = summary
            usualRemedy = remedy
            self.isTransient = isTransient
        }

        func remedy(for url: URL) -> String? {
            self == .connectionRefused
                ? "Check that a server listens on port \(url.effectivePort) of the host." : usualRemedy
        }

        /// Whether both are the same code.
        public static func == (one: Code, other: Code) -> Bool { one.description == other.description }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }
    }
}

// MARK: The exchange with the server

extension TransferError.Code {
    /// Not an absolute `http` or `https` URL with a host.
    public static let invalidURL = Self(
        "invalidURL", "This is not a URL that can be fetched", "Give an absolute URL such as https://example.com/file.")
    /// The host's name has no address, or the resolver could not be asked.
    public static let hostNotFound = Self(
        "hostNotFound", "The host was not found",
        "Check the spelling of the host and the network's name service.", isTransient: true)
    /// The host refused the connection: nothing listens on the port.
    public static let connectionRefused = Self(
        "connectionRefused", "The connection was refused", nil, isTransient: true)
    /// The host could not be reached for another reason: no route, no network.
    public static let connectionFailed = Self(
        "connectionFailed", "The host cannot be reached", "Check the network connection.", isTransient: true)
    /// The host did not accept the connection in time.
    public static let connectTimedOut = Self(
        "connectTimedOut", "The host did not answer in time",
        "Check the host and the network, or allow more time to connect.", isTransient: true)
    /// The proxy could not be reached, or did not let the request pass.
    public static let proxyFailed = Self(
        "proxyFailed", "The proxy could not be used", "Check the proxy's address, user name and password.",
        isTransient: true)
    /// TLS failed: a certificate that is not trusted, expired or for another name, or no common protocol.
    public static let tlsFailed = Self(
        "tlsFailed", "The secure connection could not be made",
        "Check the host's certificate and this machine's clock and certificate authorities.")
    /// The connection was open and the server sent nothing for the stall timeout.
    public static let stalled = Self(
        "stalled", "The server stopped sending", "Try again later, or allow a longer stall.", isTransient: true)
    /// The connection was closed or reset before the response was complete.
    public static let connectionClosed = Self(
        "connectionClosed", "The server closed the connection before the response was complete",
        "Try again; if it happens again, the server doesn't send its responses whole.", isTransient: true)
    /// The server does not speak HTTP as RFC 9112 asks.
    public static let protocolViolation = Self(
        "protocolViolation", "The server's answer is not valid HTTP",
        "Check that the port belongs to an HTTP server.")
    /// More redirects than allowed, or a circle of them.
    public static let tooManyRedirects = Self(
        "tooManyRedirects", "There were too many redirects", "Open the URL in a browser to see where it leads.")
    /// A redirect that must not be followed: from https to http, to another scheme, or to no URL at all.
    public static let redirectRefused = Self(
        "redirectRefused", "A redirect was refused", "Fetch the redirect's target yourself if you trust it.")
    /// The transport or the cache has been shut down.
    public static let shutDown = Self("shutDown", "The transport has been shut down", "Open a new transport.")
}

// MARK: The response

extension TransferError.Code {
    /// The server answered with a ``TransferError/status`` that brings no file.
    public static let status = Self("status", "The server answered with an error", "Check the URL and the request.")
    /// The body has fewer bytes than the server announced.
    public static let bodyTooShort = Self(
        "bodyTooShort", "The body is shorter than the server announced", "Try again.", isTransient: true)
    /// The body has more bytes than the server announced.
    public static let bodyTooLong = Self("bodyTooLong", "The body is longer than the server announced", "Try again.")
    /// The body has more bytes than `ResourceCache.Configuration.maximumResponseSize`.
    public static let responseTooLarge = Self(
        "responseTooLarge", "The response is too large",
        "Raise the cache's maximumResponseSize if the resource may be that large.")
    /// The body is coded, with `gzip` for example, although that was not asked for.
    public static let unexpectedCoding = Self(
        "unexpectedCoding", "The server sent a coded body", "Let the server obey 'Accept-Encoding: identity'.")
}

// MARK: The cache and the files

extension TransferError.Code {
    /// The index of a cache could not be opened.
    public static let cacheUnusable = Self(
        "cacheUnusable", "The cache cannot be opened", "Repair or remove the file, or choose another directory.")
    /// A file operation failed; ``TransferError/cause`` is its `FileError`.
    public static let file = Self("file", "The file could not be written", nil)
    /// A file with the target's name exists, and the download may not replace it.
    public static let fileExists = Self(
        "fileExists", "The file exists", "Allow replacing it, skip it, or choose another name or directory.")
    /// The function that gives the header fields of a request failed.
    public static let headerFieldsFailed = Self(
        "headerFieldsFailed", "There are no header fields for the request",
        "See where the program takes its credentials from.")
    /// Another process that shares the queue worked on the download; the message is what it reports.
    public static let failedElsewhere = Self("failedElsewhere", "It failed in another process", nil)
    /// An earlier request of the list writes the same file.
    public static let targetTaken = Self(
        "targetTaken", "Another request of the list writes the same file", "Give one of them another name.")
    /// The queue has an unfinished download of the same file from another URL.
    public static let alreadyQueued = Self(
        "alreadyQueued", "The queue has an unfinished download of the same file from another URL",
        "Finish that one, or use another name or another queue.")
}
