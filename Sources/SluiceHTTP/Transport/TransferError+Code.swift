#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransferError {
    /// The kinds of failure. Kinds may be added: switch with a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind's static member, such as `stalled`.
        public let description: String
        /// What happened, without the period at the end.
        let summary: String
        private let usualRemedy: String?
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

        /// Returns whether both codes have the same name.
        public static func == (one: Code, other: Code) -> Bool { one.description == other.description }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }
    }
}

// MARK: The exchange with the server

extension TransferError.Code {
    /// The URL isn't an absolute `http` or `https` URL with a host.
    public static let invalidURL = Self(
        "invalidURL", "The URL can't be fetched", "Use an absolute URL, such as https://example.com/file.")
    /// The host name has no address, or the resolver couldn't be reached.
    public static let hostNotFound = Self(
        "hostNotFound", "The host wasn't found",
        "Check the spelling of the host name and the network's DNS settings.", isTransient: true)
    /// The host refused the connection: no process listens on the port.
    public static let connectionRefused = Self(
        "connectionRefused", "The connection was refused", nil, isTransient: true)
    /// The host couldn't be reached for another reason, such as a missing route or network.
    public static let connectionFailed = Self(
        "connectionFailed", "The host can't be reached", "Check the network connection.", isTransient: true)
    /// The host didn't accept the connection in time.
    public static let connectTimedOut = Self(
        "connectTimedOut", "The host didn't answer in time",
        "Check the host and the network, or allow more time to connect.", isTransient: true)
    /// The proxy couldn't be reached, or refused the request.
    public static let proxyFailed = Self(
        "proxyFailed", "The proxy could not be used", "Check the proxy's address, user name and password.",
        isTransient: true)
    /// The TLS handshake failed: the certificate isn't trusted, has expired or is for another name, or there is no common protocol.
    public static let tlsFailed = Self(
        "tlsFailed", "The secure connection could not be made",
        "Check the host's certificate and this machine's clock and certificate authorities.")
    /// The server sent nothing for the stall timeout although the connection was open.
    public static let stalled = Self(
        "stalled", "The server stopped sending", "Try again later, or allow a longer stall timeout.", isTransient: true)
    /// The connection was closed or reset before the response was complete.
    public static let connectionClosed = Self(
        "connectionClosed", "The server closed the connection before the response was complete",
        "Try again, and report it to the server's operator if it happens again.", isTransient: true)
    /// The response isn't valid HTTP (RFC 9112).
    public static let protocolViolation = Self(
        "protocolViolation", "The server's response isn't valid HTTP",
        "Check that the port belongs to an HTTP server.")
    /// There were more redirects than allowed, for example because they form a loop.
    public static let tooManyRedirects = Self(
        "tooManyRedirects", "There were too many redirects", "Open the URL in a browser to see where it leads.")
    /// A redirect isn't allowed: from `https` to `http`, to another scheme, or to something that isn't a URL.
    public static let redirectRefused = Self(
        "redirectRefused", "A redirect was refused", "Fetch the redirect's target yourself if you trust it.")
    /// The transport or the cache has been shut down.
    public static let shutDown = Self("shutDown", "The transport has been shut down", "Create a new transport.")
}

// MARK: The response

extension TransferError.Code {
    /// The server answered with a ``TransferError/status`` that means that the response contains no file.
    public static let status = Self("status", "The server answered with an error", "Check the URL and the request.")
    /// The body has fewer bytes than the server announced.
    public static let bodyTooShort = Self(
        "bodyTooShort", "The body is shorter than the server announced", "Try again.", isTransient: true)
    /// The body has more bytes than the server announced.
    public static let bodyTooLong = Self(
        "bodyTooLong", "The body is longer than the server announced",
        "Report the wrong Content-Length to the server's operator.")
    /// The body has more bytes than `ResourceCache.Configuration.maximumResponseSize`.
    public static let responseTooLarge = Self(
        "responseTooLarge", "The response is too large",
        "Raise the cache's maximumResponseSize if the resource may be that large.")
    /// The body isn't what was asked for, for example an HTML page instead of an image.
    public static let unexpectedContent = Self(
        "unexpectedContent", "The response isn't what was asked for", "Open the URL in a browser to see what it is.")
    /// The body is encoded, with `gzip` for example, although the request asked for `identity`.
    public static let unexpectedCoding = Self(
        "unexpectedCoding", "The server sent an encoded body",
        "Configure the server to honor 'Accept-Encoding: identity'.")
}

// MARK: The cache and the files

extension TransferError.Code {
    /// The index of a cache couldn't be opened.
    public static let cacheUnusable = Self(
        "cacheUnusable", "The cache can't be opened", "Repair or remove the file, or choose another directory.")
    /// A file operation failed; ``TransferError/cause`` is its `FileError`.
    public static let file = Self("file", "The file could not be written", nil)
    /// A file with the target's name exists, and the download isn't allowed to replace it.
    public static let fileExists = Self(
        "fileExists", "The file exists", "Replace it, skip it, or choose another name or directory.")
    /// The closure that provides the header fields of a request threw an error.
    public static let headerFieldsFailed = Self(
        "headerFieldsFailed", "The header fields for the request could not be obtained",
        "Check the source of the request's credentials.")
    /// The closure that resolves an identifier to a URL threw an error.
    public static let resolutionFailed = Self(
        "resolutionFailed", "The URL of the download could not be obtained", "Check the source of the URLs.")
    /// The download failed in another process that shares the queue; the message is that process's report.
    public static let failedElsewhere = Self("failedElsewhere", "The download failed in another process", nil)
    /// An earlier request in the list writes the same file.
    public static let targetTaken = Self(
        "targetTaken", "Another request in the list writes the same file", "Give one of the requests another name.")
    /// The file's name is one that downloads use for their partial files.
    public static let nameReserved = Self(
        "nameReserved", "The file's name is reserved for partial files", "Choose another name.")
    /// The queue has an unfinished download of the same file from another URL.
    public static let alreadyQueued = Self(
        "alreadyQueued", "The queue has an unfinished download of the same file from another URL",
        "Wait until that download ends, or use another name or another queue.")
}
