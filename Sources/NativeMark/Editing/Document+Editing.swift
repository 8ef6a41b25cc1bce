extension Document {
    /// Returns the document after an edit. It equals a parse of the whole edited text in every node, range and number, but usually takes
    /// less time.
    ///
    ///     let typed = document.replacing(5..<5, with: "*")     // One keystroke, before the sixth byte.
    ///     let deleted = typed.replacing(5..<6, with: "")
    ///
    /// Only the top-level blocks that the edit touches and the block before them are parsed again. Parsing stops at the first block after
    /// the edit that begins where it did before. The result shares all other blocks with this document, which doesn't change. Typing an
    /// opening code fence changes all blocks up to the closing fence. A block such as a long list is always parsed as a whole.
    ///
    /// The whole text is parsed in these cases:
    ///
    /// - The edit changes the link reference definitions, a block that defines a footnote, or which footnotes the changed blocks refer to.
    /// - A limit on references or table cells is reached.
    /// - The document is a block of a ``DocumentStream``. The result then lacks the definitions from other blocks.
    ///
    /// Takes time linear in the length of the parsed blocks, plus a copy of the source, which takes about 0.1 ms per megabyte.
    ///
    /// - Parameters:
    ///   - range: The part of ``source`` to replace, as UTF-8 offsets. It may separate CR from LF. Traps if a bound is outside the source
    ///     or within a Unicode scalar.
    ///   - text: The replacement. May be empty.
    public func replacing(_ range: Range<Int>, with text: String) -> Document {
        Document(storage: DocumentParser.replacing(range, of: storage, with: text).storage)
    }

    /// Returns the document after an edit, like ``replacing(_:with:)``, but takes a range in UTF-16 code units.
    ///
    ///     let edited = document.replacing(utf16: range, with: text)    // For an NSRange, pass Range(nsRange)!.
    ///
    /// - Parameters:
    ///   - range: The part of ``source`` to replace, as UTF-16 offsets. Traps if a bound is outside the source or within a surrogate pair.
    ///   - text: The replacement. May be empty.
    public func replacing(utf16 range: Range<Int>, with text: String) -> Document {
        let lower = storage.position(ofUTF16: range.lowerBound)
        let upper = range.isEmpty ? lower : storage.position(ofUTF16: range.upperBound)
        return replacing(lower..<upper, with: text)
    }
}

extension DocumentStorage {
    fileprivate func position(ofUTF16 offset: Int) -> Int {
        precondition(
            offset >= 0 && offset <= regions.extent.utf16,
            "A UTF-16 offset must be from 0 to \(regions.extent.utf16); it is \(offset).")
        guard offset < regions.extent.utf16 else { return regions.extent.bytes }
        let index = regions.index(ofUTF16: offset)
        let start = regions.extent(before: index)
        let region = regions[index]
        let position = withSource(start.bytes..<start.bytes + region.length) {
            region.utf16.position(ofUTF16: offset - start.utf16, in: $0)
        }
        guard let position else {
            preconditionFailure("A UTF-16 offset must not be within a surrogate pair; \(offset) is.")
        }
        return start.bytes + position
    }
}

// MARK: - Changes

extension Document {
    /// The blocks of a document that changed since an earlier document; see ``Document/changes(since:)``.
    public struct Changes: Sendable, Hashable {
        /// The range of the changed blocks in the source, including blank lines and definitions after them, as UTF-8 offsets. Empty if
        /// blocks were only removed.
        public var sourceRange: Range<Int>
        /// The same range in UTF-16 code units.
        public var utf16SourceRange: Range<Int>
        /// The changed children of the root, including changed footnotes, in source order.
        public var blocks: [Node]
    }

