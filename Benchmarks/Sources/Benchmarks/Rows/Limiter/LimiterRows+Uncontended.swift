import SluiceConcurrency
import Synchronization

/// `run` when a place is free.
extension LimiterRows {
    static var uncontended: [Row] { Home.allCases.flatMap { [againstPair(in: $0), againstActor(in: $0)] } }

    private static func againstPair(in home: Home) -> Row {
        Row(name(home), .nanoseconds, against: "CAS pair", figure: .atMost(3), slices: 25) { stage, rounds in
            let count = stage.count(40_000, quick: 20_000)
            let limiter = ConcurrencyLimiter(concurrency: 10)
            let word = Word()
            try await rounds(
                { try await home.run { try await timed(count, expecting: count) { await ours(limiter, count) } } },
                { try await home.run { try await timed(count, expecting: count) { word.addOneAndTakeItAway(count) } } })
        }
    }

    private static func againstActor(in home: Home) -> Row {
        Row(name(home), .nanoseconds, against: "an actor's line", slices: 25) { stage, rounds in
            let count = stage.count(8_000, quick: 2_000)
            let limiter = ConcurrencyLimiter(concurrency: 10)
            let peer = ActorLimiter(concurrency: 10)
            try await rounds(
                { try await home.run { try await timed(count, expecting: count) { await ours(limiter, count) } } },
                { try await home.run { try await timed(count, expecting: count) { await theirs(peer, count) } } })
        }
    }

    static var permits: [Row] {
        Home.allCases.map { home in
            Row(
                "limiter/permit with a place free, from \(home.rawValue)", .nanoseconds, against: "CAS pair", slices: 25
            ) {
                stage, rounds in
                let count = stage.count(40_000, quick: 20_000)
                let limiter = ConcurrencyLimiter(concurrency: 10)
                let word = Word()
                try await rounds(
                    {
                        try await home.run {
                            try await timed(count, expecting: count) { try await permits(limiter, count) }
                        }
                    },
                    {
                        try await home.run {
                            try await timed(count, expecting: count) { word.addOneAndTakeItAway(count) }
                        }
                    })
            }
        }
    }

    private static func permits(_ limiter: ConcurrencyLimiter, _ count: Int) async throws -> Int {
        var sum = 0
        for _ in 0..<count {
            let permit = try await limiter.acquire()
            sum &+= permit.weight
            permit.release()
        }
        return sum
    }

    private static func name(_ home: Home) -> String { "limiter/run with a place free, from \(home.rawValue)" }

    private static func ours(_ limiter: ConcurrencyLimiter, _ count: Int) async -> Int {
        var sum = 0
        for _ in 0..<count { sum &+= await limiter.run { 1 } }
        return sum
    }

    private static func theirs(_ limiter: ActorLimiter, _ count: Int) async -> Int {
        var sum = 0
        for _ in 0..<count { sum &+= await limiter.run { 1 } }
        return sum
    }
}

/// The lowest possible cost of entering and leaving: one compare-and-exchange each.
private final class Word: Sendable {
    private let value = Atomic(0)

    func addOneAndTakeItAway(_ count: Int) -> Int {
        var sum = 0
        for _ in 0..<count {
            change(by: 1)
            sum &+= 1
            change(by: -1)
        }
        return sum
    }

    @inline(__always)
    private func change(by difference: Int) {
        var found = value.load(ordering: .relaxed)
        while true {
            let result = value.weakCompareExchange(
                expected: found, desired: found &+ difference, ordering: .acquiringAndReleasing)
            if result.exchanged { return }
            found = result.original
        }
    }
}
