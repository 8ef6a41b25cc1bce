/// A parsed Markdown text: a tree of nodes that know their positions in the source.
///
///     let document = Document("Hello *world*")
///     for node in document.root.children { print(node.kind, node.plainText) }  // paragraph Hello world
///
/// The dialect is CommonMark 0.31.2 without raw HTML, plus the extensions of ``Options``. Every text is a valid document, so parsing can't
/// fail. A tag such as `<b>` is plain text and is never dropped. A link or image whose destination uses a dangerous scheme (`javascript:`,
/// `vbscript:`, `file:`, or `data:` other than a GIF, PNG, JPEG or WebP image) isn't parsed as a link: its source stays as text, as in
/// markdown-it.
///
/// Copies share immutable storage. Parsing takes time and memory linear in the length of the text for every input and doesn't recurse. For
/// the limits on nesting, references, table cells and the length of a block, see <doc:SupportedMarkdown>. A source of 715,827,882 bytes
/// (`Int32.max / 3`) or more traps.
///
/// Two documents are equal if they have the same options and the same source, byte for byte. Blocks of a ``DocumentStream`` must also have
/// the same definitions for their references. Comparing and hashing are linear in the length of the source; comparing copies of the same
/// document is O(1).
public struct Document: Sendable {
    let storage: DocumentStorage

    /// Parses a text. Blocks the calling thread: some tens of milliseconds for a megabyte.
    public init(_ markdown: String, options: Options = .init()) {
        storage = DocumentParser.parse(markdown, options: options)
    }

    init(storage: DocumentStorage) {
        self.storage = storage
    }

    /// The text that was parsed.
    public var source: String { storage.source }

    /// The options that the text was parsed with.
    public var options: Options { storage.options }

    /// The root node, of kind ``Kind/document``.
    public var root: Node { Node(document: self, place: .root) }
}

extension Document: Hashable {
    /// Returns whether two documents have the same source and options.
    public static func == (left: Self, right: Self) -> Bool {
        if left.storage === right.storage { return true }
        // String's == treats canonically equivalent texts as equal, but their source ranges differ.
        return left.options == right.options && left.storage.uses == right.storage.uses
            && left.source.utf8.elementsEqual(right.source.utf8)
    }

    /// Hashes the source and the options.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(options)
        var source = source
        source.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
