/// A styled text as a vertical list of paragraphs, with item markers. Indents and spacing of the enclosing blocks are added up.
///
/// ```text
/// > - one      a bar at 0, the marker "•" at 11.5, and text at 28
/// >   two      the same paragraph
/// ```
///
/// All layout decisions for Apple platforms are made here, where tests on every platform cover them. The platform code only translates the
/// result. All lengths are in points. The layout takes linear time.
struct ParagraphLayout: Sendable, Hashable {
    /// All paragraphs in order. A code block has one paragraph per line, and a table one per row.
    var paragraphs: [Paragraph] = []

    /// Lays out a text. `width` measures markers and table cells.
    init(_ text: StyledText, width: @escaping (Substring, ResolvedTextStyle) -> Double = Self.estimatedWidth) {
        var builder = ParagraphBuilder(text: text, width: width)
        builder.build()
        paragraphs = builder.paragraphs
    }

    /// The ranges of paragraphs that belong together: all rows of a table, or a single paragraph.
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

    /// Estimates the width for an average font, where text can't be measured: a terminal column is 0.55 em.
    static func estimatedWidth(_ text: Substring, _ style: ResolvedTextStyle) -> Double {
        Double(TerminalText.width(of: String(text))) * style.fontSize * 0.55
    }

    /// A piece of text that begins on a new line, with its markers.
    struct Paragraph: Sendable, Hashable {
        /// The index of the paragraph's block: a block with text, a table row, or an empty item.
        var block: Int
        /// The text: a single cell, or one cell per column of a table row.
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
        /// The index of the table, if the paragraph is a row.
        var table: Int?

        /// The start of the first line: its first marker, or its text if there is no marker.
        var start: Double { markers.first?.start ?? firstIndent }

        /// Returns the start of the next marker, or of the text after the last marker.
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
        /// The range in ``StyledText/string``, in UTF-8 offsets.
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
        substring(piece.range)
    }
}

// MARK: - Building

/// Builds the paragraphs of a styled text. Open blocks form a stack of frames.
struct ParagraphBuilder {
    typealias Paragraph = ParagraphLayout.Paragraph

    let text: StyledText
    let width: (Substring, ResolvedTextStyle) -> Double
    private(set) var paragraphs: [Paragraph] = []
    private var frames: [Frame] = []
    private var nextRun = 0
    /// The pending space above the next paragraph: the largest spacing of the blocks that end or begin there, and the sum of their padding.
    private var spacing = 0.0
    private var padding = 0.0

    /// The indent at which nested blocks stop indenting further. It leaves half of the narrowest screen for text.
    static let deepest = 160.0

    private struct Frame {
        var block: Int
        var indent = 0.0
        var trailing = 0.0
        var bars: [Bar] = []
        var background: Background?
        var markerWidth = 0.0
        var marker: ParagraphLayout.Marker?
    }

    /// A bar of ``ParagraphLayout``, with the index of its block in place of `joins`.
    private struct Bar {
        var block: Int
        var start: Double
        var width: Double
        var color: StyleSheet.Tone
    }

    private struct Background {
        var block: Int
        var start: Double
        var trailing: Double
        var color: StyleSheet.Tone
    }

    init(text: StyledText, width: @escaping (Substring, ResolvedTextStyle) -> Double) {
        self.text = text
        self.width = width
    }

    mutating func build() {
        var index = 0
        while index < text.blocks.count {
            while let top = frames.last, index >= text.blocks[top.block].end { close() }
            begin(index)
            let block = text.blocks[index]
            if block.isTable {
                table(index)
                index = block.end
            } else {
                if block.isLeaf { leaf(index) }
                index += 1
            }
        }
        while !frames.isEmpty { close() }
    }

    // MARK: Frames

