/// A document with a style sheet applied: one string, its runs of equal style, and the blocks that contain them.
///
///     let text = StyledText(document, style: .default, environment: .init(appearance: .dark))
///     for run in text.runs {
///         print(text.string(of: run), run.style.isBold, text.path(of: run).map(\.kind))
///     }
///
/// In the string, blocks are separated by line feeds and the cells of a row by tabs; the separators belong to no run. A soft break
/// is a space, a hard break is U+2028, and a thematic break is U+2E3B. The markers of items aren't in the string but in
/// ``blocks``, because their position depends on the layout. An image is its alternative text, or U+FFFC if that is empty.
///
/// Blocks refer to their parents by index, and nothing recurses. Comparing and hashing take linear time.
public struct StyledText: Sendable, Hashable {
    /// The text.
    public internal(set) var string = ""
    /// The runs of equal style in order. Runs are never empty.
    public internal(set) var runs: [Run] = []
    /// All blocks in document order, each after its parent. The first is the document.
    public internal(set) var blocks: [Block] = []
    /// All links in document order.
    public internal(set) var links: [Link] = []
    /// All images in document order.
    public internal(set) var images: [Image] = []
    /// The environment that the styles are resolved for.
    public internal(set) var environment: StyleSheet.Environment

    /// Applies a style sheet to a document, resolved for an appearance and a size category. Takes linear time.
    ///
    /// The highlighter finds the tokens of each code block that isn't empty, in order. By default, code has one style.
    public init(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init(),
        highlighter: (any CodeHighlighter)? = nil
    ) {
        self.environment = environment
        var builder = StyledTextBuilder(
            text: self, sheet: style.resolved(in: environment), highlighter: highlighter)
        for event in document.events {
            switch event {
            case .enter(let node): builder.enter(node)
            case .leave(let node): builder.leave(node)
            }
        }
        self = builder.finished()
    }

    /// A piece of text with one style, in one block.
    public struct Run: Sendable, Hashable {
        /// The range in ``StyledText/string``, as UTF-8 offsets.
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
        /// The destination from the document, percent-encoded where necessary. Don't trust it.
        public var destination: String
        /// The title, if the document has one.
        public var title: String?

        /// Creates a link.
        public init(destination: String, title: String?) {
            self.destination = destination
            self.title = title
        }
    }

    /// An image that the app may load.
    public struct Image: Sendable, Hashable {
        /// The source from the document, percent-encoded where necessary. Don't trust it.
        public var source: String
        /// The title, if the document has one.
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

    /// Returns a block and the blocks that enclose it, outermost first.
    public func path(ofBlock index: Int) -> [Block] { Self.path(ofBlock: index, in: blocks) }

    static func path(ofBlock index: Int, in blocks: [Block]) -> [Block] {
        var path: [Block] = []
        var next: Int? = index
        while let index = next {
            path.append(blocks[index])
            next = blocks[index].parent
        }
        return path.reversed()
    }

    private func substring(_ range: Range<Int>) -> Substring {
        let utf8 = string.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        return string[start..<utf8.index(start, offsetBy: range.count)]
    }
}
