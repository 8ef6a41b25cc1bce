import ArgumentParser
import Foundation

@main
struct BenchmarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Benchmarks",
        abstract: "Times Sluice and named peers in the same run, and prints a table.",
        discussion: """
            A missed figure is not a failure. The exit code is 1 if a row could not run or computed a wrong result. \
            A row that lacks a program is a failure only with --require-all.
            """)

    @Option(help: .init("Only rows with this text in their name. May be given several times.", valueName: "text"))
    var filter: [String] = []

    @Option(help: .init("How often each pair is timed, an odd number. 7 by default, 3 with --quick.", valueName: "n"))
    var rounds: Int?

    @Flag(help: "Fewer rounds and less work in each.")
    var quick = false

    @Flag(help: "Fail if a row cannot run because a program is missing.")
    var requireAll = false

    @Option(help: .init("Also write the results to a file, which is updated after each row.", valueName: "file"))
    var json: String?

    @Option(
        help: .init(
            "Fail unless the measured rows are those in this file, in the format of --list.", valueName: "file"))
    var expected: String?

    @Option(help: .init("The path of sluice. By default in the directory of this program.", valueName: "path"))
    var sluice: String?

    @Flag(help: "Print the names of the rows and exit.")
    var list = false

    func validate() throws {
        if let rounds, rounds < 1 { throw ValidationError("--rounds must be at least 1; it is \(rounds).") }
    }

    func run() async throws {
        let rows = Catalog.rows.filter { isWanted($0.name) }
        if rows.isEmpty {
            throw ValidationError(
                "No row has \(filter.joined(separator: " or ")) in its name. Pass --list to see all names.")
        }
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
            report.compare(with: lines.filter { Catalog.isBuilt($0) && isWanted($0) })
        }
        if !report.problems.isEmpty { print("\n" + report.problems.joined(separator: "\n")) }
        if report.isFailure { throw ExitCode.failure }
    }

    private func isWanted(_ name: String) -> Bool { filter.isEmpty || filter.contains { name.contains($0) } }

    private var stage: Stage {
        let program = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        let directory = program.deletingLastPathComponent()
        return Stage(
            isQuick: quick, rounds: rounds ?? (quick ? 3 : 7),
            sluice: sluice.map { URL(filePath: $0) } ?? directory.appending(path: "sluice"),
            childUsage: directory.appending(path: "ChildUsage"))
    }
}
