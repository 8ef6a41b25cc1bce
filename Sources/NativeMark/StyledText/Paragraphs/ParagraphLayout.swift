/// A styled text as a vertical list of paragraphs, with item markers, and with the indents and spacings of enclosing blocks added up.
///
/// ```text
/// > - one      a bar at 0, the marker "•" at 11.5, and text at 28
/// >   two      the same paragraph
/// ```
///
/// All layout decisions for Apple platforms are made here, where tests on every platform cover them. The platform code only
/// translates the result. All lengths are in points. The layout takes time linear in the length of the text.
struct ParagraphLayout: Sendable, Hashable {
    /// All paragraphs in order. A code block has one paragraph for each line, a table one for each row.
    var paragraphs: [Paragraph] = []

    /// `width` measures markers and table cells.
    init(_ text: StyledText, width: @escaping (Substring, ResolvedTextStyle) -> Double = Self.estimatedWidth) {
        var builder = ParagraphBuilder(text: text, width: width)
        builder.build()
        paragraphs = builder.paragraphs
    }

    /// Ranges of paragraphs that belong together: the rows of a table, or a single paragraph.
    var sections: [Range<Int>] {
        var sections: [Range<Int>] = []
        for (index, paragraph) in paragraphs.enumerated() {
            if index > 0, paragraph.table != nil, paragraphs[index - 1].table == paragraph.table {
                sections[sections.count - 1] = sections[sections.count - 1].lowerBound..<index + 1
            } else {
                sections.append(index..<index + 1)
            }
        }
        return sections
    }

    /// An average font, for use without text measurement: a terminal column is 0.55 em.
    static func estimatedWidth(_ text: Substring, _ style: ResolvedTextStyle) -> Double {
        Double(TerminalText.width(of: String(text))) * style.fontSize * 0.55
    }

    /// Text that begins on a new line, with its markers.
    struct Paragraph: Sendable, Hashable {
        /// The index of the paragraph's block: a block with text, a table row, or an empty item.
        var block: Int
        /// The text: one cell, or one for each column of a table row.
        var cells: [Cell]
        /// The markers before the first line, outermost first.
        var markers: [Marker] = []
        /// The position of the first line's text, after the markers.
        var firstIndent: Double
        var indent: Double
        var trailingIndent: Double
        var space = 0.0
        var lineSpacing: Double
        var alignment: StyleSheet.Alignment
        /// Bars before the paragraph, outermost first.
        var bars: [Bar] = []
        var background: Background?
        /// The index of the table that the paragraph is a row of.
        var table: Int?

        /// The position of the first line: that of the first marker, if there is one.
        var start: Double { markers.first?.start ?? firstIndent }

        /// Returns the position after a marker: that of the next marker, or of the text.
        func end(ofMarker index: Int) -> Double {
            index + 1 < markers.count ? markers[index + 1].start : firstIndent
        }
    }

    struct Cell: Sendable, Hashable {
        var pieces: [Piece]
        /// The tab stop, or `nil` if the cell begins at the indent.
        var tab: Tab?
        var alignment = Document.Alignment.none
    }

    struct Piece: Sendable, Hashable {
        /// The index in ``StyledText/runs``.
        var run: Int
        /// The range in ``StyledText/string``, as UTF-8 offsets.
        var range: Range<Int>
    }

    struct Tab: Sendable, Hashable {
        /// The distance from the leading edge.
        var location: Double
        /// Whether text begins at the stop, ends there, or is centered on it.
        var alignment: StyleSheet.Alignment
    }

    struct Marker: Sendable, Hashable {
        var text: String
        var style: ResolvedTextStyle
        var start: Double
    }

    /// A vertical bar before a paragraph: the leading border of an enclosing block.
    struct Bar: Sendable, Hashable {
        var start: Double
        var width: Double
        var color: StyleSheet.Tone
        /// Whether the bar continues from the previous paragraph.
        var joins: Bool
    }

    struct Background: Sendable, Hashable {
        var color: StyleSheet.Tone
        var start: Double
        var trailing: Double
        /// Whether the background continues from the previous paragraph.
        var joins: Bool
    }
}

extension StyledText {
    func string(of piece: ParagraphLayout.Piece) -> Substring {
        let start = string.utf8.index(string.utf8.startIndex, offsetBy: piece.range.lowerBound)
        return string[start..<string.utf8.index(start, offsetBy: piece.range.count)]
    }
}
