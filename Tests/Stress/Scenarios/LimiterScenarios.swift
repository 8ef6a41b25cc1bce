import SluiceConcurrency
import TestSupport

enum LimiterScenarios {
    static var all: [Scenario] {
        LimiterContests.all + [load(.fifo), load(.priority), load(.fifo, resizing: true), drop]
    }

    private static func load(_ order: ConcurrencyLimiter.Order, resizing: Bool = false) -> Scenario {
        let name = resizing ? "resize, cancel and cancelWaiting under load" : "cancel and cancelWaiting under load"
        return Scenario(
            "limiter/\(name)\(order == .priority ? ", by priority" : "")",
            claim: "at most the limit concurrently; idle at the end", sides: ("ran", "cancelled"), heatSize: 4_096
        ) { heat in
            let limiter = ConcurrencyLimiter(concurrency: 3, order: order)
            let occupancy = Occupancy()
            await withDiscardingTaskGroup { group in
                for number in 0..<16 {
                    group.addTask(priority: number.isMultiple(of: 2) ? .medium : .low) {
                        await visit(limiter, occupancy, heat, heat.rounds / 16, number)
                    }
                }
                group.addTask {
                    var random = SeededRandom(seed: heat.seed)
                    while heat.ended.value < 16 {
                        limiter.cancelWaiting()
                        if resizing { limiter.resize(to: Int.random(in: 1...5, using: &random)) }
                        // Part of the race: some come to wait meanwhile.
                        for _ in 0..<8 { await Task.yield() }
                    }
                }
            }
            let most = resizing ? 5 : 3
            try claim(occupancy.most.value <= most, "\(occupancy.most.value) concurrently, at a limit of \(most)")
            try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
            await limiter.waitUntilIdle()
        }
    }

    private static func visit(
        _ limiter: ConcurrencyLimiter, _ occupancy: Occupancy, _ heat: Heat, _ count: Int, _ number: Int
    ) async {
        for round in 0..<count {
            if (round + number).isMultiple(of: 4) {
                await limiter.run { await occupancy.visit() }
                heat.firstWon.add()
                continue
            }
            let task = Task { try await limiter.run { () async throws in await occupancy.visit() } }
            if (round + number).isMultiple(of: 2) {
                // Part of the race: it is cancelled as it enters, waits or runs.
                await Task.yield()
                task.cancel()
            }
            let ran = (try? await task.value) != nil
            (ran ? heat.firstWon : heat.secondWon).add()
        }
        heat.ended.add()
    }

    /// The owner of the limiter releases it while tasks wait.
    private static var drop: Scenario {
        Scenario(
            "limiter/drop under load", claim: "every task ends, and the limiter is gone after the last",
            sides: ("ran", "cancelled")
        ) { heat in
            weak var remains: ConcurrencyLimiter?
            let (condition, signal) = Condition.makeCondition()
            let tasks: [Task<Void, any Error>]
            do {
                let limiter = ConcurrencyLimiter(concurrency: 1)
                remains = limiter
                tasks = (0..<heat.rounds).map { _ in
                    Task {
                        try await limiter.run { () async throws in
                            await condition.wait()
                            heat.ended.add()
                        }
                    }
                }
            }
            // One after the other enters and leaves while others are cancelled.
            await heat.race(
                { round in if round == 1 { signal.signal() } },
                against: { round in
                    tasks[round].cancel()
                })
            for task in tasks {
                let ran = (try? await task.value) != nil
                (ran ? heat.firstWon : heat.secondWon).add()
            }
            // The last task's own reference goes when it does, a moment after its value is there.
            await spin { remains == nil }
        }
    }
}