    private mutating func begin(_ index: Int) {
        let block = text.blocks[index]
        let style = block.style
        var frame = frames.last ?? Frame(block: index)
        frame.block = index
        frame.marker = nil
        spacing = max(spacing, points(style.spacingBefore))
        padding += points(style.padding.top)
        if frame.indent < Self.deepest {
            frame.indent += points(style.leadingIndent)
            let start = frame.indent
            if let border = style.border, border.edges.contains(.leading), !block.isTable {
                let width = points(border.width)
                frame.bars.append(Bar(block: index, start: start, width: width, color: border.color))
                frame.indent += width
            }
            frame.indent += points(style.padding.leading)
            frame.trailing += points(style.trailingIndent)
            if let color = style.background {
                frame.background = Background(block: index, start: start, trailing: frame.trailing, color: color)
            }
            frame.trailing += points(style.padding.trailing)
        }
        addMarker(of: block, at: index, to: &frame)
        frames.append(frame)
    }

    private mutating func close() {
        // An empty item still has a marker.
        if let top = frames.last, top.marker != nil { add(to: top.block, [.init(pieces: [])], start: top.indent) }
        let frame = frames.removeLast()
        let style = text.blocks[frame.block].style
        spacing = max(spacing, points(style.spacingAfter))
        padding += points(style.padding.bottom)
    }

    private func addMarker(of block: StyledText.Block, at index: Int, to frame: inout Frame) {
        switch block.kind {
        case .list: frame.markerWidth = text.items(of: index).map { width($0.item.marker[...], $0.style) }.max() ?? 0
        case .footnotes:
            frame.markerWidth = width("\(block.end - index).", block.style.text)
        case .item(let item) where !item.marker.isEmpty:
            set(item.marker, isNumber: item.number != nil, style: text.markerStyle(ofItem: index), in: &frame)
        case .footnote(_, let number): set("\(number).", isNumber: true, style: block.style.text, in: &frame)
        default: break
        }
    }

    /// Sets the marker of a frame. Numbers are aligned at their ends, bullets at their beginnings.
    private func set(_ marker: String, isNumber: Bool, style: ResolvedTextStyle, in frame: inout Frame) {
        let room = isNumber ? max(frame.markerWidth - width(marker[...], style), 0) : 0
        frame.marker = .init(text: marker, style: style, start: frame.indent + room)
        if frame.indent < Self.deepest { frame.indent += frame.markerWidth + style.fontSize / 2 }
    }

    // MARK: Paragraphs

    private mutating func leaf(_ index: Int) {
        var cell = ParagraphLayout.Cell(pieces: [])
        let first = points(text.blocks[index].style.firstLineIndent, least: -Self.mostPoints)
        let start = max((frames.last?.indent ?? 0) + first, 0)
        for piece in pieces(of: index) {
            guard text.blocks[index].isCode else {
                cell.pieces.append(piece)
                continue
            }
            var from = piece.range.lowerBound
            for (offset, byte) in text.string(of: piece).utf8.enumerated() where byte == 0x0A {
                let end = piece.range.lowerBound + offset
                if from < end { cell.pieces.append(.init(run: piece.run, range: from..<end)) }
                add(to: index, [cell], start: start)
                cell.pieces = []
                from = end + 1
            }
            if from < piece.range.upperBound {
                cell.pieces.append(.init(run: piece.run, range: from..<piece.range.upperBound))
            }
        }
        add(to: index, [cell], start: start)
    }

