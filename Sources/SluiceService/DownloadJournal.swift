import HTTPTypes
import Logging
import Metrics
import SluiceDownloads
import SluiceHTTP
import SluiceLock

/// Writes a run's events to the log and the metrics.
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
        // Increments rather than values, because several tasks report events, and the older of two values could be written last. Backends
        // ignore negative increments.
        if change.running > 0 { metrics.running.increment() }
        if change.running < 0 { metrics.running.decrement() }
        if change.receivedBytes > 0 { metrics.receivedBytes.increment(by: change.receivedBytes) }
        count(event, change.duration)
        write(event, change.duration)
    }

    func note(_ error: QueueStoreError) {
        logger.warning(
            "The queue continues after an error.",
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
            if let download = event.download { metadata["download.id"] = "\(download)" }
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
                    "download.total": announced.map { "\($0)" } ?? "unknown", "download.resumed": "\(resumed)",
                ]))
        case .retrying(_, let error, let delay):
            logger.debug(
                "An attempt failed and will be repeated.",
                metadata: metadata(Self.metadata(of: error).merging(["download.delay": "\(delay)"]) { $1 }))
        case .failedOver(_, let error, let mirror):
            logger.debug(
                "A server failed, and a mirror is tried.",
                metadata: metadata(
                    Self.metadata(of: error).merging(["download.mirror": "\(mirror.redactedForDisplay)"]) { $1 }))
        case .mirrorRejected(_, let error):
            logger.notice(
                "A mirror sent wrong bytes, which were replaced.", metadata: metadata(Self.metadata(of: error)))
        case .released: logger.debug("A download was stopped and waits again.", metadata: metadata())
        case .finished(_, .done(let bytes)):
            logger.debug("A download is done.", metadata: metadata(["download.fileSize": "\(bytes)"]))
        case .finished(_, .skipped):
            logger.debug("A download was skipped, because its file exists.", metadata: metadata())
        case .finished(_, .cancelled): logger.debug("A download was cancelled.", metadata: metadata())
        case .finished(_, .failed(let error)):
            logger.warning("A download failed.", metadata: metadata(Self.metadata(of: error)))
        // Bytes arrive too often for a log; they are in the metrics.
        default: break
        }
    }

    /// The error's texts rather than the error itself, whose URL may contain secrets.
    private static func metadata(of error: TransferError) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "url": "\(error.subject)", "error": "\(error.message)", "error.code": "\(error.code)",
            "download.attempts": "\(error.attempts)",
        ]
        if let status = error.status { metadata["http.status"] = "\(status.code)" }
        return metadata
    }
}

// MARK: - Metrics

/// A service's metrics. They are created once, because a backend may lock and allocate for each new metric.
struct DownloadMetrics: Sendable {
    let done: Counter
    let skipped: Counter
    let failed: Counter
    let cancelled: Counter
    let retries: Counter
    let receivedBytes: Counter
    let running: Meter
    let waiting: Meter
    let duration: Timer

    init(factory: any MetricsFactory) {
        func ended(_ outcome: String) -> Counter {
            Counter(label: "sluice.downloads.ended", dimensions: [("outcome", outcome)], factory: factory)
        }
        done = ended("done")
        skipped = ended("skipped")
        failed = ended("failed")
        cancelled = ended("cancelled")
        retries = Counter(label: "sluice.downloads.retries", factory: factory)
        receivedBytes = Counter(label: "sluice.downloads.received_bytes", factory: factory)
        running = Meter(label: "sluice.downloads.running", factory: factory)
        waiting = Meter(label: "sluice.downloads.waiting", factory: factory)
        duration = Timer(label: "sluice.downloads.duration", factory: factory)
    }
}

// MARK: - What runs

/// What a run's events say about the running downloads: how many there are, when they started, and how much they have received.
struct DownloadTally: Sendable {
    /// What an event adds to the metrics.
    struct Change: Equatable, Sendable {
        /// The change in the number of running downloads: 1, 0 or -1.
        var running = 0
        /// The bytes that arrived over the network since the previous event of the download.
        var receivedBytes: Int64 = 0
        /// The time since the download's last attempt started, if the attempt ended.
        var duration: Duration?
    }

    private struct Attempt {
        var started: ContinuousClock.Instant
        var received: Int64 = 0
    }

    private var attempts: [QueuedDownload.ID: Attempt] = [:]

    mutating func note(_ event: DownloadEvent, at now: ContinuousClock.Instant) -> Change {
        switch event {
        case .started(let job, _):
            let isNew = attempts.updateValue(Attempt(started: now), forKey: job) == nil
            return Change(running: isNew ? 1 : 0)
        case .responded(let job, _, let resumed):
            attempts[job]?.received = resumed
        case .received(let job, let bytes):
            guard let before = attempts[job]?.received else { break }
            attempts[job]?.received = bytes
            return Change(receivedBytes: max(0, bytes - before))
        default:
            // A download that ends without an attempt, such as one whose file exists, has no start.
            guard event.endsAttempt, let download = event.download, let attempt = attempts.removeValue(forKey: download)
            else { break }
            return Change(running: -1, duration: attempt.started.duration(to: now))
        }
        return Change()
    }

    /// Forgets all downloads, and returns how many of them were running.
    mutating func forgetAll() -> Int {
        defer { attempts = [:] }
        return attempts.count
    }
}

extension DownloadEvent {
    fileprivate var endsAttempt: Bool {
        switch self {
        case .retrying, .failedOver, .paused, .released, .finished: true
        default: false
        }
    }
}
