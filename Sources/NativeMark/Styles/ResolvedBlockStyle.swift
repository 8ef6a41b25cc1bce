/// The appearance of a block in one environment, with lengths in points.
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
    /// The distance of the baselines of two lines as a multiple of the font size, or `nil` if the font determines it.
    public var lineHeight: Double?
    /// Whether words may be divided at the ends of lines.
    public var isHyphenated = false
    /// The marker of the items, for a list with a marker rule.
    public var marker: StyleSheet.Marker?
    /// Lines around the block.
    public var border: Border?
    /// Space between the border and the text.
    public var padding = Padding()
    /// The color behind the block.
    public var background: StyleSheet.Tone?

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
