extension DocumentStream {
    /// A part of a document that arrives piece by piece, as a rule one of the blocks below its root.
    ///
    /// Where only the rest of a line can tell whether a block begins, the line belongs to the last block until it ends; then that has
    /// more than one block below its ``Document/root``. One that only has definitions in it has none.
    public struct Block: Sendable, Hashable, Identifiable {
        /// Its number in the stream, from 0, which it keeps.
        public var id: Int
        /// What is in it. Places in its source are counted from ``start``.
        public var document: Document
        /// Where it begins in ``DocumentStream/source``, in UTF-8 bytes.
        public var start: Int
        /// Whether no more text will be added to it.
        public var isComplete: Bool
    }

    /// How many blocks there are; never less than before.
    public var count: Int { regions.count + (tailStart < bytes.count ? 1 : 0) }

    /// A block, parsed now if it is not yet.
    ///
    /// Linear in the length of the block the first time, and when it has changed; O(1) otherwise. Blocks before it that may refer to
    /// footnotes are parsed as well if they are not yet, as they come first in the numbering.
    ///
    /// - Parameter index: From 0 to ``count`` - 1, a programmer's mistake otherwise.
    public mutating func block(at index: Int) -> Block {
        precondition(index >= 0 && index < count, "There is no block \(index) among \(count).")
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

    /// All blocks in order, those parsed that are not yet.
    public var blocks: [Block] {
        mutating get { (0..<count).map { block(at: $0) } }
    }

    /// The whole text that has arrived.
    public var source: String { String(decoding: bytes, as: UTF8.self) }

    /// The whole text that has arrived as one document, parsed anew: linear in its length.
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

    /// To be parsed again when it is asked for: what it refers to means something else.
    ///
    /// Gives whether it was asked for since it was last forgotten.
    mutating func forget(_ index: Int) -> Bool {
        guard regions[index].document != nil else { return false }
        context.expansionLeft += regions[index].expansion
        regions[index].expansion = 0
        regions[index].document = nil
        return true
    }

    /// Also gives what its references added beyond its own length.
    private mutating func parse(_ range: Range<Int>, cells: Int) -> (document: Document, added: Int) {
        let source = bytes.withUnsafeBufferPointer { String(decoding: $0[range], as: UTF8.self) }
        var context = context
        context.autocompletedCells = cells
        context.length = bytes.count
        let result = DocumentParser.parse(part: source, options: options, context: context)
        steps &+= result.steps
        return (Document(storage: result.storage), max(0, context.expansionLeft - result.expansion))
    }
}
