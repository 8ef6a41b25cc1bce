import SluiceConcurrency
import TestSupport

enum SingleFlightScenarios {
    static var all: [Scenario] { [finishing] }

    /// Two callers use one key. One is cancelled as the operation ends.
    private static var finishing: Scenario {
        Scenario(
            "single flight/end of the operation against cancel",
            claim: "the other gets the value; nothing is in flight",
            sides: ("got the value", "cancelled")
        ) { heat in
            let flights = SingleFlight<Int, Int>()
            let gates = (0..<heat.rounds).map { _ in Condition.makeCondition() }
            let joined = Counter()
            // The number of operations that are about to end.
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

// MARK: - Lazy values

enum LazyScenarios {
    static var all: [Scenario] { success + failure }

    /// The work ends with a value while a waiting caller is cancelled.
    private static var success: [Scenario] {
        Contest.scenarios(
            "lazy/value against cancel", claim: "one outcome; the work ran once, and its value is kept",
            sides: ("the value", "cancelled")
        ) {
            let (gate, opened) = Condition.makeCondition()
            let runs = Counter()
            let lazy = AsyncLazy {
                runs.add()
                await gate.wait()
                return 7
            }
            let first = Task { try await lazy.value }
            await spin { runs.value == 1 }
            return Contest(
                wait: { try await ending(of: lazy) },
                serve: { opened.signal() },
                check: { _ in
                    try claim(try await first.value == 7, "the first caller got another value")
                    try claim(try await lazy.value == 7, "the value was lost")
                    try claim(runs.value == 1, "the work ran \(runs.value) times")
                })
        }
    }

    /// The first attempt fails while the caller that would retry next is cancelled.
    private static var failure: [Scenario] {
        Contest.scenarios(
            "lazy/failure against cancel of the next", claim: "the next tries, or leaves the turn to a later caller",
            sides: ("tried next", "cancelled")
        ) {
            let (gate, opened) = Condition.makeCondition()
            let runs = Counter()
            let lazy = AsyncLazy {
                let isFirst = runs.value == 0
                runs.add()
                if isFirst {
                    await gate.wait()
                    throw Broken("the first attempt fails on purpose")
                }
                return 7
            }
            let first = Task { try await lazy.value }
            await spin { runs.value == 1 }
            return Contest(
                wait: { try await ending(of: lazy) },
                serve: { opened.signal() },
                check: { _ in
                    try claim((try? await first.value) == nil, "the first caller got a value")
                    try claim(try await lazy.value == 7, "no later caller could try")
                    try claim(runs.value == 2, "the work ran \(runs.value) times")
                })
        }
    }

    private static func ending(of lazy: AsyncLazy<Int>) async throws -> Ending {
        do {
            try claim(try await lazy.value == 7, "another value")
            return .served
        } catch is CancellationError {
            return .cancelled
        }
    }
}
