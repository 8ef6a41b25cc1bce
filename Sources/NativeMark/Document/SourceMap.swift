/// A map from offsets in the content to offsets in the source. Both increase together, with a jump at the beginning of each line and
/// wherever the content differs in length from the source.
struct SourceMap: Sendable {
    struct Jump: Sendable {
        var content: Int32
        var source: Int32
    }

    private(set) var jumps: [Jump] = []

    /// From here on, the content and the source run in parallel.
    mutating func append(content: Int, source: Int) {
        jumps.append(Jump(content: Int32(truncatingIfNeeded: content), source: Int32(truncatingIfNeeded: source)))
    }

    /// Forgets what was appended for the source from a position on, because its content is removed.
    mutating func removeAll(fromSource position: Int) {
        while let last = jumps.last, Int(last.source) >= position { jumps.removeLast() }
    }

    /// O(log n). The range ends after the last byte's own position, not at the position of the next byte, which may be on another line.
    func range(of content: Range<Int>) -> Range<Int> {
        Self.range(of: content, count: jumps.count) { jumps[$0] }
    }

    @inline(__always)
    static func range(of content: Range<Int>, count: Int, jump: (Int) -> Jump) -> Range<Int> {
        let start = offset(of: content.lowerBound, count: count, jump: jump).0
        guard !content.isEmpty else { return start..<start }
        let (last, limit) = offset(of: content.upperBound - 1, count: count, jump: jump)
        return start..<max(start, min(last + 1, limit))
    }

    @inline(__always)
    private static func offset(of content: Int, count: Int, jump: (Int) -> Jump) -> (Int, limit: Int) {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if Int(jump(middle).content) <= content { low = middle + 1 } else { high = middle }
        }
        let limit = low < count ? Int(jump(low).source) : Int.max
        guard low > 0 else { return (0, limit) }
        let last = jump(low - 1)
        return (Int(last.source) + content - Int(last.content), limit)
    }
}
