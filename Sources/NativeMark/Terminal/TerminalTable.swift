struct TerminalTable {
    struct Cell {
        var block: Int
        var runs: ArraySlice<StyledText.Run>
        var content: InlineText
        var alignment: Document.Alignment
        var style: ResolvedTextStyle
        var background: StyleSheet.Tone?
        /// The widths of the widest line and of the widest part that can't be broken.
        var extent: (longest: Int, unbreakable: Int)
    }

    /// The minimum width of a column, unless its text is narrower. Narrower columns aren't readable.
    static let leastWidth = 5
    /// The minimum width of a column that breaks words. In a narrower column, broken words are harder to read than a record.
    static let leastWidthOfBrokenWords = 10

    private(set) var rows: [[Cell]] = []
    /// The style of the table, with its lines.
    let style: ResolvedBlockStyle
    var columnCount: Int { rows.first?.count ?? 0 }

    /// Reads the cells of the table at `index`. Each image in `images` replaces its description.
    init(
        layout: TerminalLayout, index: Int, runs: ArraySlice<StyledText.Run>,
        images: [Int: TerminalRenderer.Image] = [:]
    ) {
        let text = layout.text
        let table = text.blocks[index]
        style = table.style
        var runs = runs
        var rowBackground: StyleSheet.Tone?
        for block in index + 1..<table.end {
            switch text.blocks[block].kind {
            case .tableRow:
                rows.append([])
                rowBackground = text.blocks[block].style.background ?? layout.top.background
            case .tableCell(_, _, let alignment) where !rows.isEmpty:
                let cell = text.blocks[block]
                let own = runs.prefix { $0.block == block }
                runs = runs.dropFirst(own.count)
                var content = layout.inlineText(of: own, in: cell, images: images)
                content.measure(limit: Self.leastWidth) { layout.columns($0.kerning) }
                rows[rows.count - 1].append(
                    Cell(
                        block: block, runs: own, content: content, alignment: alignment, style: cell.style.text,
                        background: cell.style.background ?? rowBackground, extent: content.extent()))
            default: break
            }
        }
    }

    /// Whether no image is wider than its column.
    func hasRoomForImages(in widths: [Int]) -> Bool {
        rows.allSatisfy { zip($0, widths).allSatisfy { cell, width in cell.content.widestImage <= width } }
    }

    /// Returns the widths of the columns, or `nil` if a table of that width wouldn't be readable.
    ///
    /// Each column first gets the width of its longest word. If there isn't room for that, a column gets at most an even share of the whole
    /// width. Columns with more text then get more of the rest, so that the tallest cells of all columns have about the same number of
    /// lines.
    func widths(in room: Int) -> [Int]? {
        let wanted = (0..<columnCount).map { column in max(rows.map { $0[column].extent.longest }.max() ?? 0, 1) }
        let inside = style.columnLine == nil ? 2 : 3
        let outside = [StyleSheet.Edge.leading, .trailing].count { style.tableBorder?.edges.contains($0) == true } * 2
        let left = room - (columnCount - 1) * inside - outside
        let total = wanted.reduce(0, +)
        guard total > left else { return wanted }
        guard wanted.reduce(0, { $0 + min($1, Self.leastWidth) }) <= left else { return nil }

        let share = left / columnCount
        let words = (0..<columnCount).map { column in rows.map { $0[column].extent.unbreakable }.max() ?? 1 }
        let haveAllWordsRoom = words.reduce(0, +) <= left
        let floors = zip(wanted, words).map { wanted, word in
            min(wanted, max(haveAllWordsRoom ? word : min(word, share), min(wanted, Self.leastWidth)))
        }
        let hasRoom = floors.reduce(0, +) <= left
        let widths = Self.filled(
            hasRoom ? Self.evenHeights(floors, wanted, left) : wanted.map { min($0, Self.leastWidth) }, wanted, left)
        let breaksShortWords = zip(widths, words).contains { $0 < min($1, Self.leastWidthOfBrokenWords) }
        return breaksShortWords ? nil : widths
    }

    /// Returns the widths at which the longest text of each column takes the same number of lines, and as few as possible.
    private static func evenHeights(_ floors: [Int], _ wanted: [Int], _ left: Int) -> [Int] {
        func widths(_ lines: Int) -> [Int] { zip(floors, wanted).map { max($0, ($1 + lines - 1) / lines) } }
        let most = max(wanted.max() ?? 1, 1)
        return widths(min(1 + partitionPoint(of: most) { widths($0 + 1).reduce(0, +) > left }, most))
    }

    /// Widens the narrowest columns together, each up to its wanted width, until the space is used up.
    private static func filled(_ floors: [Int], _ wanted: [Int], _ left: Int) -> [Int] {
        func widths(_ level: Int) -> [Int] { zip(floors, wanted).map { min($1, max($0, level)) } }
        let level = partitionPoint(of: left) { widths($0 + 1).reduce(0, +) <= left }
        var result = widths(level)
        var rest = left - result.reduce(0, +)
        for index in result.indices where rest > 0 && result[index] == level && wanted[index] > level {
            result[index] += 1
            rest -= 1
        }
        return result
    }
}

