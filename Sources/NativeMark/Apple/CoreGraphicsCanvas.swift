// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(CoreText)
import CoreText
import Foundation

#if canImport(UIKit)
import UIKit
#else
import AppKit
#endif

/// Draws the commands of a layout in a context with y downward.
struct CoreGraphicsCanvas {
    let context: CGContext
    /// The images by their index in the styled text.
    let image: (Int) -> CGImage?

    func draw(_ command: DrawingCommand) {
        switch command {
        case .text(let line as CoreTextLine, let origin, _): draw(line, at: origin)
        case .text: break
        case .image(let index, let rectangle, let radius):
            guard let image = image(index) else { return }
            context.saveGState()
            if radius > 0 {
                context.addPath(path([VectorShape.Element].rectangle(rectangle, radius: radius)))
                context.clip()
            }
            // Images are drawn with y upward.
            context.translateBy(x: rectangle.x, y: rectangle.maxY)
            context.scaleBy(x: 1, y: -1)
            context.draw(image, in: CGRect(x: 0, y: 0, width: rectangle.width, height: rectangle.height))
            context.restoreGState()
        case .fill, .stroke, .checkbox: for shape in command.shapes { draw(shape) }
        }
    }

    private func draw(_ line: CoreTextLine, at origin: LayoutPoint) {
        context.saveGState()
        context.setFillColor(NativeColor.nativeText.cgColor)
        context.textMatrix = CGAffineTransform(scaleX: 1, y: -1)
        context.textPosition = CGPoint(x: origin.x, y: origin.y)
        CTLineDraw(line.line, context)
        context.restoreGState()
        for shape in line.decorations(at: origin) { draw(shape) }
    }

    private func draw(_ shape: VectorShape) {
        context.saveGState()
        context.addPath(path(shape.path))
        let color = NativeColor.native(shape.color).cgColor
        switch shape.paint {
        case .fill:
            context.setFillColor(color)
            context.fillPath()
        case .stroke(let width, let dashes, let isRound):
            context.setStrokeColor(color)
            context.setLineWidth(width)
            context.setLineDash(phase: 0, lengths: dashes.map { CGFloat($0) })
            context.setLineCap(isRound ? .round : .butt)
            context.setLineJoin(isRound ? .round : .miter)
            context.strokePath()
        }
        context.restoreGState()
    }

    private func path(_ elements: [VectorShape.Element]) -> CGPath {
        func point(_ point: LayoutPoint) -> CGPoint { CGPoint(x: point.x, y: point.y) }
        let path = CGMutablePath()
        for element in elements {
            switch element {
            case .move(let to): path.move(to: point(to))
            case .line(let to): path.addLine(to: point(to))
            case .curve(let first, let second, let to):
                path.addCurve(to: point(to), control1: point(first), control2: point(second))
            case .close: path.closeSubpath()
            }
        }
        return path
    }
}

extension CGRect {
    init(_ rectangle: LayoutRectangle) {
        self.init(x: rectangle.x, y: rectangle.y, width: rectangle.width, height: rectangle.height)
    }
}
#endif
