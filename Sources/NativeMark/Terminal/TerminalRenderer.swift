/// Shows Markdown in a terminal: as text with escape sequences for colours, weights and hyperlinks.
///
///     let renderer = TerminalRenderer(width: 80, color: .detect(environment: environment, isTerminal: true))
///     print(renderer.render(Document("Hello *world*")))
///
/// No line is wider than ``width``, counted as ``TerminalText`` does. Lines end between words, and between characters of
/// Chinese, Japanese and Korean; a no-break space keeps what it joins together. Where nested blocks leave too little room
/// for text, the innermost lose their indents and bars.
///
/// Nothing that a document holds reaches the terminal as a control: text, code, targets and descriptions pass through
/// ``TerminalText/sanitized(_:)`` after entities have been resolved. Escape sequences are this renderer's own.
///
/// Of a style sheet a terminal shows what it can:
///
/// | style | shown as |
/// |---|---|
/// | colour, backgrounds | SGR, in the colours that the terminal has |
/// | bold, italic, underline, strikethrough | SGR 1, 3, 4, 9 |
/// | text style | larger than body: bold; smaller: faint |
/// | baseline | superscript and subscript digits |
/// | kerning, indents, padding | columns, of half an em each |
/// | spacing, line spacing | rows, of an em each |
/// | border | lines of box drawing characters |
/// | monospaced, justified | nothing |
public struct TerminalRenderer: Sendable, Hashable {
    /// The columns that a line may have, at least 1.
    public var width: Int
    /// The colours that the terminal knows; with ``Color/none``, no weights either.
    public var color: Color
    /// Whether links are hyperlinks (OSC 8). If not, their targets stand behind them: `text <target>`.
    public var hyperlinks: Bool
    /// How images are shown.
    public var images: ImageProtocol
    /// What happens to lines of code that are too long.
    public var longCode: LongCode = .cut

    /// Whether it is for ``PlainText``: quotes with `>`, nothing else around blocks.
    var isPlain = false
    /// Whether lines have no end.
    var isUnlimited = false

    /// A renderer for a terminal of some width.
    public init(width: Int, color: Color = .none, hyperlinks: Bool = false, images: ImageProtocol = .none) {
        self.width = max(width, 1)
        self.color = color
        self.hyperlinks = hyperlinks
        self.images = images
    }

    /// What happens to lines of code that are too long.
    public enum LongCode: Sendable, Hashable, CaseIterable {
        /// They end with `…`.
        case cut
        /// They go on in the next line.
        case wrap
    }

    /// The text as lines for the terminal, without a line feed at the end.
    ///
    /// - Parameters:
    ///   - text: A styled document.
    ///   - image: Gives the images that are there already. Called for each image that stands alone in its paragraph, if
    ///     ``images`` is a protocol; for all others the alternative text is shown.
    public func render(_ text: StyledText, image: ((StyledText.Image) -> Image?)? = nil) -> String {
        var layout = TerminalLayout(text: text, renderer: self, imageData: image)
        return layout.render()
    }

    /// The document with a style, as lines for the terminal.
    public func render(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init()
    ) -> String {
        render(StyledText(document, style: style, environment: environment))
    }
}
