public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error that a failed request or transfer throws.
///
///     do {
///         cover = try await cache.data(for: url)
///     } catch let error as TransferError where error.status == .notFound {
///         cover = placeholder
///     } catch {
///         show(error.localizedDescription)            // what happened, and what to do
///     }
///
/// ``HTTPTransport``, `ResourceCache` and `DownloadCoordinator` throw this error. Its ``code`` is for programs, its ``description`` for
/// users. Its texts omit the user name, password, query and fragment of a URL, which may be secrets. Only ``url`` contains them.
public struct TransferError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    public var code: Code
    /// The URL without user name, password, query and fragment, which may be secrets.
    public var subject: String
    /// What happened, in one sentence.
    public var message: String
    /// What to do, in one sentence.
    public var remedy: String?
    /// The underlying error, such as the `FileError` of ``Code-swift.struct/file``.
    public var cause: (any Error)?
    /// The URL that was requested. It may contain secrets.
    public var url: URL
    /// The status of the response, if the code is ``Code-swift.struct/status``.
    public var status: HTTPResponse.Status?
    /// The number of attempts, including the first.
    public var attempts = 1
    /// The delay that the server asked for with `Retry-After`.
    public var retryAfter: Duration?
    /// The number of bytes that a failed download has received and kept for the next attempt.
    package var keptBytes: Int64 = 0

    /// Creates an error with the message and the remedy of its code, unless `remedy` is given.
    ///
    /// The message contains `detail`, such as the text of the underlying error, in parentheses. Secrets of `url`, and of other URLs in the
    /// detail, are removed. The detail must not contain other secrets. It is truncated to 500 bytes, because a server may have written it.
    public init(_ code: Code, url: URL, detail: String? = nil, remedy: String? = nil, cause: (any Error)? = nil) {
        let detail = detail.map { " (\(Self.shortened(Redaction(url: url).redacted($0))))" } ?? ""
        self.init(code, url: url, message: "\(code.summary)\(detail).", remedy: remedy, cause: cause)
    }

    /// Messages are kept in queues and logs.
    private static let longestDetail = 500

    private static func shortened(_ detail: String) -> String {
        guard detail.utf8.count > longestDetail else { return detail }
        var size = 0
        let scalars = detail.unicodeScalars.prefix { scalar in
            size += UTF8.width(scalar)
            return size <= longestDetail
        }
        return "\(Substring(scalars))…"
    }

    /// Creates an error for a response whose status means that it contains no file.
    ///
    /// The message contains the standard phrase for the status. The server's phrase could be anything, even a secret from the request, and
    /// clients should ignore it (RFC 9112, section 4).
    public init(status: HTTPResponse.Status, url: URL) {
        let phrase = Self.knownStatuses.first { $0.code == status.code }.map { " \($0.reasonPhrase)" } ?? ""
        self.init(
            .status, url: url, message: "The server answered \(status.code)\(phrase).", remedy: Self.remedy(for: status)
        )
        self.status = status
    }

    /// Creates an error with the given message. If `remedy` is `nil`, the error has the remedy of its code.
    package init(_ code: Code, url: URL, message: String, remedy: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.url = url
        self.message = message
        self.remedy = remedy ?? code.remedy(for: url)
        self.cause = cause
        subject = url.redactedForDisplay
    }

    package static func length(announced: Int64, received: Int64, url: URL) -> TransferError {
        TransferError(
            received < announced ? .bodyTooShort : .bodyTooLong, url: url,
            message: "The server announced \(announced) bytes and sent \(received).",
            remedy: "Try again, and report it to the server's operator if it happens again.")
    }

    /// Whether another attempt may succeed. See ``RetryPolicy``.
    ///
    /// An untrusted certificate, a refused redirect or an invalid HTTP response isn't transient. A host that wasn't found is, because the
    /// system's resolver doesn't say whether the name is wrong or no name server responded.
    public var isTransient: Bool {
        status.map(RetryPolicy.isTransient) ?? code.isTransient
    }

    /// The URL, what happened and what to do, on one line.
    public var description: String {
        let place = subject.isEmpty ? "" : "\(subject): "
        let tries = attempts > 1 ? " There were \(attempts) attempts." : ""
        return "\(place)\(message)\(tries)\(remedy.map { " \($0)" } ?? "")"
    }

    /// With their standard phrases (RFC 9110, section 15; RFC 6585).
    private static let knownStatuses: [HTTPResponse.Status] = [
        .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent, .resetContent, .partialContent,
        .multipleChoices, .movedPermanently, .found, .seeOther, .notModified, .temporaryRedirect, .permanentRedirect,
        .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .notAcceptable,
        .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone, .lengthRequired, .preconditionFailed,
        .contentTooLarge, .uriTooLong, .unsupportedMediaType, .rangeNotSatisfiable, .expectationFailed,
        .misdirectedRequest, .unprocessableContent, .tooEarly, .upgradeRequired, .preconditionRequired,
        .tooManyRequests, .requestHeaderFieldsTooLarge, .unavailableForLegalReasons, .internalServerError,
        .notImplemented, .badGateway, .serviceUnavailable, .gatewayTimeout, .httpVersionNotSupported,
        .networkAuthenticationRequired,
    ]

    private static func remedy(for status: HTTPResponse.Status) -> String {
        switch status.code {
        case 401, 407: "Provide credentials that the server accepts."
        case 403: "Check that you have permission to fetch the URL."
        case 404, 410: "Check the URL."
        case 408, 425, 429, 503: "Try again later, with fewer concurrent requests."
        case 500..<600: "Try again later, because the server has a problem."
        case 300..<400: "Check the URL, because the response has no redirect that can be followed."
        case 200..<300: "Check the URL, because the response contains no file."
        default: "Check the URL and the request."
        }
    }
}

