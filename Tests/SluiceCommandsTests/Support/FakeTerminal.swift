import Foundation

/// The parts of a terminal that `sluice show` uses: a screen that scrolls, and the images on it.
///
/// Images of kitty's protocol stay if text is erased. Images of iTerm2's protocol are in the cells, and the cursor moves past them,
/// as in iTerm2.
struct FakeTerminal {
    struct ShownImage: Hashable, Comparable {
        /// Counted from the first written line.
        var row: Int
        var column: Int
        var columns: Int
        var rows: Int
        var bytes: [UInt8]

        static func < (first: ShownImage, second: ShownImage) -> Bool {
            (first.row, first.column) < (second.row, second.column)
        }
    }

    let columns: Int
    let rows: Int
    /// All lines since the beginning, including those that have left the screen.
    private(set) var lines: [[Unicode.Scalar]]
    private(set) var row = 0
    private(set) var column = 0
    /// Unknown controls, and unexpected output.
    private(set) var unknown: [String] = []
    private var saved = (row: 0, column: 0)
    private var named: [String: ShownImage] = [:]
    private var inCells: [ShownImage] = []
    private var transfer: (control: [String: String], data: String)?

    init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        lines = [[]]
    }

    var loadedImages: [ShownImage] { (Array(named.values) + inCells).sorted() }

    /// The lines without trailing spaces.
    var text: [String] {
        lines.map { line in
            var text = String(String.UnicodeScalarView(line))
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    private var top: Int { max(lines.count - rows, 0) }

    mutating func write(_ output: String) {
        let scalars = Array(output.unicodeScalars)
        var place = 0
        while place < scalars.count {
            let scalar = scalars[place]
            place += 1
            switch scalar {
            case "\n":
                down()
                column = 0
            case "\r": column = 0
            case "\u{1B}": place = escape(scalars, place)
            default: put(scalar)
            }
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        if column >= columns {
            down()
            column = 0
        }
        while lines[row].count <= column { lines[row].append(" ") }
        lines[row][column] = scalar
        inCells.removeAll { $0.row..<$0.row + $0.rows ~= row && $0.column..<$0.column + $0.columns ~= column }
        column += 1
    }

    private mutating func down() {
        row += 1
        if row == lines.count { lines.append([]) }
    }

    private mutating func escape(_ scalars: [Unicode.Scalar], _ start: Int) -> Int {
        guard start < scalars.count else { return start }
        switch scalars[start] {
        case "7": saved = (row - top, column)
        case "8": (row, column) = (saved.row + top, saved.column)
        case "D": down()
        case "\\": break
        case "\u{1B}": return start
        case "[": return control(scalars, start + 1)
        case "_", "]":
            let end = scalars[start...].firstIndex { $0 == "\u{1B}" || $0 == "\u{7}" } ?? scalars.count
            string(String(String.UnicodeScalarView(scalars[start..<end])))
            return end < scalars.count && scalars[end] == "\u{7}" ? end + 1 : min(end + 2, scalars.count)
        default: unknown.append("ESC \(scalars[start])")
        }
        return start + 1
    }

    private mutating func control(_ scalars: [Unicode.Scalar], _ start: Int) -> Int {
        let end = scalars[start...].firstIndex { (0x40...0x7E).contains($0.value) } ?? scalars.count - 1
        let parameters = String(String.UnicodeScalarView(scalars[start..<end]))
        switch scalars[end] {
        case "A": row = max(row - (Int(parameters) ?? 1), top)
        case "C": column = min(column + (Int(parameters) ?? 1), columns - 1)
        case "J":
            lines.removeLast(lines.count - row - 1)
            lines[row].removeLast(max(lines[row].count - column, 0))
            inCells.removeAll { $0.row + $0.rows > row }
        case "K":
            lines[row].removeLast(max(lines[row].count - column, 0))
            inCells.removeAll { $0.row..<$0.row + $0.rows ~= row && $0.column + $0.columns > column }
        case "m": break
        default: unknown.append("CSI \(parameters)\(scalars[end])")
        }
        return end + 1
    }

    private mutating func string(_ text: String) {
        if text.hasPrefix("]1337;File=") {
            let parts = text.dropFirst(11).split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return }
            let keys = Self.keys(parts[0], separator: ";")
            place(String(parts[1]), columns: keys["width"], rows: keys["height"]) { $0.inCells.append($1) }
            guard let loadedImage = inCells.last, keys["inline"] == "1" else {
                return unknown.append(String(text.prefix(40)))
            }
            for _ in 1..<max(loadedImage.rows, 2) { down() }
            column += loadedImage.columns
        } else if text.hasPrefix("_G") {
            let parts = text.dropFirst(2).split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
            graphics(Self.keys(parts[0], separator: ","), parts.count > 1 ? String(parts[1]) : "")
        } else if !text.hasPrefix("]8;") {
            unknown.append(String(text.prefix(40)))
        }
    }

    private mutating func graphics(_ keys: [String: String], _ data: String) {
        if keys["a"] == "d" {
            named[keys["i"] ?? ""] = nil
            return
        }
        if transfer == nil { transfer = (keys, "") }
        transfer?.data += data
        guard keys["m"] == "0", let (keys, data) = transfer else { return }
        transfer = nil
        // An end without a beginning is an error that isn't reported (q=2).
        guard keys["a"] != nil || keys["q"] != "2" else { return }
        guard keys["a"] == "T", keys["f"] == "100", keys["q"] == "2", keys["C"] == "1" else {
            return unknown.append("\(keys)")
        }
        place(data, columns: keys["c"], rows: keys["r"]) { $0.named[keys["i"] ?? "\($0.named.count)"] = $1 }
    }

    private mutating func place(
        _ data: String, columns: String?, rows: String?, _ keep: (inout FakeTerminal, ShownImage) -> Void
    ) {
        guard let bytes = Data(base64Encoded: data), let columns = columns.flatMap({ Int($0) }),
            let rows = rows.flatMap({ Int($0) })
        else { return }
        if row + rows > top + self.rows { unknown.append("an image over the edge") }
        keep(&self, ShownImage(row: row, column: column, columns: columns, rows: rows, bytes: Array(bytes)))
    }

    private static func keys(_ text: Substring, separator: Character) -> [String: String] {
        Dictionary(
            text.split(separator: separator).map { key in
                let parts = key.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            }, uniquingKeysWith: { $1 })
    }
}
