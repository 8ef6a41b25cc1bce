#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

/// A request or a transfer that failed: what happened, to which URL, and what to do.
///
///     do {
///         cover = try await cache.data(for: url)
///     } catch let error as TransferError where error.status == .notFound {
///         cover = placeholder
///     } catch {
///         show(error.localizedDescription)            // what happened, and what to do
///     }
///
/// ``HTTPTransport``, `ResourceCache` and `DownloadCoordinator` throw it. Its texts hold no secrets: the user name, password, query
/// and fragment of a URL stay out of them.
///
/// Two errors are equal if they say the same. What caused them is not compared.
public struct TransferError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    public var code: Code
    /// What it is about: the URL without its secrets.
    public var subject: String
    /// What happened: one sentence.
    public var message: String
    /// What to do: one sentence.
    public var remedy: String?
    /// The error of a layer below, such as the `FileError` of ``Code-swift.struct/file``.
    public var cause: (any Error)?
    /// The URL that was requested. It may hold secrets.
    public var url: URL
    /// What the server answered, for ``Code-swift.struct/status``.
    public var status: HTTPResponse.Status?
    /// How many attempts there were.
    public var attempts = 1
    /// What a `Retry-After` of the server asks for.
    package var retryAfter: Duration?

    /// Creates an error with the message and the remedy of its code.
    ///
    ///     throw TransferError(.connectionRefused, url: request.url)
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - url: The URL that was requested.
    ///   - detail: What the layer below says, without secrets. It becomes a part of the message.
    ///   - remedy: What to do: one sentence, where the code's own doesn't fit.
    ///   - cause: The error of the layer below.
    public init(_ code: Code, url: URL, detail: String? = nil, remedy: String? = nil, cause: (any Error)? = nil) {
        self.init(
            code, url: url, message: "\(code.summary)\(detail.map { " (\($0))" } ?? "").", remedy: remedy, cause: cause)
    }

    /// Creates the error of a server that answered with a status that brings no file.
    public init(status: HTTPResponse.Status, url: URL) {
        let phrase = status.reasonPhrase.isEmpty ? "" : " \(status.reasonPhrase)"
        self.init(
            .status, url: url, message: "The server answered \(status.code)\(phrase).", remedy: Self.remedy(for: status)
        )
        self.status = status
    }

    /// Creates an error with a message of its own, and the remedy of its code unless it has its own.
    package init(_ code: Code, url: URL, message: String, remedy: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.url = url
        self.message = message
        self.remedy = remedy ?? code.remedy(for: url)
        self.cause = cause
        subject = url.redactedForDisplay
    }

    /// Creates the error of a body whose length isn't the announced one.
    package static func length(announced: Int64, received: Int64, url: URL) -> TransferError {
        TransferError(
            received < announced ? .bodyTooShort : .bodyTooLong, url: url,
            message: "The server announced \(announced) bytes and sent \(received).",
            remedy: "Try again; if it happens again, the server doesn't send its responses whole.")
    }

    /// Whether another attempt may succeed (``RetryPolicy``).
    ///
    /// A certificate that is not trusted, a refused redirect and an answer that is not HTTP don't change by themselves. A host
    /// that is not found may exist: the system's resolver doesn't say whether the name is wrong or no name server answered.
    public var isTransient: Bool {
        status.map(RetryPolicy.isTransient) ?? code.isTransient
    }

    /// One line: the URL, what happened, and what to do.
    public var description: String {
        let place = subject.isEmpty ? "" : "\(subject): "
        let tries = attempts > 1 ? " There were \(attempts) attempts." : ""
        return "\(place)\(message)\(tries)\(remedy.map { " \($0)" } ?? "")"
    }

    private static func remedy(for status: HTTPResponse.Status) -> String {
        switch status.code {
        case 401, 407: "Give credentials that the server accepts."
        case 403: "Check that you may fetch it."
        case 404, 410: "Check the URL."
        case 408, 425, 429, 503: "The server is busy: try again later, with fewer concurrent requests."
        case 500..<600: "The server has a problem: try again later."
        case 300..<400: "The response redirects to no other place: check the URL."
        case 200..<300: "The response brings no file: check the URL."
        default: "Check the URL and the request."
        }
    }
}

extension TransferError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What happened.
    public var failureReason: String? { message }

    /// What to do.
    public var recoverySuggestion: String? { remedy }
}

extension TransferError: Hashable {
    /// Whether both say the same. What caused them is not compared.
    public static func == (one: TransferError, other: TransferError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy && one.url == other.url && one.status == other.status
            && one.attempts == other.attempts && one.retryAfter == other.retryAfter
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(url)
        hasher.combine(attempts)
    }
}
