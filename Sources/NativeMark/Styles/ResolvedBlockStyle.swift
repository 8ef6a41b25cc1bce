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
