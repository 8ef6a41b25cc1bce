extension Document {
    /// The part of a document that another document doesn't have; see ``Document/changes(since:)``.
    public struct Changes: Sendable, Hashable {
        /// The source of the changed blocks and of the blank lines and definitions after them, as UTF-8 offsets. Empty if the other document
        /// only had more blocks.
        public var sourceRange: Range<Int>
        /// The same range in UTF-16 code units.
        public var utf16SourceRange: Range<Int>
        /// The changed children of the root, in the order of the source. A changed footnote is one of them.
        public var blocks: [Node]
    }

    /// Returns the blocks that aren't shared with an earlier document, for a view that shows the earlier one.
    ///
    ///     let edited = document.replacing(utf16: range, with: text)
    ///     let changes = edited.changes(since: document)
    ///     for block in changes.blocks { style(block.utf16SourceRange, as: block.kind) }
    ///
    /// Blocks are shared by documents that ``replacing(_:with:)`` has made from each other, in one or several edits. Two separately parsed
    /// documents share nothing, and after an edit that parses the whole text, all blocks have changed. The result is one range: after edits
    /// at the beginning and the end, it covers the whole document. Takes time linear in the number of changed blocks; the unchanged ones
    /// cost a few nanoseconds per hundred.
    public func changes(since earlier: Document) -> Changes {
        let regions = storage.regions
        let shared = regions.shared(with: earlier.storage.regions)
        let last = regions.count - shared.suffix
        let (from, to) = (regions.place(at: shared.prefix), regions.place(at: last))
        let (start, end) = (regions.extent(before: from), regions.extent(before: to))
        var blocks: [Node] = []
        var place = from
        while place < to {
            let region = regions[place]
            var index = region[0].firstChild
            while index > 0 {
                blocks.append(Node(document: self, place: NodePlace(region: place, index: index)))
                index = region[Int(index)].next
            }
            place = regions.place(after: place)
        }
        let footnotes = storage.footnotes.filter { $0.region >= shared.prefix && $0.region < last }
        if !footnotes.isEmpty {
            blocks += footnotes.map { Node(document: self, place: storage.place(of: $0)) }
            blocks.sort { $0.sourceRange.lowerBound < $1.sourceRange.lowerBound }
        }
        return Changes(
            sourceRange: start.bytes..<end.bytes, utf16SourceRange: start.utf16..<end.utf16, blocks: blocks)
    }
}
