import SluiceDownloads

/// The state that the progress bars show. Events update it. The caller passes the times, measured from any fixed start.
struct ProgressBoard: Sendable {
    struct Row: Sendable, Equatable {
        var name: String
        var received: Int64 = 0
        var announced: Int64?
        var resumed: Int64 = 0
        var began: Duration
        var isWaiting = false
    }

    struct Sample: Sendable, Equatable {
        var time: Duration
        var bytes: Int64
    }

    let names: ProgressNames
    /// The number of downloads in each state of a queue.
    var counts: [QueuedDownload.State: Int] = [:]
    private(set) var rows: [Int: Row] = [:]
    private(set) var done = 0
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var retries = 0
    /// The bytes of the finished files and those that the running ones have so far.
    private(set) var bytes: Int64 = 0
    /// Of the last few seconds, oldest first.
    private(set) var samples: [Sample] = []

    init(names: ProgressNames) {
        self.names = names
    }

    /// The number of files that are done, skipped or failed. Cancelled files count as failed.
    var finished: Int { done + skipped + failed }

    var waiting: Int { rows.values.count(where: \.isWaiting) }

    /// The finished part of all files, from 0 to 1. A running file counts by its bytes.
    var fraction: Double {
        guard !names.isEmpty else { return 1 }
        let running = rows.values.reduce(0.0) { sum, row in
            guard let announced = row.announced, announced > 0 else { return sum }
            return sum + min(1, Double(row.received) / Double(announced))
        }
        return min(1, (Double(finished) + running) / Double(names.count))
    }

    mutating func note(_ event: DownloadEvent, of index: Int, at time: Duration) {
        switch event {
        case .started:
            forgetBytes(of: index)
            rows[index] = Row(name: names[index], began: time)
        case .responded(_, let announced, let resumed):
            rows[index]?.announced = announced
            rows[index]?.resumed = resumed
            addBytes(resumed, to: index)
        case .received(_, let count):
            addBytes(count, to: index)
        case .retrying:
            retries += 1
            forgetBytes(of: index)
            // Another worker of the queue may continue the download.
            if names.areOfQueue { rows[index] = nil } else { rows[index]?.isWaiting = true }
        case .paused, .released:
            forgetBytes(of: index)
            rows[index] = nil
        case .finished(_, let outcome):
            switch outcome {
            case .done(let size):
                bytes = bytes.addingClamped(max(0, size)).addingClamped(-(rows[index]?.received ?? 0))
                done += 1
            case .skipped: skipped += 1
            case .failed, .cancelled:
                forgetBytes(of: index)
                failed += 1
            }
            rows[index] = nil
        }
    }

    private mutating func addBytes(_ count: Int64, to index: Int) {
        guard let before = rows[index]?.received else { return }
        bytes += count - before
        rows[index]?.received = count
    }

    private mutating func forgetBytes(of index: Int) {
        bytes -= rows[index]?.received ?? 0
        rows[index]?.received = 0
    }

    static let rateWindow = Duration.seconds(3)

    mutating func sample(at time: Duration) {
        samples.append(Sample(time: time, bytes: bytes))
        // The newest sample that is older than the window is kept as the start of the window.
        while samples.count > 2, samples[1].time <= time - Self.rateWindow { samples.removeFirst() }
    }

    /// The bytes per second over ``rateWindow``; 0 with fewer than two samples.
    var rate: Double {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return 0 }
        return max(0, Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1)))
    }
}
