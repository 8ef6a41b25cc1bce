import SluiceConcurrency
import TestSupport

enum KeyedLimiterScenarios {
    static var all: [Scenario] { [release, load] }

    /// Each key's only place is given back while the task that waits for it is cancelled.
    private static var release: Scenario {
        Scenario(
            "keyed limiter/release against cancel", claim: "one outcome; the next gets the place; idle at the end",
            sides: ("granted", "cancelled")
        ) { heat in
            let limiter = KeyedLimiter<Int>(perKey: 1, total: 1_000)
            let gates = (0..<heat.rounds).map { _ in Condition.makeCondition() }
            // How many holders are about to leave.
            let leaving = Counter()
            let holders = (0..<heat.rounds).map { key in
                Task {
                    await limiter.run(for: key) {
                        await gates[key].condition.wait()
                        leaving.keepMaximum(key + 1)
                        var random = SeededRandom(seed: heat.seed &+ UInt64(key))
                        await heat.holdBack(.first, &random)
                    }
                }
            }
            await spin { limiter.runningCount == heat.rounds }
            func waiters() -> [Task<Void, any Error>] {
                (0..<heat.rounds).map { key in
                    Task {
                        defer { heat.ended.add() }
                        try await limiter.run(for: key) { () async throws in }
                    }
                }
            }
            let first = waiters()
            await spin { limiter.waitingCount == heat.rounds }
            let second = waiters()
            await spin { limiter.waitingCount == heat.rounds * 2 }
            await heat.race(
                { gates[$0].signal.signal() },
                against: { key in
                    await spin(patience: 100_000) { leaving.value > key }
                    var random = SeededRandom(seed: ~heat.seed &+ UInt64(key))
                    await heat.holdBack(.second, &random)
                    first[key].cancel()
                })
            for key in 0..<heat.rounds {
                await holders[key].value
                let ran = (try? await first[key].value) != nil
                try await second[key].value
                (ran ? heat.firstWon : heat.secondWon).add()
            }
            try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
        }
    }

    private static var load: Scenario {
        Scenario(
            "keyed limiter/cancel and cancelWaiting under load",
            claim: "at most the limits concurrently, for a key and in total; idle at the end",
            sides: ("ran", "cancelled"),
            heatSize: 4_096
        ) { heat in
            let limiter = KeyedLimiter<Int>(perKey: 2, total: 3)
            let (total, perKey) = (Occupancy(), (0..<4).map { _ in Occupancy() })
            await withDiscardingTaskGroup { group in
                for number in 0..<16 {
                    group.addTask {
                        for round in 0..<heat.rounds / 16 {
                            let key = (number + round) % 4
                            let task = Task {
                                try await limiter.run(for: key) { () async throws in
                                    total.enter()
                                    await perKey[key].visit()
                                    total.leave()
                                }
                            }
                            if round.isMultiple(of: 3) {
                                // Part of the race: it is cancelled as it enters, waits or runs.
                                await Task.yield()
                                task.cancel()
                            }
                            let ran = (try? await task.value) != nil
                            (ran ? heat.firstWon : heat.secondWon).add()
                        }
                        heat.ended.add()
                    }
                }
                group.addTask {
                    while heat.ended.value < 16 {
                        limiter.cancelWaiting(for: 1)
                        // Part of the race: some come to wait meanwhile.
                        for _ in 0..<8 { await Task.yield() }
                    }
                }
            }
            try claim(total.most.value <= 3, "\(total.most.value) concurrently, at a limit of 3")
            for key in perKey { try claim(key.most.value <= 2, "\(key.most.value) of a key together, at a limit of 2") }
            try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
            await limiter.waitUntilIdle()
        }
    }
}
