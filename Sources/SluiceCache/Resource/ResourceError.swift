#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
public import SluiceHTTP

/// A resource that could not be had: what failed, for which URL, and what to do about it.
///
/// Its description is one line for a person and holds no secret of the URL.
public struct ResourceError: Error, Sendable, CustomStringConvertible {
    /// What failed.
    public enum Reason: Sendable {
        /// The exchange with the server.
        case transport(TransportError)
        /// The server answered with a status that brings no resource.
        case status(HTTPResponse.Status)
        /// The body is not as long as the server announced.
        case length(announced: Int64, received: Int64)
        /// The body has more bytes than `Configuration.responseLimit`.
        case tooLarge(limit: Int)
        /// The body is coded, with `gzip` for example, although that was not asked for.
        case encoded(String)
        /// The cache's index could not be opened; the text names it and says what to do.
        case index(String)
        /// The cache has been shut down.
        case shutDown
    }

    /// What failed.
    public var reason: Reason
    /// The URL that was asked for, or of the cache's folder.
    public var url: URL
    /// How many attempts there were.
    public var attempts: Int
    /// What a `Retry-After` of the server asks for.
    var retryAfter: Duration?

    /// An error for `url`.
    public init(_ reason: Reason, url: URL, attempts: Int = 1) {
        self.reason = reason
        self.url = url
        self.attempts = attempts
    }

    /// Whether another attempt may succeed (`RetryPolicy`).
    public var isTransient: Bool {
        switch reason {
        case .transport(let error): RetryPolicy.isTransient(error.code)
        case .status(let status): RetryPolicy.isTransient(status)
        case .length(let announced, let received): received < announced
        case .tooLarge, .encoded, .index, .shutDown: false
        }
    }

    /// What to do about it.
    public var remedy: String {
        switch reason {
        case .transport(let error): error.remedy
        case .status(let status): Self.remedy(for: status)
        case .length: "try again; if it goes on, the server cuts its responses short"
        case .tooLarge: "raise the cache's responseLimit if the resource may be that large"
        case .encoded: "let the server obey 'Accept-Encoding: identity'"
        case .index: "repair or remove the file, or choose another folder"
        case .shutDown: "open a new cache"
        }
    }

    /// One line: the URL, what failed, and what to do.
    public var description: String {
        let tries = attempts > 1 ? " (after \(attempts) attempts)" : ""
        let place = url.redactedForDisplay
        return switch reason {
        case .transport(let error): "\(error)\(tries)"
        case .status(let status):
            "\(place): the server answered \(status.code)\(Self.phrase(of: status))\(tries); \(remedy)"
        case .length(let announced, let received):
            "\(place): the server announced \(announced) bytes and sent \(received)\(tries); \(remedy)"
        case .tooLarge(let limit): "\(place): the response has more than \(limit) bytes; \(remedy)"
        case .encoded(let coding): "\(place): the server sent the body coded as \(coding); \(remedy)"
        case .index(let cause): cause
        case .shutDown: "\(place): the cache has been shut down; \(remedy)"
        }
    }

    private static func phrase(of status: HTTPResponse.Status) -> String {
        status.reasonPhrase.isEmpty ? "" : " \(status.reasonPhrase)"
    }

    private static func remedy(for status: HTTPResponse.Status) -> String {
        switch status.code {
        case 401, 407: "give credentials that the server accepts"
        case 403: "check that you may fetch it"
        case 408, 425, 429, 503: "the server is busy; try again later, with fewer requests at once"
        case 500..<600: "the server has a problem; try again later"
        case 200..<300: "the response brings no resource; check the URL"
        default: "check the URL"
        }
    }
}
