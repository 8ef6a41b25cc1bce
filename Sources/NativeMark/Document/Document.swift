/// A Markdown text, parsed: a flat tree of nodes that know where they stand in the source.
///
///     let document = Document("Hello *world*")
///     for node in document.root.children { print(node.kind, node.plainText) }  // paragraph Hello world
///
/// The flavour is CommonMark 0.31.2 without raw HTML, plus the extensions of ``Options``. Every text is a valid document,
/// so that parsing cannot fail. A tag such as `<b>` is plain text and is never dropped. A link or image whose
/// destination would run something (`javascript:`, `vbscript:`, `file:`, `data:` other than a GIF, PNG, JPEG or WebP
/// image) is not a link: its source stays as text, which is what markdown-it does.
///
/// A document is a value: copies share one immutable storage, and cost a reference. Parsing takes time and memory linear
/// in the length of the text, whatever the text. Nothing here recurses, so a deeply nested text needs no deep stack.
///
/// To be equal, two documents have the same source, byte for byte, and the same options; blocks of a ``DocumentStream`` also the
/// same definitions behind their references. Comparing and hashing are linear in the length of the source, but for copies of one
/// document, which are equal at once.
///
/// What a text can make of itself is limited: containers nest 100 deep, and emphasis, links and images as deep (the markup
/// of deeper ones is left out or stays text); references add no more than the text is long, or 100 kB; the cells that rows of
/// tables lack are added up to 65,536, or the length of the text.
///
/// The source must be shorter than 700 MB, a programmer's mistake otherwise.
public struct Document: Sendable {
    let storage: DocumentStorage

    /// Parses a text. Blocks the calling thread for as long as that takes: some tens of milliseconds for a megabyte.
    public init(_ markdown: String, options: Options = .init()) {
        storage = DocumentParser.parse(markdown, options: options)
    }

    init(storage: DocumentStorage) {
        self.storage = storage
    }

    /// The text as it was given.
    public var source: String { storage.source }

    /// What the text was parsed with.
    public var options: Options { storage.options }

    /// The node of kind ``Kind/document``: all others are below it.
    public var root: Node { Node(document: self, id: 0) }
}

extension Document: Hashable {
    /// Whether source and options are the same. See ``Document`` for the cost.
    public static func == (left: Self, right: Self) -> Bool {
        if left.storage === right.storage { return true }
        // Not by ==, to which a letter with an accent equals the letter and the accent: source ranges would differ.
        return left.options == right.options && left.storage.uses == right.storage.uses
            && left.source.utf8.elementsEqual(right.source.utf8)
    }

    /// Hashes source and options.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(options)
        var source = source
        source.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
