/// What a ``Downloader`` reports while it works. `index` is the request's place in the list that it was given.
///
/// Of one request the events come in order; those of different requests come from different tasks at the same time.
public enum DownloadEvent: Sendable {
    /// An attempt begins, the first one being number 1.
    case started(index: Int, attempt: Int)
    /// The server answered, and announces how many bytes the whole file has, if it knows.
    case responded(index: Int, announced: Int64?)
    /// So many bytes of the file have arrived, those of earlier attempts included.
    case received(index: Int, bytes: Int64)
    /// An attempt failed and another follows after a delay.
    case retrying(index: Int, error: DownloadError, delay: Duration)
    /// The request is finished, one way or the other. Requests that a cancellation leaves undone have no such event.
    case finished(index: Int, outcome: DownloadOutcome)
}

/// How a request ended.
public enum DownloadOutcome: Sendable {
    /// The file is there, with this many bytes, under its final name.
    case done(bytes: Int64)
    /// A file with the name was there already and was left alone.
    case skipped
    /// It failed for good.
    case failed(DownloadError)
}

/// What became of a list of requests.
public struct DownloadSummary: Sendable {
    /// Files that were downloaded.
    public var done = 0
    /// Files that were there already.
    public var skipped = 0
    /// The errors of those that failed, by the request's place in the list.
    public var failures: [Int: DownloadError] = [:]
    /// Requests that a cancellation left undone.
    public var unfinished = 0
    /// Bytes of the files that were downloaded.
    public var bytes: Int64 = 0
    /// Attempts after a request's first one.
    public var retries = 0

    /// Nothing done so far.
    public init() {}

    /// Whether every request ended well.
    public var isComplete: Bool { failures.isEmpty && unfinished == 0 }
}
