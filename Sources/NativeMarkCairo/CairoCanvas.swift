#if Cairo
import CPangoCairo
import NativeMark

/// Draws the commands of a layout on a Cairo surface.
struct CairoCanvas {
    let cairo: OpaquePointer
    /// The images by their index in the styled text.
    let images: [Int: CairoImageView]
    /// The color of text without a color of its own.
    let standard: RGBA

    struct RGBA: Hashable {
        var red = 0.0
        var green = 0.0
        var blue = 0.0
        var alpha = 1.0
    }

    /// Draws a page at its place on paper, in points of the paper.
    ///
    /// - Parameter around: Is called with each command that is whole on the page, and with a closure that draws it.
    func draw(
        _ page: LayoutPage, _ setup: PageSetup, around: (DrawingCommand, () -> Void) -> Void = { $1() }
    ) {
        cairo_save(cairo)
        cairo_translate(cairo, setup.margin, setup.margin - page.top * setup.scale)
        cairo_scale(cairo, setup.scale, setup.scale)
        for command in page.commands {
            if page.cuts(command) {
                cairo_save(cairo)
                cairo_rectangle(cairo, -1e6, page.top, 2e6, page.bottom - page.top)
                cairo_clip(cairo)
                draw(command)
                cairo_restore(cairo)
            } else {
                around(command) { draw(command) }
            }
        }
        cairo_restore(cairo)
    }

    func draw(_ command: DrawingCommand) {
        switch command {
        case .text(let line, let origin, _): draw(line, at: origin)
        case .image(let index, let rectangle, let radius):
            guard let image = images[index] else { return }
            cairo_save(cairo)
            if radius > 0 {
                addPath(.rectangle(rectangle, radius: radius))
                cairo_clip(cairo)
            }
            image.draw(on: cairo, in: rectangle)
            cairo_restore(cairo)
        default: for shape in command.shapes { draw(shape) }
        }
    }

    private func draw(_ line: any TextEngineLine, at origin: LayoutPoint) {
        guard let line = line as? PangoLine else { return }
        set(standard)
        line.piece.withLine(line.number) { pango in
            cairo_move_to(cairo, origin.x, origin.y)
            pango_cairo_show_layout_line(cairo, pango)
        }
        for shape in line.decorations(at: origin) { draw(shape) }
    }

    private func addPath(_ path: [VectorShape.Element]) {
        cairo_new_path(cairo)
        for element in path {
            switch element {
            case .move(let point): cairo_move_to(cairo, point.x, point.y)
            case .line(let point): cairo_line_to(cairo, point.x, point.y)
            case .curve(let first, let second, let point):
                cairo_curve_to(cairo, first.x, first.y, second.x, second.y, point.x, point.y)
            case .close: cairo_close_path(cairo)
            }
        }
    }

    func draw(_ shape: VectorShape) {
        addPath(shape.path)
        set(shape.color)
        switch shape.paint {
        case .fill: cairo_fill(cairo)
        case .stroke(let width, let dashes, let isRound):
            cairo_set_line_width(cairo, width)
            cairo_set_dash(cairo, dashes, Int32(dashes.count), 0)
            cairo_set_line_cap(cairo, isRound ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT)
            cairo_set_line_join(cairo, isRound ? CAIRO_LINE_JOIN_ROUND : CAIRO_LINE_JOIN_MITER)
            cairo_stroke(cairo)
        }
    }

    private func set(_ tone: StyleSheet.Tone) {
        set(tone.components.map { RGBA(red: $0.red, green: $0.green, blue: $0.blue, alpha: $0.alpha) } ?? standard)
    }

    func set(_ color: RGBA) {
        cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha)
    }
}

extension PangoLine {
    /// The lines under and through the text.
    func decorations(at origin: LayoutPoint) -> [VectorShape] {
        piece.decorations.overlapping(range, by: \.range).flatMap { run -> [VectorShape] in
            let shown = run.range.clamped(to: range)
            guard !shown.isEmpty else { return [] }
            return spans(of: shown).flatMap { span in
                run.style.decorations(
                    from: .init(x: origin.x + span.lowerBound, y: origin.y), width: span.upperBound - span.lowerBound)
            }
        }
    }
}
#endif
