/// Parses Markdown in two phases: first the blocks, line by line, and then the content of the leaf blocks.
///
/// The second phase needs all link reference definitions and footnotes, which may be at the end of the text.
enum DocumentParser {
    /// Returns the document and the number of steps: bytes read and node links followed. The number of steps is proportional to the time,
    /// so tests of hostile input count steps instead of measuring time.
    static func parse(_ markdown: String, options: Document.Options) -> (storage: DocumentStorage, steps: Int) {
        var source = markdown
        source.makeContiguousUTF8()
        var cells = 0
        var limit = 0
        let result = source.withUTF8 { bytes in
            checkLength(bytes.count)
            var blocks = BlockParser(source: bytes, options: options)
            blocks.parse()
            (cells, limit) = (blocks.autocompletedCells, blocks.maximalAutocompletedCells)
            return InlinePhase.run(on: blocks.builder, source: bytes, length: bytes.count, options: options)
        }
        let storage = DocumentStorage(
            source: source, options: options, regions: RegionList(result.regions), footnotes: result.footnotes,
            context: result.context, isLimited: result.isLimited || cells > limit,
            expansion: result.regions.reduce(0) { $0 + ($1.shared?.expansion ?? 0) }, autocompletedCells: cells)
        return (storage, result.steps)
    }

    static func checkLength(_ count: Int) {
        precondition(
            count < Int(Int32.max) / 3, "A document must have at most 715,827,881 bytes; it has \(count).")
    }

    /// Parses Markdown and writes it as HTML, region by region, without keeping the nodes. The bytes must be valid UTF-8. `body` is called
    /// after each region.
    static func write(
        _ markdown: UnsafeBufferPointer<UInt8>, options: Document.Options, to writer: inout HTMLWriter,
        _ body: (inout HTMLOutput) -> Void = { _ in }
    ) {
        checkLength(markdown.count)
        var blocks = BlockParser(source: markdown, options: options)
        blocks.parse()
        InlinePhase.write(blocks.builder, source: markdown, options: options, to: &writer, body)
    }

    /// Parses a part of a longer text. Also returns the number of bytes that references may still add; see ``DocumentStream``.
    static func parse(
        part source: String, options: Document.Options, context: DocumentContext
    ) -> (storage: DocumentStorage, expansion: Int, steps: Int) {
        var source = source
        source.makeContiguousUTF8()
        let result = source.withUTF8 { bytes in
            var blocks = BlockParser(source: bytes, options: options)
            blocks.beginsText = context.beginsText
            blocks.autocompletedCells = context.autocompletedCells
            blocks.maximalAutocompletedCells = BlockParser.maximalAutocompletedCells(ofLength: context.length)
            blocks.parse()
            return InlinePhase.run(
                on: blocks.builder, source: bytes, length: bytes.count, options: options, context: context)
        }
        let storage = DocumentStorage(
            source: source, options: options, regions: RegionList(result.regions), footnotes: result.footnotes,
            uses: result.uses)
        return (storage, result.expansionLeft, result.steps)
    }
}

// MARK: - Parts of longer texts

/// The definitions and limits that are needed to parse a part of a longer text as if it were in the whole text; see ``DocumentStream``.
struct DocumentContext: Sendable {
    struct Definition: Sendable, Hashable {
        var destination: String
        var title: String?

        /// The number of bytes that one reference adds to the document.
        var size: Int { destination.utf8.count + (title?.utf8.count ?? 0) }
    }

    struct LabeledDefinition: Sendable, Hashable {
        /// The folded label.
        var label: [UInt8]
        var definition: Definition
    }

    struct Footnote: Sendable, Hashable {
        var label: String
        /// The number in the order of first references, or 0 if no earlier part refers to the footnote.
        var number: Int
    }

    /// A definition in the context that affects the part. Documents are equal only if their uses are equal.
    enum Use: Sendable, Hashable {
        case definition(label: [UInt8], Definition)
        case footnote(label: [UInt8], Footnote)
    }

