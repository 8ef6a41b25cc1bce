import SluiceFiles
import SluiceHTTP

/// Who is to blame for a failed attempt: the download, its host, or the worker that made the attempt.
///
/// A broken worker must not fail the downloads of a queue one after another: other workers could do them, or the same worker later. The
/// article <doc:WhenSomethingFails> has the same table for users.
enum FailureScope: Sendable, Hashable {
    /// The download failed. `RetryPolicy` decides whether there is another attempt.
    case download
    /// The download failed after the server was reached.
    case server
    /// The host refused the connection. The network works.
    case host
    /// There was no sign of the host. If that happens with several hosts in a row, the worker has no network.
    case network
    /// The file system or the process has no room for any download, or the transport is unusable: the run ends, and its downloads wait.
    case worker
    /// The directory can't be used. If the worker's own directory can't be used either, the run ends, and its downloads wait. Otherwise the
    /// download failed.
    case directory
    /// Another process, or another transfer in this one, is writing the file. The download waits, however often that happens.
    case lock

    /// Whether another server might succeed.
    var isOfServer: Bool {
        switch self {
        case .server, .host, .network: true
        case .download, .worker, .directory, .lock: false
        }
    }

    init(_ error: TransferError) {
        if let failure = error.fileError {
            self.init(failure.code)
        } else if error.isConnectionFailure, let failure = error.cause as? FileError, Self(failure.code) == .worker {
            // There was no file descriptor or memory left for a connection.
            self = .worker
        } else if error.status != nil {
            self = .server
        } else {
            self = Self.codes[error.code] ?? .download
        }
    }

    init(_ code: FileError.Code) { self = Self.fileCodes[code] ?? .download }

    private static let codes: [TransferError.Code: FailureScope] = [
        .hostNotFound: .network, .connectTimedOut: .network, .connectionFailed: .network, .proxyFailed: .network,
        .connectionRefused: .host, .tlsFailed: .server, .stalled: .server, .connectionClosed: .server,
        .protocolViolation: .server, .bodyTooShort: .server, .bodyTooLong: .server, .tooManyRedirects: .server,
        .redirectRefused: .server, .digestMismatch: .server, .tooLarge: .server, .tookTooLong: .server,
        .tooSlow: .server,
        .invalidCredentials: .server, .unexpectedCoding: .server, .shutDown: .worker,
    ]

    private static let fileCodes: [FileError.Code: FailureScope] = [
        .noSpace: .worker, .quotaExceeded: .worker, .tooManyOpenFiles: .worker, .exhausted: .worker,
        .shutDown: .worker,
        .permissionDenied: .directory, .readOnly: .directory, .notFound: .directory, .notDirectory: .directory,
        .tooManyLinks: .directory, .busy: .directory, .inputOutput: .directory, .unsupported: .directory,
        .other: .directory,
        .locked: .lock,
    ]
}
