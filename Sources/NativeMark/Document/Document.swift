/// A parsed Markdown document: a tree of nodes with their positions in the source.
///
///     let document = Document("Hello *world*")
///     for node in document.root.children { print(node.kind, node.plainText) }  // paragraph Hello world
///
/// The dialect is CommonMark 0.31.2 without raw HTML, plus the extensions in ``Options``. Any string is a valid document, so parsing never
/// fails. HTML tags such as `<b>` become plain text and are never dropped. Links and images with a dangerous scheme (`javascript:`,
/// `vbscript:`, `file:`, or `data:` other than a GIF, PNG, JPEG or WebP image) aren't recognized: their source stays in the document as
/// text, as in markdown-it.
///
/// Copies share immutable storage. Parsing takes linear time and memory for every input and never recurses. <doc:SupportedMarkdown> lists
/// the limits on nesting, references, table cells and block length. A source of 715,827,882 bytes (`Int32.max / 3`) or more traps.
///
/// Two documents are equal if they have the same options and the same source, byte for byte. For blocks of a ``DocumentStream``, the
/// definitions that their references use must match too. Comparing and hashing are linear in the length of the source; comparing copies of
/// the same document is O(1).
public struct Document: Sendable {
    let storage: DocumentStorage

    /// Parses Markdown. Blocks the calling thread for about 10 ms per megabyte.
    public init(_ markdown: String, options: Options = .init()) {
        storage = DocumentParser.parse(markdown, options: options).storage
    }

    init(storage: DocumentStorage) {
        self.storage = storage
    }

    /// The parsed text.
    public var source: String { storage.source }

    /// The options that the source was parsed with.
    public var options: Options { storage.options }

    /// The root node. Its kind is ``Kind/document``.
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
    /// The CommonMark extensions that the parser recognizes.
    ///
    ///     var options = Document.Options.commonMark
    ///     options.tables = true
    ///
    /// By default, all extensions except ``smartPunctuation`` are on.
    public struct Options: Sendable, Hashable {
        /// Tables with a line of dashes below the header (GFM 4.10).
        public var tables = true
        /// `~struck~` and `~~struck~~` (GFM 6.5). Three or more tildes are text.
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
    /// A node of the tree, identified by its document and its position there.
    ///
    ///     let heading = document.root.firstChild
    ///     if case .heading(let level)? = heading?.kind { print(level, heading!.plainText) }
    ///
    /// A node keeps its document alive and is cheap to copy. The properties that return another node are O(1), except that they step over
    /// any link reference definitions between children of the root. ``kind`` is O(1) plus the cost of creating its strings and arrays.
    public struct Node: Sendable, Identifiable {
        /// The document that contains the node.
        public let document: Document
        let index: NodeIndex

        /// The number of the node in its document. The root is 0. Parsing the same text with the same options gives the same numbers. A
        /// ``DocumentStream`` may give the nodes of a paragraph that arrived in pieces other numbers.
        public var id: Int { document.storage.number(of: index) }

        /// The kind of the node.
        public var kind: Kind { document.storage.kind(of: index) }

        /// The range of the node in the source, as UTF-8 offsets. O(log n) in the number of lines.
        ///
        /// The range begins at the node's first marker, ends before its last line ending, and contains the ranges of its children. The
        /// range of a text includes its entities and escapes as written in the source. Inside a block quote or list, a range that spans
        /// several lines includes the container's markers on every line after the first. Siblings are in order and don't overlap, except
        /// for footnotes, whose ranges are where they appear in the source. If a table row has too few cells, the missing cells have empty
        /// ranges at the end of the row.
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
    /// Returns whether two nodes have the same ``id`` in equal documents. O(1) for nodes of the same document; otherwise linear in the
    /// length of the source.
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
    /// Blocks are `document`, `blockQuote`, `paragraph`, `thematicBreak`, `list`, `item`, `heading`, `codeBlock`, `table`, `tableRow`,
    /// `tableCell` and `footnoteDefinition`. The other kinds are inline: they occur in paragraphs, headings and table cells, and a
    /// `codeBlock` holds a `text`.
    public enum Kind: Sendable, Hashable {
        /// The root of the tree.
        case document
        /// `> quoted`
        case blockQuote
        /// A paragraph. The text of an item is a paragraph even in a tight list (``List/isTight``).
        case paragraph
        /// `---`
        case thematicBreak
        /// A list. Its children are items.
        case list(List)
        /// A list item. `task` is `nil` if the item has no checkbox.
        case item(task: TaskState?)
        /// `# Heading`, with a level from 1 to 6.
        case heading(level: Int)
        /// Fenced or indented code. `info` is the text after the opening fence.
        ///
        /// The only child is a `text` with the code, including the line feed at the end of each line. An empty block has no children.
        case codeBlock(info: String, isFenced: Bool)
        /// A table. Its children are rows, and the first row is the header. `alignments` has one element per column.
        case table(alignments: [Alignment])
        /// A table row. It has one cell for each column of the table; cells can be empty.
        case tableRow(isHeader: Bool)
        /// A table cell, with the alignment of its column.
        case tableCell(Alignment)
        /// A footnote. All footnotes come at the end of the document, ordered by their first references.
        case footnoteDefinition(label: String)

        /// Text with its entities and backslash escapes resolved.
        ///
        /// A text is never empty, and two texts are never adjacent. Line feeds occur only in code blocks and from entities such as `&#10;`.
        case text(String)
        /// A line break in the source that is displayed as a space.
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
        /// A link. Its children are the link text. The destination is percent-encoded where necessary.
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
