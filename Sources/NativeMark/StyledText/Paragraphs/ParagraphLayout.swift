/// Styled text as views lay it out: paragraphs one below the other, with the markers that the string does not have, and with
/// indents and spacings added up over the blocks around each.
///
/// ```text
/// > - one      a bar at 0, the marker "•" at 11.5, and text at 28
/// >   two      which is the same paragraph
/// ```
///
/// Whatever the back-ends on Apple's platforms have to decide is decided here, where every platform tests it; they translate.
/// All lengths are points. Linear in the length of the text.
struct ParagraphLayout: Sendable, Hashable {
    /// All paragraphs in order. A code block has one for each line, a table one for each row.
    var paragraphs: [Paragraph] = []

    /// Lays out a text.
    ///
    /// - Parameters:
    ///   - text: What to lay out.
    ///   - width: How wide a piece of text is. Asked for markers and the cells of tables.
    init(_ text: StyledText, width: @escaping (Substring, ResolvedTextStyle) -> Double = Self.estimatedWidth) {
        var builder = ParagraphBuilder(text: text, width: width)
        builder.build()
        paragraphs = builder.paragraphs
    }

    /// The paragraphs that stand together: the rows of a table, or one paragraph.
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

    /// What a text is wide in an average font, where nobody can measure it: a column of a terminal is 0.55 em.
    static func estimatedWidth(_ text: Substring, _ style: ResolvedTextStyle) -> Double {
        Double(TerminalText.width(of: String(text))) * style.fontSize * 0.55
    }

    /// Lines of text that begin anew, with what stands in front of them.
    struct Paragraph: Sendable, Hashable {
        /// The block that it is of: one with text, the row of a table, or an item with nothing in it.
        var block: Int
        /// The text, in one piece unless it is the row of a table.
        var cells: [Cell]
        /// What stands in front of the first line, outermost first.
        var markers: [Marker] = []
        /// Where the text of the first line begins, behind the markers.
        var firstIndent: Double
        /// Where the other lines begin.
        var indent: Double
        /// Room behind all lines.
        var trailingIndent: Double
        /// Room above, between this paragraph and the one before.
        var space = 0.0
        /// Extra room between lines.
        var lineSpacing: Double
        /// Where the lines stand between the indents.
        var alignment: StyleSheet.Alignment
        /// Lines in front of it, outermost first.
        var bars: [Bar] = []
        /// The colour behind it.
        var background: Background?
        /// The table that it is a row of.
        var table: Int?

        /// Where the first line begins: at the first marker, if there is one.
        var start: Double { markers.first?.start ?? firstIndent }

        /// Where what stands behind a marker begins: the next one, or the text.
        func end(ofMarker index: Int) -> Double {
            index + 1 < markers.count ? markers[index + 1].start : firstIndent
        }
    }

    /// Text of a paragraph, or of one column of it.
    struct Cell: Sendable, Hashable {
        /// What it is made of.
        var pieces: [Piece]
        /// Where it stands, unless it is at the indent.
        var tab: Tab?
        /// How its column is aligned.
        var alignment = Document.Alignment.none
    }

    /// A part of a run.
    struct Piece: Sendable, Hashable {
        /// The run in ``StyledText/runs``.
        var run: Int
        /// The part of ``StyledText/string``, in UTF-8 bytes.
        var range: Range<Int>
    }

    /// A stop that text is set at.
    struct Tab: Sendable, Hashable {
        /// How far behind the edge.
        var location: Double
        /// Whether text begins there, ends there, or has its middle there.
        var alignment: StyleSheet.Alignment
    }

    /// What stands in front of an item.
    struct Marker: Sendable, Hashable {
        var text: String
        var style: ResolvedTextStyle
        /// Where it begins.
        var start: Double
    }

    /// A line in front of a paragraph: the leading border of a block around it.
    struct Bar: Sendable, Hashable {
        /// Where it begins.
        var start: Double
        var width: Double
        var color: StyleSheet.Tone
        /// Whether it goes on from the paragraph before.
        var joins: Bool
    }

    /// A colour behind a paragraph.
    struct Background: Sendable, Hashable {
        var color: StyleSheet.Tone
        /// Where it begins.
        var start: Double
        /// Room behind it.
        var trailing: Double
        /// Whether it goes on from the paragraph before.
        var joins: Bool
    }
}

extension StyledText {
    /// The text of a part of a run.
    func string(of piece: ParagraphLayout.Piece) -> Substring {
        let start = string.utf8.index(string.utf8.startIndex, offsetBy: piece.range.lowerBound)
        return string[start..<string.utf8.index(start, offsetBy: piece.range.count)]
    }
}
