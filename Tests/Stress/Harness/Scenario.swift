/// An operation that is repeated under a race, and a claim that must hold each time.
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
    /// How often two racers were lined up, and how often on two threads.
    var linedUp = 0
    var sideBySide = 0
    var seconds = 0.0
    var remark = ""
    var problems: [String] = []
}

/// A round broke its claim.
struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Throws unless the claim holds.
func claim(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !holds { throw Broken(otherwise()) }
}

extension Scenario {
    /// Fewer rounds than this may all have one outcome by chance.
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
