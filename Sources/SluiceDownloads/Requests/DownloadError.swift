#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
public import SluiceFiles
public import SluiceHTTP

/// A download that failed: what, for which URL and file, and what to do about it.
///
/// Its description is one line for a person and holds no secret of the URL.
public struct DownloadError: Error, Sendable, CustomStringConvertible {
    /// What failed.
    public enum Reason: Sendable {
        /// The exchange with the server.
        case transport(TransportError)
        /// The server answered with a status that brings no file.
        case status(HTTPResponse.Status)
        /// The body is not as long as the server announced.
        case length(announced: Int64, received: Int64)
        /// A file operation.
        case file(FileError)
        /// A file with the target's name is there already, and the request does not say to replace it.
        case targetExists
        /// The fields that ``DownloadCoordinator/Configuration/headerFields`` was to give.
        case headerFields(cause: String)
        /// Another process that shares the queue worked on it, and this is what it says.
        case elsewhere(message: String)
        /// An earlier request of the list, with this URL, writes the same file.
        case conflict(with: URL)
        /// The queue has another download, from this URL, of the same file.
        case queued(URL)
    }

    /// What failed.
    public var reason: Reason
    /// The URL that was asked for.
    public var url: URL
    /// The file that was to be made.
    public var target: URL
    /// How many attempts there were.
    public var attempts: Int
    /// What a `Retry-After` of the server asks for.
    var retryAfter: Duration?

    /// An error of the download from `url` to `target`.
    public init(_ reason: Reason, url: URL, target: URL, attempts: Int = 1) {
        self.reason = reason
        self.url = url
        self.target = target
        self.attempts = attempts
    }

    /// Whether another attempt may succeed (`RetryPolicy`).
    public var isTransient: Bool {
        switch reason {
        case .transport(let error): RetryPolicy.isTransient(error.code)
        case .status(let status): RetryPolicy.isTransient(status)
        case .length(let announced, let received): received < announced
        case .file, .targetExists, .headerFields, .elsewhere, .conflict, .queued: false
        }
    }

    /// One line: the URL, what failed, and what to do.
    public var description: String {
        let tries = attempts > 1 ? " (after \(attempts) attempts)" : ""
        switch reason {
        case .transport(let error):
            return "\(error)\(tries)"
        case .status(let status):
            return "\(url.redactedForDisplay): \(Self.text(of: status))\(tries); \(Self.remedy(for: status))"
        case .length(let announced, let received):
            return "\(url.redactedForDisplay): the server announced \(announced) bytes and sent \(received)\(tries); "
                + "try again; if it goes on, the server cuts its responses short"
        case .file(let error):
            return "\(url.redactedForDisplay): \(error)"
        case .targetExists:
            return "\(url.redactedForDisplay): the file '\(target.path(percentEncoded: false))' exists already; "
                + "allow replacing it, skip it, or choose another name or folder"
        case .headerFields(let cause):
            return "\(url.redactedForDisplay): no header fields for the request: \(cause); "
                + "see where the program takes its credentials from"
        case .elsewhere(let message):
            return message
        case .conflict(let other):
            return "\(url.redactedForDisplay): \(other.redactedForDisplay) of the same list is written to "
                + "'\(target.path(percentEncoded: false))', too; give one of them another name"
        case .queued(let other):
            return "\(url.redactedForDisplay): the queue has an unfinished download from another URL, "
                + "\(other.redactedForDisplay), to '\(target.path(percentEncoded: false))'; finish that one, "
                + "or use another name or another queue"
        }
    }

    private static func text(of status: HTTPResponse.Status) -> String {
        status.reasonPhrase.isEmpty
            ? "the server answered \(status.code)" : "the server answered \(status.code) \(status.reasonPhrase)"
    }

    private static func remedy(for status: HTTPResponse.Status) -> String {
        switch status.code {
        case 401, 407: "give credentials that the server accepts"
        case 403: "check that you may fetch it"
        case 404, 410: "check the URL"
        case 408, 425, 429, 503: "the server is busy; try again later, with fewer downloads at once"
        case 500..<600: "the server has a problem; try again later"
        case 300..<400: "the response redirects to nowhere; check the URL"
        case 200..<300: "the response brings no file; check the URL"
        default: "check the URL and the request"
        }
    }
}