    /// Definitions by folded label. They take precedence over the part's own definitions.
    var definitions: [[UInt8]: Definition] = [:]
    /// Footnotes by folded label. Footnotes in the part itself are ignored unless `footnotesInOrder` is set.
    var footnotes: [[UInt8]: Footnote] = [:]
    var footnoteCount = 0
    /// If set, the document contains only footnotes, beginning with the ones that have these labels.
    var footnotesInOrder: [[UInt8]]?
    /// The number of bytes that references may still add to all parts together, in addition to each part's own length.
    var expansionLeft = 100_000
    var length = 0
    /// Whether the part is at the beginning of the text, where a byte order mark is ignored.
    var beginsText = true
    /// The number of cells added to short table rows in earlier parts.
    var autocompletedCells = 0
}

// MARK: - The second phase

/// A region whose footnotes aren't parsed yet. A class, because a dictionary can't contain values that can't be copied.
private final class WaitingRegion {
    var region = InlineParser.Region()
}

/// The second phase of the parser. Parses the content of paragraphs, headings and cells region by region, and puts the footnotes in order.
struct InlinePhase: ~Copyable {
    private let blocks: DocumentBuilder
    /// The text that the marks of the regions refer to.
    private let source: UnsafeBufferPointer<UInt8>
    private var parser: InlineParser
    /// The regions so far. A region that defines footnotes is `nil` until its footnotes are parsed.
    private var regions: [DocumentRegion?] = []
    private var waiting: [Int: WaitingRegion] = [:]
    /// The memory for the next regions.
    private var memory = RegionMemory(size: 0)
    /// The source bytes of the finished regions, and the bytes of memory that these regions take.
    private var finished = (source: 0, memory: 0)

    struct Result {
        var regions: [DocumentRegion]
        var footnotes: [DocumentStorage.Footnote]
        /// The definitions in the context that the text uses.
        var uses: [DocumentContext.Use]
        /// The number of bytes that references may still add.
        var expansionLeft: Int
        var isLimited: Bool
        /// The definitions in the text and the numbers of its footnotes.
        var context: DocumentContext
        var steps: Int
    }

    /// Parses the leaves that the first phase found. `length` is the length of the text in bytes.
    static func run(
        on blocks: DocumentBuilder, source: UnsafeBufferPointer<UInt8>, length: Int, options: Document.Options,
        context: DocumentContext? = nil
    ) -> Result {
        var phase = InlinePhase(
            blocks: blocks, source: source,
            parser: InlineParser(
                options: options, length: length, definitions: blocks.references, footnotes: blocks.footnotes,
                context: context))
        return blocks.content.withUnsafeBufferPointer { phase.run(content: $0) }
    }

    /// Parses the leaves that the first phase found, and writes each region as soon as it is complete.
    static func write(
        _ blocks: DocumentBuilder, source: UnsafeBufferPointer<UInt8>, options: Document.Options,
        to writer: inout HTMLWriter, _ body: (inout HTMLOutput) -> Void
    ) {
        var phase = InlinePhase(
            blocks: blocks, source: source,
            parser: InlineParser(
                options: options, length: source.count, definitions: blocks.references, footnotes: blocks.footnotes,
                context: nil))
        blocks.content.withUnsafeBufferPointer { content in
            for index in 0..<blocks.marks.count - 1 {
                phase.begin(index, content: content)
                phase.parseBody(of: index, isWanted: true)
                phase.parser.withNodes { writer.write(0, of: $0) }
                body(&writer.output)
                if phase.definesFootnotes(index) {
                    phase.putAside(index)
                } else {
                    phase.parser.endRegion()
                }
            }
            _ = phase.parseFootnotes { parser, node in parser.withNodes { writer.write(node, of: $0) } }
        }
        writer.finish()
    }

    private init(blocks: DocumentBuilder, source: UnsafeBufferPointer<UInt8>, parser: consuming InlineParser) {
        self.blocks = blocks
        self.source = source
        self.parser = parser
    }

