package import HTTPTypes

extension StringProtocol {
    /// Whether the text consists of one or more ASCII digits (`1*DIGIT` in HTTP's grammars).
    package var isDigits: Bool {
        !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Returns the text without surrounding spaces and tabs (OWS in RFC 9110, section 5.6.3).
    package func trimmingSpaces() -> String {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var bytes = Substring(self).utf8
        guard bytes.first.map(isSpace) == true || bytes.last.map(isSpace) == true else { return String(self) }
        bytes = bytes.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// Returns the parts between separators, ignoring separators in quoted strings (RFC 9110, section 5.6.4).
    package func splitOutsideQuotes(at separator: UInt8) -> [String] {
        var parts: [String] = []
        var part: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in utf8 {
            if byte == separator, !isQuoted {
                parts.append(String(decoding: part, as: UTF8.self))
                part = []
                continue
            }
            if !isEscaped, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
            part.append(byte)
        }
        parts.append(String(decoding: part, as: UTF8.self))
        return parts
    }

    /// The bytes of percent-encoded text (RFC 3986, section 2.1); `nil` if a `%` isn't followed by two hexadecimal digits.
    package var percentDecodedBytes: [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(Self.hexDigit), let low = rest.next().flatMap(Self.hexDigit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension HTTPField.Name {
    /// The digest of the whole representation (RFC 9530, section 3).
    package static let reprDigest = Self("Repr-Digest")!
    /// The digest of one message's content, which a message with other bytes must not have (RFC 9530, section 2).
    package static let contentDigest = Self("Content-Digest")!
}
