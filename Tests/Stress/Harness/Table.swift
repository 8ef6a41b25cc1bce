import Foundation

/// The table of results. The name of a row is written when it starts, so that the table shows the row of a crash.
struct Table {
    private let nameWidth: Int
    private let sideWidth: Int

    init(_ scenarios: [Scenario]) {
        nameWidth = max(8, scenarios.map(\.name.count).max() ?? 0)
        sideWidth = 8 + (scenarios.flatMap { [$0.sides.first.count, $0.sides.second.count] }.max() ?? 0)
    }

    func writeHead() {
        let cells = [
            pad("scenario", nameWidth), pad("rounds", 9), pad("won by one", sideWidth), pad("by the other", sideWidth),
            pad("overlap", 7),
            pad("seconds", 7), "",
        ]
        write("| " + cells.joined(separator: " | ") + "\n")
        let rules = [nameWidth, 9, sideWidth, sideWidth, 7, 7].map { String(repeating: "-", count: $0) }
        write("| " + rules.joined(separator: " | ") + " | - |\n")
    }

    func writeStart(of scenario: Scenario) {
        write("| \(pad(scenario.name, nameWidth)) | ")
    }

    func writeEnd(of scenario: Scenario, _ outcome: Outcome) {
        let cells = [
            pad("\(outcome.rounds)", 9), pad("\(outcome.firstWon) \(scenario.sides.first)", sideWidth),
            pad("\(outcome.secondWon) \(scenario.sides.second)", sideWidth),
            pad(outcome.linedUp == 0 ? "" : "\(outcome.sideBySide * 100 / outcome.linedUp) %", 7),
            pad(String(format: "%.1f", outcome.seconds), 7), outcome.problems.isEmpty ? outcome.remark : "BROKEN",
        ]
        write(cells.joined(separator: " | ") + " |\n")
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
