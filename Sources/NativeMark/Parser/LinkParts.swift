/// The ranges of a link's destination and title (CommonMark 6.3).
struct LinkParts {
    var destination: Range<Int>
    var title: Range<Int>?

    typealias Bytes = UnsafeBufferPointer<UInt8>

    static func skipSpace(_ bytes: Bytes, from start: Int, to limit: Int) -> Int {
        var index = start
        while index < limit, bytes[index].isSpaceOrTab || bytes[index] == 0x0A { index += 1 }
        return index
    }

    /// Returns the beginning of the next line, or `nil` if the rest of this line isn't blank.
    static func endOfLine(_ bytes: Bytes, from start: Int) -> Int? {
        var index = start
        while index < bytes.count, bytes[index].isSpaceOrTab { index += 1 }
        if index == bytes.count { return index }
        return bytes[index] == 0x0A ? index + 1 : nil
    }

    /// Parses `<any thing>`, or text without spaces and with balanced parentheses, at most 32 deep. The range excludes the angle brackets.
    static func destination(_ bytes: Bytes, from start: Int, to limit: Int) -> (range: Range<Int>, end: Int)? {
        guard start < limit else { return nil }
        var index = start
        if bytes[index] == 0x3C {
            index += 1
            while index < limit {
                switch bytes[index] {
                case 0x0A, 0x3C: return nil
                case 0x3E: return (start + 1..<index, index + 1)
                case 0x5C where index + 1 < limit && bytes[index + 1].isPunctuation: index += 2
                default: index += 1
                }
            }
            return nil
        }
        var depth = 0
        loop: while index < limit {
            switch bytes[index] {
            case 0x00...0x20, 0x7F: break loop
            case 0x5C where index + 1 < limit && bytes[index + 1].isPunctuation: index += 2
            case 0x28:
                depth += 1
                guard depth <= 32 else { return nil }
                index += 1
            case 0x29:
                if depth == 0 { break loop }
                depth -= 1
                index += 1
            default: index += 1
            }
        }
        guard index > start, depth == 0 else { return nil }
        return (start..<index, index)
    }

    /// The range excludes the quotes or parentheses.
    static func title(_ bytes: Bytes, from start: Int, to limit: Int) -> (range: Range<Int>, end: Int)? {
        guard start < limit else { return nil }
        let closer: UInt8
        switch bytes[start] {
        case 0x22, 0x27: closer = bytes[start]
        case 0x28: closer = 0x29
        default: return nil
        }
        var index = start + 1
        while index < limit {
            switch bytes[index] {
            case closer: return (start + 1..<index, index + 1)
            case 0x28 where closer == 0x29: return nil
            case 0x5C where index + 1 < limit && bytes[index + 1].isPunctuation: index += 2
            default: index += 1
            }
        }
        return nil
    }
}
