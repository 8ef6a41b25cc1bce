extension DocumentStream {
    /// A part of a streamed document: usually one block below the document's root.
    ///
    /// If only the rest of a line can tell whether it begins a new block, the line belongs to the last block until the line ends. That
    /// block's ``Document/root`` then has more than one child. A block that contains only definitions has no children.
    public struct Block: Sendable, Hashable, Identifiable {
        /// The index of the block in the stream, from 0. It never changes.
        public var id: Int
        /// The content of the block. Its source ranges are relative to ``start``.
        public var document: Document
        /// The position of the block in ``DocumentStream/source``, as a UTF-8 offset.
        public var start: Int
        /// Whether the block is complete: later text isn't added to it.
        public var isComplete: Bool
    }

    /// The number of blocks. It never decreases.
    public var count: Int { regions.count + (tailStart < bytes.count ? 1 : 0) }

    /// Returns a block, and parses it first if necessary.
    ///
    /// The first call, and the first call after the block has changed, take time linear in its length; other calls are O(1). The method
    /// also parses earlier blocks that may refer to footnotes, because the numbering depends on them.
    ///
    /// - Precondition: The index is from 0 to ``count`` - 1.
    public mutating func block(at index: Int) -> Block {
        precondition(index >= 0 && index < count, "A block index must be from 0 to \(count - 1); it is \(index).")
        numberFootnotes(upTo: index)
        guard index < regions.count else {
            let document =
                tail ?? parse(tailStart..<bytes.count, cells: parser.regions?.autocompletedCells ?? 0).document
            tail = document
            return Block(id: index, document: document, start: tailStart, isComplete: false)
        }
        return Block(
            id: index, document: completeDocument(at: index), start: regions[index].range.lowerBound, isComplete: true)
    }

    /// All blocks in order. Parses the blocks that aren't parsed yet.
    public var blocks: [Block] {
        mutating get { (0..<count).map { block(at: $0) } }
    }

    /// The text that has arrived so far.
    public var source: String { String(decoding: bytes, as: UTF8.self) }

    /// The text that has arrived so far, parsed as one document. Each access parses the whole text.
    public var document: Document { Document(source, options: options) }

    mutating func completeDocument(at index: Int) -> Document {
        if let document = regions[index].document { return document }
        let region = regions[index]
        let (document, added) = parse(region.range, cells: region.autocompletedCells)
        context.expansionLeft -= added
        regions[index].expansion = added
        regions[index].document = document
        return document
    }

    /// Discards the parsed document of a block whose references have a new meaning. Returns whether the block had been parsed.
    mutating func forget(_ index: Int) -> Bool {
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