// MARK: - Layout

extension TerminalLayout {
    /// Adds a table as a grid, or as one record per row if the columns would be too narrow or almost empty.
    mutating func table(_ index: Int, runs: ArraySlice<StyledText.Run>) {
        let images = placedImages(of: runs, width: top.width)
        defer { show(below: images.below) }
        if !images.inLine.isEmpty {
            let table = TerminalTable(layout: self, index: index, runs: runs, images: images.inLine)
            // If a column is narrower than an image, all images in the cells are replaced by their descriptions.
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
        let border = table.style.tableBorder
        if let border, border.edges.contains(.top) {
            rule(
                table, widths, border.color, border.pattern,
                (border.topCorners.leading, "┬", border.topCorners.trailing))
        }
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
            let below = row == 0 ? table.style.headerLine : row + 1 < table.rows.count ? table.style.rowLine : nil
            if let below { rule(table, widths, below.color, below.pattern, ("├", "┼", "┤")) }
        }
        if let border, border.edges.contains(.bottom) {
            let corners = border.bottomCorners
            rule(table, widths, border.color, border.pattern, (corners.leading, "┴", corners.trailing))
        }
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
        content.fill(cell.background)
        return Segment.spaces(offset, fill) + content + Segment.spaces(left - offset, fill)
    }

    private func separator(_ table: TerminalTable, column: Int, background: StyleSheet.Tone?) -> [Segment] {
        let isOutside = column == 0 || column == table.columnCount
        if isOutside {
            let edge = column == 0 ? StyleSheet.Edge.leading : .trailing
            guard let border = table.style.tableBorder, border.edges.contains(edge) else { return [] }
            let bar = border.pattern.vertical
            return [Segment(column == 0 ? bar + " " : " " + bar, filling(background, color: border.color))]
        }
        guard let line = table.style.columnLine else { return Segment.spaces(2, filling(background)) }
        return [Segment(" \(line.pattern.vertical) ", filling(background, color: line.color))]
    }

    /// Adds a horizontal line. `ends` are the characters where it meets a vertical one; a double line has its own.
    private mutating func rule(
        _ table: TerminalTable, _ widths: [Int], _ color: StyleSheet.Tone, _ pattern: StyleSheet.Border.Pattern,
        _ ends: (start: String, cross: String, end: String)
    ) {
        let dash = pattern.horizontal
        func joint(_ name: String) -> String { pattern == .double ? Self.doubleJoints[name] ?? name : name }
        let edges = table.style.tableBorder?.edges ?? []
        let lines = widths.map { String(repeating: dash, count: $0) }
        let first = edges.contains(.leading) ? joint(ends.start) + dash : ""
        let last = edges.contains(.trailing) ? dash + joint(ends.end) : ""
        let cross = table.style.columnLine == nil ? dash + dash : dash + joint(ends.cross) + dash
        line([Segment(first + lines.joined(separator: cross) + last, filling(top.background, color: color))])
    }

    private static let doubleJoints = ["├": "╠", "┤": "╣", "┬": "╦", "┼": "╬", "┴": "╩"]

    /// Adds each row as a record: one or more lines `name: value` for each cell, with a horizontal line between rows.
    private mutating func records(_ table: TerminalTable) {
        let header = table.rows.first ?? []
        let rows = table.rows.count > 1 ? table.rows.dropFirst() : table.rows[...]
        let names = header.map { inlineText(of: $0.runs, in: text.blocks[$0.block]) }
        for (number, cells) in rows.enumerated() {
            if number > 0 {
                let style = filling(
                    top.background, color: (table.style.headerLine ?? table.style.rowLine)?.color ?? .standard)
                line([Segment(String(repeating: "─", count: min(ruleWidth(top.width), 10)), style)])
            }
            for (column, cell) in cells.enumerated() {
                var content = InlineText()
                if table.rows.count > 1, column < header.count {
                    let look = InlineText.Look(style: header[column].style)
                    // Short names are always repeated.
                    if writer.mayRepeat(max(0, names[column].text.utf8.count - 100)) {
                        content.append(names[column])
                    } else {
                        content.append("…", look)
                    }
                    content.append(": ", look)
                }
                append(cell.runs, in: text.blocks[cell.block], to: &content)
                content.measure(limit: top.width) { columns($0.kerning) }
                for range in content.lines(.init(first: top.width, others: top.width)) {
                    line(content.segments(of: range))
                }
            }
        }
    }
}
