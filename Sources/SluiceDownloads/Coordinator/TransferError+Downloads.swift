import HTTPTypes
import SluiceFiles
public import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransferError.Code {
    /// A file with the target's name exists, and the download isn't allowed to replace it.
    public static let fileExists = Self(
        "fileExists", "The file exists", "Replace it, skip it, or choose another name or directory.")
    /// The file's name is one that downloads use for their partial files.
    public static let nameReserved = Self(
        "nameReserved", "The file's name is reserved for partial files", "Choose another name.")
    /// The bytes don't have the expected checksum, or the digest that the server sent with them (RFC 9530). Nothing was published.
    public static let digestMismatch = Self(
        "digestMismatch", "The file isn't the expected one",
        "Check the checksum and the URL, because the server has another file, or it was damaged on the way.")
    /// The file is larger than the coordinator's `maximumSize`.
    public static let tooLarge = Self(
        "tooLarge", "The file is too large", "Allow larger files, or leave out this one.")
    /// An attempt took longer than the coordinator's `maximumTime`.
    public static let tookTooLong = Self(
        "tookTooLong", "The download took too long", "Allow more time, or run it again to continue it.")
    /// Bytes arrived more slowly than the coordinator's `minimumRate` allows.
    public static let tooSlow = Self(
        "tooSlow", "The download was too slow", "Try again later, or allow lower rates.", isTransient: true)
    /// An earlier request in the list writes the same file.
    public static let targetTaken = Self(
        "targetTaken", "Another request in the list writes the same file", "Give one of the requests another name.")
    /// The queue has an unfinished download of the same file from another URL.
    public static let alreadyQueued = Self(
        "alreadyQueued", "The queue has an unfinished download of the same file from another URL",
        "Wait until that download ends, or use another name or another queue.")
    /// Another process removed the download from the queue, and its file doesn't exist.
    public static let removed = Self(
        "removed", "Another process removed the download from the queue, and its file doesn't exist",
        "Run the download again.")
    /// A download of the list is paused in the queue.
    public static let paused = Self(
        "paused", "The download is paused in the queue", "Resume it, and run the list again.")
    /// An earlier version of Sluice stored only the error's description, which is the message.
    public static let unknown = Self("unknown", "The download failed", nil)
    /// The closure that provides the header fields of a request threw an error.
    public static let headerFieldsFailed = Self(
        "headerFieldsFailed", "Couldn't get the header fields for the request",
        "Check the source of the request's credentials.")
    /// The closure that resolves an identifier to a URL threw an error.
    public static let resolutionFailed = Self(
        "resolutionFailed", "Couldn't get the URL of the download", "Check the source of the URLs.")
}

extension TransferError {
    /// Whether there was no connection to the host.
    var isConnectionFailure: Bool {
        [.hostNotFound, .connectionRefused, .connectionFailed, .connectTimedOut].contains(code)
    }

    var fileError: FileError? { code == .file ? cause as? FileError : nil }

    init(_ failure: TransferFailure, of request: DownloadRequest) {
        let url = request.url
        self =
            switch failure {
            case .status(let status): TransferError(status: status, url: url)
            case .length(let announced, let received): .length(announced: announced, received: received, url: url)
            case .digest(let expected, let found): .digestMismatch(expected, found: found, of: request)
            case .tooLarge(let limit): TransferError(.tooLarge, url: url, detail: "more than \(limit) bytes")
            case .range(let detail):
                TransferError(
                    .protocolViolation, url: url, detail: detail,
                    remedy: "Download it from another server, or report the faulty ranges to the server's operator.")
            }
    }

    /// The error of a response with these fields.
    init(_ failure: TransferFailure, of request: DownloadRequest, _ fields: HTTPFields, now: HTTPDate) {
        self.init(failure, of: request)
        // A date in Retry-After follows the server's clock, as its Date field does.
        let sent = fields.value(of: .date).flatMap { HTTPDate(parsing: $0, now: now) } ?? now
        retryAfter = RetryPolicy.retryAfter(in: fields, now: sent)
    }

