extension TerminalLayout {
    /// Opens the frame of a block: room above, lines above, and what its lines begin and end with.
    mutating func begin(_ index: Int) {
        let block = text.blocks[index]
        let style = block.style
        let outer = top
        // Room is between blocks: the first one in a box has none above it.
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

    /// The columns that text shall have at least: what takes them away from it is left out.
    var least: Int { max(min(renderer.width / 2, 10), 1) }

    /// Indents, the lines on both sides, and the room inside them.
    private func addSides(of block: StyledText.Block, border: ResolvedBlockStyle.Border?, to frame: inout Frame) {
        let style = block.style
        let fill = filling(frame.background)
        let outside = filling(top.background)
        // A negative indent of the first line takes from the room in front of it; a leaf adds the rest, line by line.
        let indent = block.isLeaf ? 0 : max(columns(style.leadingIndent), 0)
        let line = border.map { lineStyle($0, frame.background) }
        var before = Segment.spaces(indent, outside)
        if border?.edges.contains(.leading) == true, let line {
            before.append(Segment(renderer.isPlain ? "> " : "│", line))
        }
        // Spaces behind a bar have its looks, so that one sequence does for all bars.
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

    /// Whether anything of it can be seen: spaces at the end of a line only with a background.
    private func writerNeeds(_ segments: [Segment], _ frame: Frame) -> Bool {
        writer.shows(frame.background) || segments.contains { $0.text.utf8.contains { $0 != 0x20 } }
    }

    /// A marker in front of the first line, and as many spaces in front of the others.
    private mutating func addMarker(
        _ marker: String, isNumber: Bool, width: Int, block: StyledText.Block, to frame: inout Frame
    ) {
        let marker = TerminalText.sanitized(marker)
        let columns = max(width, TerminalText.width(of: marker)) + 1
        var style = block.style.text
        if style.background == nil { style.background = frame.background }
        guard frame.width - columns >= least else {
            // There is no room to hang: the marker has a line of its own.
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

    /// The columns of the widest marker of a list, which all its items keep free.
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

    /// The line above or below a block, with the corners that it has, in the frame around it.
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

    /// The columns of a line across; text without a width has no edge to go to.
    func ruleWidth(_ width: Int) -> Int {
        renderer.isPlain ? min(width, 40) : width
    }
}
