#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

/// The error of a request or a transfer that failed.
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
    /// The delay that the server's `Retry-After` field requests.
    public var retryAfter: Duration?

    /// Creates an error with the message and the remedy of its code, unless `remedy` is given.
    ///
    /// The message contains `detail`, such as the text of the underlying error, in parentheses. The secrets of `url` are removed from it,
    /// and those of other URLs in it. It must contain no others. Of a text of more than 500 bytes, which a server may have written, only the
    /// beginning is kept.
    public init(_ code: Code, url: URL, detail: String? = nil, remedy: String? = nil, cause: (any Error)? = nil) {
        let detail = detail.map { " (\(Self.shortened(Redaction(url: url).redacted($0))))" } ?? ""
        self.init(code, url: url, message: "\(code.summary)\(detail).", remedy: remedy, cause: cause)
    }

    /// The messages are kept in queues and in logs.
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
    /// The message contains the usual phrase of the status. The server's phrase may be anything, even a secret of the request, and clients
    /// should ignore it (RFC 9112, section 4).
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
    /// An untrusted certificate, a refused redirect or an invalid HTTP response isn't transient. A host that wasn't found is: the system's
    /// resolver doesn't report whether the name is wrong or no name server answered.
    public var isTransient: Bool {
        status.map(RetryPolicy.isTransient) ?? code.isTransient
    }

    /// The URL, what happened and what to do, on one line.
    public var description: String {
        let place = subject.isEmpty ? "" : "\(subject): "
        let tries = attempts > 1 ? " There were \(attempts) attempts." : ""
        return "\(place)\(message)\(tries)\(remedy.map { " \($0)" } ?? "")"
    }

    /// With their usual phrases (RFC 9110, section 15; RFC 6585).
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
    /// All properties but ``url``, which may contain secrets, for `dump(_:)` and the reports of tests.
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
