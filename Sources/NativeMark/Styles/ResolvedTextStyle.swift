/// The appearance of text in one environment, with lengths in points and plain colors.
public struct ResolvedTextStyle: Sendable, Hashable {
    /// The text style that determines the font size.
    public var textStyle: StyleSheet.TextStyle
    /// The font size in points.
    public var fontSize: Double
    /// The text color.
    public var color: StyleSheet.Tone
    /// The color behind the text.
    public var background: StyleSheet.Tone?
    /// Extra space after each character, in points.
    public var kerning: Double
    /// The offset above the baseline, in points.
    public var baseline: Double
    /// Whether the text is bold.
    public var isBold: Bool
    /// Whether the text is italic.
    public var isItalic: Bool
    /// Whether the text uses a monospaced font.
    public var isMonospaced: Bool
    /// Whether the text is underlined.
    public var isUnderlined: Bool
    /// Whether the text has a line through it.
    public var isStruckThrough: Bool

    /// Creates a plain style with a font size.
    public init(textStyle: StyleSheet.TextStyle = .body, fontSize: Double = 17) {
        self.textStyle = textStyle
        self.fontSize = fontSize
        color = .standard
        background = nil
        kerning = 0
        baseline = 0
        isBold = false
        isItalic = false
        isMonospaced = false
        isUnderlined = false
        isStruckThrough = false
    }
}
