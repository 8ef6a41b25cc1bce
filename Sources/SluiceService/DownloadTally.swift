import SluiceDownloads

/// What the events of a run say about the running downloads: how many there are, when they started, and what they have received.
struct DownloadTally: Sendable {
    /// What an event adds to the metrics.
    struct Change: Equatable, Sendable {
        /// How many more downloads run: 1, 0 or -1.
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
            // A download whose lease was lost ends without an event, and may start here again.
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
            guard event.endsAttempt, let attempt = attempts.removeValue(forKey: event.job) else { break }
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
        case .retrying, .paused, .released, .finished: true
        default: false
        }
    }
}
