import SluiceConcurrency
import TestSupport

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

    /// The condition is signalled while many waiters arrive. Every other one is cancelled.
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

// MARK: - Promises, monitors and deadlines

/// Promises, monitors, and conditions and bodies with a deadline.
enum PromiseScenarios {
    static var all: [Scenario] { promise + conditionDeadline + monitor + body + [claim] }

    private static var promise: [Scenario] {
        Contest.scenarios(
            "promise/succeed against cancel", claim: "one outcome; later callers get the value",
            sides: ("the value", "cancelled")
        ) {
            let (promise, resolver) = Promise<Int, any Error>.makePromise()
            return Contest(
                wait: {
                    try await ending {
                        let value = try await promise.valueUnlessCancelled()
                        if value != 7 { throw Broken("another value") }
                    }
                },
                serve: { _ = resolver.succeed(7) },
                check: { _ in
                    if try await promise.value != 7 { throw Broken("the value was lost") }
                    if resolver.succeed(8) { throw Broken("it took a second value") }
                })
        }
    }

    private static var conditionDeadline: [Scenario] {
        Contest.scenarios(
            "condition/signal against deadline", claim: "one outcome; later waits return immediately",
            sides: ("signalled", "too late")
        ) {
            let (condition, signal) = Condition.makeCondition()
            let clock = ManualClock()
            return Contest(
                wait: {
                    do {
                        let outcome = try await condition.wait(until: .init(offset: .seconds(1)), clock: clock)
                        guard outcome == .signalled else { throw Broken("the condition was abandoned") }
                        return .served
                    } catch is DeadlineExceeded {
                        return .cancelled
                    }
                },
                serve: { signal.signal() }, cancel: { clock.advance(by: .seconds(2)) },
                check: { _ in if await condition.wait() != .signalled { throw Broken("the signal was lost") } })
        }
    }

    private static var monitor: [Scenario] {
        Contest.scenarios(
            "monitor/withState against cancel of a claim",
            claim: "the claim is made if wait returned, and not if it threw",
            sides: ("claimed", "cancelled")
        ) {
            let monitor = Monitor(0)
            return Contest(
                wait: {
                    try await ending {
                        try await monitor.waitUnlessCancelled(claiming: { state -> Bool? in
                            guard state > 0 else { return nil }
                            state -= 1
                            return true
                        })
                    }
                },
                serve: { monitor.withState { $0 += 1 } },
                check: { ending in
                    if monitor.state != (ending == .served ? 0 : 1) {
                        throw Broken("\(ending), and \(monitor.state) left")
                    }
                })
        }
            + Contest.scenarios(
                "monitor/withState against cancel of a predicate", claim: "one outcome", sides: ("held", "cancelled")
            ) {
                let monitor = Monitor(0)
                return Contest(
                    wait: { try await ending { try await monitor.waitUnlessCancelled(where: { $0 == 7 }) } },
                    serve: { monitor.withState { $0 = 7 } },
                    check: { _ in await monitor.wait(where: { $0 == 7 }) })
            }
    }

    /// Two tasks claim a single value. The first one to wait is cancelled.
    private static var claim: Scenario {
        Scenario(
            "monitor/withState against cancel of the first of two", claim: "the second claims what the first does not",
            sides: ("the first's", "the second's")
        ) { heat in
            let monitors = (0..<heat.rounds).map { _ in Monitor(0) }
            let arrived = Counter()
            func claimants() -> [Task<Bool, any Error>] {
                monitors.map { monitor in
                    Task {
                        arrived.add()
                        defer { heat.ended.add() }
                        return try await monitor.waitUnlessCancelled(claiming: { state -> Bool? in
                            guard state > 0 else { return nil }
                            state -= 1
                            return true
                        })
                    }
                }
            }
            let first = claimants()
            await spin { arrived.value == heat.rounds }
            let second = claimants()
            await spin { arrived.value == heat.rounds * 2 }
            await heat.race({ round in monitors[round].withState { $0 += 1 } }, against: { first[$0].cancel() })
            for round in monitors.indices {
                // The second task may have claimed the value and left nothing for the first, which was then cancelled.
                let got = (try? await first[round].value) != nil
                if got { monitors[round].withState { $0 += 1 } }
                _ = try await second[round].value
                if monitors[round].state != 0 { throw Broken("\(monitors[round].state) left, or claimed twice") }
                (got ? heat.firstWon : heat.secondWon).add()
            }
        }
    }

    private static var body: [Scenario] {
        Contest.scenarios(
            "with deadline/end of the body against the deadline", claim: "one outcome, and the body has ended",
            sides: ("in time", "too late")
        ) {
            let (condition, signal) = Condition.makeCondition()
            let clock = ManualClock()
            let runs = Counter()
            return Contest(
                wait: {
                    do {
                        try await withDeadline(until: ManualClock.Instant(offset: .seconds(1)), clock: clock) {
                            runs.add()
                            defer { runs.add(-1) }
                            try await condition.waitUnlessCancelled()
                        }
                        return .served
                    } catch is DeadlineExceeded {
                        return .cancelled
                    }
                },
                serve: { signal.signal() }, cancel: { clock.advance(by: .seconds(2)) },
                check: { _ in if runs.value != 0 { throw Broken("the body still runs") } })
        }
    }

    private static func ending(_ body: () async throws -> some Any) async throws -> Ending {
        do {
            _ = try await body()
            return .served
        } catch is CancellationError {
            return .cancelled
        }
    }
}