    /// Parses the leaves outside footnotes, and then the footnotes in the order of their first references. Footnotes may refer to other
    /// footnotes. A footnote without a reference is removed.
    private mutating func run(content: UnsafeBufferPointer<UInt8>) -> Result {
        let isBodyWanted = parser.context?.footnotesInOrder == nil
        let areFootnotesWanted = parser.context == nil || !isBodyWanted
        regions.reserveCapacity(blocks.marks.count)
        for index in 0..<blocks.marks.count - 1 {
            begin(index, content: content)
            parseBody(of: index, isWanted: isBodyWanted)
            if areFootnotesWanted, definesFootnotes(index) {
                regions.append(nil)
                putAside(index)
            } else {
                regions.append(finish(index))
            }
        }
        for label in parser.context?.footnotesInOrder ?? [] { _ = parser.footnote(label) }
        let footnotes = areFootnotesWanted ? parseFootnotes() : []
        for (index, other) in waiting {
            parser.exchangeRegion(with: &other.region)
            regions[index] = finish(index)
        }
        return Result(
            regions: regions.map { $0! }, footnotes: footnotes, uses: parser.uses, expansionLeft: parser.expansionLeft,
            isLimited: parser.isLimited, context: parser.resultingContext, steps: blocks.steps + parser.steps)
    }

    /// Keeps the current region until its footnotes are parsed.
    private mutating func putAside(_ index: Int) {
        let other = WaitingRegion()
        parser.exchangeRegion(with: &other.region)
        waiting[index] = other
    }

    private func definesFootnotes(_ index: Int) -> Bool {
        blocks.marks[index].footnotes < blocks.marks[index + 1].footnotes
    }

    private mutating func parseBody(of index: Int, isWanted: Bool) {
        var next = blocks.marks[index].leaves
        for definition in blocks.footnoteDefinitions[
            blocks.marks[index].footnotes..<blocks.marks[index + 1].footnotes]
        {
            if isWanted { parse(leaves: next..<max(next, definition.leaves.lowerBound), of: index) }
            next = max(next, definition.leaves.upperBound)
            parser.builder.detach(local(definition.node, in: index))
        }
        if isWanted {
            parse(leaves: next..<blocks.marks[index + 1].leaves, of: index)
        } else {
            parser.builder.nodes[0].firstChild = -1
            parser.builder.nodes[0].lastChild = -1
        }
    }

    /// Parses the footnotes that have references. Calls a function with each of them, in the order of their numbers.
    private mutating func parseFootnotes(
        _ body: (borrowing InlineParser, _ node: Int32) -> Void = { _, _ in }
    ) -> [DocumentStorage.Footnote] {
        var result: [DocumentStorage.Footnote] = []
        while result.count < parser.usedFootnotes.count {
            let footnote = parser.usedFootnotes[result.count]
            let other = waiting[footnote.region]!
            parser.exchangeRegion(with: &other.region)
            parse(leaves: footnote.leaves, of: footnote.region)
            let node = local(footnote.node, in: footnote.region)
            parser.builder.nodes[Int(node)].parent = 0
            parser.builder.nodes[Int(node)].extra = Int32(result.count + 1)
            result.append(.init(region: footnote.region, node: node))
            body(parser, node)
            parser.exchangeRegion(with: &other.region)
        }
        return result
    }

    private mutating func parse(leaves: Range<Int>, of index: Int) {
        for leaf in leaves { parser.parse(leaf: local(blocks.leaves[leaf], in: index)) }
    }

    // MARK: Regions

    /// Returns the index of a node within its region, where the root comes first.
    private func local(_ node: Int32, in index: Int) -> Int32 {
        node - Int32(truncatingIfNeeded: blocks.marks[index].nodes - 1)
    }

