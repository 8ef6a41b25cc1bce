import SluiceConcurrency

enum ConditionScenarios {
    static var all: [Scenario] { signal + abandon + [crowd] }

    private static var signal: [Scenario] {
        Contest.scenarios(
            "condition/signal against cancel", claim: "one outcome; later waits return immediately",
            sides: ("signalled", "cancelled")
        ) {
            let (condition, signal) = Condition.makeCondition()
            return Contest {
                try await ending(of: condition, expecting: .signalled)
            } serve: {
                signal.signal()
            } check: { _ in
                try claim(await condition.wait() == .signalled, "the signal was lost")
            }
        }
    }

    private static var abandon: [Scenario] {
        Contest.scenarios(
            "condition/dropping the signal against cancel", claim: "one outcome; later waits return immediately",
            sides: ("abandoned", "cancelled")
        ) {
            let (condition, signal) = Condition.makeCondition()
            let owner = Slot(signal)
            return Contest {
                try await ending(of: condition, expecting: .abandoned)
            } serve: {
                owner.drop()
            } check: { _ in
                try claim(await condition.wait() == .abandoned, "that the signal went away was lost")
            }
        }
    }

    /// Signalled while many waiters come, of which every second is cancelled.
    private static var crowd: Scenario {
        Scenario(
            "condition/signal against a crowd that comes", claim: "every waiter is let go, and only once",
            sides: ("signalled", "cancelled"), heatSize: 64
        ) { heat in
            let (condition, signal) = Condition.makeCondition()
            let tasks = Slot<[Task<Ending, any Error>]>(nil)
            let half = heat.rounds / 2
            await heat.race(
                { round in
                    if round == half { signal.signal() }
                },
                against: { round in
                    let task = Task { try await ending(of: condition, expecting: .signalled) }
                    tasks.change { $0 = ($0 ?? []) + [task] }
                    if round.isMultiple(of: 2) { task.cancel() }
                })
            signal.signal()
            for task in tasks.take() ?? [] {
                (try await task.value == .served ? heat.firstWon : heat.secondWon).add()
            }
        }
    }

    private static func ending(of condition: Condition, expecting expected: Condition.Outcome) async throws -> Ending {
        do {
            let outcome = try await condition.waitUnlessCancelled()
            try claim(outcome == expected, "\(outcome) instead of \(expected)")
            return .served
        } catch is CancellationError {
            return .cancelled
        }
    }
}
