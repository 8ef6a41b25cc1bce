#if Cairo
import CPangoCairo
import NativeMark

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes the commands of a layout as SVG (SVG 1.1): real text in its fonts, paths, images and links.
struct SVGWriter {
    private let drawing: CairoDrawing
    private var output: String
    private var hasGroup = false
    private var clipCount = 0

    init(_ drawing: CairoDrawing, size: LayoutSize) {
        self.drawing = drawing
        let (width, height) = (format(size.width), format(size.height))
        output = """
            <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="\(width)" \
            height="\(height)" viewBox="0 0 \(width) \(height)">

            """
        if let title = drawing.title { output += "<title>\(title.escapedForXML)</title>\n" }
        output += "<rect width=\"100%\" height=\"100%\"\(Self.color("fill", drawing.pageColor))/>\n"
    }

    /// Moves and scales everything that follows. Call it at most once.
    mutating func inset(x: Double, y: Double, scale: Double) {
        output += "<g transform=\"translate(\(format(x)) \(format(y)))"
        if scale != 1 { output += " scale(\(format(scale)))" }
        output += "\">\n"
        hasGroup = true
    }

    mutating func finish() -> String {
        endGroup()
        return output + "</svg>\n"
    }

    private mutating func endGroup() {
        if hasGroup { output += "</g>\n" }
        hasGroup = false
    }

    mutating func draw(_ page: LayoutPage, _ setup: PageSetup) {
        let height = page.bottom - page.top
        output += """
            <clipPath id="page"><rect x="-100000" y="\(format(page.top))" width="200000" height="\(format(height))"/></clipPath>

            """
        inset(x: setup.margin, y: setup.margin - page.top * setup.scale, scale: setup.scale)
        for command in page.commands {
            let isCut = page.cuts(command)
            if isCut { output += "<g clip-path=\"url(#page)\">\n" }
            draw(command)
            if isCut { output += "</g>\n" }
        }
        addLinks(of: page.lines)
        endGroup()
    }

    mutating func draw(_ command: DrawingCommand) {
        switch command {
        case .text(let line, let origin, _):
            guard let line = line as? PangoLine else { return }
            draw(line, at: origin)
            for shape in line.decorations(at: origin) { draw(shape) }
        case .image(let index, let rectangle, let radius):
            let image = drawing.text.images[index]
            guard let png = drawing.images[image.source]?.png else { return }
            var clip = ""
            if radius > 0 {
                clipCount += 1
                clip = " clip-path=\"url(#image\(clipCount))\""
                output += """
                    <clipPath id="image\(clipCount)"><rect\(Self.box(rectangle)) rx="\(format(radius))"/></clipPath>

                    """
            }
            output += """
                <image\(Self.box(rectangle))\(clip) preserveAspectRatio="none" \
                xlink:href="data:image/png;base64,\(Data(png).base64EncodedString())">\
                <title>\(image.alternativeText.escapedForXML)</title></image>

                """
        default: for shape in command.shapes { draw(shape) }
        }
    }

    /// Adds transparent areas over the words of links. The text itself stays in one piece.
    mutating func addLinks(of lines: [PlacedLine]) {
        for line in lines {
            for (run, rectangle) in line.references(in: drawing.text) {
                guard let index = drawing.text.runs[run].link else { continue }
                let link = drawing.text.links[index]
                guard link.url() != nil else { continue }
                output += """
                    <a xlink:href="\(link.destination.escapedForXML)">\
                    <rect\(Self.box(rectangle)) fill="none" pointer-events="all"/></a>

                    """
            }
        }
    }

    // MARK: Text

    /// Pango's runs have one font, one direction and one style each, from left to right.
    private mutating func draw(_ line: PangoLine, at origin: LayoutPoint) {
        var x = origin.x
        for run in line.glyphRuns() {
            defer { x += run.width }
            guard !run.text.allSatisfy(\.isWhitespace), run.style.placeholder == nil else { continue }
            let style = run.style.style
            output += "<text x=\"\(format(x))\" y=\"\(format(origin.y - style.baseline))\""
            output += " font-family=\"\(run.family.escapedForXML), \(style.fontDesign.genericFamily)\""
            output += " font-size=\"\(format(style.fontSize))\""
            if style.fontWeight != .regular { output += " font-weight=\"\(style.fontWeight.number)\"" }
            if style.isItalic { output += " font-style=\"italic\"" }
            if style.kerning != 0 { output += " letter-spacing=\"\(format(style.kerning))\"" }
            // The start of right-to-left text is its right end.
            if run.isRightToLeft { output += " direction=\"rtl\" text-anchor=\"end\"" }
            output += " textLength=\"\(format(run.width))\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\""
            output += Self.color("fill", rgba(style.color)) + ">\(run.text.escapedForXML)</text>\n"
        }
    }

