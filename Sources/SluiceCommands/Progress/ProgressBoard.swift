import SluiceDownloads

/// What the bars show: kept up to date by events, drawn from a copy. A pure value; times are passed in.
struct ProgressBoard: Sendable {
    /// A file under way.
    struct Row: Sendable, Equatable {
        var name: String
        var received: Int64 = 0
        var announced: Int64?
        /// How many of the bytes were there before this attempt.
        var resumed: Int64 = 0
        /// When this attempt began, on the caller's clock.
        var began: Duration
        /// Whether it waits for its next attempt.
        var isWaiting = false
    }

    /// A moment's state of the whole.
    struct Sample: Sendable, Equatable {
        var time: Duration
        var bytes: Int64
    }

    let names: [String]
    private(set) var rows: [Int: Row] = [:]
    private(set) var done = 0
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var retries = 0
    /// Bytes of finished files, and of the running ones so far.
    private(set) var bytes: Int64 = 0
    /// The last few seconds, oldest first.
    private(set) var samples: [Sample] = []

    init(names: [String]) {
        self.names = names
    }

    /// Files that are finished, in whichever way.
    var finished: Int { done + skipped + failed }

    /// Files whose last attempt failed and whose next has not begun.
    var waiting: Int { rows.values.count(where: \.isWaiting) }

    /// The part of all files that is done, the running ones by their bytes: 0 to 1.
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
            rows[index]?.isWaiting = true
        case .released:
            forgetBytes(of: index)
            rows[index] = nil
        case .finished(_, let outcome):
            switch outcome {
            case .done(let size):
                bytes += size - (rows[index]?.received ?? 0)
                done += 1
            case .skipped: skipped += 1
            case .failed, .cancelled:
                forgetBytes(of: index)
                failed += 1
            }
            rows[index] = nil
        }
    }

    /// Notes how many bytes of a file are there.
    private mutating func addBytes(_ count: Int64, to index: Int) {
        guard let before = rows[index]?.received else { return }
        bytes += count - before
        rows[index]?.received = count
    }

    /// Bytes of an attempt that failed are no progress.
    private mutating func forgetBytes(of index: Int) {
        bytes -= rows[index]?.received ?? 0
        rows[index]?.received = 0
    }

    /// How far back the rate looks.
    static let rateWindow = Duration.seconds(3)

    /// Remembers the state at `time`, for the rate.
    mutating func sample(at time: Duration) {
        samples.append(Sample(time: time, bytes: bytes))
        // The newest sample that is older than the window stays: it is the window's left edge.
        while samples.count > 2, samples[1].time <= time - Self.rateWindow { samples.removeFirst() }
    }

    /// Bytes per second over the last few seconds.
    var rate: Double {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return 0 }
        return max(0, Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1)))
    }
}
