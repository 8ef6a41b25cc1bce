/// A path with one color, filled or stroked: what a back end needs to draw for boxes, borders, lines and checkboxes.
///
///     for command in TextLayout(text, width: 320, engine: engine).commands {
///         for shape in command.shapes { draw(shape) }
///     }
///
/// So the form of a dotted border or a wavy line is the same in all back ends.
public struct VectorShape: Sendable, Hashable {
    /// The lines and curves, from the first to the last.
    public var path: [Element]
    /// Whether the path is filled or stroked.
    public var paint: Paint
    /// The color of the whole shape.
    public var color: StyleSheet.Tone

    /// A step along a path.
    public enum Element: Sendable, Hashable {
        case move(LayoutPoint)
        case line(LayoutPoint)
        /// A cubic Bézier curve with two control points.
        case curve(LayoutPoint, LayoutPoint, LayoutPoint)
        case close
    }

    /// How a path becomes visible.
    public enum Paint: Sendable, Hashable {
        case fill
        /// A line with its center on the path. `dashes` are the lengths of dashes and gaps in turn; an empty list is a solid line.
        case stroke(width: Double, dashes: [Double] = [], isRound: Bool = false)
    }
}

extension DrawingCommand {
    /// The shapes of the command, from back to front. Text and images have none.
    public var shapes: [VectorShape] {
        switch self {
        case .fill(let rectangle, let radius, let corners, let color):
            [VectorShape(path: .rectangle(rectangle, radius: radius, corners: corners), paint: .fill, color: color)]
        case .stroke(let rectangle, let border, let corners): border.shapes(along: rectangle, corners)
        case .checkbox(let rectangle, let isChecked, let color): Self.checkbox(rectangle, isChecked, color)
        case .text, .image: []
        }
    }

    private static func checkbox(
        _ rectangle: LayoutRectangle, _ isChecked: Bool, _ color: StyleSheet.Tone
    ) -> [VectorShape] {
        let side = rectangle.width
        let width = side / 12
        let box = VectorShape(
            path: .rectangle(rectangle.inset(by: width / 2), radius: side / 6), paint: .stroke(width: width),
            color: color)
        guard isChecked else { return [box] }
        func point(_ x: Double, _ y: Double) -> LayoutPoint {
            .init(x: rectangle.x + x * side, y: rectangle.y + y * rectangle.height)
        }
        let mark = VectorShape(
            path: [.move(point(0.24, 0.52)), .line(point(0.43, 0.71)), .line(point(0.77, 0.3))],
            paint: .stroke(width: side / 8, isRound: true), color: color)
        return [box, mark]
    }
}

// MARK: - Borders

extension ResolvedBlockStyle.Border {
    /// Returns the lines along the inside of a rectangle. A corner that isn't rounded is a break, which has no line.
    fileprivate func shapes(along rectangle: LayoutRectangle, _ corners: LayoutCorners) -> [VectorShape] {
        var edges = edges
        if !corners.contains(.leading) { edges.remove(.leading) }
        if !corners.contains(.trailing) { edges.remove(.trailing) }
        let width = LayoutBuilder.points(width)
        guard width > 0, !edges.isEmpty else { return [] }
        guard pattern == .double else { return lines(rectangle, edges, corners, width: width, inset: width / 2) }
        let thin = width / 3
        return lines(rectangle, edges, corners, width: thin, inset: thin / 2)
            + lines(rectangle, edges, corners, width: thin, inset: width - thin / 2)
    }

