extension TerminalLayout {
    /// Adds a table as a grid, or as one record per row if the columns would be too narrow or almost empty.
    mutating func table(_ index: Int, runs: ArraySlice<StyledText.Run>) {
        let images = placedImages(of: runs, width: top.width)
        defer { show(below: images.below) }
        if !images.inLine.isEmpty {
            let table = TerminalTable(layout: self, index: index, runs: runs, images: images.inLine)
            // Columns may be narrower than an image. All images are then their descriptions.
            if let widths = table.widths(in: top.width), table.hasRoomForImages(in: widths) {
                return grid(table, widths)
            }
        }
        let table = TerminalTable(layout: self, index: index, runs: runs)
        guard table.columnCount > 0 else { return }
        if let widths = table.widths(in: top.width), !isMostlySpace(table, widths) {
            grid(table, widths)
        } else {
            records(table)
        }
    }

    /// Whether a grid would be much longer than the text, because of many short cells below a long one.
    private func isMostlySpace(_ table: TerminalTable, _ widths: [Int]) -> Bool {
        table.rows.count * widths.reduce(0, +) > 10 * max(TerminalWriter.leastRepetitions, text.string.utf8.count)
    }

    private mutating func grid(_ table: TerminalTable, _ widths: [Int]) {
        let edges = table.border?.edges ?? []
        if edges.contains(.top) { rule(table, widths, "┌", "┬", "┐") }
        for (row, cells) in table.rows.enumerated() {
            let columns = zip(cells, widths).map { cell, width in
                (cell, width, cell.content.lines(.init(first: width, others: width)))
            }
            let height = columns.map(\.2.count).max() ?? 1
            for number in 0..<height {
                var segments: [Segment] = []
                for (column, (cell, width, lines)) in columns.enumerated() {
                    segments += separator(table, column: column, background: cell.background)
                    segments += self.cell(cell, number < lines.count ? lines[number] : 0..<0, width)
                }
                line(segments + separator(table, column: columns.count, background: columns.last?.0.background))
            }
            if row == 0, table.border != nil {
                rule(table, widths, edges.contains(.leading) ? "├" : "", "┼", edges.contains(.trailing) ? "┤" : "")
            }
        }
        if edges.contains(.bottom) { rule(table, widths, "└", "┴", "┘") }
    }

    private func cell(_ cell: TerminalTable.Cell, _ range: Range<Int>, _ width: Int) -> [Segment] {
        let left = width - cell.content.width(of: range)
        let offset =
            switch cell.alignment {
            case .none, .leading: 0
            case .center: left / 2
            case .trailing: left
            }
        let fill = filling(cell.background)
        var content = cell.content.segments(of: range)
        for index in content.indices where content[index].look.style.background == nil {
            content[index].look.style.background = cell.background
        }
        return Segment.spaces(offset, fill) + content + Segment.spaces(left - offset, fill)
    }

    private func separator(_ table: TerminalTable, column: Int, background: StyleSheet.Tone?) -> [Segment] {
        let isOutside = column == 0 || column == table.columnCount
        guard let border = table.border else { return isOutside ? [] : Segment.spaces(2, filling(background)) }
        let style = lineStyle(border, background)
        guard isOutside else { return [Segment(" │ ", style)] }
        guard border.edges.contains(column == 0 ? .leading : .trailing) else { return [] }
        return [Segment(column == 0 ? "│ " : " │", style)]
    }

    private mutating func rule(_ table: TerminalTable, _ widths: [Int], _ start: String, _ cross: String, _ end: String)
    {
        guard let border = table.border else { return }
        let lines = widths.map { String(repeating: "─", count: $0) }
        let first = border.edges.contains(.leading) ? start + "─" : ""
        let last = border.edges.contains(.trailing) ? "─" + end : ""
        line([Segment(first + lines.joined(separator: "─\(cross)─") + last, lineStyle(border, top.background))])
    }

    /// Adds each row as a record: one or more lines `name: value` for each cell, with a horizontal line between rows.
    private mutating func records(_ table: TerminalTable) {
        let header = table.rows.first ?? []
        let rows = table.rows.count > 1 ? table.rows.dropFirst() : table.rows[...]
        let names = header.map { inlineText(of: $0.runs, in: text.blocks[$0.block]) }
        for (number, cells) in rows.enumerated() {
            if number > 0 {
                let style = table.border.map { lineStyle($0, top.background) } ?? filling(top.background)
                line([Segment(String(repeating: "─", count: min(ruleWidth(top.width), 10)), style)])
            }
            for (column, cell) in cells.enumerated() {
                var content = InlineText()
                if table.rows.count > 1, column < header.count {
                    let look = InlineText.Look(style: header[column].style, link: nil)
                    // Short names are always written.
                    if writer.mayRepeat(max(0, names[column].text.utf8.count - 100)) {
                        content.append(names[column])
                    } else {
                        content.append("…", look)
                    }
                    content.append(": ", look)
                }
                append(cell.runs, in: text.blocks[cell.block], to: &content)
                content.measure(limit: top.width) { columns($0.kerning) }
                content.clampRooms(to: top.width)
                for range in content.lines(.init(first: top.width, others: top.width)) {
                    line(content.segments(of: range))
                }
            }
        }
    }
}
