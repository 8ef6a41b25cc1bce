import Foundation

/// A table of results that is aligned as plain text and valid as Markdown. The first cells of a row are written when it starts, and the
/// others when it has been measured. So a hang loses no results, and the table shows which row hangs.
struct Table {
    private enum Column: Int, CaseIterable {
        case row, peer, unit, ours, peers, ratio, range, figure, verdict, processor, peaks

        var head: String {
            switch self {
            case .row: "row"
            case .peer: "against"
            case .unit: "unit"
            case .ours: "ours"
            case .peers: "peer's"
            case .ratio: "ratio"
            case .range: "min–max"
            case .figure: "figure"
            case .verdict: "verdict"
            case .processor: "CPU each: ours, peer's"
            case .peaks: "peak MiB: ours, peer's"
            }
        }

        /// Numbers are right-aligned.
        var isNumber: Bool { self == .ours || self == .peers || self == .ratio }

        /// The columns that are known before the measurement.
        static let known: [Column] = [.row, .peer, .unit]
        static let measured = Array(allCases.dropFirst(known.count))
    }

    private let widths: [Column: Int]

    /// Makes columns that are wide enough for the known texts of these rows and for numbers with eight digits.
    init(_ rows: [Row]) {
        widths = .init(
            uniqueKeysWithValues: Column.allCases.map { column in
                let texts: [String] =
                    switch column {
                    case .row: rows.map(\.name)
                    case .peer: rows.map(\.peer)
                    case .unit: rows.map(\.unit.label)
                    case .ours, .peers: ["12,345,678"]
                    case .ratio: ["12.3"]
                    case .range: ["0.001–0.001"]
                    case .figure: rows.map { $0.figure?.text(in: $0.unit) ?? "" }
                    case .verdict: ["not run"]
                    case .processor, .peaks: []
                    }
                return (column, (texts + [column.head]).map(\.count).max() ?? 0)
            })
    }

    func writeHead() {
        write("|" + Column.allCases.map { cell($0.head, $0) }.joined() + "\n")
        write("|" + Column.allCases.map { cell(rule($0), $0) }.joined() + "\n")
    }

    func writeStart(of row: Row) {
        let texts: [Column: String] = [.row: row.name, .peer: row.peer, .unit: row.unit.label]
        write("|" + Column.known.map { cell(texts[$0] ?? "", $0) }.joined())
    }

    func writeEnd(_ outcome: Outcome) {
        let texts = texts(of: outcome)
        write(Column.measured.map { cell(texts[$0] ?? "", $0) }.joined() + "\n")
    }

    private func texts(of outcome: Outcome) -> [Column: String] {
        switch outcome {
        case .notRun: [.verdict: "not run"]
        case .failed: [.verdict: "failed"]
        case .measured(let result):
            [
                .ours: Format.number(result.ours.median),
                .peers: Format.number(result.peers.median),
                .ratio: Format.number(result.ratio.median),
                .range: "\(Format.number(result.ratio.least))–\(Format.number(result.ratio.most))",
                .figure: result.figure ?? "",
                .verdict: result.isMet.map { $0 ? "met" : "missed" } ?? "",
                .processor:
                    "\(Format.seconds(result.oursProcessorSeconds)), \(Format.seconds(result.peersProcessorSeconds))",
                .peaks: peaks(of: result),
            ]
        }
    }

    private func peaks(of result: RowResult) -> String {
        guard let ours = result.oursPeakBytes, let peers = result.peersPeakBytes else { return "" }
        return "\(Format.number((ours / 1_048_576).rounded())), \(Format.number((peers / 1_048_576).rounded()))"
    }

    private func rule(_ column: Column) -> String {
        String(repeating: "-", count: (widths[column] ?? 1) - (column.isNumber ? 1 : 0)) + (column.isNumber ? ":" : "")
    }

    private func cell(_ text: String, _ column: Column) -> String {
        let space = String(repeating: " ", count: max(0, (widths[column] ?? 0) - text.count))
        return " " + (column.isNumber ? space + text : text + space) + " |"
    }

    /// Writes without the buffer of `print`, which isn't flushed after each line if the output isn't a terminal.
    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
