/// Emphasis, strong emphasis (CommonMark 6.2), strikethrough (GFM 6.5), and quotation marks.
///
/// A run of one or two tildes begins or ends struck text. An opener matches a closer of the same length. Longer runs are text.
extension InlineParser {
    mutating func parseDelimiters(_ character: UInt8) {
        var end = position
        while end < limit, bytes[end] == character { end += 1 }
        let flanking = flanking(of: position..<end)
        var canOpen = flanking.left
        var canClose = flanking.right
        if character == 0x5F {
            canOpen = flanking.left && (!flanking.right || flanking.isAfterPunctuation)
            canClose = flanking.right && (!flanking.left || flanking.isBeforePunctuation)
        }
        // Most underscores are inside words, where they are text.
        guard canOpen || canClose, character != 0x7E || end - position <= 2 else {
            position = end
            return
        }
        flushText()
        let node = appendText(position..<end)
        looseTexts += 1
        push(node, character, canOpen: canOpen, canClose: canClose, length: end - position)
        position = end
        textStart = end
    }

    private mutating func push(_ node: Int32, _ character: UInt8, canOpen: Bool, canClose: Bool, length: Int) {
        let index = delimiters.count
        if index > 0 { delimiters[index - 1].next = index }
        delimiters.append(
            Delimiter(
                node: node, character: character, canOpen: canOpen, canClose: canClose, length: length, left: length,
                previous: index - 1, next: -1))
    }

    private struct Flanking {
        var left: Bool
        var right: Bool
        var isAfterPunctuation: Bool
        var isBeforePunctuation: Bool
    }

    private func flanking(of run: Range<Int>) -> Flanking {
        // Most neighbors are ASCII characters, which don't have to be decoded.
        let byteBefore = run.lowerBound > start ? bytes[run.lowerBound - 1] : 0x0A
        let byteAfter = run.upperBound < limit ? bytes[run.upperBound] : 0x0A
        if byteBefore | byteAfter < 0x80 {
            return flanking(
                afterSpace: byteBefore.isMarkdownSpace, beforeSpace: byteAfter.isMarkdownSpace,
                afterPunctuation: byteBefore.isPunctuation, beforePunctuation: byteAfter.isPunctuation)
        }
        let before: Unicode.Scalar = run.lowerBound > start ? scalar(before: run.lowerBound) : "\n"
        let after: Unicode.Scalar = run.upperBound < limit ? scalar(at: run.upperBound) : "\n"
        let afterSpace = before.isMarkdownSpace
        let beforeSpace = after.isMarkdownSpace
        let afterPunctuation = !afterSpace && before.isMarkdownPunctuation
        let beforePunctuation = !beforeSpace && after.isMarkdownPunctuation
        return flanking(
            afterSpace: afterSpace, beforeSpace: beforeSpace, afterPunctuation: afterPunctuation,
            beforePunctuation: beforePunctuation)
    }

    @inline(__always) private func flanking(
        afterSpace: Bool, beforeSpace: Bool, afterPunctuation: Bool, beforePunctuation: Bool
    ) -> Flanking {
        Flanking(
            left: !beforeSpace && (!beforePunctuation || afterSpace || afterPunctuation),
            right: !afterSpace && (!afterPunctuation || beforeSpace || beforePunctuation),
            isAfterPunctuation: afterPunctuation, isBeforePunctuation: beforePunctuation)
    }

    func scalar(before index: Int) -> Unicode.Scalar {
        var first = index - 1
        while first > start, bytes[first] & 0xC0 == 0x80 { first -= 1 }
        return scalar(at: first)
    }

    /// Returns the scalar at an index. The content is valid UTF-8, because it comes from a string and is split only at ASCII characters.
    func scalar(at index: Int) -> Unicode.Scalar {
        let byte = bytes[index]
        if byte < 0x80 { return Unicode.Scalar(byte) }
        let count = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
        guard index + count <= bytes.count else { return "\u{FFFD}" }
        var value = UInt32(byte) & (0xFF >> UInt32(count + 1))
        for offset in 1..<count { value = value << 6 | UInt32(bytes[index + offset] & 0x3F) }
        return Unicode.Scalar(value) ?? "\u{FFFD}"
    }

    // MARK: Pairs

    /// Pairs the delimiters at index `floor` and above, and removes them.
    mutating func processDelimiters(above floor: Int) {
        guard delimiters.count > floor else { return }
        // For each kind of closer: the index below which no opener matches.
        for key in floors.indices { floors[key] = floor }
        var closer = floor
        while closer >= 0 {
            builder.steps &+= 1
            let delimiter = delimiters[closer]
            guard delimiter.canClose else {
                closer = delimiter.next
                continue
            }
            let key = delimiter.floorKey
            var opener = delimiter.previous
            while opener >= floors[key], !fits(delimiters[opener], delimiter) {
                builder.steps &+= 1
                opener = delimiters[opener].previous
            }
            if opener >= floors[key] {
                closer = pair(opener, closer)
            } else {
                floors[key] = closer
                if delimiter.isQuote { setQuote(closer, isLeft: false) }
                if !delimiter.canOpen { remove(closer) }
                closer = delimiter.next
            }
        }
        forgetDelimiters(from: floor)
    }

    mutating func forgetDelimiters(from count: Int) {
        delimiters.removeAll(from: count)
        if count > 0 { delimiters[count - 1].next = -1 }
    }

