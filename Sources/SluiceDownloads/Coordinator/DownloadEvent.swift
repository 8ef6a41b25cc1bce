public import SluiceHTTP

/// An event that a ``DownloadCoordinator`` reports while it runs.
///
/// The events of one download arrive in order. Different tasks report the events of different downloads, concurrently. Later versions may
/// add cases, so a `switch` needs a `default`.
public enum DownloadEvent: Sendable {
    /// An attempt begins. The first one has the number 1.
    case started(job: QueuedDownload.ID, attempt: Int)
    /// The server responded. `announced` is the length of the whole file, if the server sent it; `resumed` bytes exist from an earlier
    /// attempt.
    case responded(job: QueuedDownload.ID, announced: Int64?, resumed: Int64)
    /// The number of bytes of the file that have been received, including earlier attempts.
    case received(job: QueuedDownload.ID, bytes: Int64)
    /// An attempt failed, and another one follows after a delay. It may follow later, if the download waits for its host or for the network.
    case retrying(job: QueuedDownload.ID, error: TransferError, delay: Duration)
    /// The job was stopped because it was paused. It keeps its partial file.
    case paused(job: QueuedDownload.ID)
    /// The job no longer runs here: it waits again, for example because the run was stopped, or another worker has it.
    case released(job: QueuedDownload.ID)
    /// The job has ended, and the store has recorded it. This is the last event of the job.
    case finished(job: QueuedDownload.ID, outcome: DownloadEvent.Outcome)

    /// The job of the event.
    public var job: QueuedDownload.ID {
        switch self {
        case .started(let job, _), .responded(let job, _, _), .received(let job, _), .retrying(let job, _, _),
            .paused(let job), .released(let job), .finished(let job, _):
            job
        }
    }

    var isEnd: Bool {
        if case .finished = self { true } else { false }
    }
}

extension DownloadEvent {
    /// The outcome of a download. Later versions may add cases.
    public enum Outcome: Sendable {
        /// The file exists under its final name, with this number of bytes.
        case done(bytes: Int64)
        /// The file already existed and wasn't changed.
        case skipped
        /// The download failed and isn't tried again.
        case failed(TransferError)
        /// The download was cancelled.
        case cancelled
    }
}
