import SluiceConcurrency
import SluiceHTTP
import SluiceLock

/// How a job ended in this process, for its handles. The store forgets it when the same request is enqueued again.
final class JobOutcome: Sendable {
    enum Ended: Sendable {
        case done(bytes: Int64)
        case failed(TransferError)
        case cancelled

        init?(_ settled: SettledJob) {
            switch settled.settlement.outcome {
            case .done(let bytes): self = .done(bytes: bytes)
            case .failed(let error): self = .failed(error)
            case .retry, .released, .postponed, .moved, .cancelled: return nil
            }
        }
    }

    private enum State {
        case open
        case ended(Ended)
        case removed
    }

    private let job: JobID
    private let observers: QueueObservers
    private let state = Lock(State.open)

    init(of job: JobID, observers: QueueObservers) {
        self.job = job
        self.observers = observers
    }

    deinit { observers.removeOutcome(of: job) }

    func note(_ outcome: Ended) { state.withLock { $0 = .ended(outcome) } }

    func revoke() { state.withLock { $0 = .open } }

    func forget() {
        state.withLock { state in if case .ended = state { state = .removed } }
    }

    /// The error that the queue kept, with its cause if the job failed in this process.
    func error(_ kept: TransferError?) -> TransferError? {
        guard case .ended(.failed(let error)) = state.withLock({ $0 }), error.description == kept?.description else {
            return kept
        }
        return error
    }

    /// The ended job of a request, or `nil` if it hasn't ended here or has been removed since.
    func job(of request: DownloadRequest, batch: String?) -> QueuedDownload? {
        guard case .ended(let outcome) = state.withLock({ $0 }) else { return nil }
        let member = QueuedDownload.Member(user: request.user, batch: batch, priority: request.priority)
        var ended = QueuedDownload(id: job, request: request, members: [member], state: .done)
        switch outcome {
        case .done(let bytes): ended.fileSize = bytes
        case .failed(let error):
            ended.state = .failed
            ended.failureCount = 1
            ended.error = error.kept(for: request.url)
        case .cancelled: ended.state = .cancelled
        }
        return ended
    }
}
