/// The look of text in one environment, with lengths in points and plain colors.
public struct ResolvedTextStyle: Sendable, Hashable {
    /// The text style that determines how the font size grows with the size category.
    public var textStyle: StyleSheet.TextStyle
    /// The font size in points, already scaled for the size category.
    public var fontSize: Double
    /// The font family, or `nil` for the system font.
    public var fontFamily: String?
    /// The design of the system font, which is used if there is no family or it isn't installed.
    public var fontDesign: StyleSheet.FontDesign
    /// The font weight, including the effect of the style `bold`.
    public var fontWeight: StyleSheet.FontWeight
    /// The font width.
    public var fontWidth: StyleSheet.FontWidth
    /// The text color.
    public var color: StyleSheet.Tone
    /// The color behind the text.
    public var background: StyleSheet.Tone?
    /// The form of the background, or `nil` if it is only a color.
    public var backgroundBox: BackgroundBox?
    /// Extra space after each character, in points.
    public var kerning: Double
    /// The offset above the baseline, in points.
    public var baseline: Double
    /// Whether the text is italic.
    public var isItalic: Bool
    /// The line under the text, if there is one.
    public var underline: Line?
    /// The line through the text, if there is one.
    public var strikethrough: Line?
    /// The size of images, their position and their corners, if a rule sets them.
    public var imageLayout: ImageLayout?

    /// Whether the weight is semibold or heavier.
    public var isBold: Bool { fontWeight >= .semibold }
    /// Whether the text is underlined.
    public var isUnderlined: Bool { underline != nil }
    /// Whether the text has a line through it.
    public var isStruckThrough: Bool { strikethrough != nil }

    /// The form of the box behind text, with lengths in points.
    public struct BackgroundBox: Sendable, Hashable {
        /// The space between the text and the edges of the box.
        public var padding: ResolvedBlockStyle.Padding
        /// The radius of the corners.
        public var cornerRadius: Double
        /// The lines around the box, if there are any.
        public var border: ResolvedBlockStyle.Border?
    }

    /// A line under or through text.
    public struct Line: Sendable, Hashable {
        /// The form of the line.
        public var pattern: StyleSheet.TextLine.Pattern
        /// The color of the line, or `nil` for the color of the text.
        public var color: StyleSheet.Tone?

        /// Creates a line, by default a single one in the color of the text.
        public init(pattern: StyleSheet.TextLine.Pattern = .single, color: StyleSheet.Tone? = nil) {
            self.pattern = pattern
            self.color = color
        }
    }

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
        backgroundBox = nil
        kerning = 0
        baseline = 0
        isItalic = false
        underline = nil
        strikethrough = nil
        imageLayout = nil
    }
}

/// The look of a block in one environment, with lengths in points.
public struct ResolvedBlockStyle: Sendable, Hashable {
    /// The style of the block's text, before inline rules.
    public var text: ResolvedTextStyle
    /// The horizontal position of the lines between the indents.
    public var alignment: StyleSheet.Alignment = .leading
    /// Extra space before the first line.
    public var firstLineIndent = 0.0
    /// Space before all lines.
    public var leadingIndent = 0.0
    /// Space after all lines.
    public var trailingIndent = 0.0
    /// Space above the block.
    public var spacingBefore = 0.0
    /// Space below the block.
    public var spacingAfter = 0.0
    /// Extra space between lines.
    public var lineSpacing = 0.0
    /// The distance between baselines as a multiple of the font size, or `nil` if the font determines it.
    public var lineHeight: Double?
    /// Whether words may be hyphenated at the ends of lines.
    public var isHyphenated = false
    /// The marker of the items, if a rule sets one for the list.
    public var marker: StyleSheet.Marker?
    /// The marker of the task items, if a rule sets one for the list.
    public var taskMarker: TaskMarker?
    /// Lines around the block.
    public var border: Border?
    /// Space between the border and the text.
    public var padding = Padding()
    /// The color behind the block.
    public var background: StyleSheet.Tone?
    /// What a thematic break looks like, if a rule sets it.
    public var divider: Divider?
    /// The lines of a table, if a rule sets them.
    public var tableLines: TableLines?
    /// The color behind every other row of a table. The styles of these rows already have it as their ``background``.
    public var alternateRowBackground: StyleSheet.Tone?

    /// Creates a style without indents, spacing, border or background.
    public init(text: ResolvedTextStyle) {
        self.text = text
    }

    /// Lines on some sides of a block.
    public struct Border: Sendable, Hashable {
        /// The sides that have a line.
        public var edges: Set<StyleSheet.Edge>
        /// The thickness in points.
        public var width: Double
        /// The color of the lines.
        public var color: StyleSheet.Tone
        /// The form of the lines.
        public var pattern = StyleSheet.Border.Pattern.solid
        /// The radius of the corners, in points.
        public var cornerRadius = 0.0
    }

    /// Space inside the border, in points.
    public struct Padding: Sendable, Hashable {
        /// Space above the text.
        public var top = 0.0
        /// Space before the text.
        public var leading = 0.0
        /// Space below the text.
        public var bottom = 0.0
        /// Space after the text.
        public var trailing = 0.0
    }
}