    /// Copies the blocks of a region. Positions and indices become relative to the region.
    private mutating func begin(_ index: Int, content: UnsafeBufferPointer<UInt8>) {
        let (first, last) = (blocks.marks[index], blocks.marks[index + 1])
        parser.bytes = UnsafeBufferPointer(rebasing: content[first.content..<last.content])
        let shift = Int32(truncatingIfNeeded: first.nodes - 1)
        let end = Int32(truncatingIfNeeded: last.nodes)
        let sourceShift = Int32(truncatingIfNeeded: first.source)
        let contentShift = Int32(truncatingIfNeeded: first.content)
        var root = NodeRecord(.document, start: 0, end: last.source - first.source)
        parser.builder.nodes.append(root)
        for node in first.nodes..<last.nodes {
            var record = blocks.nodes[node]
            if record.parent == 0 {
                let local = Int32(truncatingIfNeeded: node) - shift
                if root.firstChild < 0 { root.firstChild = local }
                root.lastChild = local
            } else if record.parent > 0 {
                record.parent -= shift
            }
            record.firstChild = record.firstChild < 0 ? -1 : record.firstChild - shift
            record.lastChild = record.lastChild < 0 ? -1 : record.lastChild - shift
            record.next = record.next < 0 || record.next >= end ? -1 : record.next - shift
            record.previous = record.previous <= shift ? -1 : record.previous - shift
            let positionShift = record.tag.isInline ? contentShift : sourceShift
            record.start -= positionShift
            record.end -= positionShift
            if record.value >= 0 {
                switch record.tag {
                case .paragraph, .heading, .tableCell, .text: record.value -= contentShift
                case .codeBlock, .footnoteDefinition: record.value -= Int32(truncatingIfNeeded: first.strings)
                case .table: record.value -= Int32(truncatingIfNeeded: first.alignments)
                default: break
                }
            }
            parser.builder.nodes.append(record)
        }
        parser.builder.nodes[0].firstChild = root.firstChild
        parser.builder.nodes[0].lastChild = root.lastChild
        if first.strings < last.strings { parser.builder.strings += blocks.strings[first.strings..<last.strings] }
    }

    private mutating func finish(_ index: Int) -> DocumentRegion {
        let (first, last) = (blocks.marks[index], blocks.marks[index + 1])
        var shared: DocumentRegion.Shared?
        if first.definitions < last.definitions || first.footnotes < last.footnotes || first.cells < last.cells
            || parser.region.expansion > 0 || !parser.region.footnotes.isEmpty
        {
            shared = .init(
                definitions: Array(blocks.definitions[first.definitions..<last.definitions]),
                definesFootnotes: first.footnotes < last.footnotes, footnotes: parser.region.footnotes,
                expansion: parser.region.expansion, autocompletedCells: last.cells - first.cells)
        }
        let length = last.source - first.source
        let size = DocumentRegion.size(
            nodes: parser.builder.nodes.count, jumps: last.jumps - first.jumps,
            bytes: parser.bytes.count + parser.extra.count)
        let memory = memory(for: size, length: length)
        let result = parser.builder.nodes.withUnsafeBufferPointer { nodes in
            DocumentRegion(
                nodes: nodes, jumps: blocks.map.jumps[first.jumps..<last.jumps].lazy.map { $0.moved(by: first) },
                content: parser.bytes, extra: parser.extra, strings: strings(),
                alignments: first.alignments < last.alignments
                    ? Array(blocks.alignments[first.alignments..<last.alignments]) : [],
                source: UnsafeBufferPointer(rebasing: source[first.source..<last.source]), shared: shared,
                memory: memory)
        }
        parser.endRegion()
        return result
    }

    /// Returns memory with room for a region. New memory is also meant to hold the rest of the text, if that takes as much per source byte
    /// as the text so far.
    private mutating func memory(for size: Int, length: Int) -> RegionMemory {
        finished = (finished.source + length, finished.memory + size)
        if memory.hasRoom(for: size) { return memory }
        // The constants make the first estimate about four bytes of memory per byte of text, because a short heading alone takes more. The
        // product of two lengths may overflow an integer, so this uses Double.
        let ratio = Double(finished.memory + 4096) / Double(finished.source + 1024)
        let rest = Int(min(Double(source.count - finished.source) * ratio, Double(RegionMemory.maximumSize)))
        memory = RegionMemory(size: max(size, min(size + rest, RegionMemory.maximumSize)))
        return memory
    }

    /// Returns an exact-size copy of the strings. The parser reuses its own array for the next region.
    private func strings() -> [String] {
        let strings = parser.builder.strings
        return strings.isEmpty ? [] : strings.withUnsafeBufferPointer { Array($0) }
    }
}

extension SourceMap.Jump {
    /// Returns the jump relative to the beginning of a region.
    fileprivate func moved(by mark: RegionMark) -> Self {
        Self(
            content: content - Int32(truncatingIfNeeded: mark.content),
            source: source - Int32(truncatingIfNeeded: mark.source))
    }
}
