import SluiceFiles
import SluiceLock

/// The failed writes to the streams of a ``Console``.
///
/// | the write | standard output | standard error |
/// |---|---|---|
/// | failed, for example on a full disk | a message, and status 3 (by ``ExitStatus/precedence``) | status 3 instead of 0 |
/// | had no reader (EPIPE) | ignored, as in `sluice show … \| head` | ignored |
/// | was cut short by an interruption | status 7 instead of 0 | |
///
/// After a failure, nothing more is written to standard output, so that the output never has a gap.
final class ConsoleLosses: Sendable {
    private struct State {
        var failures: [Console.Stream: any Error] = [:]
        var readerless: Set<Console.Stream> = []
        var isCutShort = false
    }

    private let state = Lock(State())

    /// Keeps the first failure of each stream.
    func note(_ error: any Error, of stream: Console.Stream) {
        state.withLock { state in
            switch error {
            case is CancellationError: state.isCutShort = true
            case let error as FileError where error.code == .cancelled: state.isCutShort = true
            case let error as FileError where error.code == .brokenPipe: state.readerless.insert(stream)
            default: if state.failures[stream] == nil { state.failures[stream] = error }
            }
        }
    }

    func isLost(_ stream: Console.Stream) -> Bool {
        state.withLock { $0.failures[stream] != nil || $0.readerless.contains(stream) }
    }

    func failure(of stream: Console.Stream) -> (any Error)? {
        state.withLock { $0.failures[stream] }
    }

    var isCutShort: Bool { state.withLock { $0.isCutShort } }
}

extension Console {
    /// Reports failed writes, and returns the status of the command with them taken into account.
    func settle(_ status: ExitStatus, wasInterrupted: Bool) async -> ExitStatus {
        if let error = losses.failure(of: .output) {
            await report("\(error)")
            return status == .interrupted ? status : .worst(of: [status, .localFile])
        }
        guard status == .success else { return status }
        if wasInterrupted, losses.isCutShort {
            await report("Interrupted.")
            return .interrupted
        }
        return losses.failure(of: .error) == nil ? .success : .localFile
    }
}