    /// Adds one paragraph per row. A column is as wide as its widest cell, and columns are one em apart.
    private mutating func table(_ table: Int) {
        let end = text.blocks[table].end
        var rows: [(block: Int, cells: [ParagraphLayout.Cell])] = []
        var widths: [Double] = []
        for index in table + 1..<max(end, table + 1) {
            switch text.blocks[index].kind {
            case .tableRow: rows.append((index, []))
            case .tableCell(_, let column, let alignment):
                let pieces = pieces(of: index)
                let wide = pieces.reduce(0) { $0 + width(text.string(of: $1), text.runs[$1.run].style) }
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], wide)
                rows[rows.count - 1].cells.append(.init(pieces: pieces, alignment: alignment))
            default: break
            }
        }
        let left = frames.last?.indent ?? 0
        let gap = text.blocks[table].style.text.fontSize
        var starts: [Double] = [left]
        for wide in widths { starts.append(starts[starts.count - 1] + wide + gap) }
        for row in rows {
            begin(row.block)
            let cells = row.cells.enumerated().map { column, cell in
                var cell = cell
                cell.tab = Self.tab(cell.alignment, isFirst: column == 0, start: starts[column], width: widths[column])
                return cell
            }
            add(to: row.block, cells, start: left, table: table)
            paragraphs[paragraphs.count - 1].indent = left
            close()
        }
    }

    private static func tab(
        _ alignment: Document.Alignment, isFirst: Bool, start: Double, width: Double
    ) -> ParagraphLayout.Tab? {
        switch alignment {
        case .none, .leading: isFirst ? nil : .init(location: start, alignment: .leading)
        case .center: .init(location: start + width / 2, alignment: .center)
        case .trailing: .init(location: start + width, alignment: .trailing)
        }
    }

    private mutating func add(to block: Int, _ cells: [ParagraphLayout.Cell], start: Double, table: Int? = nil) {
        guard let frame = frames.last else { return }
        let style = text.blocks[block].style
        let before = paragraphs.last?.block ?? -1
        var paragraph = Paragraph(
            block: block, cells: cells, firstIndent: start, indent: frame.indent, trailingIndent: frame.trailing,
            lineSpacing: points(style.lineSpacing), alignment: style.alignment, table: table)
        for index in frames.indices {
            if let marker = frames[index].marker { paragraph.markers.append(marker) }
            frames[index].marker = nil
        }
        if !paragraphs.isEmpty { paragraph.space = spacing + padding }
        (spacing, padding) = (0, 0)
        paragraph.bars = frame.bars.map {
            .init(start: $0.start, width: $0.width, color: $0.color, joins: before >= $0.block)
        }
        paragraph.background = frame.background.map {
            .init(color: $0.color, start: $0.start, trailing: $0.trailing, joins: before >= $0.block)
        }
        paragraphs.append(paragraph)
    }

    // MARK: Text

    /// Returns the runs of a block. Runs are contiguous and in the order of the blocks.
    private mutating func pieces(of block: Int) -> [ParagraphLayout.Piece] {
        var pieces: [ParagraphLayout.Piece] = []
        while nextRun < text.runs.count, text.runs[nextRun].block == block {
            pieces.append(.init(run: nextRun, range: text.runs[nextRun].range))
            nextRun += 1
        }
        return pieces
    }

    // MARK: Lengths

    private static let mostPoints = 10_000.0

    /// Limits a length to a finite range, because a style sheet may contain any number.
    private func points(_ length: Double, least: Double = 0) -> Double {
        length.isFinite ? min(max(length, least), Self.mostPoints) : 0
    }
}

// MARK: - As one string

/// The paragraphs of a text as a single string with markers and tabs.
///
/// ```text
/// - one        "•\tone\n2 items"
///
/// 2 items
/// ```
///
/// Ranges are in UTF-16 offsets, as in `NSRange`.
struct ParagraphText: Sendable, Hashable {
    /// The text. Every paragraph except the last ends with a line feed.
    var string = ""
    /// The spans of equal style, in order. A line feed, or the tab after a marker, has the style of the preceding text. A tab before a
    /// table cell has the style of its row.
    var spans: [Span] = []
    /// The paragraphs in order, including their line feeds.
    var paragraphs: [Paragraph] = []

    struct Span: Sendable, Hashable {
        var range: Range<Int>
        var style: ResolvedTextStyle
        /// The index of the run, or `nil` for markers and separators.
        var run: Int?
        /// The index of the image that the span represents as one U+FFFC.
        var image: Int?
    }

    struct Paragraph: Sendable, Hashable {
        var range: Range<Int>
        /// The start of the first line: its first marker, or its text if there is no marker.
        var firstIndent: Double
        var indent: Double
        var trailingIndent: Double
        var space: Double
        var lineSpacing: Double
        /// The distance between baselines in points, or `nil` if the font determines it. It is always `nil` for a paragraph with an image,
        /// which would be cut off.
        var lineHeight: Double?
        var isHyphenated: Bool
        var alignment: StyleSheet.Alignment
        /// The tab stops in order, one for each tab.
        var tabs: [ParagraphLayout.Tab]
    }

    /// Creates the string. If `hasImage` returns `false` for an image, its alternative text is used.
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
