/// Parses a document that arrives in pieces, such as the answer of a language model or a file that is still loading.
///
///     var stream = DocumentStream()
///     for try await piece in answer {
///         let change = stream.append(piece)
///         for index in change.blocks { show(stream.block(at: index)) }     // New or changed.
///         for index in change.earlier { show(stream.block(at: index)) }    // A reference that is a link now.
///     }
///     let change = stream.finish()                                         // As above.
///
/// The text is divided into ``Block``s: paragraphs, headings, whole lists and other top-level blocks. New text changes the last block or
/// adds blocks after it. An earlier block changes only if a link or footnote that it refers to is defined later. Each block is a
/// ``Document`` with the links and footnote numbers of the whole text.
///
/// A piece may end anywhere, even in the middle of a word, a fence or a line break. An unfinished last line is parsed as if the text ended
/// there. A definition takes effect only when its block ends, so a link never has a partial address; <doc:Streaming> lists such cases.
/// After ``finish()``, the blocks and ``footnotes`` together have the same content as ``document``.
///
/// `append` looks at each byte once. A block is parsed when you request it, in time linear in its length, and again only if it has changed.
/// Memory is linear in the length of the text for every input. Copies are independent; the first change to a copy copies the text.
public struct DocumentStream: Sendable {
    /// The options that the text is parsed with.
    public let options: Document.Options

    var bytes: [UInt8] = []
    /// Holds no pointer between two calls.
    nonisolated(unsafe) var parser: BlockParser
    /// The offset up to which all lines are complete and parsed.
    private var parsed = 0
    private(set) var isFinished = false
    var regions: [Region] = []
    private var tail: Document?
    private var openParagraph: OpenParagraph?
    /// Whether the last, incomplete block may refer to a footnote, judging by its text up to `tailLookedAt`.
    private var tailMayRefer = false
    private var tailLookedAt = 0
    var context = DocumentContext()
    /// The blocks that refer to an undefined label, by folded label.
    var waiting: [[UInt8]: [Int]] = [:]
    private var numbering = FootnoteNumbering()
    private var footnoteDocument: Document??
    /// The number of bytes looked at while parsing requested blocks. Together with the steps of `parser`, it is proportional to the time.
    var steps = 0

    struct Region: Sendable {
        var range: Range<Int>
        var definesFootnotes: Bool
        var autocompletedCells: Int
        var expansion = 0
        var document: Document?
    }

    /// Creates a stream without text.
    public init(options: Document.Options = .init()) {
        self.options = options
        parser = BlockParser(options: options)
    }

    /// The blocks that are new or may look different after a call.
    public struct Change: Sendable, Hashable {
        /// The blocks that are new or got more text. The range ends at ``DocumentStream/count``.
        public var blocks: Range<Int>
        /// Earlier blocks, in ascending order, that look different because a definition arrived. Includes only blocks that were requested.
        public var earlier: [Int]
        /// Whether ``DocumentStream/footnotes`` may have changed.
        public var footnotes: Bool
    }

    /// Appends a piece of text, which may be empty, and returns the blocks to update. Some of them may look the same as before.
    ///
    /// Takes time linear in the length of the piece, plus the number of blocks that its definitions change. Traps after ``finish()``.
    @discardableResult
    public mutating func append(_ text: String) -> Change {
        precondition(!isFinished, "append(_:) must not be called on a document stream after finish().")
        let first = regions.count
        let before = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard bytes.count > before else { return Change(blocks: count..<count, earlier: [], footnotes: false) }
        DocumentParser.checkLength(bytes.count)
        tail = nil
        let lines = completeLines(from: before)
        let source = bytes
        source.withUnsafeBufferPointer {
            if lines > parsed { parser.parse(lines: parsed..<lines, of: $0) }
            if lines < source.count { parser.parse(beginningOfLine: lines..<source.count, of: $0) }
        }
        parsed = lines
        return change(from: first)
    }

    /// Marks the end of the text and returns the blocks to update. Definitions in the last block take effect. Calling it again does
    /// nothing.
    @discardableResult
    public mutating func finish() -> Change {
        guard !isFinished else { return Change(blocks: count..<count, earlier: [], footnotes: false) }
        isFinished = true
        let first = regions.count
        tail = nil
        let source = bytes
        source.withUnsafeBufferPointer {
            parser.parse(lines: parsed..<source.count, of: $0)
            parser.finish(source: $0)
        }
        parsed = source.count
        return change(from: first)
    }

