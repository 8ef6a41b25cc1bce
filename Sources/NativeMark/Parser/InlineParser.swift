/// Parses the content of the leaves.
///
/// The parser scans for bytes that may be markup. The text between them becomes text nodes, which refer to the content. Delimiters and
/// brackets are text nodes too, until they are resolved (see the appendix of the CommonMark specification).
struct InlineParser: ~Copyable {
    var builder = RegionBuilder()
    let options: Document.Options
    var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    /// Text that doesn't occur literally in the content.
    var extra: [UInt8] = []
    /// Whether each byte value may be markup.
    private let special: UnsafeMutablePointer<Bool>

    // The current leaf and the position in its content.
    var leaf: Int32 = 0
    var start = 0
    var limit = 0
    var position = 0
    var textStart = 0
    var delimiters = GrowingBuffer<Delimiter>()
    var brackets = GrowingBuffer<Bracket>()
    /// Brackets below this index can't open a link, because links can't be nested.
    var linkFloor = 0
    /// The number of brackets at or above `linkFloor` that may open a link.
    var openLinkCount = 0
    /// See `processDelimiters`.
    var floors = [Int](repeating: 0, count: 16)
    /// The position of the last run of backticks of each length. Complete if `hasAllBackticks` is set.
    private var backticks: [Int: Int] = [:]
    private var hasAllBackticks = false
    /// The number of delimiters and brackets that are still texts, and the number of nodes that they have become.
    var looseTexts = 0
    var nestingNodes = 0
    /// Whether the leaf may have adjacent texts for other reasons, or texts with e-mail addresses.
    var needsMerging = false
    var needsAddresses = false
    /// The parts of the text that is being merged, if it may have addresses.
    var pieces: [Piece] = []
    var host = Host(start: 0, end: 0)
    /// The number of bytes that references may still add. In every document, they may add at least `smallestExpansion`.
    static let smallestExpansion = 100_000
    var expansionLeft: Int
    /// Whether a reference would have added too many bytes.
    var isLimited = false
    /// The definitions and footnotes of the text by folded label, and the footnotes with references in the order of their numbers.
    let definitions: [[UInt8]: DocumentContext.Definition]
    let footnotes: [[UInt8]: DocumentBuilder.Footnote]
    var usedFootnotes: [DocumentBuilder.Footnote] = []
    private var numberedFootnotes: [[UInt8]: DocumentContext.Footnote] = [:]
    /// For a part of a longer text: the definitions in the other parts, and the ones that this part uses.
    let context: DocumentContext?
    var uses: [DocumentContext.Use] = []
    private var usedDefinitions: Set<[UInt8]> = []
    /// The number of footnotes in the context that this part is the first to refer to.
    private var newFootnotes = 0
    /// The other data of the current region.
    var region = Region()
    /// The steps for the regions before the current one.
    var steps = 0

    /// The range of a host name, and the positions of its next-to-last period and its last underscore.
    struct Host {
        var start: Int
        var end: Int
        var beforeLastDot = -1
        var underscore = -1
    }

    /// A run of one character that may begin or end emphasis, strikethrough or a quotation.
    struct Delimiter {
        var node: Int32
        var character: UInt8
        var canOpen: Bool
        var canClose: Bool
        /// The original length, and the length that hasn't been used yet.
        var length: Int
        var left: Int
        /// The adjacent delimiters in the stack, or -1.
        var previous: Int
        var next: Int
    }

    /// A `[` or `![` that may begin a link or an image.
    struct Bracket {
        var node: Int32
        var position: Int
        var isImage: Bool
        var delimiterCount: Int
        /// Whether another bracket follows. If so, the text can't be a label.
        var hasBracketAfter = false
    }

