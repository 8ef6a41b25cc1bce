/// What a platform provides for a ``TextLayout``: the shapes and breaks of one paragraph of text.
///
/// Shaping, bidirectional text and font fallback are the engine's. The layout positions the engine's lines, and draws everything else.
public protocol TextEngine: Sendable {
    /// Breaks a paragraph into lines. A paragraph without text has one empty line, with the height of its first style.
    ///
    /// Lines are at most `width` points wide, except a piece that can't be broken. The first line has `firstIndent` points less.
    func lines(of paragraph: TextParagraph, width: Double, firstIndent: Double) -> [any TextEngineLine]

    /// Returns the width of a paragraph in one line. A line break in the text begins another line.
    func width(of paragraph: TextParagraph) -> Double

    /// Returns the width of the widest piece of a paragraph that can't be broken. Only tables that are too wide ask for it.
    func minimumWidth(of paragraph: TextParagraph) -> Double

    /// Returns the height above and below the baseline of text in a style.
    func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double)
}

/// A line of a paragraph, as an engine has shaped it. A back end knows the engine's own type, and draws it.
public protocol TextEngineLine: Sendable {
    /// The part of the paragraph's text in the line, in UTF-8 offsets, including spaces at its end.
    var range: Range<Int> { get }
    /// The width without spaces at the end.
    var width: Double { get }
    /// The largest height above the baseline.
    var ascent: Double { get }
    /// The largest depth below the baseline.
    var descent: Double { get }

    /// Returns the horizontal spans that a part of the text covers, from the line's left end. Bidirectional text may have several.
    func spans(of range: Range<Int>) -> [Range<Double>]
    /// Returns the offset of the character at a distance from the line's left end, or of the nearest one.
    func offset(at x: Double) -> Int
}

/// The text of a paragraph with its styles, and placeholders for what the layout draws between the letters.
public struct TextParagraph: Sendable, Hashable {
    /// The text. Each placeholder is one U+FFFC.
    public var text = ""
    /// Contiguous runs of equal style.
    public var runs: [Run] = []
    /// How lines are adjusted to the width. The engine stretches justified lines; the layout moves all others.
    public var isJustified = false
    /// Whether the engine may hyphenate words.
    public var isHyphenated = false
    /// Whether the paragraph is written from right to left. The engine orders its runs accordingly; the layout aligns its lines.
    public var isRightToLeft = false

    /// Creates an empty paragraph.
    public init() {}

    /// A part of the text with one style.
    public struct Run: Sendable, Hashable {
        /// The range in ``TextParagraph/text``, in UTF-8 offsets.
        public var range: Range<Int>
        /// The style of the text.
        public var style: ResolvedTextStyle
        /// The space that the run takes if it is a placeholder.
        public var placeholder: Placeholder?

        /// Creates a run.
        public init(range: Range<Int>, style: ResolvedTextStyle, placeholder: Placeholder? = nil) {
            self.range = range
            self.style = style
            self.placeholder = placeholder
        }
    }

    /// Space for an image, or for the padding of a box around text.
    public struct Placeholder: Sendable, Hashable {
        /// The width in points.
        public var advance: Double
        /// The height above the baseline, or `nil` for a placeholder that doesn't change the height of its line.
        public var ascent: Double?

        /// Creates a space.
        public init(advance: Double, ascent: Double? = nil) {
            self.advance = advance
            self.ascent = ascent
        }
    }
}
