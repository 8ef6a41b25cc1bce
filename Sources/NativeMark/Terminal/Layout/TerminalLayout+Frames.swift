extension TerminalLayout {
    /// Opens the frame of a block: adds the space and border above it, and composes the beginning and end of its lines.
    mutating func begin(_ index: Int) {
        let block = text.blocks[index]
        let style = block.style
        let outer = top
        // Spacing separates blocks, so the first block in a box has none above it.
        if outer.boxStart != lineCount { space(rows(style.spacingBefore)) }
        let border = block.isTable ? nil : style.border
        if let border { horizontal(border, isTop: true, of: block) }

        var frame = Frame(
            block: index, first: top.lineCount == lineCount ? outer.first : outer.others, others: outer.others,
            suffix: outer.suffix, width: outer.width, background: style.background ?? outer.background,
            lineCount: lineCount)
        addSides(of: block, border: border, to: &frame)
        switch block.kind {
        case .list: frame.markerWidth = widestMarker(in: index)
        case .item(let item) where !item.marker.isEmpty:
            addMarker(item.marker, isNumber: item.number != nil, width: outer.markerWidth, block: block, to: &frame)
        case .footnotes: frame.markerWidth = TerminalText.width(of: "\(block.end - index).")
        case .footnote(_, let number):
            addMarker("\(number).", isNumber: false, width: 0, block: block, to: &frame)
        default: break
        }
        frame.borderBelow = border
        frame.paddingBelow = rows(style.padding.bottom)
        frame.boxStart = outer.boxStart
        push(frame)
        for _ in 0..<rows(style.padding.top) { emptyLine() }
        if border?.edges.contains(.top) == true || rows(style.padding.top) > 0 {
            frames[frames.count - 1].boxStart = lineCount
        }
    }

    /// The minimum number of columns for text. Whatever would leave fewer columns isn't shown.
    var least: Int { max(min(renderer.width / 2, 10), 1) }

    private func addSides(of block: StyledText.Block, border: ResolvedBlockStyle.Border?, to frame: inout Frame) {
        let style = block.style
        let fill = filling(frame.background)
        let outside = filling(top.background)
        // Leaves add their indents line by line, because a negative first-line indent extends into the leading indent.
        let indent = block.isLeaf ? 0 : max(columns(style.leadingIndent), 0)
        let line = border.map { lineStyle($0, frame.background) }
        var before = Segment.spaces(indent, outside)
        if border?.edges.contains(.leading) == true, let line {
            before.append(Segment(renderer.isPlain ? "> " : "│", line))
        }
        // Spaces after a bar have the bar's style, so that one escape sequence is enough for all bars.
        let inside = border?.edges.contains(.leading) == true ? before.last?.look.style ?? fill : fill
        if !renderer.isPlain { before.join(Segment.spaces(max(columns(style.padding.leading), 0), inside)) }
        var behind = renderer.isPlain ? [] : Segment.spaces(max(columns(style.padding.trailing), 0), fill)
        if border?.edges.contains(.trailing) == true, let line, !renderer.isPlain { behind.append(Segment("│", line)) }
        behind += Segment.spaces(block.isLeaf ? 0 : max(columns(style.trailingIndent), 0), outside)

        let columns = (before + behind).reduce(0) { $0 + $1.width }
        guard columns > 0, frame.width - columns >= least else { return }
        frame.first.join(before)
        frame.others.join(before)
        frame.suffix = (writerNeeds(behind, frame) ? behind : []) + frame.suffix
        frame.width -= columns
    }

    /// Spaces at the end of a line are visible only on a background.
    private func writerNeeds(_ segments: [Segment], _ frame: Frame) -> Bool {
        writer.shows(frame.background) || segments.contains { $0.text.utf8.contains { $0 != 0x20 } }
    }

    private mutating func addMarker(
        _ marker: String, isNumber: Bool, width: Int, block: StyledText.Block, to frame: inout Frame
    ) {
        let marker = TerminalText.sanitized(marker)
        let columns = max(width, TerminalText.width(of: marker)) + 1
        var style = block.style.text
        if style.background == nil { style.background = frame.background }
        guard frame.width - columns >= least else {
            // There isn't enough space for a hanging marker, so it gets its own line.
            let line = TerminalText.truncated(marker, toWidth: frame.width)
            self.line([Segment(line, style)])
            frame.first = frame.others
            frame.lineCount = -1
            return
        }
        let padded = TerminalText.padded(marker, toWidth: columns - 1, alignment: isNumber ? .trailing : .leading)
        frame.first.append(Segment(padded + " ", style))
        frame.others.join(Segment.spaces(columns, filling(frame.background)))
        frame.width -= columns
    }

    /// Returns the number of columns of the widest marker of a list. All its items reserve them.
    private func widestMarker(in list: Int) -> Int {
        var widest = 0
        var index = list + 1
        while index < text.blocks[list].end {
            if case .item(let item) = text.blocks[index].kind {
                widest = max(widest, TerminalText.width(of: TerminalText.sanitized(item.marker)))
            }
            index = text.blocks[index].end
        }
        return widest
    }

    // MARK: Borders

    func lineStyle(_ border: ResolvedBlockStyle.Border, _ background: StyleSheet.Tone?) -> ResolvedTextStyle {
        var style = filling(background)
        style.color = border.color
        return style
    }

    /// Adds the horizontal border above or below a block, with its corners, inside the enclosing frame.
    mutating func horizontal(_ border: ResolvedBlockStyle.Border, isTop: Bool, of block: StyledText.Block) {
        guard border.edges.contains(isTop ? .top : .bottom) else { return }
        let indent = block.isLeaf ? 0 : max(columns(block.style.leadingIndent), 0)
        let behind = block.isLeaf ? 0 : max(columns(block.style.trailingIndent), 0)
        let room = top.width - indent - behind
        let hasRoom = room >= least
        let columns = ruleWidth(hasRoom ? room : top.width)
        let start = border.edges.contains(.leading) && columns > 1 ? (isTop ? "┌" : "└") : ""
        let end = border.edges.contains(.trailing) && columns > 1 ? (isTop ? "┐" : "┘") : ""
        let middle = String(repeating: "─", count: columns - start.count - end.count)
        line(
            Segment.spaces(hasRoom ? indent : 0, filling(top.background))
                + [Segment(start + middle + end, lineStyle(border, top.background))])
    }

    /// Returns the width of a horizontal line. It is limited in plain text, which has no right edge.
    func ruleWidth(_ width: Int) -> Int {
        renderer.isPlain ? min(width, 40) : width
    }
}
