#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A document with a style sheet applied: one string, its runs of equal style, and the blocks that contain them.
///
///     let text = StyledText(document, style: .default, environment: .init(appearance: .dark))
///     for run in text.runs {
///         print(text.string(of: run), run.style.isBold, text.path(of: run).map(\.kind))
///     }
///
/// In the string, line feeds separate blocks, and tabs separate the cells of a row. Separators don't belong to any run. A soft break is a
/// space, a hard break is U+2028, and a thematic break is U+2E3B or its ornament. Item markers are in ``blocks`` and not in the string, because their
/// position depends on the layout. An image is its alternative text, or U+FFFC if that is empty.
///
/// Blocks refer to their parents by index, so nothing recurses. Comparing and hashing take linear time.
public struct StyledText: Sendable, Hashable {
    /// The text.
    public internal(set) var string = ""
    /// The runs of equal style, in order. Runs are never empty.
    public internal(set) var runs: [Run] = []
    /// All blocks in document order, each after its parent. The first is the document.
    public internal(set) var blocks: [Block] = []
    /// All links in document order.
    public internal(set) var links: [Link] = []
    /// All images in document order.
    public internal(set) var images: [Image] = []
    /// The environment that the styles are resolved for.
    public internal(set) var environment: StyleSheet.Environment
    /// The space above the first block and below the last one, if rules for these set it, in points.
    var ends = Ends()

    struct Ends: Sendable, Hashable {
        var above = 0.0
        var below = 0.0
    }

    /// Applies a style sheet, resolved for an environment, to a document. Takes linear time.
    ///
    /// The highlighter is called for each nonempty code block, in order. Without a highlighter, code has a single style.
    public init(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init(),
        highlighter: (any CodeHighlighter)? = nil
    ) {
        self.init(
            blocks: document.root.children, of: document, style: style, environment: environment,
            highlighter: highlighter)
    }

    /// Applies a style sheet to some blocks of a document, such as the ones that are visible.
    ///
    ///     let firstScreen = StyledText(blocks: document.root.children.prefix(40), of: document)
    ///
    /// `blocks` are children of the document's root, in order. Footnotes are numbered from 1, so pass all of them or none. Takes linear time
    /// in the size of the blocks, whatever the size of the document is.
    public init(
        blocks: some Sequence<Document.Node>, of document: Document, style: StyleSheet = .default,
        environment: StyleSheet.Environment = .init(), highlighter: (any CodeHighlighter)? = nil
    ) {
        self.environment = environment
        let root = document.root
        var builder = StyledTextBuilder(
            text: self, sheet: style.resolved(in: environment), highlighter: highlighter, first: root.firstChild,
            last: root.lastChild)
        builder.enter(root)
        for block in blocks {
            for event in block.events {
                switch event {
                case .enter(let node): builder.enter(node)
                case .leave(let node): builder.leave(node)
                }
            }
        }
        builder.leave(root)
        self = builder.finished()
    }

    /// Applies a style sheet to a part of a longer text. `isFirst` and `isLast` tell whether the part has the first and the last block of the
    /// text. A part that isn't the first has no upper edges of the document, such as its border.
    init(
        part document: Document, isFirst: Bool, isLast: Bool, sheet: ResolvedStyleSheet,
        environment: StyleSheet.Environment, highlighter: (any CodeHighlighter)?
    ) {
        self.environment = environment
        let root = document.root
        var builder = StyledTextBuilder(
            text: self, sheet: sheet, highlighter: highlighter, first: isFirst ? root.firstChild : nil,
            last: isLast ? root.lastChild : nil)
        for event in document.events {
            switch event {
            case .enter(let node): builder.enter(node)
            case .leave(let node): builder.leave(node)
            }
        }
        self = builder.finished()
        if !isFirst {
            blocks[0].style.spacingBefore = 0
            blocks[0].style.padding.top = 0
            blocks[0].style.border?.edges.remove(.top)
        }
    }

    /// Removes what comes below the last block: the lower edges of the document, and the space that rules for the last block set.
    mutating func removeEnd() {
        ends.below = 0
        blocks[0].style.spacingAfter = 0
        blocks[0].style.padding.bottom = 0
        blocks[0].style.border?.edges.remove(.bottom)
    }