    init(
        options: Document.Options, length: Int, definitions: [[UInt8]: DocumentContext.Definition],
        footnotes: [[UInt8]: DocumentBuilder.Footnote], context: DocumentContext?
    ) {
        self.options = options
        self.definitions = definitions
        self.footnotes = footnotes
        self.context = context
        expansionLeft = context.map { $0.expansionLeft + length } ?? max(Self.smallestExpansion, length)
        special = .allocate(capacity: 256)
        special.initialize(repeating: false, count: 256)
        for byte in "\n\\`&<[]!*_".utf8 { special[Int(byte)] = true }
        if options.strikethrough { special[0x7E] = true }
        if options.autolinks { for byte in ":.@".utf8 { special[Int(byte)] = true } }
        if options.smartPunctuation { for byte in "'\".-".utf8 { special[Int(byte)] = true } }
    }

    deinit { special.deallocate() }

    /// The largest content of a region that is parsed for markup. Each byte of it may add three bytes of extra text (a quotation mark) and
    /// three more when texts are merged, and the positions of all of them must fit in 32 bits.
    static let largestContent = Int(Int32.max) / 7

    mutating func parse(leaf index: Int32) {
        leaf = index
        start = Int(builder.nodes[Int(index)].value)
        limit = start + Int(builder.nodes[Int(index)].extra)
        position = start
        textStart = start
        delimiters.removeAll()
        brackets.removeAll()
        linkFloor = 0
        openLinkCount = 0
        host = Host(start: 0, end: 0)
        if hasAllBackticks {
            backticks.removeAll(keepingCapacity: true)
            hasAllBackticks = false
        }
        looseTexts = 0
        nestingNodes = 0
        needsMerging = false
        needsAddresses = false

        guard bytes.count <= Self.largestContent else { return parseLines() }
        let bytes = bytes
        let special = special
        while true {
            let index = bytes.firstSpecial(in: position..<limit, table: special)
            builder.steps &+= index - position
            position = index
            guard index < limit else { break }
            parseSpecial(bytes[index])
        }
        flushText()
        processDelimiters(above: 0)
        // If all delimiters and brackets have become nodes, no texts are adjacent; and few nodes aren't nested too deeply.
        if looseTexts > 0 || nestingNodes > Self.maximalDepth || needsMerging || needsAddresses { finishTexts() }
    }

    /// Parses a leaf without markup other than line breaks.
    private mutating func parseLines() {
        position = bytes.firstLineEnd(in: position..<limit)
        while position < limit {
            parseLineEnd()
            position = bytes.firstLineEnd(in: position..<limit)
        }
        flushText()
    }

    private mutating func parseSpecial(_ byte: UInt8) {
        builder.steps &+= 1
        switch byte {
        case 0x0A: parseLineEnd()
        case 0x5C: parseBackslash()
        case 0x60: parseBackticks()
        case 0x26: parseEntity()
        case 0x3C: parseAngle()
        case 0x2A, 0x5F, 0x7E: parseDelimiters(byte)
        case 0x5B:
            pushBracket(isImage: false, from: position)
        case 0x21 where beginsImage:
            position += 1
            pushBracket(isImage: true, from: position - 1)
        case 0x5D: parseClosingBracket()
        case 0x3A where options.autolinks: parseScheme()
        case 0x40 where options.autolinks:
            needsAddresses = true
            position += 1
        case 0x2E where options.autolinks && parseWWW(): break
        case 0x22, 0x27, 0x2D, 0x2E: parsePunctuation(byte)
        default: position += 1
        }
    }

    /// As in cmark-gfm, `![^` is an exclamation mark that may be followed by a footnote reference.
    private var beginsImage: Bool {
        position + 1 < limit && bytes[position + 1] == 0x5B
            && !(options.footnotes && position + 2 < limit && bytes[position + 2] == 0x5E)
    }

    // MARK: Nodes

    mutating func flushText(to end: Int? = nil) {
        let end = end ?? position
        if textStart < end { _ = appendText(textStart..<end) }
        textStart = end
    }

    @inline(__always)
    mutating func appendText(_ range: Range<Int>, to parent: Int32? = nil) -> Int32 {
        builder.append(
            NodeRecord(
                .text, start: range.lowerBound, end: range.upperBound, value: range.lowerBound, extra: range.count),
            to: parent ?? leaf)
    }

    mutating func appendText(_ text: [UInt8], from range: Range<Int>) -> Int32 {
        let node = NodeRecord(
            .text, start: range.lowerBound, end: range.upperBound, value: bytes.count + extra.count, extra: text.count)
        extra += text
        needsMerging = true
        return builder.append(node, to: leaf)
    }

