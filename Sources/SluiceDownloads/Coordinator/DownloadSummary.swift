public import SluiceHTTP

/// The results of a list of requests.
public struct DownloadSummary: Sendable {
    /// The number of downloaded files.
    public var doneCount = 0
    /// The number of files that already existed.
    public var skippedCount = 0
    /// The number of cancelled requests.
    public var cancelledCount = 0
    /// The errors of the failed requests, by their indices in the list.
    public var failures: [Int: TransferError] = [:]
    /// The number of requests that weren't completed because the run was stopped.
    public var unfinishedCount = 0
    /// The total size of the downloaded files, in bytes.
    public var bytes: Int64 = 0
    /// The number of attempts after the first one of each request.
    public var retryCount = 0

    /// Creates a summary of no requests.
    public init() {}

    /// Whether every request was downloaded or skipped.
    public var isComplete: Bool { failures.isEmpty && unfinishedCount == 0 && cancelledCount == 0 }

    mutating func note(_ event: DownloadEvent, of index: Int) {
        switch event {
        case .retrying: retryCount += 1
        case .finished(_, let outcome):
            unfinishedCount -= 1
            switch outcome {
            case .done(let count):
                doneCount += 1
                bytes = bytes.addingClamped(count)
            case .skipped: skippedCount += 1
            case .cancelled: cancelledCount += 1
            case .failed(let error): failures[index] = error
            }
        case .started, .responded, .received, .paused, .released: break
        }
    }
}

extension Int64 {
    /// The sum, or the nearest number that fits. Lengths from servers and numbers in a shared database may be arbitrarily large.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other > 0 ? .max : .min) : sum
    }
}
