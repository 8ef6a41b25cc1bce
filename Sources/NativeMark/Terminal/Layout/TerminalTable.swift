struct TerminalTable {
    struct Cell {
        var block: Int
        var runs: ArraySlice<StyledText.Run>
        var content: InlineText
        var alignment: Document.Alignment
        var style: ResolvedTextStyle
        var background: StyleSheet.Tone?
        /// The width of the widest line, and of the widest part that can't be broken.
        var extent: (longest: Int, unbreakable: Int)
    }

    /// The minimum width of a column that wants more. Narrower columns aren't readable.
    static let leastWidth = 5
    /// The width below which a column doesn't break words: a column of broken words is harder to read than a record.
    static let leastWidthOfBrokenWords = 10

    private(set) var rows: [[Cell]] = []
    let border: ResolvedBlockStyle.Border?
    var columnCount: Int { rows.first?.count ?? 0 }

    /// `images` replace the descriptions of these images.
    init(
        layout: TerminalLayout, index: Int, runs: ArraySlice<StyledText.Run>,
        images: [Int: TerminalRenderer.Image] = [:]
    ) {
        let text = layout.text
        let table = text.blocks[index]
        border = table.style.border
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
                content.clampRooms(to: Self.leastWidth)
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

    /// Returns the widths of the columns, or `nil` if the table can't be shown in a readable way.
    ///
    /// Columns first get the widths of their longest words, at the expense of columns with shorter words: if all of them have room,
    /// completely, and otherwise up to an even share of the whole width. Columns with more text then get more of the rest, so that the
    /// highest cells of all columns have about as many lines.
    func widths(in room: Int) -> [Int]? {
        let wanted = (0..<columnCount).map { column in max(rows.map { $0[column].extent.longest }.max() ?? 0, 1) }
        let inside = border == nil ? 2 : 3
        let outside = [StyleSheet.Edge.leading, .trailing].count { border?.edges.contains($0) == true } * 2
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

    /// Returns the widths at which the longest text of each column takes the same number of lines, as few as there is room for.
    private static func evenHeights(_ floors: [Int], _ wanted: [Int], _ left: Int) -> [Int] {
        func widths(_ lines: Int) -> [Int] { zip(floors, wanted).map { max($0, ($1 + lines - 1) / lines) } }
        var (low, high) = (1, max(wanted.max() ?? 1, 1))
        while low < high {
            let middle = (low + high) / 2
            if widths(middle).reduce(0, +) <= left { high = middle } else { low = middle + 1 }
        }
        return widths(low)
    }

    /// Raises the narrowest columns together, each up to its wanted width, until the space is used.
    private static func filled(_ floors: [Int], _ wanted: [Int], _ left: Int) -> [Int] {
        var (low, high) = (0, left)
        func widths(_ level: Int) -> [Int] { zip(floors, wanted).map { min($1, max($0, level)) } }
        while low < high {
            let middle = (low + high + 1) / 2
            if widths(middle).reduce(0, +) <= left { low = middle } else { high = middle - 1 }
        }
        var result = widths(low)
        var rest = left - result.reduce(0, +)
        for index in result.indices where rest > 0 && result[index] == low && wanted[index] > low {
            result[index] += 1
            rest -= 1
        }
        return result
    }
}
