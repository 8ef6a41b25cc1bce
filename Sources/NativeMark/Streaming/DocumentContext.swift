/// What a part of a longer text must know of the rest, to look as it does there; see ``DocumentStream``.
struct DocumentContext: Sendable {
    /// A link reference definition that stands somewhere else, or here.
    struct Definition: Sendable, Hashable {
        var destination: String
        var title: String?

        /// What using it adds to the document, in bytes.
        var size: Int { destination.utf8.count + (title?.utf8.count ?? 0) }
    }

    struct Footnote: Sendable, Hashable {
        /// As it was written.
        var label: String
        /// In the order of first references; 0 if there was none before this part.
        var number: Int
    }

    /// Something of the context that the part looks different for: documents are equal if these are, too.
    enum Use: Sendable, Hashable {
        case definition(label: [UInt8], Definition)
        case footnote(label: [UInt8], Footnote)
    }

    /// By folded label. They win over those of the part.
    var definitions: [[UInt8]: Definition] = [:]
    /// By folded label. Those of the part do not count, unless it is for `footnotesInOrder`.
    var footnotes: [[UInt8]: Footnote] = [:]
    /// How many have a number.
    var footnoteCount = 0
    /// If set, the document has nothing but footnotes, first those with these labels.
    var footnotesInOrder: [[UInt8]]?
    /// What references may add to all parts together beyond their own length, in bytes.
    var expansionLeft = 100_000
    /// The length of the whole, in bytes.
    var length = 0
    /// How many cells were added to rows before.
    var autocompletedCells = 0
}
