/// A map from offsets in the content to offsets in the source. Both increase together, with a jump at the beginning of each line and
/// wherever the content differs in length from the source.
struct SourceMap: Sendable {
    struct Jump: Sendable {
        var content: Int32
        var source: Int32
    }

    private(set) var jumps: [Jump]

    init(jumps: [Jump] = []) {
        self.jumps = jumps
    }

    /// From here on, the content and the source run in parallel.
    mutating func append(content: Int, source: Int) {
        jumps.append(Jump(content: Int32(truncatingIfNeeded: content), source: Int32(truncatingIfNeeded: source)))
    }

    /// Returns the map of a region, which begins at a position in the content and in the source.
    func part(_ range: Range<Int>, content: Int, source: Int) -> Self {
        let (content, source) = (Int32(truncatingIfNeeded: content), Int32(truncatingIfNeeded: source))
        let jumps = jumps.withUnsafeBufferPointer { all in
            [Jump](unsafeUninitializedCapacity: range.count) { buffer, count in
                for index in range {
                    let jump = all[index]
                    (buffer.baseAddress! + count).initialize(
                        to: Jump(content: jump.content - content, source: jump.source - source))
                    count += 1
                }
            }
        }
        return Self(jumps: jumps)
    }

    /// O(log n). The range ends after the last byte's own position, not at the position of the next byte, which may be on another line.
    func range(of content: Range<Int>) -> Range<Int> {
        let start = offset(of: content.lowerBound).0
        guard !content.isEmpty else { return start..<start }
        let (last, limit) = offset(of: content.upperBound - 1)
        return start..<max(start, min(last + 1, limit))
    }

    private func offset(of content: Int) -> (Int, limit: Int) {
        var low = 0
        var high = jumps.count
        while low < high {
            let middle = (low + high) / 2
            if Int(jumps[middle].content) <= content { low = middle + 1 } else { high = middle }
        }
        let limit = low < jumps.count ? Int(jumps[low].source) : Int.max
        guard low > 0 else { return (0, limit) }
        let jump = jumps[low - 1]
        return (Int(jump.source) + content - Int(jump.content), limit)
    }
}
