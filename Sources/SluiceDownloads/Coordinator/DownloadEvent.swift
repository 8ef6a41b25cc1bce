public import SluiceHTTP

/// What a ``DownloadCoordinator`` reports while it works.
///
/// The events of one download come in order; those of different downloads come from different tasks, concurrently. A later
/// version may add cases: a `switch` needs a `default`.
public enum DownloadEvent: Sendable {
    /// An attempt begins, the first one being number 1.
    case started(job: QueuedDownload.ID, attempt: Int)
    /// The server answered: how long the whole file is, if it says so, and how much of it is there from before.
    case responded(job: QueuedDownload.ID, announced: Int64?, resumed: Int64)
    /// So many bytes of the file are there.
    case received(job: QueuedDownload.ID, bytes: Int64)
    /// An attempt failed and another follows after a delay.
    case retrying(job: QueuedDownload.ID, error: TransferError, delay: Duration)
    /// The job was given back undone, since the run was stopped.
    case released(job: QueuedDownload.ID)
    /// The job has ended, and the store knows. Nothing follows.
    case finished(job: QueuedDownload.ID, outcome: DownloadEvent.Outcome)

    /// The job that it is about.
    public var job: QueuedDownload.ID {
        switch self {
        case .started(let job, _), .responded(let job, _, _), .received(let job, _), .retrying(let job, _, _),
            .released(let job), .finished(let job, _):
            job
        }
    }

    var isEnd: Bool {
        if case .finished = self { true } else { false }
    }
}

extension DownloadEvent {
    /// How a download ended. A later version may add cases.
    public enum Outcome: Sendable {
        /// The file is there, with this many bytes, under its final name.
        case done(bytes: Int64)
        /// A file with the name was there and was left alone.
        case skipped
        /// It failed for good.
        case failed(TransferError)
        /// It was cancelled.
        case cancelled
    }
}