    private func fits(_ opener: Delimiter, _ closer: Delimiter) -> Bool {
        guard opener.canOpen, opener.character == closer.character else { return false }
        if opener.isQuote { return true }
        if opener.character == 0x7E { return opener.length == closer.length }
        // The "multiple of 3" rule of CommonMark 6.2.
        return !(opener.canClose || closer.canOpen) || (opener.length + closer.length) % 3 != 0
            || (opener.length % 3 == 0 && closer.length % 3 == 0)
    }

    /// Pairs an opener with a closer, and returns the next closer to process.
    private mutating func pair(_ opener: Int, _ closer: Int) -> Int {
        if delimiters[closer].isQuote {
            setQuote(opener, isLeft: true)
            setQuote(closer, isLeft: false)
            let next = delimiters[closer].next
            cut(from: opener, to: closer)
            remove(opener)
            remove(closer)
            return next
        }
        let character = delimiters[closer].character
        let used = delimiters[opener].left >= 2 && delimiters[closer].left >= 2 ? 2 : 1
        let openerNode = Int(delimiters[opener].node)
        let closerNode = Int(delimiters[closer].node)
        delimiters[opener].left -= used
        delimiters[closer].left -= used
        builder.nodes[openerNode].end -= Int32(used)
        builder.nodes[openerNode].extra -= Int32(used)
        builder.nodes[closerNode].start += Int32(used)
        builder.nodes[closerNode].value += Int32(used)
        builder.nodes[closerNode].extra -= Int32(used)

        let tag: NodeTag = character == 0x7E ? .strikethrough : used == 2 ? .strong : .emphasis
        let first = builder.nodes[openerNode].next
        let last = builder.nodes[closerNode].previous
        nestingNodes += 1
        let record = NodeRecord(
            tag, start: Int(builder.nodes[openerNode].end), end: Int(builder.nodes[closerNode].start))
        let node = builder.insert(record, after: Int32(openerNode))
        if first != closerNode { builder.move(from: first, through: last, into: node) }

        cut(from: opener, to: closer)
        if delimiters[opener].left == 0 {
            builder.detach(Int32(openerNode))
            looseTexts -= 1
            remove(opener)
        }
        guard delimiters[closer].left == 0 else { return closer }
        let next = delimiters[closer].next
        builder.detach(Int32(closerNode))
        looseTexts -= 1
        remove(closer)
        return next
    }

    private mutating func cut(from opener: Int, to closer: Int) {
        delimiters[opener].next = closer
        delimiters[closer].previous = opener
    }

    private mutating func remove(_ index: Int) {
        let previous = delimiters[index].previous
        let next = delimiters[index].next
        if previous >= 0 { delimiters[previous].next = next }
        if next >= 0 { delimiters[next].previous = previous }
    }

    // MARK: Smart punctuation

    /// Parses quotation marks, dashes and ellipses as cmark does.
    mutating func parsePunctuation(_ byte: UInt8) {
        guard options.smartPunctuation else {
            position += 1
            return
        }
        var end = position
        // Only a run of dashes is read as a whole. Reading a long run of other characters would start over at each character.
        let longest = byte == 0x2D ? limit : min(limit, position + 3)
        while end < longest, bytes[end] == byte { end += 1 }
        builder.steps &+= end - position
        switch byte {
        case 0x2D where end - position > 1:
            flushText()
            let count = end - position
            let long =
                count % 3 == 0 ? count / 3 : count % 2 == 0 ? 0 : count % 3 == 2 ? (count - 2) / 3 : (count - 4) / 3
            let short = (count - 3 * long) / 2
            _ = appendText(
                Array((String(repeating: "—", count: long) + String(repeating: "–", count: short)).utf8),
                from: position..<end)
        case 0x2E where end - position == 3:
            flushText()
            _ = appendText(Array("…".utf8), from: position..<end)
        case 0x22, 0x27:
            end = position + 1
            let flanking = flanking(of: position..<end)
            let before = position > start ? bytes[position - 1] : 0x0A
            let canOpen =
                flanking.left && (!flanking.right || before == 0x28 || before == 0x5B) && before != 0x5D
                && before != 0x29
            flushText()
            let isLeft = byte == 0x22 && !flanking.right
            let node = appendText(Array(Self.quote(byte, isLeft: isLeft).utf8), from: position..<end)
            push(node, byte, canOpen: canOpen, canClose: flanking.right, length: 1)
        default:
            position = end
            return
        }
        position = end
        textStart = end
    }

    private static func quote(_ byte: UInt8, isLeft: Bool) -> String {
        byte == 0x22 ? (isLeft ? "“" : "”") : (isLeft ? "‘" : "’")
    }

    /// Replaces a quotation mark in place. All quotation marks are three bytes long.
    private mutating func setQuote(_ index: Int, isLeft: Bool) {
        let text = Self.quote(delimiters[index].character, isLeft: isLeft).utf8
        let first = Int(builder.nodes[Int(delimiters[index].node)].value) - bytes.count
        extra.replaceSubrange(first..<first + 3, with: text)
    }
}

extension InlineParser.Delimiter {
    fileprivate var isQuote: Bool { character == 0x22 || character == 0x27 }

    fileprivate var floorKey: Int {
        switch character {
        case 0x2A: (canOpen ? 3 : 0) + length % 3
        case 0x5F: 6 + (canOpen ? 3 : 0) + length % 3
        case 0x7E: 11 + length
        case 0x22: 14
        default: 15
        }
    }
}
