/// The beginning of a region in the source and in each table of the first phase.
struct RegionMark {
    // A text of many short blocks has many marks.
    private var positions: (Int32, Int32, Int32, Int32, Int32, Int32, Int32, Int32, Int32, Int32)

    init(
        source: Int, nodes: Int, content: Int, jumps: Int, leaves: Int, strings: Int, alignments: Int, footnotes: Int,
        definitions: Int, cells: Int
    ) {
        positions = (
            Int32(source), Int32(nodes), Int32(content), Int32(jumps), Int32(leaves), Int32(strings),
            Int32(alignments), Int32(footnotes), Int32(definitions), Int32(cells)
        )
    }

    var source: Int { Int(positions.0) }
    var nodes: Int { Int(positions.1) }
    var content: Int { Int(positions.2) }
    var jumps: Int { Int(positions.3) }
    var leaves: Int { Int(positions.4) }
    var strings: Int { Int(positions.5) }
    var alignments: Int { Int(positions.6) }
    var footnotes: Int { Int(positions.7) }
    var definitions: Int { Int(positions.8) }
    /// The number of cells that were added to complete rows.
    var cells: Int { Int(positions.9) }
}

extension BlockParser {
    func mark(at position: Int) -> RegionMark {
        RegionMark(
            source: position, nodes: builder.nodes.count, content: builder.content.count,
            jumps: builder.map.jumps.count, leaves: builder.leaves.count, strings: builder.strings.count,
            alignments: builder.alignments.count, footnotes: builder.footnoteDefinitions.count,
            definitions: builder.definitions.count, cells: autocompletedCells)
    }

    /// Records that a block of the document begins. All blocks before it are closed.
    mutating func beginRegion(at position: Int) {
        // A table takes its header from the preceding paragraph, so the block doesn't always begin on the current line.
        var start = position
        while start > 0, source[start - 1].isSpaceOrTab { start -= 1 }
        if regions != nil { return beginScannedRegion(at: start) }
        // Blank lines before the first block belong to it.
        guard let last = builder.marks.last, start > last.source, builder.nodes.count > last.nodes else { return }
        builder.marks.append(mark(at: start))
    }
}