    // MARK: Shapes

    private mutating func draw(_ shape: VectorShape) {
        func point(_ point: LayoutPoint) -> String { "\(format(point.x)) \(format(point.y))" }
        let path = shape.path.map { element in
            switch element {
            case .move(let to): "M\(point(to))"
            case .line(let to): "L\(point(to))"
            case .curve(let first, let second, let to): "C\(point(first)) \(point(second)) \(point(to))"
            case .close: "Z"
            }
        }.joined()
        output += "<path d=\"\(path)\""
        switch shape.paint {
        case .fill: output += Self.color("fill", rgba(shape.color))
        case .stroke(let width, let dashes, let isRound):
            output += " fill=\"none\" stroke-width=\"\(format(width))\""
            if !dashes.isEmpty { output += " stroke-dasharray=\"\(dashes.map(format).joined(separator: " "))\"" }
            if isRound { output += " stroke-linecap=\"round\" stroke-linejoin=\"round\"" }
            output += Self.color("stroke", rgba(shape.color))
        }
        output += "/>\n"
    }

    private static func box(_ rectangle: LayoutRectangle) -> String {
        " x=\"\(format(rectangle.x))\" y=\"\(format(rectangle.y))\" width=\"\(format(rectangle.width))\""
            + " height=\"\(format(rectangle.height))\""
    }

    // MARK: Colors

    private func rgba(_ tone: StyleSheet.Tone) -> CairoCanvas.RGBA {
        if let color = tone.components {
            return .init(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
        }
        return drawing.standardColor
    }

    private static func color(_ attribute: String, _ color: CairoCanvas.RGBA) -> String {
        let digits = [color.red, color.green, color.blue].map { component in
            let byte = String(Int((min(max(component, 0), 1) * 255).rounded()), radix: 16)
            return byte.count < 2 ? "0" + byte : byte
        }
        let opacity = color.alpha < 1 ? " \(attribute)-opacity=\"\(format(color.alpha))\"" : ""
        return " \(attribute)=\"#\(digits.joined())\"\(opacity)"
    }
}

// MARK: - Text of a line

/// Text of one font, direction and style.
struct GlyphRun {
    var text: Substring
    var style: TextParagraph.Run
    var family: String
    var isRightToLeft: Bool
    var width: Double
}

extension PangoLine {
    /// Returns the pieces of the line from left to right.
    func glyphRuns() -> [GlyphRun] {
        piece.withLine(number) { line in
            var runs: [GlyphRun] = []
            var node = line.pointee.runs
            while let current = node {
                node = current.pointee.next
                let glyphItem = current.pointee.data.assumingMemoryBound(to: PangoGlyphItem.self)
                let item = glyphItem.pointee.item.pointee
                let start = piece.start + Int(item.offset)
                guard let style = piece.paragraph.runs.overlapping(start..<start + 1, by: \.range).first else {
                    continue
                }
                let utf8 = piece.paragraph.text.utf8
                let first = utf8.index(utf8.startIndex, offsetBy: start)
                let description = pango_font_describe(item.analysis.font)
                defer { pango_font_description_free(description) }
                runs.append(
                    GlyphRun(
                        text: piece.paragraph.text[first..<utf8.index(first, offsetBy: Int(item.length))], style: style,
                        family: pango_font_description_get_family(description).map { String(cString: $0) } ?? "",
                        isRightToLeft: item.analysis.level % 2 == 1,
                        width: points(pango_glyph_string_get_width(glyphItem.pointee.glyphs))))
            }
            return runs
        }
    }
}

extension StyleSheet.FontDesign {
    fileprivate var genericFamily: String {
        switch self {
        case .default, .rounded: "sans-serif"
        case .serif: "serif"
        case .monospaced: "monospace"
        }
    }
}

extension StringProtocol {
    /// The text with the characters escaped that XML gives a meaning, and without those that it doesn't allow (XML 1.0, section 2.2).
    fileprivate var escapedForXML: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n", "\r": result += " "
            case "\u{0}"..<" ", "\u{2028}", "\u{FFFE}", "\u{FFFF}": break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
#endif