    // MARK: Lines, backslashes, entities

    private mutating func parseLineEnd() {
        var end = position
        while end > textStart, bytes[end - 1] == 0x20 { end -= 1 }
        let isHard = position - end >= 2
        flushText(to: end)
        append(isHard ? .lineBreak : .softBreak, from: end, to: position + 1)
    }

    /// Appends a line break, and skips the spaces at the beginning of the next line.
    private mutating func append(_ tag: NodeTag, from start: Int, to end: Int) {
        _ = builder.append(NodeRecord(tag, start: start, end: end), to: leaf)
        position = end
        while position < limit, bytes[position].isSpaceOrTab { position += 1 }
        textStart = position
    }

    private mutating func parseBackslash() {
        guard position + 1 < limit else {
            position += 1
            return
        }
        let next = bytes[position + 1]
        if next == 0x0A {
            flushText()
            append(.lineBreak, from: position, to: position + 2)
        } else if next.isPunctuation {
            flushText()
            _ = builder.append(
                NodeRecord(.text, start: position, end: position + 2, value: position + 1, extra: 1), to: leaf)
            needsMerging = true
            position += 2
            textStart = position
        } else {
            position += 1
        }
    }

    private mutating func parseEntity() {
        guard let entity = Entities.read(bytes, at: position, to: limit) else {
            position += 1
            return
        }
        flushText()
        _ = appendText(entity.text, from: position..<entity.end)
        position = entity.end
        textStart = position
    }

    // MARK: Code

    private mutating func parseBackticks() {
        var end = position
        while end < limit, bytes[end] == 0x60 { end += 1 }
        let length = end - position
        guard let closer = closingBackticks(length, from: end) else {
            position = end
            return
        }
        flushText()
        appendCode(end..<closer, from: position, to: closer + length)
        position = closer + length
        textStart = position
    }

    /// Returns the position of the closing run of backticks. An unsuccessful scan of the rest of the leaf happens only once, because it
    /// records the last position of each length.
    private mutating func closingBackticks(_ length: Int, from start: Int) -> Int? {
        if hasAllBackticks, backticks[length, default: -1] < start { return nil }
        var index = start
        while true {
            index = bytes.first(0x60, in: index..<limit)
            guard index < limit else { break }
            let run = index
            while index < limit, bytes[index] == 0x60 { index += 1 }
            if index - run == length {
                builder.steps &+= index - start
                return run
            }
            if !hasAllBackticks { backticks[index - run] = run }
        }
        builder.steps &+= index - start
        hasAllBackticks = true
        return nil
    }

    private mutating func appendCode(_ content: Range<Int>, from start: Int, to end: Int) {
        var range = content
        if range.count >= 2, isSpace(range.lowerBound), isSpace(range.upperBound - 1),
            range.contains(where: { !isSpace($0) })
        {
            range = range.lowerBound + 1..<range.upperBound - 1
        }
        var value = range.lowerBound
        if bytes.first(0x0A, in: range) < range.upperBound {
            value = bytes.count + extra.count
            for index in range { extra.append(bytes[index] == 0x0A ? 0x20 : bytes[index]) }
        }
        _ = builder.append(NodeRecord(.code, start: start, end: end, value: value, extra: range.count), to: leaf)
    }

    private func isSpace(_ index: Int) -> Bool { bytes[index] == 0x20 || bytes[index] == 0x0A }
}

// MARK: - Definitions

/// The meaning of labels, either in the text itself or in the longer text that contains it.
extension InlineParser {
    var hasReferences: Bool { !definitions.isEmpty || context?.definitions.isEmpty == false }
    var hasFootnotes: Bool { !footnotes.isEmpty || context?.footnotes.isEmpty == false }