    private func lines(
        _ rectangle: LayoutRectangle, _ edges: Set<StyleSheet.Edge>, _ corners: LayoutCorners, width: Double,
        inset: Double
    ) -> [VectorShape] {
        let box = rectangle.inset(by: inset)
        let paint = paint(width: width)
        if edges.count == StyleSheet.Edge.allCases.count {
            let radius = max(LayoutBuilder.points(cornerRadius) - inset, 0)
            return [VectorShape(path: .rectangle(box, radius: radius, corners: corners), paint: paint, color: color)]
        }
        // The ends of a line touch the outside of the rectangle.
        let (left, right, top, bottom) = (rectangle.x, rectangle.maxX, rectangle.y, rectangle.maxY)
        func line(_ edge: StyleSheet.Edge, _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> VectorShape? {
            guard edges.contains(edge) else { return nil }
            return VectorShape(
                path: [.move(.init(x: x1, y: y1)), .line(.init(x: x2, y: y2))], paint: paint, color: color)
        }
        return [
            line(.top, left, box.y, right, box.y), line(.bottom, left, box.maxY, right, box.maxY),
            line(.leading, box.x, top, box.x, bottom), line(.trailing, box.maxX, top, box.maxX, bottom),
        ].compactMap(\.self)
    }

    private func paint(width: Double) -> VectorShape.Paint {
        switch pattern {
        case .solid, .double: .stroke(width: width)
        case .dashed: .stroke(width: width, dashes: [3 * width, 2 * width])
        // A dash without length and with round ends is a dot.
        case .dotted: .stroke(width: width, dashes: [0, 2 * width], isRound: true)
        }
    }
}

// MARK: - Lines under and through text

extension ResolvedTextStyle {
    /// Returns the lines under and through text at its place on a line. `start` is the left end of its baseline.
    public func decorations(from start: LayoutPoint, width: Double) -> [VectorShape] {
        let thickness = max(fontSize / 16, 0.4)
        let y = start.y - LayoutBuilder.points(baseline, least: -1_000)
        var shapes: [VectorShape] = []
        for (line, y) in [(underline, y + fontSize * 0.14), (strikethrough, y - fontSize * 0.28)] {
            guard let line, width > 0 else { continue }
            let color = line.color ?? color
            func straight(_ y: Double, _ paint: VectorShape.Paint) -> VectorShape {
                VectorShape(
                    path: [.move(.init(x: start.x, y: y)), .line(.init(x: start.x + width, y: y))], paint: paint,
                    color: color)
            }
            switch line.pattern {
            case .single: shapes.append(straight(y, .stroke(width: thickness)))
            case .thick: shapes.append(straight(y, .stroke(width: 2 * thickness)))
            case .double:
                shapes.append(straight(y - thickness, .stroke(width: thickness)))
                shapes.append(straight(y + thickness, .stroke(width: thickness)))
            case .dotted:
                shapes.append(straight(y, .stroke(width: thickness, dashes: [0, 2 * thickness], isRound: true)))
            case .dashed:
                shapes.append(straight(y, .stroke(width: thickness, dashes: [4 * thickness, 2 * thickness])))
            case .wavy:
                shapes.append(
                    VectorShape(
                        path: .wave(from: .init(x: start.x, y: y), width: width, height: 1.5 * thickness),
                        paint: .stroke(width: thickness * 0.8), color: color))
            }
        }
        return shapes
    }
}

// MARK: - Paths

extension [VectorShape.Element] {
    /// Approximates a quarter of a circle by a curve with an error of 0.03 %.
    private static var quarter: Double { 0.5523 }

    /// Returns a rectangle with round corners, of at most half of its sides.
    public static func rectangle(
        _ rectangle: LayoutRectangle, radius: Double, corners: LayoutCorners = .all
    ) -> [VectorShape.Element] {
        let radius = Swift.min(radius, rectangle.width / 2, rectangle.height / 2)
        let (left, right, top, bottom) = (rectangle.x, rectangle.maxX, rectangle.y, rectangle.maxY)
        func point(_ x: Double, _ y: Double) -> LayoutPoint { .init(x: x, y: y) }
        guard radius > 0, !corners.isEmpty else {
            return [
                .move(point(left, top)), .line(point(right, top)), .line(point(right, bottom)),
                .line(point(left, bottom)), .close,
            ]
        }
        let start = corners.contains(.leading) ? radius : 0
        let end = corners.contains(.trailing) ? radius : 0
        let (startControl, endControl) = (start * (1 - quarter), end * (1 - quarter))
        return [
            .move(point(left + start, top)), .line(point(right - end, top)),
            .curve(point(right - endControl, top), point(right, top + endControl), point(right, top + end)),
            .line(point(right, bottom - end)),
            .curve(point(right, bottom - endControl), point(right - endControl, bottom), point(right - end, bottom)),
            .line(point(left + start, bottom)),
            .curve(point(left + startControl, bottom), point(left, bottom - startControl), point(left, bottom - start)),
            .line(point(left, top + start)),
            .curve(point(left, top + startControl), point(left + startControl, top), point(left + start, top)),
            .close,
        ]
    }

    /// A wave whose half is twice as wide as high.
    fileprivate static func wave(from start: LayoutPoint, width: Double, height: Double) -> [VectorShape.Element] {
        var path: [VectorShape.Element] = [.move(start)]
        // A very long line has longer waves, so that the path stays short.
        let half = Swift.max(2 * height, width / 2_000)
        let count = (width / half).rounded()
        guard count.isFinite else { return path }
        for index in 0..<Int(count) {
            let x = start.x + Double(index) * half
            let y = start.y + (index.isMultiple(of: 2) ? -height : height)
            path.append(
                .curve(
                    .init(x: x + half * 0.4, y: y), .init(x: x + half * 0.6, y: y), .init(x: x + half, y: start.y)))
        }
        return path
    }
}

extension LayoutRectangle {
    fileprivate func inset(by distance: Double) -> LayoutRectangle {
        .init(
            x: x + distance, y: y + distance, width: max(width - 2 * distance, 0), height: max(height - 2 * distance, 0)
        )
    }
}
