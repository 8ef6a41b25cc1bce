import SluiceFiles

/// Computes the rate and the time left from the snapshots of a queue.
struct TransferMeter: Sendable {
    private(set) var totals = DownloadList.Totals()
    private var rate = SmoothedRate()
    private var previous: (snapshot: QueueSnapshot, time: ContinuousClock.Instant)?

    /// The most bytes to count when a download first shows up in a snapshot. They may belong to a resumed partial file or to another
    /// process, and a large number would make the rate jump. Without them, the rate of many small files would be too low.
    static let maximumUnseen: Int64 = 1 << 20

    /// Adds the bytes that arrived between the previous snapshot and this one.
    mutating func note(_ snapshot: QueueSnapshot, at now: ContinuousClock.Instant) {
        if let previous, !previous.snapshot.running.isEmpty {
            rate.add(Self.bytesArrived(from: previous.snapshot, to: snapshot), over: previous.time.duration(to: now))
        } else {
            // We don't know when the first downloads began.
            rate = SmoothedRate()
        }
        previous = (snapshot, now)
        update()
    }

    /// Lets the rate fall while no snapshots arrive, because no bytes do.
    mutating func advance(to now: ContinuousClock.Instant) {
        guard let (snapshot, time) = previous else { return }
        rate.add(0, over: time.duration(to: now))
        previous = (snapshot, now)
        update()
    }

    private static func bytesArrived(from old: QueueSnapshot, to new: QueueSnapshot) -> Int64 {
        var arrived: Int64 = 0
        let before = Dictionary(old.running.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for job in new.running {
            if let seen = before[job.id] {
                // If there are fewer bytes than before, another attempt has begun.
                arrived = arrived.addingClamped(max(0, max(0, job.receivedBytes) - max(0, seen.receivedBytes)))
            } else {
                arrived = arrived.addingClamped(min(max(0, job.receivedBytes), maximumUnseen))
            }
        }
        let alreadyEnded = Set(old.ended.map(\.id))
        for job in new.ended where job.state == .done && !alreadyEnded.contains(job.id) {
            guard let bytes = job.fileSize else { continue }
            if let seen = before[job.id], seen.receivedBytes > 0 {
                arrived = arrived.addingClamped(max(0, bytes) - min(max(0, bytes), seen.receivedBytes))
            } else {
                arrived = arrived.addingClamped(min(max(0, bytes), maximumUnseen))
            }
        }
        return arrived
    }

    private mutating func update() {
        guard let snapshot = previous?.snapshot, !snapshot.running.isEmpty else {
            totals = DownloadList.Totals()
            return
        }
        let running = snapshot.running
        let sizes = running.compactMap(\.totalBytes)
        let bytesPerSecond = rate.bytesPerSecond
        totals = DownloadList.Totals(
            receivedBytes: running.reduce(0) { $0.addingClamped($1.receivedBytes) },
            totalBytes: sizes.count == running.count ? sizes.reduce(0) { $0.addingClamped($1) } : nil,
            bytesPerSecond: bytesPerSecond.map { Int64(min($0.rounded(), 1e18)) },
            timeLeft: bytesPerSecond.flatMap { Self.timeLeft(of: snapshot, bytesPerSecond: $0) })
    }

    private static func timeLeft(of snapshot: QueueSnapshot, bytesPerSecond: Double) -> Duration? {
        guard bytesPerSecond >= 1 else { return nil }
        let known =
            snapshot.running.compactMap(\.totalBytes)
            + snapshot.ended.filter { $0.state == .done }.compactMap(\.fileSize)
        let mean = known.isEmpty ? nil : known.reduce(0) { $0 + Double($1) } / Double(known.count)
        var left = 0.0
        for job in snapshot.running {
            guard let size = job.totalBytes.map(Double.init) ?? mean else { return nil }
            left += max(0, size - Double(job.receivedBytes))
        }
        let waiting = snapshot.count(in: .waiting)
        if waiting > 0 {
            guard let mean else { return nil }
            left += Double(waiting) * mean
        }
        let seconds = (left / bytesPerSecond).rounded(.up)
        // More than thirty years isn't an estimate.
        return (0..<1e9).contains(seconds) ? .seconds(Int64(seconds)) : nil
    }
}
