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

    @Option(help: .init("Also write the results to a file.", valueName: "file"))
    var json: String?

    @Option(help: .init("The sluice to run. By default the one beside this program.", valueName: "path"))
    var sluice: String?

    @Flag(help: "Print the rows' names and stop.")
    var list = false

    func validate() throws {
        if let rounds, rounds < 1 { throw ValidationError("--rounds \(rounds): must be at least 1") }
    }

    func run() async throws {
        let rows = Catalogue.rows.filter { row in filter.isEmpty || filter.contains { row.name.contains($0) } }
        if rows.isEmpty { throw ValidationError("no row's name contains \(filter.joined(separator: " or "))") }
        if list {
            for row in rows { print("\(row.name), against \(row.peer)") }
            return
        }
        var outcomes: [Outcome] = []
        let runner = Runner(stage: stage)
        for row in rows {
            FileHandle.standardError.write(Data("\(row.name), against \(row.peer)\n".utf8))
            outcomes.append(await runner.run(row))
        }
        try report(outcomes)
    }

    private var stage: Stage {
        let folder = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0]).deletingLastPathComponent()
        return Stage(
            isQuick: quick, rounds: rounds ?? (quick ? 3 : 7),
            sluice: sluice.map { URL(filePath: $0) } ?? folder.appending(path: "sluice"),
            childUsage: folder.appending(path: "ChildUsage"))
    }

    private func report(_ outcomes: [Outcome]) throws {
        var results: [RowResult] = []
        var problems: [String] = []
        var isFailure = false
        for outcome in outcomes {
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
        print(Table.text(results))
        if !problems.isEmpty { print("\n" + problems.joined(separator: "\n")) }
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(results).write(to: URL(filePath: json))
        }
        if isFailure { throw ExitCode.failure }
    }
}
