/// The ranges of a link's destination and title (CommonMark 6.3).
struct LinkParts {
    var destination: Range<Int>
    var title: Range<Int>?

    typealias Bytes = UnsafeBufferPointer<UInt8>

    /// Returns the destination and the title without escapes, or `nil` if the destination's scheme is dangerous. An empty title becomes
    /// `nil`.
    func definition(in bytes: Bytes) -> DocumentContext.Definition? {
        let destination = LinkDestination.normalized(Unescaping.bytes(bytes[destination]))
        guard LinkDestination.isHarmless(destination) else { return nil }
        let title = title.flatMap { $0.isEmpty ? nil : Unescaping.string(bytes[$0]) }
        return .init(destination: destination, title: title)
    }

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

    /// Parses `<any thing>`, or text without spaces whose parentheses are balanced and at most 32 deep. The range excludes the angle
    /// brackets.
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

    /// Parses a title in quotes or parentheses, which the range excludes.
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

// MARK: - Labels

/// Link labels (CommonMark 6.3).
enum Labels {
    static let maximalLength = 999

    /// Returns the position of the `]` that closes the `[` at `start`, or `nil` if the label is too long or contains another `[`.
    static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int, to limit: Int) -> Int? {
        var index = start + 1
        let last = min(limit, start + 1 + 4 * maximalLength)
        var characters = 0
        while index < last {
            switch bytes[index] {
            case 0x5B: return nil
            case 0x5D: return characters <= maximalLength ? index : nil
            case 0x5C where index + 1 < last && bytes[index + 1].isPunctuation:
                index += 2
                characters += 2
            case 0x80..<0xC0: index += 1
            default:
                index += 1
                characters += 1
            }
        }
        return nil
    }

    /// Returns a label with case folded and with white space collapsed and trimmed. Matching labels have equal results.
    ///
    /// Mapping each scalar to lowercase and then to uppercase unifies the variants of a letter: ẞ, ß, SS and ss all become SS. The result
    /// is an array of bytes, because String's `==` would treat canonically equivalent labels as equal too.
    static func folded(_ label: String) -> [UInt8] {
        var result = ""
        result.reserveCapacity(label.utf8.count)
        var pendingSpace = false
        for scalar in label.unicodeScalars {
            if scalar.isMarkdownSpace {
                pendingSpace = !result.isEmpty
                continue
            }
            if pendingSpace { result.unicodeScalars.append(" ") }
            pendingSpace = false
            if scalar.isASCII {
                let value = scalar.value
                let isLower = value >= 0x61 && value <= 0x7A
                result.unicodeScalars.append(isLower ? Unicode.Scalar(value - 32)! : scalar)
            } else {
                for lower in scalar.properties.lowercaseMapping.unicodeScalars {
                    result += lower.properties.uppercaseMapping
                }
            }
        }
        return Array(result.utf8)
    }

    static func folded(_ label: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
        folded(String(decoding: label, as: UTF8.self))
    }
}

enum Footnotes {
    /// Returns the position of the `]` that ends the `[^label]` at `start`. A label can't contain white space or brackets.
    static func endOfLabel(in bytes: UnsafeBufferPointer<UInt8>, from start: Int, to limit: Int) -> Int? {
        guard start + 3 < limit + 1, start + 2 < limit, bytes[start] == 0x5B, bytes[start + 1] == 0x5E else {
            return nil
        }
        var index = start + 2
        while index < limit, index - start <= Labels.maximalLength {
            switch bytes[index] {
            case 0x5D: return index > start + 2 ? index : nil
            case 0x5B, 0x00...0x20: return nil
            default: index += 1
            }
        }
        return nil
    }
}

// MARK: - Destinations

enum LinkDestination {
    /// Percent-encodes the bytes of a destination that a URL can't contain. Existing escapes are kept.
    static func normalized(_ bytes: [UInt8]) -> String {
        guard bytes.contains(where: { !isSafe($0) }) else { return String(decoding: bytes, as: UTF8.self) }
        return percentEncoded(bytes) { index in
            isSafe(bytes[index])
                || bytes[index] == 0x25 && index + 2 < bytes.count && bytes[index + 1].isHexDigit
                    && bytes[index + 2].isHexDigit
        }
    }

    /// Returns the bytes as text, percent-encoded (RFC 3986, section 2.1) except at indices where `isKept` returns `true`.
    @inline(__always) static func percentEncoded(_ bytes: [UInt8], except isKept: (_ index: Int) -> Bool) -> String {
        let digits: StaticString = "0123456789ABCDEF"
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for (index, byte) in bytes.enumerated() {
            if isKept(index) {
                result.append(byte)
            } else {
                result += [0x25, digits.utf8Start[Int(byte >> 4)], digits.utf8Start[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Letters, digits and `;/?:@&=+$,-_.!~*'()#`.
    private static func isSafe(_ byte: UInt8) -> Bool {
        if byte.isLetterOrDigit { return true }
        switch byte {
        case 0x21, 0x23, 0x24, 0x26...0x2F, 0x3A, 0x3B, 0x3D, 0x3F, 0x40, 0x5F, 0x7E: return true
        default: return false
        }
    }

    /// Returns whether the scheme of a normalized destination is safe, by the rules of markdown-it's `validateLink`.
    static func isHarmless(_ destination: String) -> Bool {
        // Few destinations begin with the first letter of a dangerous scheme.
        guard let first = destination.utf8.first, "dfjv".utf8.contains(first | 0x20) else { return true }
        let bytes = destination.utf8.prefix(24).map { byte in byte &- 0x41 < 26 ? byte | 0x20 : byte }
        func begins(_ scheme: StaticString) -> Bool {
            let scheme = UnsafeBufferPointer(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount)
            return bytes.starts(with: scheme)
        }
        if begins("javascript:") || begins("vbscript:") || begins("file:") { return false }
        guard begins("data:") else { return true }
        return begins("data:image/gif;") || begins("data:image/png;") || begins("data:image/jpeg;")
            || begins("data:image/webp;")
    }
}
