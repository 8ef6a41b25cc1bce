public import SluiceHTTP

/// What became of a list of requests.
public struct DownloadSummary: Sendable {
    /// Files that were downloaded.
    public var doneCount = 0
    /// Files that were there already.
    public var skippedCount = 0
    /// Requests that were cancelled.
    public var cancelledCount = 0
    /// The errors of those that failed, by the request's place in the list.
    public var failures: [Int: TransferError] = [:]
    /// Requests that are left undone, since the run was stopped.
    public var unfinishedCount = 0
    /// Bytes of the files that were downloaded.
    public var bytes: Int64 = 0
    /// Attempts after a request's first one.
    public var retryCount = 0

    /// Nothing done so far.
    public init() {}

    /// Whether every request ended well.
    public var isComplete: Bool { failures.isEmpty && unfinishedCount == 0 && cancelledCount == 0 }

    mutating func note(_ event: DownloadEvent, of index: Int) {
        switch event {
        case .retrying: retryCount += 1
        case .finished(_, let outcome):
            unfinishedCount -= 1
            switch outcome {
            case .done(let count):
                doneCount += 1
                bytes += count
            case .skipped: skippedCount += 1
            case .cancelled: cancelledCount += 1
            case .failed(let error): failures[index] = error
            }
        case .started, .responded, .received, .released: break
        }
    }
}
