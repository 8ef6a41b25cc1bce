extension TerminalLayout {
    mutating func leaf(_ block: StyledText.Block, runs: ArraySlice<StyledText.Run>) {
        switch block.kind {
        case .thematicBreak:
            line([Segment(String(repeating: "─", count: ruleWidth(top.width)), block.style.text)])
        case .codeBlock: code(block, inlineText(of: runs, in: block))
        case .heading(let level): heading(block, level: level, runs)
        default: paragraph(block, runs)
        }
    }

    /// Adds a heading in a way that shows its level without colors, as Markdown does: a line below the first two levels, and number signs
    /// before the others. A style sheet whose headings have a border below them distinguishes them in its own way.
    ///
    /// kitty's text sizing protocol (OSC 66) isn't used: the environment doesn't tell kitty's version, and versions before 0.40 drop the text.
    private mutating func heading(_ block: StyledText.Block, level: Int, _ runs: ArraySlice<StyledText.Run>) {
        if block.style.border?.edges.contains(.bottom) == true { return paragraph(block, runs) }
        guard level <= 2, block.style.text.fontSize > bodySize else {
            return paragraph(block, runs, marker: String(repeating: "#", count: level) + " ")
        }
        paragraph(block, runs, underline: level == 1 ? "═" : "─")
    }

    /// `marker` is shown before the first line; the other lines are indented by its width. A line of `underline` is as wide as the widest
    /// line above it.
    private mutating func paragraph(
        _ block: StyledText.Block, _ runs: ArraySlice<StyledText.Run>, marker: String = "",
        underline: Character? = nil
    ) {
        var room = room(of: block)
        // Without enough space for text, the marker isn't shown.
        let hanging = room.width - marker.utf8.count >= least ? marker.utf8.count : 0
        room.indent += hanging
        room.width -= hanging
        var first = max(room.indent + columns(block.style.firstLineIndent), hanging)
        if top.width - first - room.behind < least { first = room.indent }
        let limits = InlineText.Limits(first: top.width - first - room.behind, others: room.width)
        let limit = min(limits.first, limits.others)
        let images = placedImages(of: runs, width: limit)
        defer { show(below: images.below) }
        guard !images.runs.isEmpty || images.below.isEmpty else { return }
        var content = inlineText(of: images.runs, in: block, images: images.inLine)
        content.measure(limit: limit) { columns($0.kerning) }
        content.clampRooms(to: limit)
        let ranges = content.lines(limits)
        let widest = ranges.reduce(0) { max($0, content.width(of: $1)) }
        for (index, range) in ranges.enumerated() {
            if index > 0 { for _ in 0..<rows(block.style.lineSpacing) { emptyLine() } }
            let indent = index == 0 ? first - hanging : room.indent
            let left = (index == 0 ? limits.first : limits.others) - content.width(of: range)
            line(
                Segment.spaces(indent + offset(block.style.alignment, left), filling(top.background))
                    + (index == 0 && hanging > 0 ? [Segment(marker, block.style.text)] : [])
                    + content.segments(of: range))
        }
        guard let underline, widest > 0 else { return }
        let (indent, width) = ranges.count == 1 ? (first, limits.first) : (room.indent, limits.others)
        let length = ruleWidth(min(widest, width))
        var style = filling(top.background)
        style.color = block.style.text.color
        line(
            Segment.spaces(indent + offset(block.style.alignment, width - length), filling(top.background))
                + [Segment(String(repeating: underline, count: length), style)])
    }

    private mutating func code(_ block: StyledText.Block, _ content: InlineText) {
        var content = content
        let room = room(of: block)
        content.measure(limit: room.width) { columns($0.kerning) }
        content.clampRooms(to: room.width)
        let indent = Segment.spaces(room.indent, filling(top.background))
        for (index, range) in content.sourceLines().enumerated() {
            if index > 0 { for _ in 0..<rows(block.style.lineSpacing) { emptyLine() } }
            var range = range
            while true {
                let part = content.prefix(of: range, fitting: room.width)
                if part.upperBound == range.upperBound {
                    line(indent + content.segments(of: range))
                    break
                }
                guard renderer.longCode == .wrap, !part.isEmpty else {
                    let shown = content.prefix(of: range, fitting: room.width - 1)
                    line(indent + content.segments(of: shown) + [Segment("…", block.style.text)])
                    break
                }
                line(indent + content.segments(of: part))
                range = part.upperBound..<range.upperBound
            }
        }
    }

    /// Returns the columns before, after and within the lines of a leaf. If too few are left for text, indents are ignored.
    private func room(of block: StyledText.Block) -> (indent: Int, behind: Int, width: Int) {
        let indent = max(columns(block.style.leadingIndent), 0)
        let behind = max(columns(block.style.trailingIndent), 0)
        let width = top.width - indent - behind
        return width >= least ? (indent, behind, width) : (0, 0, top.width)
    }

    func offset(_ alignment: StyleSheet.Alignment, _ left: Int) -> Int {
        guard left > 0, !renderer.isUnlimited else { return 0 }
        return switch alignment {
        case .leading, .justified: 0
        case .center: left / 2
        case .trailing: left
        }
    }
}
