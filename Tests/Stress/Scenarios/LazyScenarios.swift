import SluiceConcurrency
import TestSupport

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

    /// The first attempt fails while the caller that would try next is cancelled.
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