    /// Returns the end of the last complete line. A carriage return at the very end may be the first half of a line ending.
    private func completeLines(from start: Int) -> Int {
        // Starts one byte early: this piece completes the line if the previous one ended with a carriage return.
        let first = max(parsed, start - 1)
        let parsed = parsed
        return bytes.withUnsafeBufferPointer { bytes in
            var end = bytes.count
            if end > parsed, bytes[end - 1] == 0x0D { end -= 1 }
            while end > first, bytes[end - 1] != 0x0A, bytes[end - 1] != 0x0D { end -= 1 }
            return end > first ? end : parsed
        }
    }

    private mutating func change(from first: Int) -> Change {
        var earlier: [Int] = []
        var mayRenumber = false
        if let found = parser.regions, !found.complete.isEmpty || !found.definitions.isEmpty || !found.footnotes.isEmpty
        {
            parser.regions?.complete.removeAll(keepingCapacity: true)
            parser.regions?.definitions.removeAll(keepingCapacity: true)
            parser.regions?.footnotes.removeAll(keepingCapacity: true)
            earlier = take(found, before: first)
            mayRenumber = !found.footnotes.isEmpty || !found.complete.isEmpty
            if !found.complete.isEmpty { (tailMayRefer, tailLookedAt) = (false, tailStart) }
        }
        let footnotes =
            !context.footnotes.isEmpty && (mayRenumber || !earlier.isEmpty || lookForReferences())
        if footnotes { footnoteDocument = nil }
        return Change(blocks: first..<count, earlier: earlier, footnotes: footnotes)
    }

    private mutating func lookForReferences() -> Bool {
        var index = max(tailLookedAt, tailStart + 1)
        while !tailMayRefer, index < bytes.count {
            tailMayRefer = bytes[index] == 0x5E && bytes[index - 1] == 0x5B
            index += 1
        }
        tailLookedAt = index
        return tailMayRefer
    }

    private var tailStart: Int { regions.last?.range.upperBound ?? 0 }
}

// MARK: - Blocks

extension DocumentStream {
    /// A part of a streamed document: usually one block below the document's root.
    ///
    /// If only the rest of a line can tell whether it begins a new block, it belongs to the last block until the line ends. That block's
    /// ``Document/root`` may then have more than one child. A block that contains only definitions has no children.
    public struct Block: Sendable, Hashable, Identifiable {
        /// The index of the block in the stream, starting at 0. It never changes.
        public var id: Int
        /// The content of the block. Its source ranges are relative to ``start``.
        public var document: Document
        /// The position of the block in ``DocumentStream/source``, as a UTF-8 offset.
        public var start: Int
        /// Whether the block has ended, so later text can't change its content: only a definition can. A paragraph ends with the blank line
        /// after it, and a list ends when the next block begins.
        public var hasEnded: Bool
        /// Whether the next block has begun, so that not even blank lines are added to the block.
        public var isComplete: Bool
    }

    /// The number of blocks. It never decreases.
    public var count: Int { regions.count + (tailStart < bytes.count ? 1 : 0) }

    /// Returns a block, parsing it first if necessary.
    ///
    /// The first call, and the first call after the block changes, take time linear in its length; other calls are O(1). The method also
    /// parses earlier blocks that may refer to footnotes, because they determine the numbering.
    ///
    /// - Precondition: The index is from 0 to ``count`` - 1.
    public mutating func block(at index: Int) -> Block {
        precondition(index >= 0 && index < count, "A block index must be from 0 to \(count - 1); it is \(index).")
        numberFootnotes(upTo: index)
        guard index < regions.count else {
            let range = tailStart..<bytes.count
            let document =
                tail ?? paragraph(range) ?? parse(range, cells: parser.regions?.autocompletedCells ?? 0).document
            tail = document
            return Block(
                id: index, document: document, start: tailStart, hasEnded: lastBlockHasEnded, isComplete: false)
        }
        return Block(
            id: index, document: completeDocument(at: index), start: regions[index].range.lowerBound, hasEnded: true,
            isComplete: true)
    }

    /// All blocks in order. Parses those that haven't been parsed yet.
    public var blocks: [Block] {
        mutating get { (0..<count).map { block(at: $0) } }
    }

    /// Whether the last block has ended, without parsing it; see ``Block/hasEnded``. `true` if there are no blocks.
    package var lastBlockHasEnded: Bool {
        // Blank lines at the beginning of the text belong to the first block, which hasn't begun yet.
        tailLength == 0 || parsed == bytes.count && parser.open.count == 1 && parser.builder.nodes.count > 1
    }

