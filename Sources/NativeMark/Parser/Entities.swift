/// Entities and numeric character references (CommonMark 2.5).
enum Entities {
    /// Returns the text and the end of the reference whose ampersand is at `start`, or `nil` if the reference isn't valid.
    static func read(
        _ bytes: UnsafeBufferPointer<UInt8>, at start: Int, to limit: Int
    ) -> (text: [UInt8], end: Int)? {
        var index = start + 1
        guard index < limit else { return nil }
        if bytes[index] == 0x23 {
            index += 1
            guard index < limit else { return nil }
            let isHex = bytes[index] | 0x20 == 0x78
            if isHex { index += 1 }
            let first = index
            var value: UInt32 = 0
            while index < limit, isHex ? bytes[index].isHexDigit : bytes[index].isDigit {
                guard index - first < (isHex ? 6 : 7) else { return nil }
                let digit = bytes[index].isDigit ? bytes[index] - 0x30 : (bytes[index] | 0x20) - 0x61 + 10
                value = value * (isHex ? 16 : 10) + UInt32(digit)
                index += 1
            }
            guard index > first, index < limit, bytes[index] == 0x3B else { return nil }
            let scalar = value == 0 ? nil : Unicode.Scalar(value)
            return (Array(String(scalar ?? "\u{FFFD}").utf8), index + 1)
        }
        guard bytes[index].isLetter else { return nil }
        // The longest name has 31 letters.
        while index < limit, index - start <= 32, bytes[index].isLetterOrDigit { index += 1 }
        guard index < limit, bytes[index] == 0x3B,
            let text = byName[String(decoding: bytes[(start + 1)..<index], as: UTF8.self)]
        else { return nil }
        return (text, index + 1)
    }

    /// The text of each name. It is parsed on first use, because a dictionary literal takes ten seconds to compile.
    private static let byName: [String: [UInt8]] = {
        var result: [String: [UInt8]] = [:]
        result.reserveCapacity(2_200)
        for entry in EntityTable.text.split(separator: " ") {
            let parts = entry.split(separator: "=")
            var text = ""
            for code in parts[1].split(separator: "+") {
                text.unicodeScalars.append(Unicode.Scalar(UInt32(code, radix: 16)!)!)
            }
            result[String(parts[0])] = Array(text.utf8)
        }
        return result
    }()
}

// MARK: - Escapes

/// Resolves backslash escapes and entities in titles, destinations and info strings.
enum Unescaping {
    static func string(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        String(decoding: self.bytes(bytes), as: UTF8.self)
    }

    static func bytes(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
        let bytes = UnsafeBufferPointer(rebasing: bytes)
        guard bytes.contains(where: { $0 == 0x5C || $0 == 0x26 || $0 == 0 }) else { return Array(bytes) }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x5C, index + 1 < bytes.count, bytes[index + 1].isPunctuation {
                result.append(bytes[index + 1])
                index += 2
            } else if byte == 0x26, let entity = Entities.read(bytes, at: index, to: bytes.count) {
                result += entity.text
                index = entity.end
            } else if byte == 0 {
                result += [0xEF, 0xBF, 0xBD]
                index += 1
            } else {
                result.append(byte)
                index += 1
            }
        }
        return result
    }
}
