/// Maps offsets in the content to offsets in the source. Content and source advance in step, except for a jump at the beginning of each
/// line and wherever they differ in length.
struct SourceMap: Sendable {
    struct Jump: Sendable {
        var content: Int32
        var source: Int32
    }

    private(set) var jumps: [Jump] = []

    /// Adds a jump. After it, content and source advance in step.
    mutating func append(content: Int, source: Int) {
        jumps.append(Jump(content: Int32(truncatingIfNeeded: content), source: Int32(truncatingIfNeeded: source)))
    }

    /// Removes the jumps at and after a position in the source, because their content is removed.
    mutating func removeAll(fromSource position: Int) {
        while let last = jumps.last, Int(last.source) >= position { jumps.removeLast() }
    }

    /// O(log n). The range ends right after the source position of the last byte. The position of the next byte may be on another line.
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
        let next = partitionPoint(of: count) { Int(jump($0).content) <= content }
        let limit = next < count ? Int(jump(next).source) : Int.max
        guard next > 0 else { return (0, limit) }
        let last = jump(next - 1)
        return (Int(last.source) + content - Int(last.content), limit)
    }
}

/// Converts positions in a region between UTF-8 and UTF-16. Stores one offset per 64 bytes, and none if the region is ASCII.
struct UTF16Index: Sendable {
    private static let stride = 64

    /// The length of the region in UTF-16 code units.
    let count: Int
    /// For each multiple of the stride, the number of code units in the scalars that begin before it.
    private let offsets: [Int32]

    init(_ source: UnsafeBufferPointer<UInt8>) {
        guard !Self.isASCII(source) else {
            (count, offsets) = (source.count, [])
            return
        }
        var offsets: [Int32] = []
        offsets.reserveCapacity(source.count / Self.stride + 1)
        var count = 0
        var index = 0
        while index < source.count {
            offsets.append(Int32(truncatingIfNeeded: count))
            let end = min(source.count, index + Self.stride)
            count += Self.units(in: source, index..<end)
            index = end
        }
        self.count = count
        self.offsets = offsets
    }

    /// Returns the number of code units before a position, which must be on a scalar boundary. O(1).
    func utf16Offset(of position: Int, in source: UnsafeBufferPointer<UInt8>) -> Int {
        guard !offsets.isEmpty else { return position }
        guard position < source.count else { return count }
        let first = position / Self.stride
        return Int(offsets[first]) + Self.units(in: source, first * Self.stride..<position)
    }

    /// Returns the UTF-8 position of a UTF-16 offset, or `nil` if the offset is within a surrogate pair. O(log n).
    func position(ofUTF16 offset: Int, in source: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !offsets.isEmpty else { return offset }
        let first = max(0, partitionPoint(of: offsets.count) { Int(offsets[$0]) <= offset } - 1)
        var index = first * Self.stride
        var units = Int(offsets[first])
        while index < source.count, source[index] & 0xC0 == 0x80 { index += 1 }
        while index < source.count, units < offset {
            units += source[index] >= 0xF0 ? 2 : 1
            index += 1
            while index < source.count, source[index] & 0xC0 == 0x80 { index += 1 }
        }
        return units == offset ? index : nil
    }

    private static func isASCII(_ source: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeRawBufferPointer(source)
        var index = 0
        var all = ByteBlock(repeating: 0)
        while index &+ 16 <= raw.count {
            all |= raw.loadUnaligned(fromByteOffset: index, as: ByteBlock.self)
            index &+= 16
        }
        var rest: UInt8 = 0
        while index < raw.count {
            rest |= raw[index]
            index &+= 1
        }
        return (all .>= ByteBlock(repeating: 0x80)).highBits == (0, 0) && rest < 0x80
    }

    /// Counts UTF-16 code units: one for each byte that begins a scalar, and another for each that begins a four-byte scalar.
    private static func units(in source: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= source.count)
        let raw = UnsafeRawBufferPointer(source)
        let ones: UInt64 = 0x0101_0101_0101_0101
        var units = 0
        var index = range.lowerBound
        while index &+ 8 <= range.upperBound {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // The lowest bit is set for each byte of the form 10xxxxxx (continuations) or 1111xxxx (pairs).
            let continuations = word >> 7 & ~(word >> 6) & ones
            let pairs = word >> 7 & word >> 6 & word >> 5 & word >> 4 & ones
            units &+= 8 &- continuations.nonzeroBitCount &+ pairs.nonzeroBitCount
            index &+= 8
        }
        while index < range.upperBound {
            let byte = source[index]
            units &+= (byte & 0xC0 == 0x80 ? 0 : 1) &+ (byte >= 0xF0 ? 1 : 0)
            index &+= 1
        }
        return units
    }
}
