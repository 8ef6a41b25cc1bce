extension TerminalLayout {
    mutating func leaf(_ block: StyledText.Block, runs: ArraySlice<StyledText.Run>) {
        switch block.kind {
        case .thematicBreak:
            line([Segment(String(repeating: "─", count: ruleWidth(top.width)), block.style.text)])
        case .codeBlock: code(block, inlineText(of: runs, in: block))
        default:
            if runs.count == 1, let image = runs.first?.image, show(text.images[image]) { return }
            paragraph(block, inlineText(of: runs, in: block))
        }
    }

    private mutating func paragraph(_ block: StyledText.Block, _ content: InlineText) {
        var content = content
        let room = room(of: block)
        var first = max(room.indent + columns(block.style.firstLineIndent), 0)
        if top.width - first - room.behind < least { first = room.indent }
        let limits = InlineText.Limits(first: top.width - first - room.behind, others: room.width)
        content.measure(limit: min(limits.first, limits.others)) { columns($0.kerning) }
        content.clampRooms(to: min(limits.first, limits.others))
        for (index, range) in content.lines(limits).enumerated() {
            if index > 0 { for _ in 0..<rows(block.style.lineSpacing) { emptyLine() } }
            let indent = index == 0 ? first : room.indent
            let left = (index == 0 ? limits.first : limits.others) - content.width(of: range)
            line(
                Segment.spaces(indent + offset(block.style.alignment, left), filling(top.background))
                    + content.segments(of: range))
        }
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
