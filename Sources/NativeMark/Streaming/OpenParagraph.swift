/// Parses a paragraph that grows, without starting over for each piece.
///
/// Most of what has arrived is settled: whatever follows, its nodes stay. The settled nodes are kept, and only the text after them is parsed
/// again, which is usually less than the last two pieces. The text is settled up to the beginning of a word if nothing before it is open:
///
/// | before the word | open |
/// |---|---|
/// | `*`, `_` or `~` that is text and may begin emphasis | if it isn't followed by a space; for `_`, if it isn't preceded by a letter |
/// | a backtick that is text | always: a later one may close a code span |
/// | `[` that is text | without a `]`, or if `](` follows, because `)` may come |
/// | everything else | no: entities, addresses and links in angle brackets contain no spaces |
///
/// This is for plain paragraphs below the root, in which each line begins with a letter, perhaps after `*`, `_` or a backtick, so that no line
/// can begin another block or definition. Other blocks, and texts with definitions, are parsed as a whole each time.
final class OpenParagraph: @unchecked Sendable {
    // Mutated only by the stream that has the only reference.

    /// The position of the paragraph in the text.
    let start: Int
    private var text: GrowingParagraph

    init(start: Int, options: Document.Options) {
        self.start = start
        text = GrowingParagraph(options: options)
    }

    /// Returns the document of the paragraph, or `nil` if it isn't plain. `source` is all of the paragraph, and begins with what it was in
    /// the last call. `steps` counts the bytes that were read.
    func document(of source: UnsafeBufferPointer<UInt8>, steps: inout Int) -> Document? {
        text.document(of: source, steps: &steps)
    }
}

/// The state of an open paragraph. It is a structure, so that Swift checks exclusive access once a call and not once a byte.
private struct GrowingParagraph: ~Copyable {
    private let options: Document.Options
    private var parser: InlineParser
    /// The content, without the indentation of its lines. The parser sees all the memory, so that the positions after it, which are those of
    /// `extra`, don't change while the content grows.
    private var content: UnsafeMutableBufferPointer<UInt8>
    private var count = 0
    private var jumps = SourceMap()
    /// The number of bytes of the source that have been read.
    private var read = 0
    private var isAtLineStart = true
    private var isPlain = true
    private var settled = Settled()
    /// The position up to which the content may be settled next.
    private var next = 0

    /// The nodes up to a position in the content, and the records that parsing the rest changes.
    private struct Settled {
        var position = 0
        var nodeCount = 2
        var paragraph = NodeRecord(.paragraph, start: 0, end: 0)
        var last: NodeRecord?
        var extraCount = 0
        var stringCount = 0
    }

    init(options: Document.Options) {
        self.options = options
        parser = InlineParser(options: options, length: 0, definitions: [:], footnotes: [:], context: nil)
        content = .allocate(capacity: 1_024)
        content.initialize(repeating: 0)
        restart()
    }

    deinit { content.deallocate() }

    private mutating func restart() {
        parser.bytes = UnsafeBufferPointer(content)
        settled = Settled()
        settled.paragraph.parent = 0
        next = 0
        var root = NodeRecord(.document, start: 0, end: 0)
        (root.firstChild, root.lastChild) = (1, 1)
        parser.builder.nodes.removeAll()
        parser.builder.nodes.append(root)
        parser.builder.nodes.append(settled.paragraph)
        parser.extra = []
        parser.builder.strings = []
    }

    mutating func document(of source: UnsafeBufferPointer<UInt8>, steps: inout Int) -> Document? {
        guard isPlain, !options.smartPunctuation else { return nil }
        let before = read
        guard let isPlain = readLines(of: source) else { return nil }
        self.isPlain = isPlain
        steps &+= read - before
        guard isPlain, count > 0 else { return nil }
        var end = count
        while content[end - 1].isSpaceOrTab || content[end - 1] == 0x0A { end -= 1 }
        restore()
        if next > settled.position {
            parse(to: next)
            save()
        }
        parse(to: end)
        findNext()
        steps &+= parser.builder.steps
        parser.builder.steps = 0
        return materialized(source, end: end)
    }

    // MARK: Lines