    static func file(_ error: FileError, of request: DownloadRequest) -> TransferError {
        // The description of the file error names the path and the remedy.
        TransferError(.file, url: request.url, message: "\(error)", cause: error)
    }

    /// A failure of the worker's own directory, not of a request's directory.
    static func file(_ error: FileError, ofWorkerFor request: DownloadRequest) -> TransferError {
        var failure = TransferError.file(error, of: request)
        failure.subject = ""
        return failure
    }

    static func nameReserved(_ request: DownloadRequest) -> TransferError {
        TransferError(
            .nameReserved, url: request.url,
            message:
                "The name '\(request.name)' has the ending of partial files, and a download beside it could overwrite it."
        )
    }

    /// The same error for another request to the same host.
    func concerning(_ request: DownloadRequest) -> TransferError {
        var error = self
        error.url = request.url
        error.subject = request.url.redactedForDisplay
        return error
    }

    static func fileExists(_ request: DownloadRequest) -> TransferError {
        TransferError(.fileExists, url: request.url, message: "The file '\(request.targetText)' exists.")
    }

    static func digestMismatch(
        _ expected: TransferDigests.Expectation, found: Checksum, of request: DownloadRequest
    ) -> TransferError {
        let title = found.algorithm.title
        switch expected.source {
        case .request:
            return TransferError(
                .digestMismatch, url: request.url,
                message: "The file's \(title) is \(found.bytes.hexadecimal), not the expected "
                    + "\(expected.checksum.bytes.hexadecimal).")
        case .reprDigest, .contentDigest:
            let field = expected.source == .reprDigest ? "Repr-Digest" : "Content-Digest"
            return TransferError(
                .digestMismatch, url: request.url,
                message: "The received bytes don't have the \(title) in the server's \(field).",
                remedy: "Try again, and report it to the server's operator if it happens again.")
        }
    }

    /// A mirror that sent other bytes than the file's own server, for which the checksum is right.
    static func wrongSegments(of mirror: URL) -> TransferError {
        TransferError(
            .digestMismatch, url: mirror,
            message: "Some of its bytes differ from the file's, and were downloaded again from the file's own server.",
            remedy: "Leave out this mirror, or report it to its operator.")
    }

    /// An existing file that should count as the downloaded one.
    static func existingFileDiffers(_ request: DownloadRequest, found: Checksum) -> TransferError {
        TransferError(
            .digestMismatch, url: request.url,
            message: "The file '\(request.targetText)' exists, and its \(found.algorithm.title) is "
                + "\(found.bytes.hexadecimal), not the expected \(request.checksum?.bytes.hexadecimal ?? "one").",
            remedy: remedyForExistingFile)
    }

    package static let remedyForExistingFile = "Replace it, or choose another name or directory."

    /// - Parameter error: Only its type is in the message, which is stored; the description may contain a secret.
    static func headerFieldsFailed(_ error: any Error, of request: DownloadRequest) -> TransferError {
        TransferError(.headerFieldsFailed, url: request.url, detail: "\(type(of: error))", cause: error)
    }

    /// - Parameter error: Only its type is in the message, as above.
    static func resolutionFailed(_ error: any Error, of request: DownloadRequest) -> TransferError {
        TransferError(.resolutionFailed, url: request.url, detail: "\(type(of: error))", cause: error)
    }

    static func targetTaken(by other: URL, _ request: DownloadRequest) -> TransferError {
        TransferError(
            .targetTaken, url: request.url,
            message: "\(other.redactedForDisplay) in the same list is also written to '\(request.targetText)'.")
    }

    static func alreadyQueued(from other: URL, _ request: DownloadRequest) -> TransferError {
        TransferError(
            .alreadyQueued, url: request.url,
            message: "The queue has an unfinished download from another URL, \(other.redactedForDisplay), "
                + "to '\(request.targetText)'.")
    }
}

extension DownloadRequest {
    fileprivate var targetText: String { target.path(percentEncoded: false) }
}