    /// A piece of text with one style, in one block.
    public struct Run: Sendable, Hashable {
        /// The range in ``StyledText/string``, in UTF-8 offsets.
        public var range: Range<Int>
        /// The style of the text.
        public var style: ResolvedTextStyle
        /// The index of the innermost enclosing block.
        public var block: Int
        /// The index of the link that the run belongs to.
        public var link: Int?
        /// The index of the image that the run stands for.
        public var image: Int?
        /// The number of the footnote that the run refers to.
        public var footnote: Int?
        /// Whether the run is a hard line break.
        public var isLineBreak = false
    }

    /// The destination and title of a link.
    public struct Link: Sendable, Hashable {
        /// The destination in the document, percent-encoded where necessary. Don't trust it.
        public var destination: String
        /// The title, if there is one.
        public var title: String?

        /// Creates a link.
        public init(destination: String, title: String?) {
            self.destination = destination
            self.title = title
        }
    }

    /// An image that the app may load.
    public struct Image: Sendable, Hashable {
        /// The source in the document, percent-encoded where necessary. Don't trust it.
        public var source: String
        /// The title, if there is one.
        public var title: String?
        /// The description to show in place of the image. It may be empty.
        public var alternativeText: String

        /// Creates an image.
        public init(source: String, title: String?, alternativeText: String) {
            self.source = source
            self.title = title
            self.alternativeText = alternativeText
        }
    }
}

extension StyledText {
    /// Returns the text of a run.
    public func string(of run: Run) -> Substring {
        substring(run.range)
    }

    /// Returns the text of a block, including nested blocks.
    public func string(of block: Block) -> Substring {
        substring(block.range)
    }

    /// Returns the blocks that enclose a run, outermost first.
    public func path(of run: Run) -> [Block] {
        path(ofBlock: run.block)
    }

    /// Returns the block at an index and the blocks that enclose it, outermost first.
    public func path(ofBlock index: Int) -> [Block] { Self.path(ofBlock: index, in: blocks) }

    static func path(ofBlock index: Int, in blocks: [Block]) -> [Block] {
        indexes(enclosing: index, in: blocks).map { blocks[$0] }
    }

    /// Returns the index of a block and of those that enclose it, outermost first.
    package func indexes(enclosing block: Int) -> [Int] { Self.indexes(enclosing: block, in: blocks) }

    private static func indexes(enclosing block: Int, in blocks: [Block]) -> [Int] {
        Array(sequence(first: block) { blocks[$0].parent }.reversed())
    }

    /// Returns each item of a list, and its text style.
    func items(of list: Int) -> [(item: Item, style: ResolvedTextStyle)] {
        var items: [(item: Item, style: ResolvedTextStyle)] = []
        var index = list + 1
        while index < blocks[list].end {
            if case .item(let item) = blocks[index].kind { items.append((item, blocks[index].style.text)) }
            index = blocks[index].end
        }
        return items
    }

    func substring(_ range: Range<Int>) -> Substring {
        let utf8 = string.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        return string[start..<utf8.index(start, offsetBy: range.count)]
    }
}

// MARK: - Blocks

extension StyledText {
    /// A block of a styled text: its kind, position and style.
    public struct Block: Sendable, Hashable {
        /// The kind of the block.
        public var kind: Kind
        /// The style of the block.
        public var style: ResolvedBlockStyle
        /// The index of the enclosing block, or `nil` for the document.
        public var parent: Int?
        /// The range of the block's text in ``StyledText/string``, including nested blocks, in UTF-8 offsets. It may be empty.
        public var range: Range<Int>
        /// The index after the last nested block. Nested blocks have the indices `index + 1 ..< end`.
        public var end: Int
    }

    /// The kind of a block.
    public enum Kind: Sendable, Hashable {
        /// The whole document.
        case document
        /// A paragraph.
        case paragraph
        /// A heading, with a level from 1 to 6.
        case heading(level: Int)
        /// A block quote. The outermost one has depth 1.
        case blockQuote(depth: Int)
        /// A code block, with the first word of its info string if it has one.
        case codeBlock(language: String?)
        /// A list.
        case list(List)
        /// An item of a list.
        case item(Item)
        /// A thematic break.
        case thematicBreak
        /// A table, with one alignment for each column.
        case table(alignments: [Document.Alignment])
        /// A row. The header is row 0.
        case tableRow(Int)
        /// A cell.
        case tableCell(row: Int, column: Int, alignment: Document.Alignment)
        /// All footnotes together, at the end of the document.
        case footnotes
        /// A footnote and its number.
        case footnote(label: String, number: Int)
    }

