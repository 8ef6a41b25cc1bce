public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An event that a ``DownloadCoordinator`` reports while it runs.
///
/// The events of one download arrive in order. Different tasks report the events of different downloads concurrently. Later versions may
/// add cases, so write `@unknown default` in a `switch`.
public enum DownloadEvent: Sendable {
    /// An attempt begins. The first one has the number 1.
    case started(download: QueuedDownload.ID, attempt: Int)
    /// The server responded. `totalBytes` is the length of the whole file, if the server sent it; `resumedBytes` remain from an earlier
    /// attempt.
    case responded(download: QueuedDownload.ID, totalBytes: Int64?, resumedBytes: Int64)
    /// The server named the file, which gets this URL when it is complete (``DownloadCoordinator/Configuration/takesServerNames``).
    case named(download: QueuedDownload.ID, file: URL)
    /// The number of bytes of the file that have been received, including earlier attempts.
    case received(download: QueuedDownload.ID, receivedBytes: Int64)
    /// An attempt failed, and another one follows after a delay. The delay can be longer if the download has to wait for its host or the
    /// network.
    case retrying(download: QueuedDownload.ID, error: TransferError, delay: Duration)
    /// A server failed, and the download goes on with another of its URLs at once (``DownloadRequest/mirrors``). That doesn't count as an
    /// attempt.
    case failedOver(download: QueuedDownload.ID, error: TransferError, mirror: URL)
    /// A mirror sent other bytes than the file's own server, for which the checksum is right. They were downloaded again from that server, and
    /// the attempt goes on. `error` names the mirror.
    case mirrorRejected(download: QueuedDownload.ID, error: TransferError)
    /// The download was stopped because it was paused. It keeps its partial file.
    case paused(download: QueuedDownload.ID)
    /// The download no longer runs here: it is waiting again, for example because the run was stopped, or another worker has it.
    case released(download: QueuedDownload.ID)
    /// The download has ended, and the store has recorded it. This is its last event.
    ///
    /// If a request in a list needs no download, because its file exists, or can't be enqueued, this is its only event, without an ID.
    case finished(download: QueuedDownload.ID?, outcome: DownloadEvent.Outcome)

    /// The download; `nil` if a request in a list didn't become one.
    public var download: QueuedDownload.ID? {
        switch self {
        case .started(let download, _), .responded(let download, _, _), .received(let download, _),
            .retrying(let download, _, _), .failedOver(let download, _, _), .paused(let download),
            .released(let download), .named(let download, _), .mirrorRejected(let download, _):
            download
        case .finished(let download, _): download
        }
    }

    var isEnd: Bool {
        if case .finished = self { true } else { false }
    }

    /// Whether the download continues after the event.
    var isProgress: Bool {
        switch self {
        case .started, .responded, .received, .named, .mirrorRejected: true
        case .retrying, .failedOver, .paused, .released, .finished: false
        }
    }
}

extension DownloadEvent {
    /// The outcome of a download. Later versions may add cases.
    public enum Outcome: Sendable {
        /// The file exists under its final name, with this number of bytes.
        case done(fileSize: Int64)
        /// The file already existed and wasn't changed.
        case skipped
        /// The download failed and won't be retried.
        case failed(TransferError)
        /// The download was cancelled.
        case cancelled
    }
}

/// The steps of a job in this process, for tests that kill the process there.
package enum JobPhase: Sendable, Hashable {
    /// The store has handed out the job.
    case claimed
    /// The job's transfer has reached this step.
    case transfer(TransferPhase)
    /// The store has recorded the outcome. The checkpoint beside the file still exists.
    case recorded
}
