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
        storage = DocumentParser.parse(markdown, options: options).storage
    }

    init(storage: DocumentStorage) {
        self.storage = storage
    }

    /// The text that was parsed.
    public var source: String { storage.source }

    /// The options that the text was parsed with.
    public var options: Options { storage.options }

    /// The root node, of kind ``Kind/document``.
    public var root: Node { Node(document: self, index: .root) }
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

// MARK: - Options

extension Document {
    /// The extensions of CommonMark that the parser recognizes.
    ///
    ///     var options = Document.Options.commonMark
    ///     options.tables = true
    ///
    /// By default, all extensions except ``smartPunctuation`` are on.
    public struct Options: Sendable, Hashable {
        /// Tables with a line of dashes below the header (GFM 4.10).
        public var tables = true
        /// `~struck~` and `~~struck~~` (GFM 6.5). Three tildes or more are text.
        public var strikethrough = true
        /// `- [ ] open` and `- [x] done` (GFM 5.3).
        public var taskItems = true
        /// Links without angle brackets: `www.`, `http://`, `https://` and e-mail addresses (GFM 6.9).
        public var autolinks = true
        /// `[^label]` references and `[^label]: text` definitions.
        public var footnotes = true
        /// Straight quotes become curly quotes, `--` and `---` become dashes, and `...` becomes an ellipsis.
        public var smartPunctuation = false

        /// Creates options with all extensions except ``smartPunctuation``.
        public init() {}

        /// CommonMark without extensions.
        public static let commonMark: Self = {
            var options = Self()
            options.tables = false
            options.strikethrough = false
            options.taskItems = false
            options.autolinks = false
            options.footnotes = false
            return options
        }()
    }
}

// MARK: - Nodes

extension Document {
    /// A node of the tree: a document and where the node is in it.
    ///
    ///     let heading = document.root.firstChild
    ///     if case .heading(let level)? = heading?.kind { print(level, heading!.plainText) }
    ///
    /// A node keeps its document alive and is as cheap to copy as a reference to it. The properties that return another node are O(1);
    /// between two children of the root, they also skip the definitions there. ``kind`` is O(1) too, except for creating the strings in it.
    public struct Node: Sendable, Identifiable {
        /// The document that contains the node.
        public let document: Document
        let index: NodeIndex

        /// The number of the node in its document. The root is 0. Parsing the same text with the same options gives the same numbers.
        public var id: Int { document.storage.number(of: index) }

        /// The kind of the node.
        public var kind: Kind { document.storage.kind(of: index) }

        /// The range of the node in the source, as UTF-8 offsets. O(log n) in the number of lines.
        ///
        /// The range begins at the node's first marker, ends before its last line ending, and contains the ranges of its children. The
        /// range of a text with resolved entities or escapes covers them. In a block quote or list, a range of several lines includes the
        /// markers at the beginning of its inner lines. Siblings are in order and don't overlap, except for footnotes, whose ranges are where
        /// they are in the source. A cell that a row of a table lacks has an empty range at the end of the row.
        public var sourceRange: Range<Int> { document.storage.sourceRange(of: index) }

        /// The same range in UTF-16 code units, for `NSRange` and text views. O(log n) in the number of lines.
        ///
        ///     document.root.utf16SourceRange.count == document.source.utf16.count
        public var utf16SourceRange: Range<Int> { document.storage.utf16Range(of: index) }

        /// The parent, or `nil` for the root.
        public var parent: Node? { neighbor(document.storage.parent(of: index)) }
        /// The first child, or `nil` if the node has no children.
        public var firstChild: Node? { neighbor(document.storage.firstChild(of: index)) }
        /// The last child, or `nil` if the node has no children.
        public var lastChild: Node? { neighbor(document.storage.lastChild(of: index)) }
        /// The next child of the same parent.
        public var nextSibling: Node? { neighbor(document.storage.next(after: index)) }
        /// The previous child of the same parent.
        public var previousSibling: Node? { neighbor(document.storage.previous(before: index)) }

        /// The children in order.
        public var children: some Sequence<Node> {
            sequence(first: firstChild) { $0?.nextSibling }.prefix { $0 != nil }.lazy.map { $0! }
        }

        /// The text of the node and its descendants without markup. O(n) in the size of the subtree.
        ///
        /// Line breaks become line feeds, soft breaks become spaces, and a line feed separates blocks.
        public var plainText: String { document.storage.plainText(of: index) }

        private func neighbor(_ index: NodeIndex?) -> Node? {
            index.map { Node(document: document, index: $0) }
        }
    }
}

extension Document.Node: Hashable {
    /// Returns whether two nodes have the same ``id`` in equal documents. O(1) within one document; see ``Document`` for two.
    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.document == right.document
    }

    /// Hashes only ``id``: hashing the document takes time linear in its length.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}

// MARK: - Kinds of nodes

