extension UInt8 {
    @inline(__always) var isSpaceOrTab: Bool { self == 0x20 || self == 0x09 }
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

// These searches look at eight bytes at a time. A loop over single bytes takes about three times as long, and each parse searches the text
// several times.

extension UnsafeBufferPointer<UInt8> {
    /// Returns the position of the first line feed or carriage return in a range, or the end of the range.
    @inline(__always) func firstLineEnd(in range: Range<Int>) -> Int {
        first(
            in: range, candidates: { $0.matches(of: 0x0A) | $0.matches(of: 0x0D) },
            isMatch: { $0 == 0x0A || $0 == 0x0D })
    }

    /// Returns the position of the first zero byte in a range, or the end of the range.
    @inline(__always) func firstZero(in range: Range<Int>) -> Int {
        first(in: range, candidates: { $0.matches(of: 0) }, isMatch: { $0 == 0 })
    }

    /// Returns the position of the first byte in a range for which `table` is true, or the end of the range. The table has 256 entries. It
    /// must be false for letters, spaces and bytes above 0x7F, which make up most of a text.
    @inline(__always) func firstSpecial(in range: Range<Int>, table: UnsafePointer<Bool>) -> Int {
        first(
            in: range, candidates: { ~($0 | $0.letters | $0.matches(of: 0x20)) & UInt64(repeating: 0x80) },
            isMatch: { table[Int($0)] })
    }

    /// `candidates` returns a word with the high bit set in each byte that may match. The first byte is the lowest.
    @inline(__always) private func first(
        in range: Range<Int>, candidates: (UInt64) -> UInt64, isMatch: (UInt8) -> Bool
    ) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        let raw = UnsafeRawBufferPointer(self)
        var index = range.lowerBound
        while index &+ 8 <= range.upperBound {
            var found = candidates(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            while found != 0 {
                let position = index &+ found.trailingZeroBitCount / 8
                if isMatch(self[position]) { return position }
                found &= found &- 1
            }
            index &+= 8
        }
        while index < range.upperBound, !isMatch(self[index]) { index &+= 1 }
        return index
    }
}

/// Eight bytes as one number. Results have the high bit set in each byte that passes the test.
///
/// Source: Warren, Hacker's Delight, section 6-1.
extension UInt64 {
    /// The same byte eight times.
    @inline(__always) init(repeating byte: UInt8) { self = UInt64(byte) &* 0x0101_0101_0101_0101 }

    /// Returns the bytes that equal `byte`.
    @inline(__always) func matches(of byte: UInt8) -> UInt64 {
        let difference = self ^ UInt64(repeating: byte)
        let low = UInt64(repeating: 0x7F)
        return ~((difference & low) &+ low | difference | low)
    }

    /// The bytes that are ASCII letters. Not valid for bytes above 0x7F.
    @inline(__always) var letters: UInt64 {
        let lowercased = (self | UInt64(repeating: 0x20)) & UInt64(repeating: 0x7F)
        let fromA = lowercased &+ UInt64(repeating: 0x80 - 0x61)
        let afterZ = lowercased &+ UInt64(repeating: 0x80 - 0x7B)
        return fromA & ~afterZ & UInt64(repeating: 0x80)
    }
}
