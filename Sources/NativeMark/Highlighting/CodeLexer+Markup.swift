/// HTML and XML.
extension CodeLexer {
    private static let commentBegin = Array("<!--".utf8)
    private static let commentEnd = Array("-->".utf8)
    private static let dataBegin = Array("<![CDATA[".utf8)
    private static let dataEnd = Array("]]>".utf8)

    mutating func readMarkup() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x3C: readTag()
            case 0x26: readEntity()
            default: position += 1
            }
        }
    }

    private mutating func readTag() {
        let start = position
        if has(Self.commentBegin, at: start) {
            skip(past: Self.commentEnd)
            return append(start..<position, .comment)
        }
        if has(Self.dataBegin, at: start) {
            skip(past: Self.dataEnd)
            return append(start..<position, .string)
        }
        position += 1
        let sign = byte(at: position)
        if sign == 0x2F || sign == 0x21 || sign == 0x3F { position += 1 }
        let end = endOfName(from: position)
        guard end > position else { return }
        append(start..<end, sign == 0x21 || sign == 0x3F ? .attribute : .keyword)
        position = end
        readAttributes()
    }

    private mutating func readAttributes() {
        while position < bytes.count {
            let start = position
            switch bytes[start] {
            case 0x3E:
                position += 1
                return append(start..<position, .keyword)
            case 0x3C: return
            case 0x22, 0x27:
                position += 1
                while position < bytes.count, bytes[position] != bytes[start] { position += 1 }
                position = min(position + 1, bytes.count)
                append(start..<position, .string)
            default:
                position = max(endOfName(from: start), start + 1)
                if position > start + 1 || isName(bytes[start]) {
                    append(start..<position, byte(at: afterSpaces(from: position)) == 0x3D ? .key : .attribute)
                }
            }
        }
    }

    private mutating func readEntity() {
        let start = position
        var end = start + 1
        while end < bytes.count, end - start < 32, isName(bytes[end]) || bytes[end] == 0x23 { end += 1 }
        position = byte(at: end) == 0x3B ? end + 1 : start + 1
        if position > start + 2 { append(start..<position, .constant) }
    }

    private mutating func skip(past end: [UInt8]) {
        while position < bytes.count, !has(end, at: position) { position += 1 }
        position = min(position + end.count, bytes.count)
    }

    private func isName(_ byte: UInt8) -> Bool {
        isWord(byte) || byte == 0x2D || byte == 0x3A || byte == 0x2E
    }

    private func endOfName(from start: Int) -> Int {
        var end = start
        while end < bytes.count, isName(bytes[end]) { end += 1 }
        return end
    }
}
