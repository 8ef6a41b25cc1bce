import HTTPTypes
package import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The parts of an error that a queue keeps. The cause isn't one of them, because it can be of any type.
///
/// A queue stores the error's description in the column `message`, as all versions do, and these parts as JSON in the column `error`. An
/// old version without that column may change only the message. So the parts count only if they produce the same description.
struct StoredError: Codable {
    private var code: String
    private var subject: String
    private var message: String
    private var remedy: String?
    private var status: Int?
    private var attempts: Int?

    init(_ error: TransferError) {
        (code, subject, message, remedy) = (error.code.description, error.subject, error.message, error.remedy)
        status = error.status?.code
        attempts = error.attempts > 1 ? error.attempts : nil
    }

    func error(of url: URL) -> TransferError {
        // Codes that this version doesn't know are permanent.
        var error = TransferError(
            Self.knownCodes[code] ?? TransferError.Code(code, "The download failed", nil), url: url, message: message)
        (error.subject, error.remedy) = (subject, remedy)
        error.status = status.flatMap { (100...999).contains($0) ? HTTPResponse.Status(code: $0) : nil }
        error.attempts = max(1, attempts ?? 1)
        return error
    }

    static let knownCodes = Dictionary(
        uniqueKeysWithValues: [
            // The exchange with the server.
            TransferError.Code.invalidURL, .hostNotFound, .connectionRefused, .connectionFailed, .connectTimedOut,
            .proxyFailed, .tlsFailed, .stalled, .connectionClosed, .protocolViolation, .tooManyRedirects,
            .redirectRefused, .invalidCredentials, .shutDown,
            // The response and the file.
            .status, .bodyTooShort, .bodyTooLong, .unexpectedCoding, .file,
            // Downloads.
            .fileExists, .digestMismatch, .tooLarge, .tookTooLong, .tooSlow, .nameReserved, .targetTaken,
            .alreadyQueued,
            .removed, .paused, .headerFieldsFailed,
            .resolutionFailed, .unknown,
        ].map { ($0.description, $0) })
}

extension TransferError {
    /// The description that a queue stores. Databases cut text at a NUL character, or refuse it.
    package var storedLine: String { description.replacing("\0", with: "") }

    /// The parts that a queue stores, as JSON.
    package var stored: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(StoredError(self))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Creates a download's error from what its queue stored.
    ///
    /// - Parameters:
    ///   - line: The description of the error.
    ///   - parts: The parts as JSON. If they are missing or belong to another error, the code is `unknown`.
    ///   - url: The URL of the download.
    package init(line: String, parts: String?, url: URL) {
        let stored = parts.flatMap { try? JSONDecoder().decode(StoredError.self, from: Data($0.utf8)) }
        if let error = stored?.error(of: url), error.storedLine == line {
            self = error
            return
        }
        self.init(.unknown, url: url, message: line)
        // The line contains the subject and the remedy.
        (subject, remedy) = ("", nil)
    }

    /// The error as a queue keeps it: without its cause.
    package func kept(for url: URL) -> TransferError {
        var error = self
        (error.cause, error.retryAfter, error.url) = (nil, nil, url)
        return error
    }
}
