/// Converts positions in a region between UTF-8 and UTF-16. It stores one offset for each 64 bytes, and none for ASCII.
struct UTF16Index: Sendable {
    private static let stride = 64

    /// The length of the region in UTF-16 code units.
    let count: Int
    /// For each multiple of the stride: the code units of the scalars that begin before it.
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

    /// Returns the code units before a position, which must be between two scalars of the source. O(1).
    func utf16Offset(of position: Int, in source: UnsafeBufferPointer<UInt8>) -> Int {
        guard !offsets.isEmpty else { return position }
        guard position < source.count else { return count }
        let first = position / Self.stride
        return Int(offsets[first]) + Self.units(in: source, first * Self.stride..<position)
    }

    /// Returns the position before which there are that many code units, or `nil` within a surrogate pair. O(log n).
    func position(ofUTF16 offset: Int, in source: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !offsets.isEmpty else { return offset }
        var low = 0
        var high = offsets.count
        while low < high {
            let middle = (low + high) / 2
            if Int(offsets[middle]) <= offset { low = middle + 1 } else { high = middle }
        }
        var index = max(0, low - 1) * Self.stride
        var units = Int(offsets[max(0, low - 1)])
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
        var all: UInt64 = 0
        while index + 8 <= raw.count {
            all |= raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index += 8
        }
        var rest: UInt8 = 0
        while index < raw.count {
            rest |= raw[index]
            index += 1
        }
        return all & UInt64(repeating: 0x80) == 0 && rest < 0x80
    }

    /// Counts the bytes that begin a scalar, and again those that begin a scalar of four bytes.
    private static func units(in source: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= source.count)
        let raw = UnsafeRawBufferPointer(source)
        var units = 0
        var index = range.lowerBound
        while index &+ 8 <= range.upperBound {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // The lowest bit of each byte that is 10xxxxxx, and of each that is 1111xxxx.
            let continuations = word >> 7 & ~(word >> 6) & UInt64(repeating: 0x01)
            let pairs = word >> 7 & word >> 6 & word >> 5 & word >> 4 & UInt64(repeating: 0x01)
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
