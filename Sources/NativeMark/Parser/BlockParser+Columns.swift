extension UInt8 {
    @inline(__always) var isSpaceOrTab: Bool { self == 0x20 || self == 0x09 }
    @inline(__always) var isDigit: Bool { self &- 0x30 < 10 }
    @inline(__always) var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }
    /// ASCII punctuation. A backslash before it is an escape.
    @inline(__always) var isPunctuation: Bool {
        (self > 0x20 && self < 0x30) || (self > 0x39 && self < 0x41) || (self > 0x5A && self < 0x61)
            || (self > 0x7A && self < 0x7F)
    }
}

/// The position in a line. A tab extends to the next column that is a multiple of four, and may be read partially.
extension BlockParser {
    mutating func findNonspace() {
        var index = offset
        var position = column
        while index < lineEnd {
            if source[index] == 0x20 {
                position += 1
            } else if source[index] == 0x09 {
                position += 4 - position % 4
            } else {
                break
            }
            index += 1
        }
        builder.steps &+= index - offset
        nonspace = index
        nonspaceColumn = position
    }

    mutating func readToNonspace() {
        offset = nonspace
        column = nonspaceColumn
        tabRead = 0
    }

    /// The bytes must not contain tabs.
    mutating func advance(_ count: Int) {
        offset += count
        column += count
        tabRead = 0
        findNonspace()
    }

    mutating func advanceColumns(_ count: Int) {
        var left = count
        while left > 0, offset < lineEnd {
            if source[offset] == 0x09 {
                let width = 4 - column % 4
                if width > left {
                    tabRead += left
                    column += left
                    left = 0
                } else {
                    column += width
                    left -= width
                    offset += 1
                    tabRead = 0
                }
            } else {
                offset += 1
                column += 1
                left -= 1
            }
        }
        if nonspace < offset { findNonspace() }
    }

    mutating func skipOptionalSpace() {
        if offset < lineEnd, source[offset].isSpaceOrTab { advanceColumns(1) }
    }
}