    /// The number of bytes of the last block, unless it is complete.
    package var tailLength: Int { bytes.count - tailStart }

    /// The text that has arrived so far.
    public var source: String { String(decoding: bytes, as: UTF8.self) }

    /// The text that has arrived so far, parsed as one document. Each access parses the whole text.
    public var document: Document { Document(source, options: options) }

    private mutating func completeDocument(at index: Int) -> Document {
        if let document = regions[index].document { return document }
        let region = regions[index]
        if openParagraph?.start == region.range.lowerBound, let document = paragraph(region.range) {
            regions[index].document = document
            return document
        }
        let (document, added) = parse(region.range, cells: region.autocompletedCells)
        context.expansionLeft -= added
        regions[index].expansion = added
        regions[index].document = document
        return document
    }

    /// Returns the document of a block that is a plain paragraph, or `nil` for another block. It continues the last call for the same block.
    private mutating func paragraph(_ range: Range<Int>) -> Document? {
        guard context.definitions.isEmpty, context.footnotes.isEmpty else { return nil }
        // A copy of the stream may continue the paragraph in another way.
        if openParagraph?.start != range.lowerBound || !isKnownUniquelyReferenced(&openParagraph) {
            openParagraph = OpenParagraph(start: range.lowerBound, options: options)
        }
        let paragraph = openParagraph
        let (document, steps) = bytes.withUnsafeBufferPointer { bytes in
            var steps = 0
            return (paragraph?.document(of: UnsafeBufferPointer(rebasing: bytes[range]), steps: &steps), steps)
        }
        self.steps &+= steps
        return document
    }

    /// Discards the parsed document of a block whose references have a new meaning. Returns whether the block had been parsed.
    private mutating func forget(_ index: Int) -> Bool {
        guard regions[index].document != nil else { return false }
        context.expansionLeft += regions[index].expansion
        regions[index].expansion = 0
        regions[index].document = nil
        return true
    }

    /// Returns the document of a part, and the number of bytes that its references added beyond its own length.
    private mutating func parse(_ range: Range<Int>, cells: Int) -> (document: Document, added: Int) {
        let source = bytes.withUnsafeBufferPointer { String(decoding: $0[range], as: UTF8.self) }
        var context = context
        context.autocompletedCells = cells
        context.length = bytes.count
        context.beginsText = range.lowerBound == 0
        let result = DocumentParser.parse(part: source, options: options, context: context)
        steps &+= result.steps
        return (Document(storage: result.storage), max(0, context.expansionLeft - result.expansion))
    }
}

// MARK: - Definitions and footnotes

extension DocumentStream {
    /// Applies the parser's findings. Returns the blocks before `first` that look different as a result.
    private mutating func take(_ found: RegionScan, before first: Int) -> [Int] {
        var changed: Set<Int> = []
        for found in found.definitions {
            context.definitions[found.label] = found.definition
            for index in waiting.removeValue(forKey: found.label) ?? [] where forget(index) { changed.insert(index) }
        }
        for (label, footnote) in found.footnotes {
            context.footnotes[label] = footnote
            guard let index = numbering.firstCandidate(of: label) else { continue }
            // Later footnotes get new numbers.
            for index in numbering.seen(from: index) where forget(index) { changed.insert(index) }
            for label in numbering.forget(from: index) { context.footnotes[label]?.number = 0 }
            context.footnoteCount = numbering.order.count
        }
        for region in found.complete {
            let index = regions.count
            regions.append(
                Region(
                    range: region.range, definesFootnotes: region.definesFootnotes,
                    autocompletedCells: region.autocompletedCells))
            for label in region.labels where context.definitions[label] == nil {
                waiting[label, default: []].append(index)
            }
            if !region.footnoteLabels.isEmpty { numbering.add(index, labels: region.footnoteLabels) }
        }
        return changed.filter { $0 < first }.sorted()
    }

    /// The referenced footnotes as a separate document, ordered by their first references, or `nil` if there are none.
    ///
    /// The document's source consists of the blocks that define footnotes, separated by thematic breaks. O(1) if nothing relevant has
    /// changed; otherwise linear in the length of all blocks that define or reference footnotes.
    public var footnotes: Document? {
        mutating get {
            if let known = footnoteDocument { return known }
            let result = makeFootnotes()
            footnoteDocument = .some(result)
            return result
        }
    }

