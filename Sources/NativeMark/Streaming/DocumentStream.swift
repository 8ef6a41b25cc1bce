/// A parser for a document that arrives in pieces, such as a model's answer or a file that is being loaded.
///
///     var stream = DocumentStream()
///     for try await piece in answer {
///         let change = stream.append(piece)
///         for index in change.blocks { show(stream.block(at: index)) }     // New or changed.
///         for index in change.earlier { show(stream.block(at: index)) }    // A reference that is a link now.
///     }
///     let change = stream.finish()                                         // As above.
///
/// The text is divided into ``Block``s: the paragraphs, headings, whole lists and so on of the document. New text changes the last block or
/// adds blocks after it. An earlier block changes only if a link or footnote that it refers to is defined later. Each block is a
/// ``Document`` with the links and footnote numbers of the whole text.
///
/// A piece may end anywhere, even within a word, a fence or a line break. An unfinished last line is parsed as if the text ended there. A
/// definition takes effect when its block has ended, so a partial address is never shown; <doc:Streaming> lists such cases. After
/// ``finish()``, the blocks and ``footnotes`` together have the same content as ``document``.
///
/// `append` looks at each byte once. A block is parsed only when it is requested, in time linear in its length, and again only if it has
/// changed. Memory is linear in the length of the text for every input. Copies are independent; the first change to a copy copies the text.
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
    var tail: Document?
    /// Whether that text may refer to a footnote, as far as `tailLookedAt`.
    private var tailMayRefer = false
    private var tailLookedAt = 0
    var context = DocumentContext()
    /// The blocks that refer to an undefined label, by folded label.
    var waiting: [[UInt8]: [Int]] = [:]
    var numbering = FootnoteNumbering()
    var footnoteDocument: Document??
    /// The number of bytes looked at to parse requested blocks. With the steps of `parser`, it is proportional to the time.
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
        /// Earlier blocks, in ascending order, that look different because a definition has arrived. Contains only requested blocks.
        public var earlier: [Int]
        /// Whether ``DocumentStream/footnotes`` may have changed.
        public var footnotes: Bool
    }

    /// Appends a piece of text, which may be empty, and returns the blocks to show again. Some of them may look as before.
    ///
    /// Takes time linear in the length of the text, plus the number of blocks that its definitions change. Traps after ``finish()``.
    @discardableResult
    public mutating func append(_ text: String) -> Change {
        precondition(!isFinished, "append(_:) must not be called on a document stream after finish().")
        let first = regions.count
        let before = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard bytes.count > before else { return Change(blocks: count..<count, earlier: [], footnotes: false) }
        precondition(
            bytes.count < Int(Int32.max) / 3, "A document must have at most 715,827,881 bytes; it has \(bytes.count).")
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

    /// Marks the end of the text, and returns the blocks to show again. Definitions in the last block take effect. A second call changes
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

    /// A carriage return at the very end may be the first half of a line ending.
    private func completeLines(from start: Int) -> Int {
        // The next piece completes a line that ended with a carriage return.
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

    var tailStart: Int { regions.last?.range.upperBound ?? 0 }
}
