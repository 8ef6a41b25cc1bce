/// What became of a list of requests.
public struct DownloadSummary: Sendable {
    /// Files that were downloaded.
    public var done = 0
    /// Files that were there already.
    public var skipped = 0
    /// Requests that somebody cancelled.
    public var cancelled = 0
    /// The errors of those that failed, by the request's place in the list.
    public var failures: [Int: DownloadError] = [:]
    /// Requests that are left undone, since the run was stopped.
    public var unfinished = 0
    /// Bytes of the files that were downloaded.
    public var bytes: Int64 = 0
    /// Attempts after a request's first one.
    public var retries = 0

    /// Nothing done so far.
    public init() {}

    /// Whether every request ended well.
    public var isComplete: Bool { failures.isEmpty && unfinished == 0 && cancelled == 0 }

    mutating func note(_ event: DownloadEvent, of index: Int) {
        switch event {
        case .retrying: retries += 1
        case .finished(_, let outcome):
            unfinished -= 1
            switch outcome {
            case .done(let count):
                done += 1
                bytes += count
            case .skipped: skipped += 1
            case .cancelled: cancelled += 1
            case .failed(let error): failures[index] = error
            }
        case .started, .responded, .received, .released: break
        }
    }
}
