/// Renders Markdown for a terminal: text with escape sequences for colors, text attributes and hyperlinks.
///
///     let renderer = TerminalRenderer(width: 80, color: .detect(environment: environment, isTerminal: true))
///     print(renderer.render(Document("Hello *world*")))
///
/// No line is wider than ``width``, measured as by ``TerminalText``. Lines break between words, and between Chinese, Japanese and
/// Korean characters, but not at no-break spaces. If nested blocks leave too little space for text, the innermost blocks lose their
/// indents and bars.
///
/// A document can't send control characters to the terminal: text, code, link targets and image descriptions pass through
/// ``TerminalText/sanitized(_:)`` after entities have been resolved. All escape sequences come from the renderer.
///
/// Styles are approximated:
///
/// | style | shown as |
/// |---|---|
/// | colors, backgrounds | escape sequences (SGR), in the colors that the terminal supports; translucent ones as on black or white |
/// | weight, italic, underline, strikethrough | semibold and heavier: SGR 1; SGR 3, 4, 9 |
/// | font size, text style | larger than the document's: bold; smaller and not monospaced: faint |
/// | baseline | superscript and subscript digits |
/// | kerning, indents, padding | columns of half an em each |
/// | strikethrough without text attributes | `~~` around text that isn't code |
/// | headings of levels 1 and 2, in larger text | a line of `═` or `─` below, as wide as the text |
/// | other headings | `#` before the text, as many as the level |
/// | headings with a border below | only the border |
/// | spacing, line spacing | rows of one em each |
/// | border | box drawing characters |
/// | family, design and width of the font, line height, hyphenation, justified | not shown |
public struct TerminalRenderer: Sendable, Hashable {
    /// The maximum number of columns in a line. Values below 1 mean 1, and values above 10,000 mean 10,000.
    public var width: Int
    /// The colors that the terminal supports. ``Color/none`` also disables text attributes.
    public var color: Color
    /// Whether links become hyperlinks of the terminal (OSC 8), if their targets are absolute and have at most 2,083 bytes, the limit of
    /// VTE. Other targets, and if `false` all, follow the text: `text <target>`. A target within the document, such as `#install`, isn't
    /// shown.
    ///
    /// A hyperlink that wraps has its target on each line. In a document, these repetitions add at most as many bytes as the text has, or
    /// 100 kB if that is more. After that, only the first line of a link is a hyperlink.
    public var hyperlinks: Bool
    /// The way to show images.
    public var images: ImageProtocol
    /// The treatment of lines of code that are wider than the available space.
    public var longCode: LongCode = .cut

    static let maximalWidth = 10_000

    /// Whether the output is for ``PlainText``: block quotes begin with `>`, and nothing else is drawn around blocks.
    var isPlain = false
    var isUnlimited = false

    /// Creates a renderer for a terminal of the given width. Widths below 1 become 1.
    public init(width: Int, color: Color = .none, hyperlinks: Bool = false, images: ImageProtocol = .none) {
        self.width = max(width, 1)
        self.color = color
        self.hyperlinks = hyperlinks
        self.images = images
    }

    /// The treatment of lines of code that are too wide.
    public enum LongCode: Sendable, Hashable, CaseIterable {
        /// Lines are cut and end with `…`.
        case cut
        /// Lines continue on the next line.
        case wrap
    }

    /// Returns the text as lines for the terminal, without a final line feed.
    ///
    /// If ``images`` is ``ImageProtocol/kitty`` or ``ImageProtocol/iTerm2``, the closure `image` is called for each image, in order, and
    /// returns the image if it is already loaded. Other images are shown as their alternative text.
    ///
    /// An image that is alone in its paragraph is shown in its ``Image/columns`` and ``Image/rows``. A small image among text or other
    /// images, such as a badge, is shown in the line (``Image/columnsInLine``), and a large one below its paragraph. The same applies to
    /// tables. If a small image is wider than its column, all images of the table are shown as their alternative text.
    public func render(_ text: StyledText, image: ((StyledText.Image) -> Image?)? = nil) -> String {
        var layout = TerminalLayout(text: text, renderer: self, imageData: image)
        return layout.render()
    }

    /// Returns the document with a style sheet applied as lines for the terminal, without a final line feed.
    public func render(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init()
    ) -> String {
        render(StyledText(document, style: style, environment: environment))
    }
}