    mutating func reference(_ label: [UInt8]) -> DocumentBuilder.Reference? {
        if let reference = region.references[label] { return reference }
        // The context has the first definition of each label in the whole text, so it takes precedence over the part's own definitions.
        let shared = context?.definitions[label]
        guard let definition = shared ?? definitions[label] else { return nil }
        if shared != nil, usedDefinitions.insert(label).inserted {
            uses.append(.definition(label: label, definition))
        }
        let reference = DocumentBuilder.Reference(
            destination: builder.add(definition.destination), title: definition.title.map { builder.add($0) } ?? -1,
            size: definition.size)
        region.references[label] = reference
        return reference
    }

    /// Returns the footnote's number and the index of its label in the strings, or `nil` if there is no such footnote.
    mutating func useFootnote(_ label: [UInt8]) -> (label: Int32, number: Int32)? {
        if let known = region.footnotesByLabel[label] { return known }
        guard let footnote = footnote(label) else { return nil }
        let result = (builder.add(footnote.label), Int32(footnote.number))
        region.footnotesByLabel[label] = result
        region.footnotes.append(result.1)
        return result
    }

    /// Returns a footnote. The first call gives it a number.
    mutating func footnote(_ label: [UInt8]) -> DocumentContext.Footnote? {
        if let known = numberedFootnotes[label] { return known }
        var footnote: DocumentContext.Footnote
        if let context, context.footnotesInOrder == nil {
            guard let found = context.footnotes[label] else { return nil }
            footnote = found
            if footnote.number == 0 {
                newFootnotes += 1
                footnote.number = context.footnoteCount + newFootnotes
            }
            uses.append(.footnote(label: label, footnote))
        } else {
            guard let found = footnotes[label] else { return nil }
            usedFootnotes.append(found)
            footnote = .init(label: found.label, number: usedFootnotes.count)
            if context != nil { uses.append(.footnote(label: label, .init(label: "", number: footnote.number))) }
        }
        numberedFootnotes[label] = footnote
        return footnote
    }

    /// The context for parsing a part of this text.
    var resultingContext: DocumentContext {
        var result = DocumentContext()
        result.definitions = definitions
        for (label, footnote) in footnotes {
            result.footnotes[label] = numberedFootnotes[label] ?? .init(label: footnote.label, number: 0)
        }
        result.footnoteCount = usedFootnotes.count
        return result
    }

    // MARK: Regions

    /// The data of the region that is being parsed.
    struct Region: ~Copyable {
        var builder = RegionBuilder()
        var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        var extra: [UInt8] = []
        /// The references and footnotes whose strings the region has.
        var references: [[UInt8]: DocumentBuilder.Reference] = [:]
        var footnotesByLabel: [[UInt8]: (label: Int32, number: Int32)] = [:]
        /// The numbers of the footnotes in the order of their first references.
        var footnotes: [Int32] = []
        /// The number of bytes that references have added.
        var expansion = 0
    }

    /// Switches to another region, which becomes the previous one.
    mutating func exchangeRegion(with other: inout Region) {
        steps &+= builder.steps
        builder.steps = 0
        swap(&region, &other)
        // The region's most used parts are in the parser itself.
        swap(&builder, &region.builder)
        swap(&bytes, &region.bytes)
        swap(&extra, &region.extra)
        swap(&other.builder, &region.builder)
        swap(&other.bytes, &region.bytes)
        swap(&other.extra, &region.extra)
    }

    /// Calls a function with the nodes of the current region.
    func withNodes(_ body: (RegionNodes) -> Void) {
        builder.nodes.withUnsafeBufferPointer { nodes in
            extra.withUnsafeBufferPointer {
                body(RegionNodes(nodes: nodes, content: bytes, extra: $0, strings: builder.strings))
            }
        }
    }

    /// Clears the current region. The next region reuses its memory.
    mutating func endRegion() {
        steps &+= builder.steps
        builder.steps = 0
        builder.nodes.removeAll()
        builder.strings.removeAll(keepingCapacity: true)
        extra.removeAll(keepingCapacity: true)
        // Clearing a dictionary takes time linear in its capacity, so a large dictionary isn't kept for many small regions.
        if !region.references.isEmpty { region.references = [:] }
        if !region.footnotes.isEmpty { (region.footnotesByLabel, region.footnotes) = ([:], []) }
        region.expansion = 0
    }
}
