// MARK: - Fonts

extension StyleSheet {
    /// The design of the system font.
    ///
    ///     sheet.setting(block: [.headings: [.fontDesign(.rounded), .fontWeight(.heavy)]])
    public enum FontDesign: String, Sendable, Hashable, CaseIterable {
        /// The font of the system's controls: San Francisco on Apple platforms.
        case `default`
        /// Letters with serifs: New York on Apple platforms.
        case serif
        /// Letters with rounded ends.
        case rounded
        /// Characters of equal width, as for code.
        case monospaced
    }

    /// The thickness of the letters: the nine weights of Apple's fonts and of CSS.
    ///
    /// If a font lacks a weight, its nearest weight is used.
    public enum FontWeight: String, Sendable, Hashable, CaseIterable, Comparable {
        /// 100 in CSS.
        case ultraLight
        /// 200 in CSS.
        case thin
        /// 300 in CSS.
        case light
        /// 400 in CSS.
        case regular
        /// 500 in CSS.
        case medium
        /// 600 in CSS. The lightest weight that terminals show in bold.
        case semibold
        /// 700 in CSS.
        case bold
        /// 800 in CSS.
        case heavy
        /// 900 in CSS.
        case black

        /// The number of the weight in CSS, from 100 to 900.
        public var number: Int {
            switch self {
            case .ultraLight: 100
            case .thin: 200
            case .light: 300
            case .regular: 400
            case .medium: 500
            case .semibold: 600
            case .bold: 700
            case .heavy: 800
            case .black: 900
            }
        }

        /// Returns whether `left` is lighter than `right`.
        public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// The width of the letters. If a font lacks a width, its nearest width is used.
    public enum FontWidth: String, Sendable, Hashable, CaseIterable {
        /// The narrowest letters.
        case compressed
        /// Narrow letters.
        case condensed
        /// The usual letters.
        case standard
        /// Wide letters.
        case expanded
    }
}

// MARK: - Boxes behind text

extension StyleSheet {
    /// A box behind a piece of text, such as GitHub's boxes around inline code.
    ///
    ///     let box = StyleSheet.InlineBackground(
    ///         .codeBackground, padding: .init(leading: .em(0.4), trailing: .em(0.4)), cornerRadius: .points(6))
    ///     sheet.setting(inline: [.code: [.inlineBackground(box)]])
    ///
    /// Terminals show only the color.
    public struct InlineBackground: Sendable, Hashable {
        /// The color of the box.
        public var color: Color
        /// The space between the text and the edges of the box.
        public var padding: Padding
        /// The radius of the corners.
        public var cornerRadius: Length
        /// The lines around the box, if there are any. Their corner radius isn't used.
        public var border: Border?

        /// Creates a box, by default as large as the text and without a border.
        public init(
            _ color: Color, padding: Padding = Padding(), cornerRadius: Length = .points(0), border: Border? = nil
        ) {
            self.color = color
            self.padding = padding
            self.cornerRadius = cornerRadius
            self.border = border
        }
    }
}

// MARK: - Lines under and through text

extension StyleSheet {
    /// A line under or through text.
    ///
    ///     sheet.setting(inline: [.link: [.underline(.init(.dotted, color: .secondary))]])
    public struct TextLine: Sendable, Hashable {
        /// The form of the line.
        public var pattern: Pattern
        /// The color of the line, or `nil` for the color of the text.
        public var color: Color?

        /// Creates a line, by default a single one in the color of the text.
        public init(_ pattern: Pattern = .single, color: Color? = nil) {
            self.pattern = pattern
            self.color = color
        }

        /// The form of a line under or through text. Back ends without a form show a single line.
        public enum Pattern: String, Sendable, Hashable, CaseIterable {
            /// One line of the usual thickness.
            case single
            /// One line of twice the usual thickness.
            case thick
            /// Two lines.
            case double
            /// A row of dots.
            case dotted
            /// A row of dashes.
            case dashed
            /// A wavy line, as under spelling mistakes.
            case wavy
        }
    }
}

// MARK: - Lengths, padding and borders

extension StyleSheet {
    /// A distance, in points or relative to the font size of the text.
    ///
    /// In a terminal, a column is half an em of body text and a row is one em. Distances are rounded to whole columns and rows.
    public enum Length: Sendable, Hashable {
        /// A number of points, independent of the font size.
        case points(Double)
        /// A multiple of the font size.
        case em(Double)

        /// Returns the distance in points for a font size in points.
        public func points(atFontSize size: Double) -> Double {
            switch self {
            case .points(let points): points
            case .em(let ems): ems * size
            }
        }
    }

    /// The space between a border and its content, on each side.
    public struct Padding: Sendable, Hashable {
        /// Space above the content.
        public var top: Length
        /// Space before the content.
        public var leading: Length
        /// Space below the content.
        public var bottom: Length
        /// Space after the content.
        public var trailing: Length

        /// Creates padding. The default for each side is none.
        public init(
            top: Length = .points(0), leading: Length = .points(0), bottom: Length = .points(0),
            trailing: Length = .points(0)
        ) {
            self.top = top
            self.leading = leading
            self.bottom = bottom
            self.trailing = trailing
        }

        /// Returns the same padding on all sides.
        public static func all(_ length: Length) -> Padding {
            Padding(top: length, leading: length, bottom: length, trailing: length)
        }
    }

    /// Lines on any of the four sides of a block.
    ///
    ///     sheet.setting(block: [.codeBlock: [.border(.init(cornerRadius: .points(6)))]])
    public struct Border: Sendable, Hashable {
        /// The sides that have a line.
        public var edges: Set<Edge>
        /// The thickness. Terminals have only one thickness.
        public var width: Length
        /// The color of the lines.
        public var color: Color
        /// The form of the lines.
        public var pattern: Pattern
        /// The radius of the corners, also of the block's background. Without edges, only the background is rounded.
        public var cornerRadius: Length

        /// Creates a border, by default a solid line on all sides.
        public init(
            edges: Set<Edge> = Set(Edge.allCases), width: Length = .points(1), color: Color = .border,
            pattern: Pattern = .solid, cornerRadius: Length = .points(0)
        ) {
            self.edges = edges
            self.width = width
            self.color = color
            self.pattern = pattern
            self.cornerRadius = cornerRadius
        }

        /// The form of a border's lines.
        public enum Pattern: String, Sendable, Hashable, CaseIterable {
            /// A continuous line.
            case solid
            /// A row of dashes.
            case dashed
            /// A row of dots.
            case dotted
            /// Two thin lines, which need a width of three points or more.
            case double
        }
    }

    /// A side of a block.
    public enum Edge: String, Sendable, Hashable, CaseIterable {
        /// The upper side.
        case top
        /// The side where lines of text begin.
        case leading
        /// The lower side.
        case bottom
        /// The side where lines of text end.
        case trailing
    }
}