extension TransferError: CustomReflectable {
    /// All properties but ``url``, which may contain secrets, for `dump(_:)` and test reports.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "code": code, "subject": subject, "message": message, "remedy": remedy as Any, "cause": cause as Any,
                "status": status as Any, "attempts": attempts, "retryAfter": retryAfter as Any,
            ])
    }
}

extension TransferError: LocalizedError {
    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The same text as ``message``.
    public var failureReason: String? { message }

    /// The same text as ``remedy``.
    public var recoverySuggestion: String? { remedy }
}

extension TransferError: Hashable {
    /// Returns whether all properties except ``cause`` are equal.
    public static func == (one: TransferError, other: TransferError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy && one.url == other.url && one.status == other.status
            && one.attempts == other.attempts && one.retryAfter == other.retryAfter
    }

    /// Hashes some of the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(url)
        hasher.combine(attempts)
    }
}

// MARK: - Codes

extension TransferError {
    /// The kinds of failure. Each module adds its own, and later versions may add more, so a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind's static member, such as `stalled`.
        public let description: String
        /// What happened, without the final period.
        let summary: String
        private let usualRemedy: String?
        let isTransient: Bool

        /// Creates a kind of failure. Each module declares the kinds that only it throws.
        package init(_ name: String, _ summary: String, _ remedy: String?, isTransient: Bool = false) {
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
    /// The host refused the connection: no process is listening on the port.
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
        "proxyFailed", "Couldn't use the proxy", "Check the proxy's address, user name and password.",
        isTransient: true)
    /// The TLS handshake failed: the certificate isn't trusted, has expired or is for a different name, or there is no common protocol.
    public static let tlsFailed = Self(
        "tlsFailed", "Couldn't establish a secure connection",
        "Check the host's certificate and this machine's clock and certificate authorities.")
    /// The user name or the password for the server contains control characters.
    public static let invalidCredentials = Self(
        "invalidCredentials", "The user name or the password for the server can't be sent",
        "Remove the control characters, such as line breaks.")
    /// The server sent nothing for the duration of the stall timeout, although the connection was open.
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
    /// The server responded with a ``TransferError/status`` that means the response contains no file.
    public static let status = Self("status", "The server answered with an error", "Check the URL and the request.")
    /// The body has fewer bytes than the server announced.
    public static let bodyTooShort = Self(
        "bodyTooShort", "The body is shorter than the server announced", "Try again.", isTransient: true)
    /// The body has more bytes than the server announced.
    public static let bodyTooLong = Self(
        "bodyTooLong", "The body is longer than the server announced",
        "Report the wrong Content-Length to the server's operator.")
    /// The body is encoded, with `gzip` for example, although the request asked for `identity`.
    public static let unexpectedCoding = Self(
        "unexpectedCoding", "The server sent an encoded body",
        "Configure the server to honor 'Accept-Encoding: identity'.")
}

// MARK: The files

extension TransferError.Code {
    /// A file operation failed; ``TransferError/cause`` is its `FileError`.
    public static let file = Self("file", "A file couldn't be read or written", nil)
}
