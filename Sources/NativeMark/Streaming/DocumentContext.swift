/// The definitions and limits that a part of a longer text needs to be parsed as it would be in the whole; see ``DocumentStream``.
struct DocumentContext: Sendable {
    struct Definition: Sendable, Hashable {
        var destination: String
        var title: String?

        /// The number of bytes that one reference adds to the document.
        var size: Int { destination.utf8.count + (title?.utf8.count ?? 0) }
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