    /// Appends the new lines to the content. Returns whether they are plain, or `nil` if more bytes decide that.
    private mutating func readLines(of source: UnsafeBufferPointer<UInt8>) -> Bool? {
        while read < source.count {
            if isAtLineStart {
                while read < source.count, source[read].isSpaceOrTab { read += 1 }
                guard read < source.count else { break }
                if source[read] == 0x0A {
                    // A blank line ends the paragraph, and only more of them follow.
                    return read > 0 && source[read...].allSatisfy { $0 == 0x0A || $0.isSpaceOrTab }
                }
                guard count > 0 || read == 0 else { return false }
                guard let isPlain = isPlainLine(source[read...]) else { return nil }
                guard isPlain else { return false }
                jumps.append(content: count, source: read)
                isAtLineStart = false
            }
            let end = source.firstLineEnd(in: read..<source.count)
            guard end == source.count || source[end] == 0x0A, source.first(0, in: read..<end) == end else {
                return false
            }
            let isComplete = end < source.count
            append(UnsafeBufferPointer(rebasing: source[read..<(isComplete ? end + 1 : end)]))
            read = isComplete ? end + 1 : end
            isAtLineStart = isComplete
        }
        return true
    }

    /// Returns whether a line that begins in this way can begin neither a block nor a definition; `nil` if more bytes decide that.
    private func isPlainLine(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Bool? {
        let first = line[line.startIndex]
        switch first {
        case 0x2A, 0x5F, 0x60:
            // Emphasis or code, if a letter follows. A bullet is followed by a space, and a fence or a thematic break by more of the same.
            let rest = line.prefix(3).drop { $0 == first }
            return rest.first?.isLetter ?? (line.count < 3 ? nil : false)
        case 0x80...:
            // A byte order mark is the only character that isn't part of the text.
            return first != 0xEF
        default:
            return first.isLetter || first == 0x22 || first == 0x28
        }
    }

    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if count + bytes.count > content.count {
            let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 2 * (count + bytes.count))
            larger.initialize(repeating: 0)
            _ = larger.update(fromContentsOf: content[..<count])
            content.deallocate()
            content = larger
            // The positions of extra text begin after the memory.
            restart()
        }
        _ = UnsafeMutableBufferPointer(rebasing: content[count...]).update(fromContentsOf: bytes)
        count += bytes.count
    }

    // MARK: Nodes

    private mutating func save() {
        settled.position = next
        settled.nodeCount = parser.builder.nodes.count
        settled.paragraph = parser.builder.nodes[1]
        settled.last = settled.paragraph.lastChild < 0 ? nil : parser.builder.nodes[Int(settled.paragraph.lastChild)]
        settled.extraCount = parser.extra.count
        settled.stringCount = parser.builder.strings.count
    }

    private mutating func restore() {
        parser.builder.nodes.removeAll(from: settled.nodeCount)
        parser.builder.nodes[1] = settled.paragraph
        if let last = settled.last { parser.builder.nodes[Int(settled.paragraph.lastChild)] = last }
        parser.extra.removeSubrange(settled.extraCount...)
        parser.builder.strings.removeSubrange(settled.stringCount...)
    }

    /// Parses the content from the settled position, and appends its nodes to the paragraph.
    private mutating func parse(to end: Int) {
        guard settled.position < end else { return }
        let leaf = parser.builder.nodes.count
        parser.builder.nodes.append(
            NodeRecord(.paragraph, start: 0, end: 0, value: settled.position, extra: end - settled.position))
        parser.parse(leaf: Int32(leaf))
        var child = parser.builder.nodes[leaf].firstChild
        let last = parser.builder.nodes[1].lastChild
        if child >= 0, last >= 0, parser.builder.nodes[Int(child)].tag == .text,
            parser.builder.nodes[Int(last)].tag == .text
        {
            join(last, child)
            child = parser.builder.nodes[Int(child)].next
        }
        guard child >= 0 else { return }
        parser.builder.nodes[Int(child)].previous = last
        if last >= 0 {
            parser.builder.nodes[Int(last)].next = child
        } else {
            parser.builder.nodes[1].firstChild = child
        }
        parser.builder.nodes[1].lastChild = parser.builder.nodes[leaf].lastChild
        while child >= 0 {
            parser.builder.nodes[Int(child)].parent = 1
            child = parser.builder.nodes[Int(child)].next
        }
    }

    /// Appends one text to another, because two texts are never adjacent.
    private mutating func join(_ text: Int32, _ added: Int32) {
        let (first, second) = (parser.builder.nodes[Int(text)], parser.builder.nodes[Int(added)])
        if first.value + first.extra != second.value {
            parser.builder.nodes[Int(text)].value = Int32(content.count + parser.extra.count)
            for node in [first, second] {
                let value = Int(node.value)
                if value < content.count {
                    parser.extra += content[value..<value + Int(node.extra)]
                } else {
                    parser.extra += parser.extra[value - content.count..<value - content.count + Int(node.extra)]
                }
            }
        }
        parser.builder.nodes[Int(text)].extra += second.extra
        parser.builder.nodes[Int(text)].end = second.end
    }

    // MARK: Settling

    /// Finds the last word that begins after the settled position with nothing open before it.
    private mutating func findNext() {
        next = settled.position
        var brackets = 0
        var node = settled.last == nil ? parser.builder.nodes[1].firstChild : settled.paragraph.lastChild
        while node >= 0 {
            let record = parser.builder.nodes[Int(node)]
            if record.tag == .text {
                let isNested = record.parent != 1
                guard look(at: max(Int(record.start), settled.position)..<Int(record.end), isNested, &brackets) else {
                    return
                }
            }
            node = following(record)
        }
    }

    /// Looks at the content of a text. Returns whether nothing in it stays open for good.
    private mutating func look(at range: Range<Int>, _ isNested: Bool, _ brackets: inout Int) -> Bool {
        var index = range.lowerBound
        while index < range.upperBound {
            switch content[index] {
            case 0x5C: index += 1
            case 0x60: return false
            case 0x5B: brackets += 1
            case 0x5D:
                brackets = max(brackets - 1, 0)
                if index + 1 == count || content[index + 1] == 0x28 { return false }
            case 0x2A where !isNested, 0x5F where !isNested, 0x7E where !isNested:
                let character = content[index]
                let isInWord = character == 0x5F && index > 0 && content[index - 1].isLetterOrDigit
                while index + 1 < count, content[index + 1] == character { index += 1 }
                let isBeforeSpace = index + 1 < count && (content[index + 1] == 0x20 || content[index + 1] == 0x0A)
                guard isInWord || isBeforeSpace else { return false }
            case 0x20 where !isNested && brackets == 0 && index + 1 < range.upperBound && index > range.lowerBound:
                let (before, after) = (content[index - 1], content[index + 1])
                if before != 0x20, before != 0x5C, after != 0x20, after != 0x09, after != 0x0A { next = index + 1 }
            default: break
            }
            index += 1
        }
        parser.builder.steps &+= range.count
        return true
    }

    /// Returns the next node of the paragraph in the order of the text.
    private func following(_ node: NodeRecord) -> Int32 {
        if node.firstChild >= 0 { return node.firstChild }
        var node = node
        while node.next < 0, node.parent > 1 { node = parser.builder.nodes[Int(node.parent)] }
        return node.next
    }

    // MARK: The document

    private func materialized(_ source: UnsafeBufferPointer<UInt8>, end: Int) -> Document {
        var nodes = parser.builder.nodes.withUnsafeBufferPointer { Array($0) }
        nodes[0].end = Int32(source.count)
        nodes[1].value = 0
        nodes[1].extra = Int32(end)
        nodes[1].end = Int32(jumps.range(of: end - 1..<end).upperBound)
        let shift = Int32(content.count - end)
        let first = Int32(content.count)
        for index in nodes.indices where nodes[index].value >= first && nodes[index].tag.isText {
            nodes[index].value -= shift
        }
        let size = DocumentRegion.size(nodes: nodes.count, jumps: jumps.jumps.count, bytes: end + parser.extra.count)
        let region = nodes.withUnsafeBufferPointer { nodes in
            DocumentRegion(
                nodes: nodes, jumps: jumps.jumps, content: UnsafeBufferPointer(rebasing: content[..<end]),
                extra: parser.extra, strings: parser.builder.strings, alignments: [], source: source, shared: nil,
                memory: RegionMemory(size: size))
        }
        return Document(
            storage: DocumentStorage(
                source: String(decoding: source, as: UTF8.self), options: options, regions: RegionList([region])))
    }
}

extension NodeTag {
    fileprivate var isText: Bool { self == .text || self == .code }
}
