/// The paragraphs of a text as one string, with markers and tabs in it, and with ranges counted as `NSRange` counts them.
///
/// ```text
/// - one        "•\tone\n2 items"
///
/// 2 items
/// ```
///
/// Positions are UTF-16 code units.
struct ParagraphText: Sendable, Hashable {
    /// The whole text. Paragraphs end in a line feed, but for the last.
    var string = ""
    /// The parts of the string that look the same, in order. Tabs and line feeds have the style of what is before them.
    var spans: [Span] = []
    /// The paragraphs in order, with the line feed of each.
    var paragraphs: [Paragraph] = []

    /// A part of the string.
    struct Span: Sendable, Hashable {
        var range: Range<Int>
        var style: ResolvedTextStyle
        /// The run that it is of; nil for markers and what is between runs.
        var run: Int?
        /// The image that it is the place of, as one U+FFFC.
        var image: Int?
    }

    /// A paragraph with all that a paragraph style says.
    struct Paragraph: Sendable, Hashable {
        var range: Range<Int>
        /// Where the first line begins: at its first marker, if there is one.
        var firstIndent: Double
        var indent: Double
        var trailingIndent: Double
        var space: Double
        var lineSpacing: Double
        var alignment: StyleSheet.Alignment
        /// In order, as many as there are tabs.
        var tabs: [ParagraphLayout.Tab]
    }

    /// Writes a text out.
    ///
    /// - Parameters:
    ///   - text: The text that was laid out.
    ///   - layout: Its paragraphs.
    ///   - hasImage: Whether an image is there to be shown. The others are their alternative text.
    init(_ text: StyledText, _ layout: ParagraphLayout, hasImage: (Int) -> Bool = { _ in false }) {
        for (number, paragraph) in layout.paragraphs.enumerated() {
            let start = length
            var tabs: [ParagraphLayout.Tab] = []
            for (index, marker) in paragraph.markers.enumerated() {
                // A tab or line feed in a marker would be one more stop than there is, or end the paragraph.
                let shown = String(marker.text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
                append(shown + "\t", marker.style)
                tabs.append(.init(location: paragraph.end(ofMarker: index), alignment: .leading))
            }
            for (column, cell) in paragraph.cells.enumerated() {
                let blockStyle = text.blocks[paragraph.block].style.text
                if cell.tab != nil || column > 0 { append("\t", blockStyle) }
                if let tab = cell.tab { tabs.append(tab) }
                for piece in cell.pieces { append(piece, of: text, hasImage) }
            }
            if number < layout.paragraphs.count - 1 {
                let isEmpty = start == length
                append("\n", isEmpty ? text.blocks[paragraph.block].style.text : spans[spans.count - 1].style)
            }
            paragraphs.append(
                .init(
                    range: start..<length, firstIndent: paragraph.start, indent: paragraph.indent,
                    trailingIndent: paragraph.trailingIndent, space: paragraph.space,
                    lineSpacing: paragraph.lineSpacing, alignment: paragraph.alignment, tabs: tabs))
        }
    }

    /// The UTF-16 code units so far.
    private var length = 0

    private mutating func append(_ piece: ParagraphLayout.Piece, of text: StyledText, _ hasImage: (Int) -> Bool) {
        let run = text.runs[piece.run]
        if let image = run.image, hasImage(image) {
            append("\u{FFFC}", run.style, run: piece.run, image: image)
        } else {
            append(text.string(of: piece), run.style, run: piece.run)
        }
    }

    private mutating func append(
        _ piece: some StringProtocol, _ style: ResolvedTextStyle, run: Int? = nil, image: Int? = nil
    ) {
        let start = length
        string += piece
        length += piece.utf16.count
        if start < length { spans.append(.init(range: start..<length, style: style, run: run, image: image)) }
    }
}
