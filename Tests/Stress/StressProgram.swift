import Foundation

@main
enum StressProgram {
    static func main() async {
        let options: Options
        do {
            options = try Options(CommandLine.arguments.dropFirst())
        } catch {
            print("\(error)\nTry --help.")
            exit(2)
        }
        if options.wantsHelp {
            print(Options.help)
            return
        }
        let scenarios = options.select(from: Catalog.scenarios)
        if options.wantsList {
            for scenario in scenarios { print("\(scenario.name): \(scenario.claim)") }
            return
        }
        if scenarios.isEmpty {
            if let fault = options.fault {
                print("There is no fault named \(fault). See --help.")
            } else {
                print("No scenario's name contains \(options.filters.joined(separator: " or ")). See --list.")
            }
            exit(2)
        }
        exit(await run(scenarios, options) ? 0 : 1)
    }

    private static func run(_ scenarios: [Scenario], _ options: Options) async -> Bool {
        print("\(ProcessInfo.processInfo.activeProcessorCount) processors, seed \(options.seed)\n")
        let watchdog = Watchdog(stall: options.stall, seed: options.seed)
        let table = Table(scenarios)
        table.writeHead()
        var problems: [String] = []
        for scenario in scenarios {
            table.writeStart(of: scenario)
            let outcome = await scenario.run(options, watchdog)
            table.writeEnd(of: scenario, outcome)
            problems += outcome.problems.map { "\(scenario.name): \($0)" }
        }
        for problem in problems { print("\n\(problem)") }
        if !problems.isEmpty {
            print("\nRepeat with --seed \(options.seed) --filter '…'; the schedule itself is never the same.")
        }
        return problems.isEmpty
    }
}
