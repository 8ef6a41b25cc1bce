/// One step of drawing a ``TextLayout``: a filled box, a border, a line, text, an image or a checkbox.
///
/// The commands of a layout are positioned, in points with y downward, and sorted from back to front. Colors are resolved for the layout's
/// environment, so a back end only translates them. In commands, the leading edge is the left one, whatever the writing direction is.
package enum DrawingCommand: Sendable {
    /// A filled rectangle with rounded corners.
    case fill(LayoutRectangle, radius: Double, corners: LayoutCorners = .all, StyleSheet.Tone)
    /// Lines along the inside of some edges of a rectangle.
    case stroke(LayoutRectangle, ResolvedBlockStyle.Border, corners: LayoutCorners = .all)
    /// A straight line, with its center between two points.
    case line(from: LayoutPoint, to: LayoutPoint, width: Double, StyleSheet.Tone)
    /// A line of text of a block of ``StyledText/blocks``, with the left end of its baseline at a point.
    case text(any TextEngineLine, at: LayoutPoint, block: Int)
    /// An image of ``StyledText/images``, by its index, with rounded corners.
    case image(Int, LayoutRectangle, radius: Double = 0)
    /// The checkbox of a task item.
    case checkbox(LayoutRectangle, isChecked: Bool, StyleSheet.Tone)
}

/// A position in a layout, in points from its top left corner.
package struct LayoutPoint: Sendable, Hashable {
    package var x: Double
    package var y: Double

    package init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// A width and a height, in points.
package struct LayoutSize: Sendable, Hashable {
    package var width: Double
    package var height: Double

    package init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }
}

/// A rectangle in a layout, in points.
package struct LayoutRectangle: Sendable, Hashable {
    package var x: Double
    package var y: Double
    package var width: Double
    package var height: Double

    package init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    package var maxX: Double { x + width }
    package var maxY: Double { y + height }

    /// Returns the horizontal and the vertical distance of a point from the rectangle.
    func distance(to point: LayoutPoint) -> LayoutPoint {
        LayoutPoint(x: max(x - point.x, point.x - maxX, 0), y: max(y - point.y, point.y - maxY, 0))
    }

    package func contains(_ point: LayoutPoint) -> Bool {
        x <= point.x && point.x < maxX && y <= point.y && point.y < maxY
    }
}

/// The corners of a rectangle that are rounded. A box that continues on the next line has square corners at the break.
package struct LayoutCorners: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The two corners at the left.
    package static let leading = Self(rawValue: 1)
    /// The two corners at the right.
    package static let trailing = Self(rawValue: 2)
    package static let all: Self = [.leading, .trailing]
}

extension StyleSheet.Tone {
    /// The components in sRGB, from 0 to 1, or `nil` for the standard color.
    package var components: (red: Double, green: Double, blue: Double, alpha: Double)? {
        srgb.map { ($0.red, $0.green, $0.blue, $0.alpha) }
    }
}
