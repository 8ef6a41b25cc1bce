import SluiceFiles
public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The results of a list of requests.
///
///     for result in summary.results {
///         switch result {
///         case .done(let file), .skipped(let file): play(file)
///         case .failed(let error): show(error)
///         default: break                                          // cancelled or unfinished
///         }
///     }
public struct DownloadSummary: Sendable {
    /// The result of a request. Later versions may add cases.
    public enum Result: Sendable {
        /// The file was downloaded to this URL.
        case done(URL)
        /// The file existed at this URL and wasn't changed.
        case skipped(URL)
        /// The download was cancelled.
        case cancelled
        /// The run was stopped before the download ended. The download waits in the queue.
        case unfinished
        /// The download failed, or couldn't be enqueued.
        case failed(TransferError)
    }

    private enum Kind: UInt8 {
        case unfinished, done, skipped, cancelled, failed
    }

    /// The caller keeps its list anyway, so each result costs only a byte.
    private var requests: [DownloadRequest] = []
    private var kinds: [Kind] = []
    /// The files that their servers named.
    private var files: [Int: URL] = [:]

    /// The number of downloaded files.
    public private(set) var doneCount = 0
    /// The number of files that already existed.
    public private(set) var skippedCount = 0
    /// The number of cancelled requests.
    public private(set) var cancelledCount = 0
    /// The errors of the failed requests, by their indices in the list.
    public private(set) var failures: [Int: TransferError] = [:]
    /// The number of requests that didn't finish because the run was stopped.
    public private(set) var unfinishedCount = 0
    /// The total size of the downloaded files, in bytes.
    public private(set) var totalFileSize: Int64 = 0
    /// The number of attempts beyond the first of each request.
    public private(set) var retryCount = 0

    /// Creates a summary of no requests.
    public init() {}

    /// Creates a summary in which no request has ended.
    package init(of requests: [DownloadRequest]) {
        self.requests = requests
        kinds = Array(repeating: .unfinished, count: requests.count)
        unfinishedCount = requests.count
    }

    /// The results of the requests, in their order. O(n).
    public var results: [Result] {
        kinds.indices.map { index in
            switch kinds[index] {
            case .unfinished: .unfinished
            case .done: .done(files[index] ?? requests[index].target)
            case .skipped: .skipped(files[index] ?? requests[index].target)
            case .cancelled: .cancelled
            case .failed: failures[index].map { .failed($0) } ?? .unfinished
            }
        }
    }

    /// Whether every request was downloaded or skipped.
    public var isComplete: Bool { failures.isEmpty && unfinishedCount == 0 && cancelledCount == 0 }

    package mutating func note(_ event: DownloadEvent, of index: Int) {
        switch event {
        case .retrying: retryCount += 1
        case .named(_, let file): files[index] = file
        case .finished(_, let outcome):
            unfinishedCount -= 1
            switch outcome {
            case .done(let count):
                kinds[index] = .done
                doneCount += 1
                totalFileSize = totalFileSize.addingClamped(count)
            case .skipped:
                kinds[index] = .skipped
                skippedCount += 1
            case .cancelled:
                kinds[index] = .cancelled
                cancelledCount += 1
            case .failed(let error):
                kinds[index] = .failed
                failures[index] = error
            }
        case .started, .responded, .received, .failedOver, .mirrorRejected, .paused, .released: break
        }
    }
}
