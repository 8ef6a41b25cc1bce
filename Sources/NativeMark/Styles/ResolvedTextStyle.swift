/// What a piece of text looks like, with nothing left to choose: sizes in points, plain colours.
public struct ResolvedTextStyle: Sendable, Hashable {
    /// The role that gave the size.
    public var textStyle: StyleSheet.TextStyle
    /// The size of the letters in points.
    public var fontSize: Double
    /// The colour of the letters.
    public var color: StyleSheet.Tone
    /// The colour behind the letters.
    public var background: StyleSheet.Tone?
    /// Extra room behind each character, in points.
    public var kerning: Double
    /// Points above the baseline.
    public var baseline: Double
    /// A heavier weight.
    public var isBold: Bool
    /// Slanted letters.
    public var isItalic: Bool
    /// Letters of one width.
    public var isMonospaced: Bool
    /// A line below the letters.
    public var isUnderlined: Bool
    /// A line through the letters.
    public var isStruckThrough: Bool

    /// Plain text of a size.
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
