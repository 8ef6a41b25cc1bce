enum LinkDestination {
    /// Returns a destination with the bytes percent-encoded that a URL can't contain. Existing escapes stay.
    static func normalized(_ bytes: [UInt8]) -> String {
        guard bytes.contains(where: { !isSafe($0) }) else { return String(decoding: bytes, as: UTF8.self) }
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == 0x25 && index + 2 < bytes.count && bytes[index + 1].isHexDigit && bytes[index + 2].isHexDigit
            if isSafe(byte) || isEscape {
                result.append(byte)
            } else {
                result.append(0x25)
                result.append(digits[Int(byte >> 4)])
                result.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Letters, digits and `;/?:@&=+$,-_.!~*'()#`.
    private static func isSafe(_ byte: UInt8) -> Bool {
        if byte.isLetter || byte.isDigit { return true }
        switch byte {
        case 0x21, 0x23, 0x24, 0x26...0x2F, 0x3A, 0x3B, 0x3D, 0x3F, 0x40, 0x5F, 0x7E: return true
        default: return false
        }
    }

    /// Returns whether a normalized destination has no dangerous scheme, by the rules of markdown-it's `validateLink`.
    static func isHarmless(_ destination: String) -> Bool {
        // Few destinations begin with the letter of a dangerous scheme.
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

extension UInt8 {
    var isHexDigit: Bool { isDigit || (self | 0x20) &- 0x61 < 6 }
}
