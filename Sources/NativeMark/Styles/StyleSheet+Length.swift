extension StyleSheet {
    /// A distance, in points or relative to the font size of its text.
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

        /// Creates padding. Sides without an argument have none.
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

    /// Lines on some sides of a block.
    public struct Border: Sendable, Hashable {
        /// The sides that have a line.
        public var edges: Set<Edge>
        /// The thickness. Terminals have only one thickness.
        public var width: Length
        /// The color of the lines.
        public var color: Color

        /// Creates a border, by default on all sides.
        public init(edges: Set<Edge> = Set(Edge.allCases), width: Length = .points(1), color: Color = .border) {
            self.edges = edges
            self.width = width
            self.color = color
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
