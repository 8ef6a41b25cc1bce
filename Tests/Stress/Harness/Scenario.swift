import Foundation
import TestSupport

/// A race that is repeated many times, and a claim that must hold each time.
struct Scenario: Sendable {
    /// The group, a slash, and the two sides, such as `limiter/release against cancel`. `--filter` matches it.
    let name: String
    /// The claim that each round checks.
    let claim: String
    /// The two outcomes of a round.
    let sides: (first: String, second: String)
    /// The number of rounds of a heat, which are prepared together.
    let heatSize: Int
    /// The number of rounds for each requested round.
    let share: Double
    /// Whether a run with only one outcome fails.
    let mustGoBothWays: Bool
    /// Runs `heat.rounds` rounds, and counts the outcomes.
    let body: @Sendable (Heat) async throws -> Void

    init(
        _ name: String, claim: String, sides: (String, String), heatSize: Int = 256, share: Double = 1,
        mustGoBothWays: Bool = true, _ body: @escaping @Sendable (Heat) async throws -> Void
    ) {
        self.name = name
        self.claim = claim
        self.sides = sides
        self.heatSize = heatSize
        self.share = share
        self.mustGoBothWays = mustGoBothWays
        self.body = body
    }
}

/// The result of a scenario.
struct Outcome: Sendable {
    var rounds = 0
    var firstWon = 0
    var secondWon = 0
    /// How often two racers lined up, and how often on two threads.
    var linedUp = 0
    var sideBySide = 0
    var seconds = 0.0
    var remark = ""
    var problems: [String] = []
}

/// The error of a round that broke its claim.
struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Throws unless the claim holds.
func claim(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !holds { throw Broken(otherwise()) }
}

extension Scenario {
    /// With fewer rounds, all may have the same outcome by chance.
    private static let enoughForBoth = 10_000

    /// Runs heats until the rounds are done or a claim is broken.
    func run(_ options: Options, _ watchdog: Watchdog) async -> Outcome {
        let wanted = max(1, Int(Double(options.rounds) * share))
        let began = ContinuousClock.now
        var outcome = Outcome()
        var number = 0
        var lead = Lead()
        while outcome.rounds < wanted, outcome.problems.isEmpty {
            let heat = Heat(
                scenario: name, number: number, rounds: min(heatSize, wanted - outcome.rounds),
                seed: options.seed
                    &+ name.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
                    &+ UInt64(number),
                lead: lead)
            watchdog.watch(heat)
            do {
                try await body(heat)
            } catch {
                outcome.problems.append("heat \(number): \(error)")
            }
            outcome.rounds += heat.rounds
            outcome.firstWon += heat.firstWon.value
            outcome.secondWon += heat.secondWon.value
            outcome.linedUp += heat.linedUp.value
            outcome.sideBySide += heat.sideBySide.value
            outcome.remark = heat.remark.text
            lead.adapt(firstWon: heat.firstWon.value, secondWon: heat.secondWon.value)
            number += 1
        }
        watchdog.watch(nil)
        outcome.seconds = (ContinuousClock.now - began) / .seconds(1)
        let wentOneWay = outcome.firstWon == 0 || outcome.secondWon == 0
        if mustGoBothWays, wentOneWay, outcome.rounds >= Self.enoughForBoth, outcome.problems.isEmpty {
            outcome.problems.append("only ever went one way; that is no race")
        }
        return outcome
    }
}

// MARK: - The table

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

// MARK: - The watchdog

/// Ends the program with a report when a scenario makes no progress for too long.
///
/// A thread rather than a task, because it must run even if all threads of the pool spin or wait.
final class Watchdog: Sendable {
    private let watched = Guarded<Heat?>(nil)

    init(stall: Int, seed: UInt64) {
        let thread = Thread { [self] in
            var last: (heat: ObjectIdentifier, steps: Int)?
            var quiet = 0
            while true {
                Thread.sleep(forTimeInterval: 1)
                guard let heat = watched.withLock({ $0 }) else { continue }
                let now = (heat: ObjectIdentifier(heat), steps: heat.steps)
                quiet = last.map { $0 == now } == true ? quiet + 1 : 0
                last = now
                if quiet >= stall { Self.bark("\(heat.description); no step for \(stall) s", seed) }
            }
        }
        thread.start()
    }

    /// Watches this heat from now on.
    func watch(_ heat: Heat?) {
        watched.withLock { $0 = heat }
    }

    private static func bark(_ what: String, _ seed: UInt64) -> Never {
        FileHandle.standardError.write(Data("\n\nHANGS: \(what)\nseed \(seed)\n".utf8))
        abort()
    }
}