    private mutating func makeFootnotes() -> Document? {
        guard !context.footnotes.isEmpty else { return nil }
        numberFootnotes(upTo: regions.count)
        var order = numbering.order
        if regions.count < count {
            let document = block(at: regions.count).document
            order += document.footnotes.filter { $0.number > numbering.order.count }.map(\.label)
        }
        guard !order.isEmpty else { return nil }
        var context = context
        context.footnotesInOrder = order
        context.length = bytes.count
        // A thematic break closes whatever the previous part left open. Every part except the last ends with a line ending.
        let source = regions.filter(\.definesFootnotes).map { String(decoding: bytes[$0.range], as: UTF8.self) }
            .joined(separator: "***\n")
        return Document(storage: DocumentParser.parse(part: source, options: options, context: context).storage)
    }

    /// Parses the blocks that may refer to footnotes.
    private mutating func numberFootnotes(upTo last: Int) {
        while let index = numbering.next, index <= last {
            var new: [[UInt8]] = []
            for footnote in completeDocument(at: index).footnotes where footnote.number > context.footnoteCount {
                new.append(footnote.label)
                context.footnotes[footnote.label]?.number = footnote.number
            }
            numbering.advance(new)
            context.footnoteCount = numbering.order.count
        }
    }
}

extension Document {
    fileprivate var footnotes: [(label: [UInt8], number: Int)] {
        storage.uses.compactMap {
            if case .footnote(let label, let footnote) = $0 { (label, footnote.number) } else { nil }
        }
    }
}

// MARK: - The order of footnotes

/// The order of the footnotes, and the blocks that determine it by referring to a label first.
struct FootnoteNumbering: Sendable {
    /// Folded labels.
    private(set) var order: [[UInt8]] = []
    /// The blocks that may refer to footnotes. For each one that is parsed, `before` has the number of footnotes numbered before it.
    private var blocks: [Int] = []
    private var before: [Int] = []
    private var candidates: [[UInt8]: Int] = [:]

    var next: Int? { before.count < blocks.count ? blocks[before.count] : nil }

    mutating func add(_ block: Int, labels: Set<[UInt8]>) {
        blocks.append(block)
        for label in labels where candidates[label] == nil { candidates[label] = block }
    }

    mutating func advance(_ labels: [[UInt8]]) {
        before.append(order.count)
        order += labels
    }

    func firstCandidate(of label: [UInt8]) -> Int? { candidates[label] }

    func seen(from block: Int) -> ArraySlice<Int> {
        blocks[min(position(of: block), before.count)..<before.count]
    }

    /// Removes the numbers assigned by `block` and later blocks, and returns the labels that had them.
    mutating func forget(from block: Int) -> ArraySlice<[UInt8]> {
        let position = position(of: block)
        guard position < before.count else { return [] }
        let freed = order[before[position]...]
        order.removeSubrange(before[position]...)
        before.removeSubrange(position...)
        return freed
    }

    private func position(of block: Int) -> Int { partitionPoint(of: blocks.count) { blocks[$0] < block } }
}

// MARK: - Regions while the text arrives

/// What the parser's first phase records while text arrives: the positions of top-level blocks, their definitions and their references.
struct RegionScan: Sendable {
    /// The source from the beginning of one top-level block to the beginning of the next one.
    struct Region: Sendable {
        var range: Range<Int>
        /// The folded labels that links may refer to. `footnoteLabels` has the ones that footnote references may refer to.
        var labels: Set<[UInt8]> = []
        var footnoteLabels: Set<[UInt8]> = []
        var definesFootnotes = false
        /// The number of cells that were added to table rows before the region.
        var autocompletedCells = 0
    }

    var start = 0
    /// The number of cells that were added to table rows before `start`.
    var autocompletedCells = 0
    /// The position up to which an incomplete last line is blank.
    var blankEnd = 0
    // New findings since the stream last took them.
    var complete: [Region] = []
    var definitions: [DocumentContext.LabeledDefinition] = []
    var footnotes: [(label: [UInt8], DocumentContext.Footnote)] = []
}

extension BlockParser {
    init(options: Document.Options) {
        self.init(source: UnsafeBufferPointer(start: nil, count: 0), options: options)
        regions = RegionScan()
    }

    mutating func parse(lines: Range<Int>, of source: UnsafeBufferPointer<UInt8>) {
        self.source = source
        maximalAutocompletedCells = Self.maximalAutocompletedCells(ofLength: source.count)
        parseLines(from: lines.lowerBound, to: lines.upperBound)
        self.source = UnsafeBufferPointer(start: nil, count: 0)
    }

