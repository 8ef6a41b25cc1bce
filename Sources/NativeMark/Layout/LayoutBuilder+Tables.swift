/// The tables of a layout.
extension LayoutBuilder {
    private struct Cell {
        var block: Int
        var paragraph: LayoutParagraph
        var alignment: StyleSheet.Alignment
        var padding: ResolvedBlockStyle.Padding

        mutating func scale(by factor: Double) {
            paragraph.scale(by: factor)
            padding.scale(by: factor)
        }
    }

    /// Columns are as wide as their content if all fit; otherwise they share the width in proportion to what they could use, and cells wrap.
    /// If not even the longest words fit, the text gets smaller, down to half of its size. Words of a table that is still too wide are cut.
    mutating func table(_ table: Int) {
        place()
        let style = text.blocks[table].style
        var rows = tableRows(of: table)
        let columns = rows.map(\.cells.count).max() ?? 0
        guard columns > 0 else { return }
        let frame = frames[frames.count - 1]
        let border = style.tableBorder
        let edges = (start: border?.width(of: .leading) ?? 0, end: border?.width(of: .trailing) ?? 0)
        let gap = Self.points(style.columnLine?.width ?? 0)
        let lines = edges.start + edges.end + gap * Double(columns - 1)
        let room = frame.right - frame.left - lines
        let widths = columnWidths(of: &rows, count: columns, room: room)
        let isRightToLeft = isRightToLeft[table]
        let total = lines + widths.reduce(0, +)
        let left = isRightToLeft ? max(frame.right - total, 0) : frame.left
        let right = left + total
        let top = y
        boxTop = boxTop ?? top
        let slot = backgrounds.count
        backgrounds += [nil, nil]
        y += border?.width(of: .top) ?? 0
        let linesAbove = lineCount
        var shownLines = 0
        for (number, row) in rows.enumerated() {
            // Rows are shown whole or not at all.
            lineCount = linesAbove + shownLines
            last = nil
            guard hasRoomForLine() else { break }
            var highest = 1
            let rowTop = y
            let firstLine = self.rows.count
            let rowSlot = backgrounds.count
            backgrounds.append(nil)
            var x = left + edges.start
            var bottom = y
            for (cell, width) in zip(row.cells, widths) {
                y = rowTop + cell.padding.top
                (lineCount, isInRow) = (0, true)
                let start = isRightToLeft ? left + right - x - width : x
                let padding =
                    isRightToLeft
                    ? (cell.padding.trailing, cell.padding.leading) : (cell.padding.leading, cell.padding.trailing)
                put(
                    cell.paragraph, cell.block, alignment: cell.alignment, left: start + padding.0,
                    right: start + width - padding.1, firstIndent: 0)
                bottom = max(bottom, y + cell.padding.bottom)
                highest = max(highest, lineCount)
                x += width + gap
            }
            isInRow = false
            y = bottom
            shownLines += highest
            if let color = text.blocks[row.block].style.background {
                // Inside the border, which is drawn before the rows.
                let inside = LayoutRectangle(
                    x: left + edges.start, y: rowTop, width: right - left - edges.start - edges.end,
                    height: y - rowTop)
                backgrounds[rowSlot] = .fill(inside, radius: 0, color)
            }
            if number + 1 < rows.count, let line = number == 0 ? style.headerLine : style.rowLine {
                let width = Self.points(line.width)
                if width > 0 {
                    let rule = LayoutRectangle(x: left, y: y, width: right - left, height: width)
                    content.append(.rule(filling: rule, along: .top, line.color, line.pattern))
                }
                y += width
            }
            // A page doesn't end inside of a row.
            self.rows.removeSubrange(firstLine...)
            addRow(of: row.block, from: rowTop)
        }
        lineCount = linesAbove + shownLines
        last = nil
        y += border?.width(of: .bottom) ?? 0
        self.rows[self.rows.count - 1].bottom = y
        let rectangle = LayoutRectangle(x: left, y: top, width: right - left, height: y - top)
        if let color = style.background {
            backgrounds[slot] = .fill(rectangle, radius: Self.points(border?.cornerRadius ?? 0), color)
        }
        if let border, !border.edges.isEmpty, Self.points(border.width) > 0 {
            backgrounds[slot + 1] = .stroke(rectangle, border.placed(isRightToLeft: isRightToLeft))
        }
        guard let line = style.columnLine, gap > 0 else { return }
        var x = left + edges.start
        for width in widths.dropLast() {
            x += width
            let position = isRightToLeft ? left + right - x - gap : x
            let rule = LayoutRectangle(x: position, y: top, width: gap, height: y - top)
            content.append(.rule(filling: rule, along: .leading, line.color, line.pattern))
            x += gap
        }
    }

    private mutating func tableRows(of table: Int) -> [(block: Int, cells: [Cell])] {
        var rows: [(block: Int, cells: [Cell])] = []
        for index in table + 1..<max(text.blocks[table].end, table + 1) {
            switch text.blocks[index].kind {
            case .tableRow: rows.append((index, []))
            case .tableCell(_, _, let alignment):
                let style = text.blocks[index].style
                var padding = style.padding
                if padding == .init() {
                    let size = style.text.fontSize
                    // As a browser does without a rule of the sheet.
                    padding = .init(top: 0.2 * size, leading: 0.6 * size, bottom: 0.2 * size, trailing: 0.6 * size)
                }
                padding = .init(
                    top: Self.points(padding.top), leading: Self.points(padding.leading),
                    bottom: Self.points(padding.bottom), trailing: Self.points(padding.trailing))
                rows[rows.count - 1].cells.append(
                    Cell(
                        block: index, paragraph: layoutParagraph(takeRuns(of: index), of: index, room: nil),
                        alignment: .init(alignment, default: style.alignment), padding: padding))
            default: break
            }
        }
        return rows
    }

    /// The text of a table that is too wide isn't smaller than this fraction of its size.
    private static let smallestScale = 0.5

    /// Returns the widths of the columns. Makes the text smaller if the longest words don't fit.
    private func columnWidths(
        of rows: inout [(block: Int, cells: [Cell])], count: Int, room: Double
    ) -> [Double] {
        func widest(_ width: (TextParagraph) -> Double) -> [Double] {
            var widths = Array(repeating: 0.0, count: count)
            for row in rows {
                for (column, cell) in row.cells.enumerated() {
                    let padding = cell.padding.leading + cell.padding.trailing
                    widths[column] = max(widths[column], width(cell.paragraph.paragraph) + padding)
                }
            }
            return widths
        }
        var preferred = widest(engine.width)
        if preferred.reduce(0, +) <= room { return preferred }
        var minimum = widest(engine.minimumWidth)
        let wanted = minimum.reduce(0, +)
        if wanted > room, room > 0 {
            // A little smaller, so that rounding doesn't cut a word.
            let factor = max(room / wanted * 0.999, Self.smallestScale)
            for row in rows.indices {
                for cell in rows[row].cells.indices { rows[row].cells[cell].scale(by: factor) }
            }
            (minimum, preferred) = (minimum.map { $0 * factor }, preferred.map { $0 * factor })
        }
        let (least, most) = (minimum.reduce(0, +), preferred.reduce(0, +))
        if most <= room { return preferred }
        guard least < room else { return minimum.map { least > 0 ? max($0 * room / least, 1) : 1 } }
        return zip(minimum, preferred).map { $0 + ($1 - $0) * (room - least) / (most - least) }
    }
}

extension StyleSheet.Alignment {
    fileprivate init(_ alignment: Document.Alignment, default other: Self) {
        switch alignment {
        case .none: self = other
        case .leading: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}
