import SluiceConcurrency
import TestSupport

enum SingleFlightScenarios {
    static var all: [Scenario] { [finishing] }

    /// Two ask for one key; one is cancelled as the operation ends.
    private static var finishing: Scenario {
        Scenario(
            "single flight/end of the operation against cancel",
            claim: "the other gets the value; nothing is in flight",
            sides: ("got the value", "cancelled")
        ) { heat in
            let flights = SingleFlight<Int, Int>()
            let gates = (0..<heat.rounds).map { _ in Condition.makeCondition() }
            let joined = Counter()
            // How many operations are about to end.
            let ending = Counter()
            func caller(_ round: Int) -> Task<Int, any Error> {
                Task {
                    joined.add()
                    defer { heat.ended.add() }
                    return try await flights.run(for: round) {
                        await gates[round].condition.wait()
                        ending.keepMaximum(round + 1)
                        var random = SeededRandom(seed: heat.seed &+ UInt64(round))
                        delay(&random)
                        return round
                    }
                }
            }
            let first = (0..<heat.rounds).map(caller)
            let second = (0..<heat.rounds).map(caller)
            await spin { joined.value == heat.rounds * 2 }
            await heat.race(
                { gates[$0].signal.signal() },
                against: { round in
                    if round.isMultiple(of: 2) { await spin(patience: 100_000) { ending.value > round } }
                    var random = SeededRandom(seed: ~heat.seed &+ UInt64(round))
                    delay(&random)
                    first[round].cancel()
                })
            for round in 0..<heat.rounds {
                let got = try? await first[round].value
                try claim(got == nil || got == round, "another's value")
                try claim(try await second[round].value == round, "the other got another value")
                (got != nil ? heat.firstWon : heat.secondWon).add()
            }
            try claim(flights.runningCount == 0, "\(flights.runningCount) are in flight")
        }
    }
}
