/// What the first phase of the parser records while a text arrives: the positions of the document's blocks, their definitions and
/// their references.
struct RegionScan: Sendable {
    /// The source from the beginning of one top-level block to the beginning of the next one.
    struct Region: Sendable {
        var range: Range<Int>
        /// The folded labels that links may refer to. `footnoteLabels` are those that footnote references may refer to.
        var labels: Set<[UInt8]> = []
        var footnoteLabels: Set<[UInt8]> = []
        var definesFootnotes = false
        /// The number of cells that were added to table rows before the region.
        var autocompletedCells = 0
    }

    var start = 0
    /// The number of cells that were added to table rows before that block.
    var autocompletedCells = 0
    /// The position up to which an incomplete last line is blank.
    var blankEnd = 0
    // Findings since the stream last took them.
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
        // A piece may be a single space of a long line.
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

    /// Returns whether a line certainly begins a top-level block, by its first byte that isn't a space or tab.
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

    /// Records that a block of the document begins, and drops the blocks before it.
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

    /// Keeps only the labels that the region defines.
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

    /// Labels are the texts between brackets, also in code.
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