    /// Returns the blocks that changed since an earlier document, so that a view can update only those.
    ///
    ///     let edited = document.replacing(utf16: range, with: text)
    ///     let changes = edited.changes(since: document)
    ///     for block in changes.blocks { style(block.utf16SourceRange, as: block.kind) }
    ///
    /// A document shares its unchanged blocks with the documents that it was made from by ``replacing(_:with:)``, across any number of
    /// edits. Documents that were parsed separately share nothing. After an edit that parses the whole text, all blocks have changed. The
    /// result is one range: after edits at the beginning and the end, it covers the whole document. Takes time linear in the number of
    /// changed blocks; unchanged blocks cost a few nanoseconds per hundred.
    public func changes(since earlier: Document) -> Changes {
        let regions = storage.regions
        let shared = regions.shared(with: earlier.storage.regions)
        let last = regions.count - shared.suffix
        let (from, to) = (regions.index(atOffset: shared.prefix), regions.index(atOffset: last))
        let (start, end) = (regions.extent(before: from), regions.extent(before: to))
        var blocks: [Node] = []
        var index = from
        while index < to {
            let region = regions[index]
            var node = region[0].firstChild
            while node > 0 {
                blocks.append(Node(document: self, index: NodeIndex(region: index, node: node)))
                node = region[Int(node)].next
            }
            index = regions.index(after: index)
        }
        let footnotes = storage.footnotes.filter { $0.region >= shared.prefix && $0.region < last }
        if !footnotes.isEmpty {
            blocks += footnotes.map { Node(document: self, index: storage.index(of: $0)) }
            blocks.sort { $0.sourceRange.lowerBound < $1.sourceRange.lowerBound }
        }
        return Changes(
            sourceRange: start.bytes..<end.bytes, utf16SourceRange: start.utf16..<end.utf16, blocks: blocks)
    }
}

// MARK: - Parsing the changed regions

/// Parses the regions that an edit changes.
///
/// A region parsed alone has the same nodes as in its document, apart from definitions, footnotes and limits. Where a region begins depends
/// only on its own lines and on the block before it, so parsing begins one region before the edit:
///
/// ```text
/// regions before:   | a | b | c | d | e |
/// edit:                       ^^
/// parsed:               | b | x | y | d        stops where `d` begins, as before
/// regions after:    | a | b | x | y | d | e |  `b` is shared too if it hasn't changed
/// ```
extension DocumentParser {
    /// Also returns the number of steps; see ``parse(_:options:)``.
    static func replacing(
        _ range: Range<Int>, of storage: DocumentStorage, with text: String
    ) -> (storage: DocumentStorage, steps: Int) {
        let source = spliced(storage.source, range, text)
        let count = source.utf8.count
        checkLength(count)
        if let context = storage.context, !storage.isLimited {
            var change = RegionChange(of: storage, range, in: source, added: text.utf8.count)
            if let result = change.storage(source: source, context: context) { return result }
        }
        return parse(source, options: storage.options)
    }

    private static func spliced(_ source: String, _ range: Range<Int>, _ text: String) -> String {
        let count = source.utf8.count
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count,
            "A range to replace must be within 0..<\(count); it is \(range).")
        let lower = source.utf8.index(source.startIndex, offsetBy: range.lowerBound)
        let upper = source.utf8.index(source.startIndex, offsetBy: range.upperBound)
        precondition(
            isBoundary(lower, of: source) && isBoundary(upper, of: source),
            "A range to replace must begin and end between two Unicode scalars; \(range) doesn't.")
        // Appending valid UTF-8 is a plain copy; a string made from bytes would be validated.
        var result = ""
        result.reserveCapacity(count - range.count + text.utf8.count)
        result.append(contentsOf: source[..<lower])
        result.append(contentsOf: text)
        result.append(contentsOf: source[upper...])
        return result
    }

    private static func isBoundary(_ index: String.Index, of source: String) -> Bool {
        index == source.endIndex || source.utf8[index] & 0xC0 != 0x80
    }
}

/// The regions that an edit replaces, and their replacements.
private struct RegionChange {
    private let storage: DocumentStorage
    private let range: Range<Int>
    /// The blocks from the beginning of the first parsed region on. The last mark is where the unchanged regions begin.
    private var blocks: BlockParser
    /// The regions that are parsed again: from `first` up to, but not including, `last`.
    private var first: RegionList.Index
    private var last: RegionList.Index

