/// What a ``DownloadCoordinator`` reports while it works.
///
/// Of one job the events come in order; those of different jobs come from different tasks at the same time.
public enum DownloadEvent: Sendable {
    /// An attempt begins, the first one being number 1.
    case started(job: JobID, attempt: Int)
    /// The server answered: how long the whole file is, if it says so, and how much of it is there from before.
    case responded(job: JobID, announced: Int64?, resumed: Int64)
    /// So many bytes of the file are there.
    case received(job: JobID, bytes: Int64)
    /// An attempt failed and another follows after a delay.
    case retrying(job: JobID, error: DownloadError, delay: Duration)
    /// The job was given back undone, since the run was stopped.
    case released(job: JobID)
    /// The job has ended, and the store knows. Nothing follows.
    case finished(job: JobID, outcome: DownloadOutcome)

    /// The job that it is about.
    public var job: JobID {
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

/// How a job ended.
public enum DownloadOutcome: Sendable {
    /// The file is there, with this many bytes, under its final name.
    case done(bytes: Int64)
    /// A file with the name was there already and was left alone.
    case skipped
    /// It failed for good.
    case failed(DownloadError)
    /// Somebody cancelled it.
    case cancelled
}
