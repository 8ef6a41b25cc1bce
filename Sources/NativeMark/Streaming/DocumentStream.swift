/// A document that arrives piece by piece, such as the answer of a model or a file that is being loaded.
///
///     var stream = DocumentStream()
///     for try await piece in answer {
///         let change = stream.append(piece)
///         for index in change.blocks { show(stream.block(at: index)) }     // New, or not as before.
///         for index in change.earlier { show(stream.block(at: index)) }    // A link that is one now.
///     }
///     let change = stream.finish()                                         // As above.
///
/// The text falls into ``Block``s: paragraphs, headings, whole lists and so on, as they follow each other in the document. What arrives
/// changes the last one, or adds more behind it; a block before that only looks different when a link or footnote is defined later
/// that it refers to. Each block is a ``Document`` of its own, in which links and the numbers of footnotes are those of the whole.
///
/// A piece may end anywhere, also within a word, a fence or a line break. All text that has arrived is in the blocks; an unfinished
/// last line is read as if the text ended there, so that `**bo` shows its asterisks until the line goes on.
/// A link reference definition and a footnote count once the block has ended that they stand in, so that no half-written address is
/// ever shown. After ``finish()``, the blocks one after the other and ``footnotes`` are what the whole text gives at once:
/// ``document``. The limits of ``Document`` are kept by all blocks together, each having its own length in addition.
///
/// `append` looks at each byte once and parses nothing anew. A block is parsed when it is asked for, which is linear in its
/// length, and only once if no text was added to it. Memory is linear in the length of the text, also for hostile text.
///
/// A stream is a value; a copy goes its own way, and costs as much as the text when it does. Nothing here waits or can fail.
public struct DocumentStream: Sendable {
    /// What the text is parsed with.
    public let options: Document.Options

    var bytes: [UInt8] = []
    /// Holds no pointer between two calls.
    nonisolated(unsafe) var parser: BlockParser
    /// Up to here, all lines are complete and parsed.
    private var parsed = 0
    private(set) var isFinished = false
    /// Blocks that no text is added to any more.
    var regions: [Region] = []
    /// That of the text behind these, if it was asked for.
    var tail: Document?
    /// Whether that text may refer to a footnote, as far as it was looked at.
    private var tailMayRefer = false
    private var tailLookedAt = 0
    var context = DocumentContext()
    /// Who gets a link when the label is defined.
    var waiting: [[UInt8]: [Int]] = [:]
    var numbering = FootnoteNumbering()
    var footnoteDocument: Document??
    /// Bytes looked at to parse blocks that were asked for. With those of `parser`, proportional to the time.
    var steps = 0

    struct Region: Sendable {
        var range: Range<Int>
        var definesFootnotes: Bool
        var autocompletedCells: Int
        /// What references added beyond the length of the block.
        var expansion = 0
        var document: Document?
    }

    /// A stream without any text.
    public init(options: Document.Options = .init()) {
        self.options = options
        parser = BlockParser(options: options)
    }

    /// Which blocks are new, or may look different from before.
    public struct Change: Sendable, Hashable {
        /// New ones, and the one that was the last and got more text. Always the last ones of the stream.
        public var blocks: Range<Int>
        /// Blocks before these, in order, that were asked for and look different since: they refer to what was defined only now.
        public var earlier: [Int]
        /// Whether ``DocumentStream/footnotes`` may be different.
        public var footnotes: Bool
    }

    /// Adds text, and tells what it changed.
    ///
    /// Linear in the length of the text, plus the number of blocks that a definition in it changes. To call it after ``finish()`` is a
    /// programmer's mistake.
    ///
    /// - Parameter text: The next piece, which may be empty.
    /// - Returns: The blocks to show anew. A block may be named without looking any different.
    @discardableResult
    public mutating func append(_ text: String) -> Change {
        precondition(!isFinished, "Nothing can be appended to a DocumentStream that is finished.")
        let first = regions.count
        let before = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard bytes.count > before else { return Change(blocks: count..<count, earlier: [], footnotes: false) }
        precondition(bytes.count < Int(Int32.max) / 3, "A document must be shorter than 700 MB.")
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

    /// There is no more text: what the last block defines counts now.
    ///
    /// - Returns: The blocks to show anew. Nothing changes if it is called again.
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

    /// Where the last line ends that is complete. A carriage return at the very end may be half of a line break.
    private func completeLines(from start: Int) -> Int {
        // What follows a carriage return that was at the end makes its line complete.
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

    /// Where the block begins that may still get text.
    var tailStart: Int { regions.last?.range.upperBound ?? 0 }
}
