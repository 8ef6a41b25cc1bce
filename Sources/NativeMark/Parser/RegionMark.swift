/// The beginning of a region in the source and in each table of the first phase.
struct RegionMark {
    var source: Int
    var nodes: Int
    var content: Int
    var jumps: Int
    var leaves: Int
    var strings: Int
    var alignments: Int
    var footnotes: Int
    var definitions: Int
    var cells: Int
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
