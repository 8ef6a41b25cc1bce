import SluiceConcurrency
import TestSupport

/// One token a second, and none is there at first.
enum RateLimiterScenarios {
    static var all: [Scenario] { cancel + cancelWaiting + [cancelledHead] }

    private static var cancel: [Scenario] {
        scenarios("rate limiter/time against cancel", "cancelled") { _ in nil }
    }

    private static var cancelWaiting: [Scenario] {
        scenarios("rate limiter/time against cancelWaiting", "told to give up") { limiter in { limiter.cancelWaiting() }
        }
    }

    private static func scenarios(
        _ name: String, _ side: String,
        _ cancel: @escaping @Sendable (RateLimiter<ManualClock>) -> (@Sendable () -> Void)?
    ) -> [Scenario] {
        Contest.scenarios(
            name, claim: "the token is consumed if consume returned, and not if it threw", sides: ("consumed", side)
        ) {
            let (limiter, clock) = empty()
            return Contest(
                wait: {
                    do {
                        try await limiter.consume()
                        return .served
                    } catch is CancellationError {
                        return .cancelled
                    }
                },
                serve: { clock.advance(by: .seconds(1)) }, cancel: cancel(limiter),
                check: { ending in
                    try claim(
                        limiter.available == (ending == .served ? 0 : 1), "\(ending), and \(limiter.available) left")
                    try claim(limiter.waitingCount == 0, "a task waits")
                })
        }
    }

    private static var cancelledHead: Scenario {
        Scenario(
            "rate limiter/time against cancel of the first of two", claim: "the second gets what the first does not",
            sides: ("the first's", "the second's")
        ) { heat in
            let limiters = (0..<heat.rounds).map { _ in empty() }
            func consumers() -> [Task<Void, any Error>] {
                limiters.map { limiter, _ in
                    Task {
                        defer { heat.ended.add() }
                        try await limiter.consume()
                    }
                }
            }
            let first = consumers()
            await spin { limiters.allSatisfy { $0.0.waitingCount == 1 } }
            let second = consumers()
            await spin { limiters.allSatisfy { $0.0.waitingCount == 2 } }
            await heat.race({ limiters[$0].1.advance(by: .seconds(1)) }, against: { first[$0].cancel() })
            for (round, (limiter, clock)) in limiters.enumerated() {
                let got = (try? await first[round].value) != nil
                if got { clock.advance(by: .seconds(1)) }
                try await second[round].value
                try claim(limiter.available == 0 && limiter.waitingCount == 0, "a token is left, or a task waits")
                (got ? heat.firstWon : heat.secondWon).add()
            }
        }
    }

    private static func empty() -> (RateLimiter<ManualClock>, ManualClock) {
        let clock = ManualClock()
        let limiter = RateLimiter(rate: 1, per: .seconds(1), burst: 1, clock: clock)
        _ = limiter.tryConsume()
        return (limiter, clock)
    }
}