    /// Completes the region before an incomplete line if the line certainly begins a new top-level block. This matters because a paragraph
    /// is often one long line.
    mutating func parse(beginningOfLine line: Range<Int>, of source: UnsafeBufferPointer<UInt8>) {
        guard let scan = regions, scan.start < line.lowerBound, builder.nodes.count > 1 else { return }
        // Continues after the known spaces, because each piece may add a single space to a long line.
        let looked = max(line.lowerBound, scan.blankEnd)
        var nonspace = looked
        while nonspace < line.upperBound, source[nonspace].isSpaceOrTab { nonspace += 1 }
        builder.steps &+= nonspace - looked
        regions?.blankEnd = nonspace
        guard nonspace < line.upperBound, beginsRegion(source[nonspace], isIndented: nonspace > line.lowerBound) else {
            return
        }
        completeRegion(at: line.lowerBound)
    }

    /// Returns whether a line certainly begins a top-level block, judging by its first byte that isn't a space or tab.
    private func beginsRegion(_ first: UInt8, isIndented: Bool) -> Bool {
        // A carriage return may be the end of the line.
        guard first != 0x0D else { return false }
        if open.count == 1 { return true }
        guard blankLine == lineNumber - 1, !isIndented else { return false }
        switch open[1].tag {
        case .footnoteDefinition: return true
        case .codeBlock: return open[1].character == 0
        case .list: return !(first.isDigit || first == 0x2A || first == 0x2B || first == 0x2D)
        default: return false
        }
    }

    mutating func finish(source: UnsafeBufferPointer<UInt8>) {
        self.source = source
        if (regions?.start ?? 0) < source.count { completeRegion(at: source.count) }
        self.source = UnsafeBufferPointer(start: nil, count: 0)
    }

    /// Records the start of a top-level block, and drops the blocks before it.
    mutating func beginScannedRegion(at start: Int) {
        // Blank lines before the first block belong to it.
        guard let last = regions?.start, start > last, builder.nodes.count > 1 else { return forgetRegion() }
        completeRegion(at: start)
    }

    private mutating func completeRegion(at end: Int) {
        guard let start = regions?.start, let autocompletedCells = regions?.autocompletedCells else { return }
        close(downTo: 1)
        var region = RegionScan.Region(range: start..<end, autocompletedCells: autocompletedCells)
        region.definesFootnotes = !builder.footnoteDefinitions.isEmpty
        findLabels(of: &region)
        regions?.complete.append(region)
        regions?.start = end
        regions?.autocompletedCells = self.autocompletedCells
        forgetRegion()
    }

    /// Drops the nodes and the content of the region, but keeps the labels that it defined.
    private mutating func forgetRegion() {
        builder.nodes.removeSubrange(1...)
        builder.nodes[0].firstChild = -1
        builder.nodes[0].lastChild = -1
        builder.content.removeAll(keepingCapacity: true)
        builder.map = SourceMap()
        builder.strings.removeAll(keepingCapacity: true)
        builder.alignments.removeAll(keepingCapacity: true)
        builder.footnoteDefinitions.removeAll(keepingCapacity: true)
        builder.leaves.removeAll(keepingCapacity: true)
        builder.definitions.removeAll(keepingCapacity: true)
    }

    /// Records all text between brackets as possible labels, even in code.
    private mutating func findLabels(of region: inout RegionScan.Region) {
        builder.steps &+= builder.content.count
        builder.content.withUnsafeBufferPointer { bytes in
            guard bytes.contains(0x5B) else { return }
            for leaf in builder.leaves {
                var index = Int(builder.nodes[Int(leaf)].value)
                let limit = index + Int(builder.nodes[Int(leaf)].extra)
                while index < limit {
                    defer { index += 1 }
                    if bytes[index] == 0x5C, index + 1 < limit, bytes[index + 1].isPunctuation {
                        index += 1
                        continue
                    }
                    guard bytes[index] == 0x5B else { continue }
                    if let end = Labels.end(in: bytes, from: index, to: limit), end > index + 1 {
                        region.labels.insert(Labels.folded(bytes[index + 1..<end]))
                    }
                    if options.footnotes, let end = Footnotes.endOfLabel(in: bytes, from: index, to: limit) {
                        region.footnoteLabels.insert(Labels.folded(bytes[index + 2..<end]))
                    }
                }
            }
        }
    }
}