    /// The properties that all items of a list share.
    public struct List: Sendable, Hashable {
        /// Whether the items are numbered.
        public var isOrdered: Bool
        /// The nesting depth. The outermost list has depth 1.
        public var depth: Int
        /// Whether the list is tight: no blank lines separate its items or the blocks in them.
        public var isTight: Bool

        /// Creates the properties of a list.
        public init(isOrdered: Bool, depth: Int, isTight: Bool) {
            self.isOrdered = isOrdered
            self.depth = depth
            self.isTight = isTight
        }
    }

    /// An item of a list.
    public struct Item: Sendable, Hashable {
        /// The number of the item, or `nil` in a bullet list.
        public var number: Int?
        /// The marker, such as `1.`, `iv)`, `•` or `☑`. It is empty if the style sheet hides it.
        public var marker: String
        /// The state of a task item, or `nil` for other items.
        public var task: Document.TaskState?
        /// The shape that back ends draw in place of the marker, or `nil` if the marker is a text.
        public var shape: StyleSheet.Bullet?

        /// Creates an item.
        public init(number: Int?, marker: String, task: Document.TaskState?) {
            self.number = number
            self.marker = marker
            self.task = task
        }
    }
}

extension StyledText.Block {
    var isLeaf: Bool {
        switch kind {
        case .paragraph, .heading, .codeBlock, .thematicBreak, .tableCell: true
        default: false
        }
    }

    var isCode: Bool {
        if case .codeBlock = kind { true } else { false }
    }

    var isTable: Bool {
        if case .table = kind { true } else { false }
    }
}

// MARK: - Links

extension StyledText.Link {
    /// The schemes that a tap may open by default: `http`, `https` and `mailto`.
    public static let openSchemes: Set<String> = ["http", "https", "mailto"]

    /// Returns the destination as a URL if its scheme is one of `schemes`.
    ///
    ///     StyledText.Link(destination: "HTTPS://example.com", title: nil).url()     // a URL
    ///     StyledText.Link(destination: "settings:audio", title: nil).url()          // nil
    ///     link.url(schemes: StyledText.Link.openSchemes.union(["settings"]))
    ///
    /// Documents aren't trusted, and a scheme may open another app or call a phone number. The result is also `nil` for a destination
    /// without a scheme, which has no meaning outside a web page.
    public func url(schemes: Set<String> = openSchemes) -> URL? {
        guard let colon = destination.firstIndex(of: ":"),
            schemes.contains(destination[..<colon].lowercased())
        else { return nil }
        return URL(string: destination)
    }
}

// MARK: - Loading images

extension StyledText {
    /// Loads the images of the text and passes each one to a closure as soon as it is ready.
    ///
    /// Each source is loaded once, even if several images use it. If `load` returns `nil`, `show` isn't called for the image. The method
    /// returns when all images are loaded. After cancellation, it doesn't start loads or show images, and returns when the running loads
    /// end.
    ///
    /// `show` receives the index of an image in ``images``. Its calls don't overlap.
    func loadImages<Loaded: Sendable>(
        concurrency: Int = 4, _ load: @escaping @Sendable (Image) async -> Loaded?,
        show: (_ index: Int, _ image: Loaded) -> Void
    ) async {
        var indices: [String: [Int]] = [:]
        var waiting: [Image] = []
        for (index, image) in images.enumerated() {
            if indices[image.source] == nil { waiting.append(image) }
            indices[image.source, default: []].append(index)
        }
        await withTaskGroup(of: (source: String, image: Loaded?).self) { group in
            var next = waiting.makeIterator()
            func start() {
                guard !Task.isCancelled, let image = next.next() else { return }
                group.addTask { (image.source, await load(image)) }
            }
            for _ in 0..<max(concurrency, 1) { start() }
            while let loaded = await group.next() {
                start()
                guard let image = loaded.image, !Task.isCancelled else { continue }
                for index in indices[loaded.source] ?? [] { show(index, image) }
            }
        }
    }
}
