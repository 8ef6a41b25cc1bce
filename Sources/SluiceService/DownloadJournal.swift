import HTTPTypes
import Logging
import Metrics
import SluiceDownloads
import SluiceHTTP
import SluiceLock

/// Writes the events of a run to the log and the metrics.
final class DownloadJournal: Sendable {
    let metrics: DownloadMetrics
    private let logger: Logger
    private let tally = Lock(DownloadTally())

    init(logger: Logger, metrics: DownloadMetrics) {
        self.logger = logger
        self.metrics = metrics
    }

    func note(_ event: DownloadEvent, at now: ContinuousClock.Instant) {
        let change = tally.withLock { $0.note(event, at: now) }
        // Steps and not values: several tasks report events, and the older of two values could be written last. Backends ignore negative
        // increments.
        if change.running > 0 { metrics.running.increment() }
        if change.running < 0 { metrics.running.decrement() }
        if change.receivedBytes > 0 { metrics.receivedBytes.increment(by: change.receivedBytes) }
        count(event, change.duration)
        write(event, change.duration)
    }

    func note(_ error: QueueStoreError) {
        logger.warning(
            "The run of the queue goes on in spite of an error.",
            metadata: ["error": "\(Redaction().redacted("\(error)"))"])
    }

    /// Counts the downloads that ended without an event as no longer running.
    func runEnded() {
        let count = tally.withLock { $0.forgetAll() }
        if count > 0 { metrics.running.decrement(by: Double(count)) }
    }

    private func count(_ event: DownloadEvent, _ duration: Duration?) {
        switch event {
        case .retrying: metrics.retries.increment()
        case .finished(_, .done):
            metrics.done.increment()
            if let duration { metrics.duration.record(duration: duration) }
        case .finished(_, .skipped): metrics.skipped.increment()
        case .finished(_, .failed): metrics.failed.increment()
        case .finished(_, .cancelled): metrics.cancelled.increment()
        default: break
        }
    }

    private func write(_ event: DownloadEvent, _ duration: Duration?) {
        func metadata(_ other: Logger.Metadata = [:]) -> Logger.Metadata {
            var metadata = other
            metadata["download.id"] = "\(event.job)"
            if let duration { metadata["download.duration"] = "\(duration)" }
            return metadata
        }
        switch event {
        case .started(_, let attempt):
            logger.debug("A download starts.", metadata: metadata(["download.attempt": "\(attempt)"]))
        case .responded(_, let announced, let resumed):
            logger.trace(
                "The server responded.",
                metadata: metadata([
                    "download.expected": announced.map { "\($0)" } ?? "unknown", "download.resumed": "\(resumed)",
                ]))
        case .retrying(_, let error, let delay):
            logger.debug(
                "An attempt failed and will be repeated.",
                metadata: metadata(Self.metadata(of: error).merging(["download.delay": "\(delay)"]) { $1 }))
        case .released: logger.debug("A download was stopped and waits again.", metadata: metadata())
        case .finished(_, .done(let bytes)):
            logger.debug("A download is done.", metadata: metadata(["download.bytes": "\(bytes)"]))
        case .finished(_, .skipped):
            logger.debug("A download was skipped, because its file exists.", metadata: metadata())
        case .finished(_, .cancelled): logger.debug("A download was cancelled.", metadata: metadata())
        case .finished(_, .failed(let error)):
            logger.warning("A download failed.", metadata: metadata(Self.metadata(of: error)))
        // Bytes arrive too often for a log; they are in the metrics.
        default: break
        }
    }

    /// The texts of the error, and not the error itself, whose URL may contain secrets.
    private static func metadata(of error: TransferError) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "url": "\(error.subject)", "error": "\(error.message)", "error.code": "\(error.code)",
            "download.attempts": "\(error.attempts)",
        ]
        if let status = error.status { metadata["http.status"] = "\(status.code)" }
        return metadata
    }
}
