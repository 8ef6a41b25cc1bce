/// Which bytes of a file have been written, while several connections download it in segments.
///
///     var map = SegmentMap(total: 1_000_000)
///     let first = map.take(splittingFrom: 100_000)       // all of it
///     let second = map.take(splittingFrom: 100_000)      // its second half
///
/// ```text
/// 0                                                                        total
/// ├── written ──┬─ received ─┬─ missing ─┼── written ──┬────── missing ──────┤
///     segment 0                            segment 1
/// ```
///
/// The segments cover the file in order, without gaps. A connection takes a segment that nobody fetches or, if there is none, the second
/// half of the one with the most missing bytes. So no connection is idle while a large part is missing, and a fast one takes over from a
/// slow one. What a connection leaves behind can be taken again.
struct SegmentMap: Sendable, Equatable {
    struct Segment: Sendable, Equatable {
        let first: Int64
        fileprivate(set) var end: Int64
        /// The file has the bytes before this offset.
        fileprivate(set) var written: Int64
        /// The bytes before this offset are on the disk, and survive a power failure.
        fileprivate(set) var synced: Int64
        /// The bytes before this offset have arrived. The connection that fetches the segment hasn't written all of them yet.
        fileprivate(set) var received: Int64
        fileprivate(set) var isTaken = false

        fileprivate init(_ first: Int64, _ end: Int64, written: Int64? = nil, synced: Int64? = nil) {
            (self.first, self.end) = (first, end)
            self.written = written ?? first
            self.synced = synced ?? first
            received = self.written
        }
    }

    /// The most segments of a file, so that a checkpoint has room for them.
    static let maximumCount = 128

    /// A segment's ID is its index in the order of creation, which never changes.
    typealias ID = Int

    /// In the order of the file.
    private var order: [ID] = []
    private var segments: [Segment] = []
    let total: Int64

    init(total: Int64) {
        self.total = total
        (segments, order) = ([Segment(0, total)], [0])
    }

    /// A map of a file of which only these bytes are missing. The ranges are in order and don't overlap. Of many, some are joined with
    /// the bytes between them.
    init(total: Int64, missing ranges: [Range<Int64>]) {
        var ranges = ranges
        while ranges.count > Self.maximumCount / 4 {
            ranges = stride(from: 0, to: ranges.count, by: 2).map { index in
                ranges[index].lowerBound..<ranges[min(index + 1, ranges.count - 1)].upperBound
            }
        }
        self.total = total
        var end: Int64 = 0
        for range in ranges where !range.isEmpty {
            if range.lowerBound > end {
                segments.append(Segment(end, range.lowerBound, written: range.lowerBound))
            }
            segments.append(Segment(range.lowerBound, range.upperBound))
            end = range.upperBound
        }
        if end < total { segments.append(Segment(end, total, written: total)) }
        order = Array(segments.indices)
    }

    subscript(_ id: ID) -> Segment { segments[id] }

    /// The number of bytes that have arrived.
    var receivedBytes: Int64 { segments.reduce(0) { $0 + $1.received - $1.first } }

    /// The ranges of bytes that have been written, in the order of the file.
    var writtenRanges: [Range<Int64>] {
        order.map { segments[$0].first..<segments[$0].written }.filter { !$0.isEmpty }
    }

    var writtenBytes: Int64 { segments.reduce(0) { $0 + $1.written - $1.first } }

    var isComplete: Bool { segments.allSatisfy { $0.written == $0.end } }

    // MARK: Taking segments

    /// Takes a segment with missing bytes; `nil` if there is none. One that is being fetched is split if both halves have at least `minimum`
    /// bytes. O(*n*) in the number of segments.
    mutating func take(splittingFrom minimum: Int64) -> ID? {
        if let free = order.first(where: { !segments[$0].isTaken && segments[$0].written < segments[$0].end }) {
            segments[free].isTaken = true
            return free
        }
        let largest = order.indices.max { missing(order[$0]) < missing(order[$1]) }
        guard let largest, case let id = order[largest], missing(id) / 2 >= minimum, segments.count < Self.maximumCount
        else { return nil }
        let middle = segments[id].end - missing(id) / 2
        var half = Segment(middle, segments[id].end)
        half.isTaken = true
        segments[id].end = middle
        segments.append(half)
        order.insert(segments.count - 1, at: largest + 1)
        return segments.count - 1
    }

    /// Whether ``take(splittingFrom:)`` would return a segment.
    func hasWork(splittingFrom minimum: Int64) -> Bool {
        segments.contains { !$0.isTaken && $0.written < $0.end }
            || (segments.count < Self.maximumCount && order.contains { missing($0) / 2 >= minimum })
    }

    /// Takes the segment that begins where another one ends, if nobody fetches it.
    mutating func takeNeighbor(of id: ID) -> ID? {
        guard let index = order.firstIndex(of: id), index + 1 < order.count, case let next = order[index + 1],
            !segments[next].isTaken, segments[next].written < segments[next].end
        else { return nil }
        segments[next].isTaken = true
        return next
    }

    private func missing(_ id: ID) -> Int64 { segments[id].end - segments[id].received }

    // MARK: Bytes

    /// Notes that bytes have arrived after those of the segment that arrived before. Returns how many of them belong to it: its end moves
    /// toward its start when it is split.
    mutating func receive(_ count: Int, in id: ID) -> Int {
        let kept = min(Int64(count), missing(id))
        segments[id].received += kept
        return Int(kept)
    }

    /// Notes that all bytes that have arrived have been written.
    mutating func noteWritten(_ count: Int, in id: ID) { segments[id].written += Int64(count) }

    /// Gives a segment back. Bytes that weren't written are missing again.
    mutating func release(_ id: ID) {
        segments[id].isTaken = false
        segments[id].received = segments[id].written
    }

    /// Notes that what had been written in an earlier state of this map is on the disk.
    mutating func noteSynced(_ earlier: SegmentMap) {
        for (id, segment) in earlier.segments.enumerated() {
            segments[id].synced = max(segments[id].synced, segment.written)
        }
    }

    // MARK: Storing

    /// The segments for a checkpoint, each as its first offset, its end, and the offsets before which it is written and synced.
    var stored: [[Int64]] {
        var joined: [Segment] = []
        for next in order.map({ segments[$0] }) {
            if let last = joined.last, last.written == last.end {
                let synced = last.synced == last.end ? next.synced : last.synced
                joined[joined.count - 1] = Segment(last.first, next.end, written: next.written, synced: synced)
            } else {
                joined.append(next)
            }
        }
        return joined.map { [$0.first, $0.end, $0.written, $0.synced] }
    }

    /// Returns `nil` if the segments don't cover a file of this length, because somebody changed the checkpoint.
    ///
    /// - Parameter isSameBoot: Whether the bytes that had been written are still there, although not all of them were synced.
    init?(stored: [[Int64]], total: Int64, isSameBoot: Bool) {
        guard (1...Self.maximumCount).contains(stored.count) else { return nil }
        var end: Int64 = 0
        for numbers in stored {
            guard numbers.count == 4, case let (first, next) = (numbers[0], numbers[1]),
                case let (written, synced) = (numbers[2], numbers[3]),
                first == end, synced >= first, written >= synced, next >= written, next > first
            else { return nil }
            segments.append(
                Segment(first, next, written: isSameBoot ? written : synced, synced: synced))
            end = next
        }
        guard end == total else { return nil }
        order = Array(segments.indices)
        self.total = total
    }
}