extension Document {
    /// The kind of a node, with the values that belong to it.
    ///
    /// Blocks are `document`, `blockQuote`, `paragraph`, `thematicBreak`, `list`, `item`, `heading`, `codeBlock`, `table`,
    /// `tableRow`, `tableCell` and `footnoteDefinition`. The other kinds are inline: they occur in paragraphs, headings and table cells.
    public enum Kind: Sendable, Hashable {
        /// The root of the tree.
        case document
        /// `> quoted`
        case blockQuote
        /// A paragraph. The text of an item is a paragraph in a tight list (``List/isTight``) too.
        case paragraph
        /// `---`
        case thematicBreak
        /// A list. Its children are items.
        case list(List)
        /// An item of a list. `task` is `nil` unless the item has a task box.
        case item(task: TaskState?)
        /// `# Heading`, with a level from 1 to 6.
        case heading(level: Int)
        /// Fenced or indented code. `info` is the text after the opening fence.
        ///
        /// The only child is a `text` that holds the code, including the line feed at the end of each line. An empty block has no child.
        case codeBlock(info: String, isFenced: Bool)
        /// A table. Its children are rows, and the first row is the header. There is one alignment for each column.
        case table(alignments: [Alignment])
        /// A row of a table. It has one cell for each column of the table; cells can be empty.
        case tableRow(isHeader: Bool)
        /// A cell of a table, with the alignment of its column.
        case tableCell(Alignment)
        /// A footnote. All footnotes are at the end of the document, in the order of the first reference to each.
        case footnoteDefinition(label: String)

        /// Text with its entities and backslash escapes resolved.
        ///
        /// A text is never empty. Only code and entities such as `&#10;` have line feeds. Two texts are never adjacent.
        case text(String)
        /// A line break in the source that is shown as a space.
        case softBreak
        /// A hard line break: two spaces or a backslash at the end of a line.
        case lineBreak
        /// A code span.
        case code(String)
        /// `*emphasis*`
        case emphasis
        /// `**strong**`
        case strong
        /// `~~struck~~`
        case strikethrough
        /// A link. Its children are its text. The destination is percent-encoded where necessary.
        case link(destination: String, title: String?)
        /// An image. Its children are its description.
        case image(source: String, title: String?)
        /// A reference to a footnote. `number` counts footnotes from 1, in the order of their first references.
        case footnoteReference(label: String, number: Int)
    }

    /// The properties that all items of a list share.
    public struct List: Sendable, Hashable {
        /// The number of the first item, from 0 to 999,999,999, or `nil` for a bullet list.
        public var start: Int?
        /// The bullet (`-`, `+` or `*`), or the character after the number (`.` or `)`).
        public var marker: Character
        /// Whether the list is tight: blank lines don't separate its items or the blocks in them.
        public var isTight: Bool

        /// Creates the properties of an ordered list, or of a bullet list if `start` is `nil`.
        public init(start: Int?, marker: Character, isTight: Bool) {
            self.start = start
            self.marker = marker
            self.isTight = isTight
        }
    }

    /// The state of a task item.
    public enum TaskState: Sendable, Hashable, CaseIterable {
        /// `[ ]`
        case open
        /// `[x]`
        case done
    }

    /// How the cells of a column are aligned.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// `---`, no alignment.
        case none
        /// `:--`
        case leading
        /// `:-:`
        case center
        /// `--:`
        case trailing
    }
}

// MARK: - Traversal

extension Document {
    /// One step of a traversal of the tree.
    public enum Event: Sendable, Hashable {
        /// The traversal reaches a node. The events of its children follow.
        case enter(Node)
        /// The traversal leaves a node that can have children.
        case leave(Node)
    }

    /// The events of a depth-first traversal of the whole tree, in document order.
    ///
    ///     for event in document.events {
    ///         switch event {
    ///         case .enter(let node): open(node)
    ///         case .leave(let node): close(node)
    ///         }
    ///     }
    ///
    /// A node that can have children produces both events, even if it has none. The other kinds (`text`, `softBreak`, `lineBreak`, `code`,
    /// `thematicBreak`, `footnoteReference`) produce only `enter`. The traversal doesn't recurse.
    public var events: Events { Events(of: root) }

    /// The sequence of ``Document/events``. A copy continues from the current position.
    public struct Events: Sequence, IteratorProtocol, Sendable {
        private let document: Document
        private let start: NodeIndex
        private var upcoming: (index: NodeIndex, isEnter: Bool)?

        init(of node: Node) {
            document = node.document
            start = node.index
            upcoming = (node.index, true)
        }

        /// Returns the next event, or `nil` at the end.
        public mutating func next() -> Event? {
            guard let (index, isEnter) = upcoming else { return nil }
            let storage = document.storage
            if isEnter, let child = storage.firstChild(of: index) {
                upcoming = (child, true)
            } else if isEnter, !storage.isLeaf(index) {
                upcoming = (index, false)
            } else if index == start {
                upcoming = nil
            } else if let next = storage.next(after: index) {
                upcoming = (next, true)
            } else {
                upcoming = storage.parent(of: index).map { ($0, false) }
            }
            let node = Node(document: document, index: index)
            return isEnter ? .enter(node) : .leave(node)
        }
    }
}

extension Document.Node {
    /// The events of a traversal of this node and its descendants.
    public var events: Document.Events { Document.Events(of: self) }
}

// MARK: - Queries

extension Document {
    /// All images in document order. O(n) in the number of nodes.
    ///
    ///     for image in document.images {
    ///         guard case .image(let source, _) = image.kind else { continue }
    ///         load(source)
    ///     }
    public var images: [Node] {
        var result: [Node] = []
        for case .enter(let node) in events where !node.index.isRoot {
            if storage.record(at: node.index).tag == .image { result.append(node) }
        }
        return result
    }

    /// Returns the nodes that satisfy a condition, in document order.
    ///
    ///     let headings = document.nodes { if case .heading = $0.kind { true } else { false } }
    public func nodes(where condition: (Node) -> Bool) -> [Node] {
        var result: [Node] = []
        for case .enter(let node) in events where condition(node) {
            result.append(node)
        }
        return result
    }
}
