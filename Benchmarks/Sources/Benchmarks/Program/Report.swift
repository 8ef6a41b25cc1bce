import Foundation

/// What came of a run so far.
struct Report {
    /// Where the results go as JSON; nowhere if nil.
    let json: URL?
    /// Whether a row that did not run is a failure.
    let requireAll: Bool
    private(set) var problems: [String] = []
    private(set) var isFailure = false
    private var results: [RowResult] = []

    init(json: URL?, requireAll: Bool) {
        self.json = json
        self.requireAll = requireAll
    }

    mutating func add(_ outcome: Outcome) {
        switch outcome {
        case .measured(let result):
            results.append(result)
        case .notRun(let row, let why):
            problems.append("not run: \(row.name), against \(row.peer): \(why)")
            isFailure = isFailure || requireAll
        case .failed(let row, let why):
            problems.append("failed: \(row.name), against \(row.peer): \(why)")
            isFailure = true
        }
    }

    /// Writes the results, if they are to be written.
    func write() throws {
        guard let json else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(results).write(to: json, options: .atomic)
    }
}
