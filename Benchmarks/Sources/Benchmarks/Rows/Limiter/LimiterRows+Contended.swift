import SluiceConcurrency

/// 64 tasks at a limit of 4. Each body does a little work and yields.
extension LimiterRows {
    static var contended: [Row] { [againstNoLimiter, againstActorLimiter] }

    private static let name = "limiter/64 tasks at a limit of 4"
    private static let tasks = 64

    private static var againstNoLimiter: Row {
        Row(name, .nanoseconds, against: "the tasks alone", figure: .atMost(1.7)) { stage, rounds in
            let each = stage.count(4_000, quick: 1_000)
            let limiter = ConcurrencyLimiter(concurrency: 4)
            try await rounds(
                { try await inTasks(each) { await limiter.run { await work() } } },
                { try await inTasks(each) { await work() } })
        }
    }

    private static var againstActorLimiter: Row {
        Row(name, .nanoseconds, against: "an actor's line") { stage, rounds in
            let each = stage.count(1_000, quick: 250)
            let limiter = ConcurrencyLimiter(concurrency: 4)
            let peer = ActorLimiter(concurrency: 4)
            try await rounds(
                { try await inTasks(each) { await limiter.run { await work() } } },
                { try await inTasks(each) { await peer.run { await work() } } })
        }
    }

    private static func inTasks(_ each: Int, _ round: @escaping @Sendable () async -> Int) async throws -> Sample {
        try await timed(tasks * each, expecting: tasks * each) {
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        var sum = 0
                        for _ in 0..<each { sum += await round() }
                        return sum
                    }
                }
                return await group.reduce(0, +)
            }
        }
    }

    /// Works for a few tens of nanoseconds and yields, so that other tasks find the place taken.
    private static func work() async -> Int {
        var state: UInt64 = 88_172_645_463_325_252
        for _ in 0..<16 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
        }
        blackHole(state)
        await Task.yield()
        return 1
    }
}
