/// One step of drawing a ``TextLayout``: a filled box, a border, text, an image or a checkbox.
///
/// The commands of a layout are positioned, in points with y downward, and sorted from back to front. Colors are resolved for the layout's
/// environment, so a back end only translates them. In commands, the leading edge is the left one, whatever the writing direction is.
public enum DrawingCommand: Sendable {
    /// A filled rectangle with rounded corners.
    case fill(LayoutRectangle, radius: Double, corners: LayoutCorners = .all, StyleSheet.Tone)
    /// Lines along the inside of some edges of a rectangle.
    case stroke(LayoutRectangle, ResolvedBlockStyle.Border, corners: LayoutCorners = .all)
    /// A line of text of a block of ``StyledText/blocks``, with the left end of its baseline at a point.
    case text(any TextEngineLine, at: LayoutPoint, block: Int)
    /// An image of ``StyledText/images``, by its index, with rounded corners.
    case image(Int, LayoutRectangle, radius: Double = 0)
    /// The checkbox of a task item.
    case checkbox(LayoutRectangle, isChecked: Bool, StyleSheet.Tone)
}

/// A position in a layout, in points from its top left corner.
public struct LayoutPoint: Sendable, Hashable {
    /// The distance from the left edge.
    public var x: Double
    /// The distance from the top edge.
    public var y: Double

    /// Creates a point.
    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// A width and a height, in points.
public struct LayoutSize: Sendable, Hashable {
    /// The width.
    public var width: Double
    /// The height.
    public var height: Double

    /// Creates a size.
    public init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }
}

/// A rectangle in a layout, in points.
public struct LayoutRectangle: Sendable, Hashable {
    /// The distance from the left edge.
    public var x: Double
    /// The distance from the top edge.
    public var y: Double
    /// The width.
    public var width: Double
    /// The height.
    public var height: Double

    /// Creates a rectangle.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The distance of the right side from the left edge.
    public var maxX: Double { x + width }
    /// The distance of the bottom from the top edge.
    public var maxY: Double { y + height }

    /// Returns the horizontal and the vertical distance of a point from the rectangle.
    func distance(to point: LayoutPoint) -> LayoutPoint {
        LayoutPoint(x: max(x - point.x, point.x - maxX, 0), y: max(y - point.y, point.y - maxY, 0))
    }

    /// Returns whether a point is in the rectangle. The right and the bottom edge aren't.
    public func contains(_ point: LayoutPoint) -> Bool {
        x <= point.x && point.x < maxX && y <= point.y && point.y < maxY
    }
}

/// The corners of a rectangle that are rounded. A box that continues on the next line has square corners at the break.
public struct LayoutCorners: OptionSet, Sendable, Hashable {
    /// The bits of the corners.
    public let rawValue: Int

    /// Creates a set from bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The two corners at the left.
    public static let leading = Self(rawValue: 1)
    /// The two corners at the right.
    public static let trailing = Self(rawValue: 2)
    /// All four corners.
    public static let all: Self = [.leading, .trailing]
}

extension StyleSheet.Tone {
    /// The components in sRGB, from 0 to 1, or `nil` for the standard color.
    package var components: (red: Double, green: Double, blue: Double, alpha: Double)? {
        srgb.map { ($0.red, $0.green, $0.blue, $0.alpha) }
    }
}
