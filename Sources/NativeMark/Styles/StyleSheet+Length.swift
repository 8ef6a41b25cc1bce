extension StyleSheet {
    /// A distance, in points or in the size of the text that it belongs to.
    ///
    /// In a terminal a column is half an em of body text, and a row is one; what is less than half of that vanishes.
    public enum Length: Sendable, Hashable {
        /// So many points, whatever the size of the text.
        case points(Double)
        /// So many times the size of the text.
        case em(Double)

        /// The distance in points, for a size of text in points.
        public func points(atFontSize size: Double) -> Double {
            switch self {
            case .points(let points): points
            case .em(let ems): ems * size
            }
        }
    }

    /// Room between a border and what it surrounds, on each side.
    public struct Padding: Sendable, Hashable {
        /// Above.
        public var top: Length
        /// In front.
        public var leading: Length
        /// Below.
        public var bottom: Length
        /// Behind.
        public var trailing: Length

        /// Room on the sides that are named; none on the others.
        public init(
            top: Length = .points(0), leading: Length = .points(0), bottom: Length = .points(0),
            trailing: Length = .points(0)
        ) {
            self.top = top
            self.leading = leading
            self.bottom = bottom
            self.trailing = trailing
        }

        /// The same room on all sides.
        public static func all(_ length: Length) -> Padding {
            Padding(top: length, leading: length, bottom: length, trailing: length)
        }
    }

    /// Lines on some sides of a block.
    public struct Border: Sendable, Hashable {
        /// The sides that have a line.
        public var edges: Set<Edge>
        /// How thick it is. A terminal knows one thickness only.
        public var width: Length
        /// Its colour.
        public var color: Color

        /// Lines on all sides unless some are named.
        public init(edges: Set<Edge> = Set(Edge.allCases), width: Length = .points(1), color: Color = .border) {
            self.edges = edges
            self.width = width
            self.color = color
        }
    }

    /// A side of a block.
    public enum Edge: String, Sendable, Hashable, CaseIterable {
        /// Above.
        case top
        /// In front.
        case leading
        /// Below.
        case bottom
        /// Behind.
        case trailing
    }
}
