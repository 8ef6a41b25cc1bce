/// Parses a text in two phases: first the blocks, line by line, then the content of the leaf blocks.
///
/// The second phase needs all link reference definitions and footnotes, which may be at the end of the text.
enum DocumentParser {
    static func parse(_ markdown: String, options: Document.Options) -> DocumentStorage {
        parseCounting(markdown, options: options).storage
    }

    /// Also returns the number of steps: bytes looked at and links followed. It is proportional to the time. Tests of hostile input
    /// count steps instead of measuring time.
    static func parseCounting(
        _ markdown: String, options: Document.Options
    ) -> (storage: DocumentStorage, steps: Int) {
        var source = markdown
        source.makeContiguousUTF8()
        var cells = 0
        var limit = 0
        let result = source.withUTF8 { bytes in
            checkLength(bytes.count)
            var blocks = BlockParser(source: bytes, options: options)
            blocks.parse()
            (cells, limit) = (blocks.autocompletedCells, blocks.maximalAutocompletedCells)
            return InlinePhase.run(on: blocks.builder, source: bytes, length: bytes.count, options: options)
        }
        let storage = DocumentStorage(
            source: source, options: options, regions: RegionList(result.regions), footnotes: result.footnotes,
            context: result.context, isLimited: result.isLimited || cells > limit,
            expansion: result.regions.reduce(0) { $0 + ($1.shared?.expansion ?? 0) }, autocompletedCells: cells)
        return (storage, result.steps)
    }

    static func checkLength(_ count: Int) {
        precondition(
            count < Int(Int32.max) / 3, "A document must have at most 715,827,881 bytes; it has \(count).")
    }

    /// Also returns the number of bytes that references may still add; see ``DocumentStream``.
    static func parse(
        part source: String, options: Document.Options, context: DocumentContext
    ) -> (storage: DocumentStorage, expansion: Int, steps: Int) {
        var source = source
        source.makeContiguousUTF8()
        let result = source.withUTF8 { bytes in
            var blocks = BlockParser(source: bytes, options: options)
            blocks.beginsText = context.beginsText
            blocks.autocompletedCells = context.autocompletedCells
            blocks.maximalAutocompletedCells = BlockParser.maximalAutocompletedCells(ofLength: context.length)
            blocks.parse()
            return InlinePhase.run(
                on: blocks.builder, source: bytes, length: bytes.count, options: options, context: context)
        }
        let storage = DocumentStorage(
            source: source, options: options, regions: RegionList(result.regions), footnotes: result.footnotes,
            uses: result.uses)
        return (storage, result.expansionLeft, result.steps)
    }
}

// MARK: - Parts of longer texts

/// The definitions and limits that a part of a longer text needs to be parsed as it would be in the whole; see ``DocumentStream``.
struct DocumentContext: Sendable {
    struct Definition: Sendable, Hashable {
        var destination: String
        var title: String?

        /// The number of bytes that one reference adds to the document.
        var size: Int { destination.utf8.count + (title?.utf8.count ?? 0) }
    }

    struct LabeledDefinition: Sendable, Hashable {
        /// Folded.
        var label: [UInt8]
        var definition: Definition
    }

    struct Footnote: Sendable, Hashable {
        var label: String
        /// The number in the order of first references; 0 if no earlier part refers to the footnote.
        var number: Int
    }

    /// A definition in the context that affects the part. Documents are equal only if their uses are.
    enum Use: Sendable, Hashable {
        case definition(label: [UInt8], Definition)
        case footnote(label: [UInt8], Footnote)
    }

    /// Definitions by folded label. They take precedence over the part's own definitions.
    var definitions: [[UInt8]: Definition] = [:]
    /// Footnotes by folded label. The part's own footnotes are ignored unless `footnotesInOrder` is set.
    var footnotes: [[UInt8]: Footnote] = [:]
    var footnoteCount = 0
    /// If set, the document contains only footnotes, beginning with those that have these labels.
    var footnotesInOrder: [[UInt8]]?
    /// The number of bytes that references may still add to all parts together, in addition to each part's own length.
    var expansionLeft = 100_000
    var length = 0
    /// Whether the part is the beginning of the text, where a byte order mark is ignored.
    var beginsText = true
    /// The number of cells that were added to table rows of earlier parts.
    var autocompletedCells = 0
}
