import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

/// How `sluice` ends: fixed numbers that scripts can rely on.
package enum ExitStatus: Int32, Sendable, Hashable, CaseIterable {
    /// Everything asked for is done.
    case success = 0
    /// Something went wrong that has no number of its own.
    case other = 1
    /// The command line or a list file is wrong; nothing was begun.
    case usage = 2
    /// A file, a directory or the output could not be read or written, or the disk is full.
    case localFile = 3
    /// The network, a host's name, or a connection.
    case network = 4
    /// TLS: a certificate, or no common protocol.
    case tls = 5
    /// The server wants credentials, or others.
    case authentication = 6
    /// Interrupted; the same command goes on where it was.
    case interrupted = 7
    /// The server answered with an error.
    case http = 8
    /// The bytes are not those expected.
    case content = 9
    /// The queue's store.
    case store = 10

    /// Which status wins when several things went wrong: the one that needs a person most.
    static let precedence: [ExitStatus] = [
        .store, .localFile, .content, .authentication, .tls, .http, .network, .other, .usage,
    ]

    /// The status of a run with these failures.
    static func worst(of statuses: some Sequence<ExitStatus>) -> ExitStatus {
        let present = Set(statuses)
        return precedence.first(where: present.contains) ?? .success
    }

    /// The status that a failed download stands for.
    init(_ error: TransferError) {
        switch error.code {
        case .file, .fileExists: self = .localFile
        case .headerFieldsFailed: self = .authentication
        case .failedElsewhere, .alreadyQueued: self = .other
        case .targetTaken: self = .usage
        case .status: self = [401, 403, 407].contains(error.status?.code) ? .authentication : .http
        case .tlsFailed: self = .tls
        default: self = .network
        }
    }

    /// The lines of the help that explain the numbers.
    static let help = """
        EXIT STATUS:
          0  everything is done            6  the server wants (other) credentials
          1  another failure               7  interrupted
          2  wrong usage, nothing begun    8  the server answered with an error
          3  a local file or the output    9  the bytes are not those expected
          4  network or host name         10  the queue's store
          5  TLS
        Where several things failed: 10, 3, 9, 6, 5, 8, 4, 1, the first of these that did.
        """
}
