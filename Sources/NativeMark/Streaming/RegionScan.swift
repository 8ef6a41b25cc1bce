/// What the first phase of the parser notes while a text arrives: where the blocks of the document begin, and what they define and
/// refer to.
struct RegionScan: Sendable {
    /// The source from the beginning of one block of the document to the next one.
    struct Region: Sendable {
        var range: Range<Int>
        /// The folded labels that a link may refer to, and those that a footnote may have.
        var labels: Set<[UInt8]> = []
        var footnoteLabels: Set<[UInt8]> = []
        /// Whether footnotes are in it.
        var definesFootnotes = false
        /// How many cells were added to the rows of tables before.
        var autocompletedCells = 0
    }

    /// Where the block begins that may still change.
    var start = 0
    /// The cells that were added to rows before it.
    var autocompletedCells = 0
    // What was found since it was last asked for.
    var complete: [Region] = []
    var definitions: [(label: [UInt8], DocumentContext.Definition)] = []
    var footnotes: [(label: [UInt8], DocumentContext.Footnote)] = []
}

extension BlockParser {
    /// A parser for a text that arrives piece by piece.
    init(options: Document.Options) {
        self.init(source: UnsafeBufferPointer(start: nil, count: 0), options: options)
        regions = RegionScan()
    }

    /// Parses lines that are complete, of a text that is there so far.
    mutating func parse(lines: Range<Int>, of source: UnsafeBufferPointer<UInt8>) {
        self.source = source
        maximalAutocompletedCells = Self.maximalAutocompletedCells(ofLength: source.count)
        parseLines(from: lines.lowerBound, to: lines.upperBound)
        self.source = UnsafeBufferPointer(start: nil, count: 0)
    }

    /// The beginning of a line is there. Completes what is before if it is sure by now that a block of the document begins with it,
    /// whatever follows: a paragraph is often one long line.
    mutating func parse(beginningOfLine line: Range<Int>, of source: UnsafeBufferPointer<UInt8>) {
        guard let start = regions?.start, start < line.lowerBound, builder.nodes.count > 1,
            beginsRegion(source[line])
        else { return }
        completeRegion(at: line.lowerBound)
    }

    private func beginsRegion(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        // A carriage return may end the line.
        guard let first = line.first(where: { !$0.isSpaceOrTab }), first != 0x0D else { return false }
        // A heading may turn out to be that of a table.
        if open.count == 1 { return headingLine != lineNumber - 1 }
        guard blankLine == lineNumber - 1, line.first == first else { return false }
        switch open[1].tag {
        case .footnoteDefinition: return true
        case .codeBlock: return open[1].character == 0
        case .list: return !(first.isDigit || first == 0x2A || first == 0x2B || first == 0x2D)
        default: return false
        }
    }

    /// There is no more text: closes what is open, and completes the last region.
    mutating func finish(source: UnsafeBufferPointer<UInt8>) {
        self.source = source
        if (regions?.start ?? 0) < source.count { completeRegion(at: source.count) }
        self.source = UnsafeBufferPointer(start: nil, count: 0)
    }

    /// A block of the document begins: all before it are complete.
    mutating func beginRegion(at position: Int) {
        // A table takes its header from the paragraph before, so that it is not always this line that it begins in.
        var start = position
        while start > 0, source[start - 1].isSpaceOrTab { start -= 1 }
        // Blank lines before the first block are its own.
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

    /// What is kept of the regions before: the labels that they define.
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
        heading = -1
        headingLine = -2
    }

    /// The text between each two brackets that could be a label. Some of them are in code, or escaped.
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
                        region.labels.insert(Self.label(bytes[index + 1..<end]))
                    }
                    if options.footnotes, let end = Footnotes.endOfLabel(in: bytes, from: index, to: limit) {
                        region.footnoteLabels.insert(Self.label(bytes[index + 2..<end]))
                    }
                }
            }
        }
    }

    private static func label(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
        Labels.folded(String(decoding: bytes, as: UTF8.self))
    }
}
