import ArgumentParser
import Foundation

@main
struct BenchmarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Benchmarks",
        abstract: "Times Sluice beside named peers in the same run, and prints a table.",
        discussion: """
            A missed figure is not a failure. It ends with 1 if a row could not run or computed something wrong; a row for \
            which a program is missing only counts with --require-all.
            """)

    @Option(help: .init("Only rows whose name contains this. May be given several times.", valueName: "text"))
    var filter: [String] = []

    @Option(help: .init("How often each pair is timed; an odd number. 7 by default, 3 with --quick.", valueName: "n"))
    var rounds: Int?

    @Flag(help: "Fewer rounds and less work in each.")
    var quick = false

    @Flag(help: "Fail where a row cannot run because a program is missing.")
    var requireAll = false

    @Option(help: .init("Also write the results to a file, anew after each row.", valueName: "file"))
    var json: String?

    @Option(
        help: .init(
            "Fail unless just the rows were measured that this file lists, as --list prints them.", valueName: "file"))
    var expected: String?

    @Option(help: .init("The sluice to run. By default the one beside this program.", valueName: "path"))
    var sluice: String?

    @Flag(help: "Print the rows' names and stop.")
    var list = false

    func validate() throws {
        if let rounds, rounds < 1 { throw ValidationError("--rounds \(rounds): must be at least 1") }
    }

    func run() async throws {
        let rows = Catalogue.rows.filter { isWanted($0.name) }
        if rows.isEmpty { throw ValidationError("no row's name contains \(filter.joined(separator: " or "))") }
        if list {
            for row in rows { print("\(row.name), against \(row.peer)") }
            return
        }
        var report = Report(json: json.map { URL(filePath: $0) }, requireAll: requireAll)
        try report.write()
        print("\(Machine.text), \(stage.rounds) rounds\(stage.isQuick ? ", quick" : "")\n")
        fflush(nil)
        let table = Table(rows)
        table.writeHead()
        let runner = Runner(stage: stage)
        for row in rows {
            table.writeStart(of: row)
            let outcome = await runner.run(row)
            table.writeEnd(outcome)
            report.add(outcome)
            try report.write()
        }
        if let expected {
            let lines = try String(contentsOfFile: expected, encoding: .utf8).split(separator: "\n").map(String.init)
            report.compare(with: lines.filter { Catalogue.isBuilt($0) && isWanted($0) })
        }
        if !report.problems.isEmpty { print("\n" + report.problems.joined(separator: "\n")) }
        if report.isFailure { throw ExitCode.failure }
    }

    private func isWanted(_ name: String) -> Bool { filter.isEmpty || filter.contains { name.contains($0) } }

    private var stage: Stage {
        let folder = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0]).deletingLastPathComponent()
        return Stage(
            isQuick: quick, rounds: rounds ?? (quick ? 3 : 7),
            sluice: sluice.map { URL(filePath: $0) } ?? folder.appending(path: "sluice"),
            childUsage: folder.appending(path: "ChildUsage"))
    }
}
