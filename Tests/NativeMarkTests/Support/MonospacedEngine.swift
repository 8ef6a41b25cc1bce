import NativeMark

/// An engine without fonts: each character is half an em wide, four fifths of an em are above the baseline, and lines break at spaces.
struct MonospacedEngine: TextEngine {
    struct Line: TextEngineLine {
        var text: String
        var range: Range<Int>
        var width: Double
        var ascent: Double
        var descent: Double
        /// Where each character begins, and the end of the last one.
        var stops: [(offset: Int, x: Double)]

        func spans(of range: Range<Int>) -> [Range<Double>] {
            let start = stops.last { $0.offset <= range.lowerBound }?.x ?? 0
            let end = stops.first { $0.offset >= range.upperBound }?.x ?? stops[stops.count - 1].x
            return start < end ? [start..<end] : []
        }

        func offset(at x: Double) -> Int {
            (stops.dropLast().last { $0.x <= x } ?? stops[0]).offset
        }
    }

    private struct Glyph {
        var character: Character
        var range: Range<Int>
        var advance: Double
        var ascent: Double
        var descent: Double
    }

    func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double) {
        (style.fontSize * 0.8, style.fontSize * 0.2)
    }

    func lines(of paragraph: TextParagraph, width: Double, firstIndent: Double) -> [any TextEngineLine] {
        let glyphs = glyphs(of: paragraph)
        var lines: [Line] = []
        var rest = glyphs[...]
        repeat {
            let room = width - (lines.isEmpty ? firstIndent : 0)
            let count = Self.count(rest, fitting: room)
            lines.append(line(rest.prefix(count), of: paragraph))
            rest = rest.dropFirst(count)
        } while !rest.isEmpty
        return lines
    }

    func width(of paragraph: TextParagraph) -> Double { widest(of: paragraph, separator: "\u{2028}") }

    func minimumWidth(of paragraph: TextParagraph) -> Double { widest(of: paragraph, separator: " ") }

    private func widest(of paragraph: TextParagraph, separator: Character) -> Double {
        glyphs(of: paragraph).split { $0.character == separator }.map { $0.reduce(0) { $0 + $1.advance } }.max() ?? 0
    }

    private func glyphs(of paragraph: TextParagraph) -> [Glyph] {
        var glyphs: [Glyph] = []
        for run in paragraph.runs {
            let utf8 = paragraph.text.utf8
            let start = utf8.index(utf8.startIndex, offsetBy: run.range.lowerBound)
            let text = paragraph.text[start..<utf8.index(start, offsetBy: run.range.count)]
            var offset = run.range.lowerBound
            let metrics = metrics(of: run.style)
            for scalar in text.unicodeScalars {
                let end = offset + Character(scalar).utf8.count
                let isVisible = scalar != "\u{2060}" && scalar != "\u{2028}"
                glyphs.append(
                    Glyph(
                        character: Character(scalar), range: offset..<end,
                        advance: run.placeholder?.advance ?? (isVisible ? run.style.fontSize / 2 : 0),
                        ascent: run.placeholder.map { $0.ascent ?? 0 } ?? metrics.ascent,
                        descent: run.placeholder == nil ? metrics.descent : 0))
                offset = end
            }
        }
        return glyphs
    }

    /// Returns the number of glyphs in the first line. A word that doesn't fit is cut.
    private static func count(_ glyphs: ArraySlice<Glyph>, fitting room: Double) -> Int {
        var width = 0.0
        var lastBreak: Int?
        for (number, glyph) in glyphs.enumerated() {
            if glyph.character == "\u{2028}" { return number + 1 }
            width += glyph.advance
            if glyph.character == " " {
                lastBreak = number + 1
            } else if width > room + 1e-6 {
                return lastBreak ?? max(number, 1)
            }
        }
        return glyphs.count
    }

    private func line(_ glyphs: ArraySlice<Glyph>, of paragraph: TextParagraph) -> Line {
        var (x, width) = (0.0, 0.0)
        var stops: [(offset: Int, x: Double)] = []
        for glyph in glyphs {
            stops.append((glyph.range.lowerBound, x))
            x += glyph.advance
            if glyph.character != " " { width = x }
        }
        let end = glyphs.last?.range.upperBound ?? 0
        stops.append((end, x))
        let empty = metrics(of: paragraph.runs[0].style)
        return Line(
            text: String(glyphs.map(\.character)), range: (glyphs.first?.range.lowerBound ?? 0)..<end, width: width,
            ascent: glyphs.map(\.ascent).max() ?? empty.ascent, descent: glyphs.map(\.descent).max() ?? empty.descent,
            stops: stops)
    }
}
