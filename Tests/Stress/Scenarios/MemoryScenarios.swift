import SluiceConcurrency

/// Five waiters for each requested round, a million by default, are suspended 50,000 at a time and all cancelled. All use one object, so
/// whatever a cancelled waiter leaves behind adds up.
enum MemoryScenarios {
    static var all: [Scenario] { [condition, queue, limiter] }

    private static let atOnce = 50_000

    /// How much more memory may be in use after the last 50,000 than after the first: half a byte per waiter with a million waiters, and
    /// more than malloc's caches vary.
    private static let tolerance = 512 << 10

    private static var condition: Scenario {
        scenario("condition") { heat in
            let (condition, signal) = Condition.makeCondition()
            try await cancelAll(heat) { try await condition.waitUnlessCancelled() }
            signal.signal()
        }
    }

    private static var queue: Scenario {
        scenario("queue") { heat in
            let queue = AsyncQueue<Int>()
            try await cancelAll(heat) { _ = try await queue.dequeue() }
        }
    }

    private static var limiter: Scenario {
        scenario("limiter") { heat in
            let limiter = ConcurrencyLimiter(concurrency: 1)
            try await limiter.run { () async throws in
                try await cancelAll(heat) { try await limiter.run { () async throws in } }
            }
            try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
        }
    }

    private static func scenario(_ type: String, _ body: @escaping @Sendable (Heat) async throws -> Void) -> Scenario {
        Scenario(
            "memory/cancelled waiters of a \(type)",
            claim: "no more than \(tolerance >> 10) KiB are left of all of them", sides: ("served", "cancelled"),
            heatSize: .max, share: 5, mustGoBothWays: false, body)
    }

    private static func cancelAll(_ heat: Heat, _ wait: @escaping @Sendable () async throws -> Void) async throws {
        let arrived = Counter()
        let before = Memory.now
        var afterFirst: Memory?
        var perWaiter = 0
        var done = 0
        while done < heat.rounds {
            let count = min(atOnce, heat.rounds - done)
            let goal = arrived.value + count
            let tasks = (0..<count).map { _ in
                Task {
                    arrived.add()
                    let wasServed = (try? await wait()) != nil
                    (wasServed ? heat.firstWon : heat.secondWon).add()
                }
            }
            await spin { arrived.value == goal }
            perWaiter = max(perWaiter, (Memory.now.allocated - before.allocated) / count)
            for task in tasks { task.cancel() }
            for task in tasks { await task.value }
            done += count
            afterFirst = afterFirst ?? .now
        }
        let after = Memory.now
        let left = after.allocated - (afterFirst ?? after).allocated
        heat.remark.text = """
            \(perWaiter) B each with its task; \(left >> 10) KiB left; \
            resident \((afterFirst ?? after).resident >> 20) MiB after the first, \(after.resident >> 20) MiB in the end
            """
        try claim(heat.firstWon.value == 0, "\(heat.firstWon.value) were not served")
        try claim(left <= tolerance, "\(left) bytes more in the end than after the first \(atOnce)")
    }
}
