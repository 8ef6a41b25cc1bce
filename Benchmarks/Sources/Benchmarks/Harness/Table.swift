/// Results as a table that is aligned as plain text and valid as Markdown.
enum Table {
    private static let head = [
        "row", "unit", "ours", "peer", "peer's", "ratio", "min–max", "figure", "", "CPU each: ours, peer's",
        "peak MiB",
    ]
    /// Columns of numbers, set to the right.
    private static let numbers: Set = [2, 4, 5]

    static func text(_ results: [RowResult]) -> String {
        let rows = [head] + results.map(cells)
        let widths = head.indices.map { column in rows.map(\.[column].count).max() ?? 0 }
        var lines = rows.map { row in
            line(row.indices.map { pad(row[$0], to: widths[$0], right: numbers.contains($0)) })
        }
        let rule = widths.indices.map { column in
            numbers.contains(column)
                ? String(repeating: "-", count: max(1, widths[column] - 1)) + ":"
                : String(repeating: "-", count: max(1, widths[column]))
        }
        lines.insert(line(rule), at: 1)
        return lines.joined(separator: "\n")
    }

    private static func cells(of result: RowResult) -> [String] {
        [
            result.row, result.unit, Format.number(result.ours.median), result.peer, Format.number(result.peers.median),
            Format.number(result.ratio.median),
            "\(Format.number(result.ratio.least))–\(Format.number(result.ratio.most))",
            result.figure ?? "", result.isMet.map { $0 ? "met" : "missed" } ?? "",
            "\(Format.seconds(result.oursProcessorSeconds)), \(Format.seconds(result.peersProcessorSeconds))",
            peaks(of: result),
        ]
    }

    private static func peaks(of result: RowResult) -> String {
        guard let ours = result.oursPeakBytes, let peers = result.peersPeakBytes else { return "" }
        return "\(Format.number((ours / 1_048_576).rounded())), \(Format.number((peers / 1_048_576).rounded()))"
    }

    private static func pad(_ text: String, to width: Int, right: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return right ? space + text : text + space
    }

    private static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}
