/// Tables (GFM 4.10), by the rules of cmark-gfm.
extension BlockParser {
    /// Begins a table if the line is a delimiter row and the last line of the open paragraph is a header with the same number of cells.
    ///
    /// The header doesn't need a pipe: `Name` above `:---` is a table. Above `---`, it is a heading, because a delimiter row needs a pipe
    /// or a colon.
    mutating func beginTable() -> Bool {
        let index = open.count - 1
        guard open[index].tag == .paragraph, nonspace + 1 < lineEnd,
            source[nonspace] == 0x7C || source[nonspace] == 0x2D || source[nonspace] == 0x3A,
            let columns = delimiterRow()
        else { return false }
        let headerStart = open[index].lastLineSource
        var headerEnd = headerStart
        while headerEnd < source.count, source[headerEnd] != 0x0A, source[headerEnd] != 0x0D { headerEnd += 1 }
        builder.steps &+= headerEnd - headerStart
        let header = trimmed(headerStart..<headerEnd)
        var cells = 0
        forEachCell(in: header) { _, _ in cells += 1 }
        guard cells == columns.count, cells > 0 else { return false }

        keepsRegion = dependsOnLinesBefore(headerStart, of: open[index])
        takeLastLine(of: index)
        beginChild(at: headerStart)
        keepsRegion = false
        let table = NodeRecord(
            .table, start: headerStart, end: lineEnd, value: builder.alignments.count, extra: columns.count)
        builder.alignments += columns
        let node = builder.append(table, to: open[open.count - 1].node)
        open.append(OpenBlock(node: node, tag: .table))
        addRow(header, to: node, isHeader: true)
        return true
    }

    /// Whether the header would be a list or indented code if the lines before it were missing. For example, `2. a | b` can't interrupt a
    /// paragraph, and neither can an empty item.
    private func dependsOnLinesBefore(_ header: Int, of paragraph: OpenBlock) -> Bool {
        guard header > Int(builder.nodes[Int(paragraph.node)].start) else { return false }
        return switch source[header] {
        case 0x2A, 0x2B, 0x2D, 0x30...0x39: true
        default: paragraph.indentation >= 4
        }
    }

    private mutating func takeLastLine(of index: Int) {
        let paragraph = open[index]
        let lastLine = paragraph.lastLine
        builder.content.removeSubrange(lastLine...)
        builder.map.removeAll(fromSource: paragraph.lastLineSource)
        if paragraph.contentStart == lastLine {
            builder.removeLast(paragraph.node)
            open.removeLast()
        } else {
            builder.nodes[Int(paragraph.node)].end = paragraph.previousEnd
            close(downTo: index)
        }
    }

    /// Adds the line as a row. Returns `false` if it has no cells, or if that would add too many cells to short rows.
    mutating func addTableRow(to index: Int) -> Bool {
        let node = open[index].node
        let row = trimmed(nonspace..<lineEnd)
        var cells = 0
        forEachCell(in: row) { _, _ in cells += 1 }
        guard cells > 0 else { return false }
        autocompletedCells += max(0, Int(builder.nodes[Int(node)].extra) - cells)
        guard autocompletedCells <= maximalAutocompletedCells else { return false }
        addRow(row, to: node, isHeader: false)
        builder.nodes[Int(node)].end = Int32(row.upperBound)
        return true
    }

    private mutating func addRow(_ range: Range<Int>, to table: Int32, isHeader: Bool) {
        var record = NodeRecord(.tableRow, start: range.lowerBound, end: range.upperBound)
        record.detail = isHeader ? 1 : 0
        let row = builder.append(record, to: table)
        let columns = Int(builder.nodes[Int(table)].extra)
        let firstAlignment = Int(builder.nodes[Int(table)].value)
        var ranges: [Range<Int>] = []
        forEachCell(in: range) { number, cell in if number < columns { ranges.append(cell) } }
        builder.steps &+= range.count + columns
        for column in 0..<columns {
            let cell = column < ranges.count ? trimmed(ranges[column]) : range.upperBound..<range.upperBound
            var record = NodeRecord(.tableCell, start: cell.lowerBound, end: cell.upperBound)
            record.detail = UInt8(
                Document.Alignment.allCases.firstIndex(of: builder.alignments[firstAlignment + column]) ?? 0)
            guard !cell.isEmpty else {
                _ = builder.append(record, to: row)
                continue
            }
            let start = builder.content.count
            appendCell(cell)
            record.value = Int32(start)
            record.extra = Int32(builder.content.count - start)
            builder.leaves.append(builder.append(record, to: row))
        }
    }

    /// Copies a cell, without the backslashes before pipes.
    private mutating func appendCell(_ cell: Range<Int>) {
        var copied = cell.lowerBound
        builder.map.append(content: builder.content.count, source: copied)
        for index in cell {
            let isEscape = source[index] == 0x5C && index + 1 < cell.upperBound && source[index + 1] == 0x7C
            guard isEscape || source[index] == 0 else { continue }
            builder.content.append(contentsOf: source[copied..<index])
            copied = index + 1
            if source[index] == 0 {
                builder.map.append(content: builder.content.count, source: index)
                builder.content.append(contentsOf: [0xEF, 0xBF, 0xBD])
            }
            builder.map.append(content: builder.content.count, source: copied)
        }
        builder.content.append(contentsOf: source[copied..<cell.upperBound])
    }

    /// Calls `body` for each cell of a row. A pipe after a backslash doesn't separate cells. The text before the first pipe is a cell
    /// unless it is empty, and so is the text after the last pipe.
    private func forEachCell(in row: Range<Int>, _ body: (Int, Range<Int>) -> Void) {
        var number = 0
        var start = row.lowerBound
        var index = row.lowerBound
        while index < row.upperBound {
            if source[index] == 0x7C, index == row.lowerBound || source[index - 1] != 0x5C {
                if index > row.lowerBound {
                    body(number, start..<index)
                    number += 1
                }
                start = index + 1
            }
            index += 1
        }
        if start < row.upperBound { body(number, start..<row.upperBound) }
    }

    private func delimiterRow() -> [Document.Alignment]? {
        // The line is a list item, or it underlines a heading.
        if source[nonspace] == 0x2D, source[nonspace + 1].isSpaceOrTab { return nil }
        guard source[nonspace..<lineEnd].contains(where: { $0 == 0x7C || $0 == 0x3A }) else { return nil }
        var result: [Document.Alignment] = []
        var index = nonspace
        var isFirst = true
        while true {
            var end = index
            while end < lineEnd, source[end] != 0x7C {
                switch source[end] {
                case 0x2D, 0x3A, 0x20, 0x09: end += 1
                default: return nil
                }
            }
            let isLast = end == lineEnd
            let cell = trimmed(index..<end)
            if cell.isEmpty {
                guard isFirst || isLast else { return nil }
            } else {
                let leading = source[cell.lowerBound] == 0x3A
                let trailing = cell.count > 1 && source[cell.upperBound - 1] == 0x3A
                let dashes = cell.dropFirst(leading ? 1 : 0).dropLast(trailing ? 1 : 0)
                guard !dashes.isEmpty, dashes.allSatisfy({ source[$0] == 0x2D }) else { return nil }
                result.append(leading ? (trailing ? .center : .leading) : (trailing ? .trailing : .none))
            }
            if isLast { return result }
            index = end + 1
            isFirst = false
        }
    }
}
