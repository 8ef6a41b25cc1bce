import HTTPTypes
import SluiceCache
import SluiceDownloads
import SluiceHTTP

/// The exit status of `sluice`. The numbers don't change between versions.
package enum ExitStatus: Int32, Sendable, Hashable, CaseIterable {
    case success = 0
    case other = 1
    /// The arguments, a list file or a style sheet is invalid. Nothing was started.
    case usage = 2
    /// A file, a directory or the output couldn't be read or written, or the disk is full.
    case localFile = 3
    /// A host name couldn't be resolved, or a connection failed.
    case network = 4
    /// A certificate wasn't accepted, or client and server have no TLS version in common.
    case tls = 5
    /// The server requires credentials, or rejected the ones that it got.
    case authentication = 6
    /// The command was interrupted. Running it again continues the work.
    case interrupted = 7
    /// The server answered with an error.
    case http = 8
    /// Downloaded or cached bytes differ from the expected ones, which come from a checksum, a server's digest or, with `sluice verify`,
    /// from a record. `sluice demo` and `sluice cache verify` end with it, too.
    case content = 9
    /// The queue's database couldn't be opened, read or written.
    case store = 10

    /// The statuses of failures. After several failures, the command exits with the first one that applies. The failures that most need the
    /// user's attention come first.
    static let precedence: [ExitStatus] = [
        .store, .localFile, .content, .authentication, .tls, .http, .network, .other, .usage,
    ]

    static func worst(of statuses: some Sequence<ExitStatus>) -> ExitStatus {
        let present = Set(statuses)
        return precedence.first(where: present.contains) ?? .success
    }

    init(_ error: TransferError) {
        switch error.code {
        case .file, .fileExists, .cacheUnusable: self = .localFile
        case .headerFieldsFailed, .invalidCredentials: self = .authentication
        case .alreadyQueued, .removed, .paused, .unknown: self = .other
        case .targetTaken, .nameReserved: self = .usage
        case .status: self = [401, 403, 407].contains(error.status?.code) ? .authentication : .http
        case .tlsFailed: self = .tls
        case .digestMismatch: self = .content
        case .tooLarge: self = .other
        default: self = .network
        }
    }

    static let help = """
        EXIT STATUS:
          0  success                       6  credentials are missing or rejected
          1  another failure               7  interrupted
          2  invalid arguments or list     8  the server answered with an error
          3  a local file or the output    9  wrong bytes or checksum
          4  network or host name         10  the queue's database
          5  TLS
        After several failures, the status is the first of these that applies:
        10, 3, 9, 6, 5, 8, 4, 1.
        """
}
