import Foundation

/// The results and problems of a run.
struct Report {
    /// The file for the results as JSON; nil for none.
    let json: URL?
    /// Whether a row that didn't run is a failure.
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

    /// Compares the measured rows with a list of lines of the form `row, against peer`. A difference is a failure.
    mutating func compare(with expected: [String]) {
        let measured = results.map { "\($0.row), against \($0.peer)" }
        let missing = expected.filter { !measured.contains($0) }.map { "missing: \($0)" }
        let unexpected = measured.filter { !expected.contains($0) }.map { "not in the list of expected rows: \($0)" }
        problems += missing + unexpected
        isFailure = isFailure || !missing.isEmpty || !unexpected.isEmpty
    }

    /// Writes the results if there is a file for them.
    func write() throws {
        guard let json else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(results).write(to: json, options: .atomic)
    }
}
