/// The paragraphs of a text as one string that includes markers and tabs, with ranges as in `NSRange`.
///
/// ```text
/// - one        "•\tone\n2 items"
///
/// 2 items
/// ```
///
/// Ranges are UTF-16 offsets.
struct ParagraphText: Sendable, Hashable {
    /// All paragraphs except the last end with a line feed.
    var string = ""
    /// The spans of equal style in order. Tabs and line feeds have the style of the preceding text.
    var spans: [Span] = []
    /// The paragraphs in order, including their line feeds.
    var paragraphs: [Paragraph] = []

    struct Span: Sendable, Hashable {
        var range: Range<Int>
        var style: ResolvedTextStyle
        /// `nil` for markers and separators.
        var run: Int?
        /// The index of the image that the span represents as one U+FFFC.
        var image: Int?
    }

    struct Paragraph: Sendable, Hashable {
        var range: Range<Int>
        /// The position of the first line: that of its first marker, if there is one.
        var firstIndent: Double
        var indent: Double
        var trailingIndent: Double
        var space: Double
        var lineSpacing: Double
        /// The distance of two baselines in points, if the style sheet determines it. `nil` with an image, which would be cut off.
        var lineHeight: Double?
        var isHyphenated: Bool
        var alignment: StyleSheet.Alignment
        /// The tab stops in order, one for each tab.
        var tabs: [ParagraphLayout.Tab]
    }

    /// An image for which `hasImage` returns `false` is represented by its alternative text.
    init(_ text: StyledText, _ layout: ParagraphLayout, hasImage: (Int) -> Bool = { _ in false }) {
        for (number, paragraph) in layout.paragraphs.enumerated() {
            let start = length
            let firstSpan = spans.count
            var tabs: [ParagraphLayout.Tab] = []
            for (index, marker) in paragraph.markers.enumerated() {
                // A tab in a marker would need another stop, and a line feed would end the paragraph.
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
                    lineSpacing: paragraph.lineSpacing,
                    lineHeight: Self.lineHeight(text.blocks[paragraph.block].style, spans[firstSpan...]),
                    isHyphenated: text.blocks[paragraph.block].style.isHyphenated, alignment: paragraph.alignment,
                    tabs: tabs))
        }
    }

    /// The largest text of the paragraph determines the height, as in CSS.
    private static func lineHeight(_ style: ResolvedBlockStyle, _ spans: ArraySlice<Span>) -> Double? {
        guard let multiple = style.lineHeight, !spans.contains(where: { $0.image != nil }) else { return nil }
        return multiple * spans.reduce(style.text.fontSize) { max($0, $1.style.fontSize) }
    }

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
