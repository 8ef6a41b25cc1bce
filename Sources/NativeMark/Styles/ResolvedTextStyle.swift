/// The appearance of text in one environment, with lengths in points and plain colors.
public struct ResolvedTextStyle: Sendable, Hashable {
    /// The text style that determines how the font size grows with the size category.
    public var textStyle: StyleSheet.TextStyle
    /// The font size in points. It includes the size category.
    public var fontSize: Double
    /// The family of the font, or `nil` for the system's font.
    public var fontFamily: String?
    /// The design of the system's font, which is shown without a family and in place of one that isn't installed.
    public var fontDesign: StyleSheet.FontDesign
    /// The weight of the font. It includes the style `bold`.
    public var fontWeight: StyleSheet.FontWeight
    /// The width of the font.
    public var fontWidth: StyleSheet.FontWidth
    /// The text color.
    public var color: StyleSheet.Tone
    /// The color behind the text.
    public var background: StyleSheet.Tone?
    /// Extra space after each character, in points.
    public var kerning: Double
    /// The offset above the baseline, in points.
    public var baseline: Double
    /// Whether the text is italic.
    public var isItalic: Bool
    /// Whether the text is underlined.
    public var isUnderlined: Bool
    /// Whether the text has a line through it.
    public var isStruckThrough: Bool

    /// Whether the weight is semibold or heavier.
    public var isBold: Bool { fontWeight >= .semibold }

    /// Creates a plain style with a font size.
    public init(textStyle: StyleSheet.TextStyle = .body, fontSize: Double = 17) {
        self.textStyle = textStyle
        self.fontSize = fontSize
        fontFamily = nil
        fontDesign = .default
        fontWeight = .regular
        fontWidth = .standard
        color = .standard
        background = nil
        kerning = 0
        baseline = 0
        isItalic = false
        isUnderlined = false
        isStruckThrough = false
    }
}
