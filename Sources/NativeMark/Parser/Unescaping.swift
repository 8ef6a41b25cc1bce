/// Resolves backslash escapes and entities in titles, destinations and info strings.
enum Unescaping {
    static func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: self.bytes(bytes), as: UTF8.self)
    }

    static func bytes(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
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
