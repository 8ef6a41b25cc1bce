extension UInt8 {
    @inline(__always) var isSpaceOrTab: Bool { self == 0x20 || self == 0x09 }
    /// Whether this ASCII character is white space in CommonMark.
    @inline(__always) var isMarkdownSpace: Bool { self == 0x20 || (self >= 0x09 && self <= 0x0D && self != 0x0B) }
    @inline(__always) var isDigit: Bool { self &- 0x30 < 10 }
    @inline(__always) var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }
    @inline(__always) var isLetterOrDigit: Bool { isLetter || isDigit }
    var isHexDigit: Bool { isDigit || (self | 0x20) &- 0x61 < 6 }
    /// Whether this is ASCII punctuation, which a backslash can escape.
    @inline(__always) var isPunctuation: Bool {
        (self > 0x20 && self < 0x30) || (self > 0x39 && self < 0x41) || (self > 0x5A && self < 0x61)
            || (self > 0x7A && self < 0x7F)
    }
}

extension Unicode.Scalar {
    /// Whether this is white space in CommonMark: category Zs, tab, line feed, form feed, or carriage return.
    var isMarkdownSpace: Bool {
        switch value {
        case 0x20, 0x09, 0x0A, 0x0C, 0x0D: true
        case 0..<0x80: false
        default: isSpaceSeparator
        }
    }

    /// Whether this is punctuation in CommonMark: categories P and S.
    var isMarkdownPunctuation: Bool { value < 0x80 ? UInt8(value).isPunctuation : isPunctuationOrSymbol }

    // Not inlined: looking up Unicode properties is slow, and inlining it would also slow down the path for ASCII characters.

    @inline(never) private var isSpaceSeparator: Bool { properties.generalCategory == .spaceSeparator }

    @inline(never) private var isPunctuationOrSymbol: Bool {
        switch properties.generalCategory {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
            .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
            return true
        default: return false
        }
    }
}

// MARK: - Searching

/// Returns the number of indices in `0..<count` that satisfy a condition. They must come before all indices that don't. O(log n).
@inline(__always) func partitionPoint(of count: Int, where condition: (Int) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
        let middle = (low + high) / 2
        if condition(middle) { low = middle + 1 } else { high = middle }
    }
    return low
}

// These searches look at sixteen bytes at a time: each processor for which Swift is built has registers of that size. A loop over single
// bytes takes about five times as long, and each parse searches the text several times.

/// Sixteen bytes. Comparisons of two blocks compile to one instruction or two. Those of a block and a byte compile to loops, which take ten
/// times as long as no blocks at all, so all constants are blocks.
typealias ByteBlock = SIMD16<UInt8>

extension SIMDMask<SIMD16<Int8>> {
    /// The lanes as two numbers, in which the high bit of each byte tells whether its lane is true. The first lane is the lowest byte.
    @inline(__always) var highBits: (low: UInt64, high: UInt64) {
        let words = unsafeBitCast(self, to: SIMD2<UInt64>.self)
        let bits: UInt64 = 0x8080_8080_8080_8080
        return (UInt64(littleEndian: words[0]) & bits, UInt64(littleEndian: words[1]) & bits)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the position of the first line feed or carriage return in a range, or the end of the range.
    @inline(__always) func firstLineEnd(in range: Range<Int>) -> Int {
        var hasZero = false
        return firstLineEnd(in: range, hasZero: &hasZero)
    }

    /// Returns the position of the first line feed or carriage return in a range, or the end of the range. Sets `hasZero` if there is a zero
    /// byte before it.
    @inline(__always) func firstLineEnd(in range: Range<Int>, hasZero: inout Bool) -> Int {
        // A line has few other control characters, so one comparison finds both kinds of line ends and zeros.
        first(in: range, candidates: { $0 .< ByteBlock(repeating: 0x0E) }) { byte in
            if byte == 0 { hasZero = true }
            return byte == 0x0A || byte == 0x0D
        }
    }

    /// Whether the bytes are well-formed UTF-8 (The Unicode Standard, table 3-7). Takes a fifth of the time that it takes to make a `String`
    /// of a text in which a few characters aren't ASCII.
    var isUTF8: Bool {
        var index = 0
        while true {
            index = first(
                in: index..<count, candidates: { $0 .>= ByteBlock(repeating: 0x80) }, isMatch: { $0 >= 0x80 })
            guard index < count else { return true }
            let lead = self[index]
            let second = index + 1 < count ? self[index + 1] : 0
            let length: Int
            switch (lead, second) {
            case (0xC2...0xDF, 0x80...0xBF): length = 2
            case (0xE0, 0xA0...0xBF), (0xE1...0xEC, 0x80...0xBF), (0xED, 0x80...0x9F), (0xEE...0xEF, 0x80...0xBF):
                length = 3
            case (0xF0, 0x90...0xBF), (0xF1...0xF3, 0x80...0xBF), (0xF4, 0x80...0x8F): length = 4
            default: return false
            }
            guard index + length <= count else { return false }
            for position in index + 2..<Swift.max(index + 2, index + length) where self[position] & 0xC0 != 0x80 {
                return false
            }
            index += length
        }
    }

    /// Returns the position of the first `byte` in a range, or the end of the range.
    @inline(__always) func first(_ byte: UInt8, in range: Range<Int>) -> Int {
        first(in: range, candidates: { $0 .== ByteBlock(repeating: byte) }, isMatch: { $0 == byte })
    }

    /// Returns the position of the first byte in a range for which `table` is true, or the end of the range. The table has 256 entries. It
    /// must be false for letters, spaces and bytes above 0x7F, which make up most of a text.
    @inline(__always) func firstSpecial(in range: Range<Int>, table: UnsafePointer<Bool>) -> Int {
        first(
            in: range,
            candidates: { block in
                let letters = (block | ByteBlock(repeating: 0x20)) &- ByteBlock(repeating: 0x61)
                let isText =
                    (letters .< ByteBlock(repeating: 26)) .| (block .== ByteBlock(repeating: 0x20))
                    .| (block .>= ByteBlock(repeating: 0x80))
                return .!isText
            },
            isMatch: { table[Int($0)] })
    }

    /// `candidates` returns which bytes of a block may match.
    @inline(__always) private func first(
        in range: Range<Int>, candidates: (ByteBlock) -> SIMDMask<SIMD16<Int8>>, isMatch: (UInt8) -> Bool
    ) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        let raw = UnsafeRawBufferPointer(self)
        var index = range.lowerBound
        while index &+ 16 <= range.upperBound {
            var found = candidates(raw.loadUnaligned(fromByteOffset: index, as: ByteBlock.self)).highBits
            if found.low | found.high != 0 {
                while found.low != 0 {
                    let position = index &+ found.low.trailingZeroBitCount / 8
                    if isMatch(self[position]) { return position }
                    found.low &= found.low &- 1
                }
                while found.high != 0 {
                    let position = index &+ 8 &+ found.high.trailingZeroBitCount / 8
                    if isMatch(self[position]) { return position }
                    found.high &= found.high &- 1
                }
            }
            index &+= 16
        }
        while index < range.upperBound, !isMatch(self[index]) { index &+= 1 }
        return index
    }
}
