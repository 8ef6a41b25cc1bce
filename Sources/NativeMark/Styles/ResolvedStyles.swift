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

/// What a block looks like, with nothing left to choose. All lengths are points.
public struct ResolvedBlockStyle: Sendable, Hashable {
    /// What its text looks like where no inner rule says otherwise.
    public var text: ResolvedTextStyle
    /// Where lines stand between the indents.
    public var alignment: StyleSheet.Alignment = .leading
    /// Extra room in front of the first line.
    public var firstLineIndent = 0.0
    /// Room in front of all lines.
    public var leadingIndent = 0.0
    /// Room behind all lines.
    public var trailingIndent = 0.0
    /// Room above.
    public var spacingBefore = 0.0
    /// Room below.
    public var spacingAfter = 0.0
    /// Extra room between lines.
    public var lineSpacing = 0.0
    /// What stands in front of the items, if it is a list and the sheet says so.
    public var marker: StyleSheet.Marker?
    /// Lines around it.
    public var border: Border?
    /// Room inside the border.
    public var padding = Padding()
    /// The colour behind it.
    public var background: StyleSheet.Tone?

    /// A block without anything around its text.
    public init(text: ResolvedTextStyle) {
        self.text = text
    }

    /// Lines on some sides.
    public struct Border: Sendable, Hashable {
        /// The sides that have a line.
        public var edges: Set<StyleSheet.Edge>
        /// How thick it is, in points.
        public var width: Double
        /// Its colour.
        public var color: StyleSheet.Tone
    }

    /// Room inside the border, in points.
    public struct Padding: Sendable, Hashable {
        /// Above.
        public var top = 0.0
        /// In front.
        public var leading = 0.0
        /// Below.
        public var bottom = 0.0
        /// Behind.
        public var trailing = 0.0
    }
}
