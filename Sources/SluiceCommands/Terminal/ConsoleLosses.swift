import SluiceFiles
import SluiceLock

/// What could not be written to the streams of a ``Console``.
///
/// | the write | standard output | standard error |
/// |---|---|---|
/// | failed (a full disk) | a message, and status 3 unless a failure comes first in ``ExitStatus/precedence`` | status 3 in place of 0 |
/// | nothing reads the pipe (EPIPE) | silence, as with `sluice show … \| head` | silence |
/// | was cut short by an interruption | status 7 in place of 0 | |
///
/// After a failure nothing more goes to standard output: what is there is the beginning of the whole, without a gap.
final class ConsoleLosses: Sendable {
    private struct State {
        var failures: [Console.Stream: any Error] = [:]
        var readerless: Set<Console.Stream> = []
        var isCutShort = false
    }

    private let state = Lock(State())

    /// Notes why a write failed. The first failure of a stream is kept.
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

    /// Whether writes to this stream are in vain.
    func isLost(_ stream: Console.Stream) -> Bool {
        state.withLock { $0.failures[stream] != nil || $0.readerless.contains(stream) }
    }

    /// The first failure of a stream.
    func failure(of stream: Console.Stream) -> (any Error)? {
        state.withLock { $0.failures[stream] }
    }

    /// Whether an interruption left a part unwritten.
    var isCutShort: Bool { state.withLock { $0.isCutShort } }
}

extension Console {
    /// The status of a command that ended with `status`, in view of what could not be written. Says what that is.
    func settle(_ status: ExitStatus, wasInterrupted: Bool) async -> ExitStatus {
        if let error = losses.failure(of: .output) {
            await report("\(error)")
            return status == .interrupted ? status : .worst(of: [status, .localFile])
        }
        guard status == .success else { return status }
        if wasInterrupted, losses.isCutShort {
            await report("interrupted")
            return .interrupted
        }
        return losses.failure(of: .error) == nil ? .success : .localFile
    }
}
