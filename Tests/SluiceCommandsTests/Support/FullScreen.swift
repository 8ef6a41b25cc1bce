/// The parts of a terminal that a full-screen program uses: the alternate screen, the cursor's visibility, and lines that are written over.
struct FullScreen {
    let columns: Int
    let rows: Int
    private(set) var isAlternate = false
    private(set) var isCursorVisible = true
    /// How often the alternate screen was entered.
    private(set) var entries = 0
    /// Unknown controls, and output outside of the screen.
    private(set) var unknown: [String] = []
    private var cells: [[Character]]
    private var (row, column) = (0, 0)

    /// Shows everything that a program has written to the terminal.
    init(columns: Int, rows: Int, showing output: String) {
        (self.columns, self.rows) = (columns, rows)
        cells = Array(repeating: [], count: rows)
        var rest = output[...]
        while let character = rest.popFirst() {
            switch character {
            case "\r\n": (row, column) = (row + 1, 0)
            case "\r": column = 0
            case "\n": row += 1
            case "\u{1B}": rest = control(rest)
            default: put(character)
            }
        }
    }

    /// Without spaces at the ends.
    var lines: [String] {
        cells.map { line in
            var text = String(line)
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    private mutating func put(_ character: Character) {
        guard row < rows, column < columns else { return unknown.append("\(character) at \(row), \(column)") }
        while cells[row].count <= column { cells[row].append(" ") }
        cells[row][column] = character
        column += 1
    }

    private mutating func control(_ text: Substring) -> Substring {
        guard text.first == "[", let end = text.dropFirst().firstIndex(where: { $0.isLetter }) else {
            unknown.append("ESC \(text.prefix(1))")
            return text
        }
        switch text[text.startIndex...end] {
        case "[H": (row, column) = (0, 0)
        case "[K": if row < rows { cells[row].removeLast(max(cells[row].count - column, 0)) }
        case "[?25h": isCursorVisible = true
        case "[?25l": isCursorVisible = false
        case "[?1049h":
            (isAlternate, cells, entries) = (true, Array(repeating: [], count: rows), entries + 1)
            (row, column) = (0, 0)
        case "[?1049l": isAlternate = false
        default: unknown.append("ESC \(text[text.startIndex...end])")
        }
        return text[text.index(after: end)...]
    }
}
