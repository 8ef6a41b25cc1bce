/// A document with a style sheet applied: one string, the runs of text in it that look the same, and the blocks around them.
///
///     let text = StyledText(document, style: .default, environment: .init(appearance: .dark))
///     for run in text.runs {
///         print(text.string(of: run), run.style.isBold, text.path(of: run).map(\.kind))
///     }
///
/// In the string, blocks have a line feed between them and cells of one row a tab; these separators belong to no run. A soft
/// break is a space, a hard one U+2028, a thematic break U+2E3B. Markers of items are not in the string: they are part of
/// the blocks, because where they stand is a question of layout. An image is its alternative text, or U+FFFC if there is
/// none, so that an image that never comes leaves something to read.
///
/// Everything is flat: a block knows its parent by index, and nothing here recurses. Comparing and hashing are linear.
public struct StyledText: Sendable, Hashable {
    /// The whole text.
    public internal(set) var string = ""
    /// The pieces of text that look the same, in order, without those that are empty.
    public internal(set) var runs: [Run] = []
    /// All blocks in document order, each behind its parent. The first is the document.
    public internal(set) var blocks: [Block] = []
    /// All links, in order.
    public internal(set) var links: [Link] = []
    /// All images, in order.
    public internal(set) var images: [Image] = []
    /// What the styles were resolved for.
    public internal(set) var environment: StyleSheet.Environment

    /// Applies a style sheet to a document. Linear in the length of the document.
    ///
    /// - Parameters:
    ///   - document: What to show.
    ///   - style: How.
    ///   - environment: The appearance and the size category to resolve the styles for.
    ///   - highlighter: Styles for parts of code blocks. Called once per code block that is not empty, in order.
    public init(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init(),
        highlighter: Highlighter? = nil
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

    /// A piece of text that looks the same all through.
    public struct Run: Sendable, Hashable {
        /// Where it stands in ``StyledText/string``, in UTF-8 bytes.
        public var range: Range<Int>
        /// What it looks like.
        public var style: ResolvedTextStyle
        /// The index of the innermost block around it.
        public var block: Int
        /// The index of the link that it is a part of.
        public var link: Int?
        /// The index of the image that it stands for.
        public var image: Int?
        /// The number of the footnote that it refers to.
        public var footnote: Int?
        /// Whether it is a hard line break and nothing else.
        public var isLineBreak = false
    }

    /// Where a link leads.
    public struct Link: Sendable, Hashable {
        /// The destination as the document has it: not to be trusted.
        public var destination: String
        /// What the document says about it.
        public var title: String?

        /// A link.
        public init(destination: String, title: String?) {
            self.destination = destination
            self.title = title
        }
    }

    /// An image, which the caller loads.
    public struct Image: Sendable, Hashable {
        /// Where it is, as the document has it: not to be trusted.
        public var source: String
        /// What the document says about it.
        public var title: String?
        /// What to read in its place. May be empty.
        public var alternativeText: String

        /// An image.
        public init(source: String, title: String?, alternativeText: String) {
            self.source = source
            self.title = title
            self.alternativeText = alternativeText
        }
    }
}

extension StyledText {
    /// The text of a run.
    public func string(of run: Run) -> Substring {
        substring(run.range)
    }

    /// The text of a block, with all blocks in it.
    public func string(of block: Block) -> Substring {
        substring(block.range)
    }

    /// The blocks around a run, outermost first: the document, …, the paragraph.
    public func path(of run: Run) -> [Block] {
        path(ofBlock: run.block)
    }

    /// A block and those around it, outermost first.
    public func path(ofBlock index: Int) -> [Block] {
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