    init(of storage: DocumentStorage, _ range: Range<Int>, in source: String, added: Int) {
        self.storage = storage
        self.range = range
        let regions = storage.regions
        let edited = regions.index(ofByte: range.lowerBound)
        first = regions.index(before: edited) ?? edited
        let start = regions.extent(before: first).bytes
        let (end, shift) = (range.lowerBound + added, added - range.count)

        // The next region that may begin where it did before.
        var next = edited
        // A byte order mark is ignored only at the beginning of the text, so a region that moves to or from there is parsed again.
        while next < regions.endIndex, regions.extent(before: next).bytes < max(range.upperBound, 1) {
            next = regions.index(after: next)
        }
        func meets(_ parser: BlockParser) -> Bool {
            let begin = parser.builder.marks[parser.builder.marks.count - 1].source
            guard begin >= max(end, 1) else { return false }
            while next < regions.endIndex, regions.extent(before: next).bytes + shift < begin {
                next = regions.index(after: next)
            }
            return next < regions.endIndex && regions.extent(before: next).bytes + shift == begin
        }
        var source = source
        blocks = source.withUTF8 { bytes in
            var parser = BlockParser(
                source: bytes, options: storage.options, from: start, length: min(bytes.count, end + 1_024) - start)
            parser.parseLines(from: start, to: bytes.count) { !meets($0) }
            if !meets(parser) {
                next = regions.endIndex
                parser.finish()
            }
            parser.source = UnsafeBufferPointer(start: nil, count: 0)
            return parser
        }
        last = next
    }

    /// Parses the content of the changed regions. Returns `nil` if the change affects other regions.
    mutating func storage(source: String, context: DocumentContext) -> (storage: DocumentStorage, steps: Int)? {
        dropUnchanged()
        let regions = storage.regions
        let old = effects(
            of: (regions.offset(of: first)..<regions.offset(of: last)).lazy.map {
                regions[regions.index(atOffset: $0)]
            })
        let marks = blocks.builder.marks
        guard !old.definesFootnotes, marks[0].footnotes == marks[marks.count - 1].footnotes,
            blocks.builder.definitions[marks[0].definitions..<marks[marks.count - 1].definitions]
                .elementsEqual(old.definitions)
        else { return nil }

        let length = source.utf8.count
        var context = context
        context.expansionLeft = max(InlineParser.smallestExpansion, length) - (storage.expansion - old.expansion)
        var source = source
        let result = source.withUTF8 {
            InlinePhase.run(on: blocks.builder, source: $0, length: 0, options: storage.options, context: context)
        }
        let new = effects(of: result.regions)
        let cells = storage.autocompletedCells - old.cells + new.cells
        guard !result.isLimited, new.footnotes == old.footnotes,
            cells <= BlockParser.maximalAutocompletedCells(ofLength: length)
        else { return nil }

        let moved = regions.offset(of: last)
        let shift = regions.offset(of: first) + result.regions.count - moved
        let footnotes =
            shift == 0
            ? storage.footnotes
            : storage.footnotes.map { .init(region: $0.region + ($0.region < moved ? 0 : shift), node: $0.node) }
        return (
            DocumentStorage(
                source: source, options: storage.options,
                regions: regions.replacing(from: first, to: last, with: result.regions), footnotes: footnotes,
                context: storage.context, expansion: storage.expansion - old.expansion + new.expansion,
                autocompletedCells: cells),
            result.steps
        )
    }

    /// Keeps the first region if it is before the edit and ends where it did. Its lines haven't changed, so neither have its nodes.
    private mutating func dropUnchanged() {
        let marks = blocks.builder.marks
        guard first < last, marks.count > 1 else { return }
        let length = storage.regions[first].length
        guard marks[0].source + length <= range.lowerBound, marks[1].source == marks[0].source + length else { return }
        blocks.builder.marks.removeFirst()
        first = storage.regions.index(after: first)
    }

    /// What regions contribute to the rest of the document.
    private struct Effects {
        var definitions: [DocumentContext.LabeledDefinition] = []
        var definesFootnotes = false
        var footnotes: [Int32] = []
        var expansion = 0
        var cells = 0
    }

    private func effects(of regions: some Sequence<DocumentRegion>) -> Effects {
        var result = Effects()
        var known: Set<Int32> = []
        for shared in regions.lazy.compactMap(\.shared) {
            result.definitions += shared.definitions
            result.definesFootnotes = result.definesFootnotes || shared.definesFootnotes
            for number in shared.footnotes where known.insert(number).inserted { result.footnotes.append(number) }
            result.expansion += shared.expansion
            result.cells += shared.autocompletedCells
        }
        return result
    }
}
