import SluiceConcurrency
import Synchronization

/// Tasks that wait in line for one permit. The time is measured from the release of the permit until the last task has run.
extension LimiterRows {
    static var drained: [Row] {
        let long = [
            // The peer of the figure: each resumed task resumes the next, as a limit of 1 requires.
            line(against: "continuations, one resumes the next", figure: .atMost(1.3)) { .handingOver() },
            // Cheaper for the peer, but a limiter can't do this: all tasks run concurrently.
            line(against: "continuations, all resumed together") { .allTogether() },
            line(against: "an actor's line") { try await actorsLine() },
        ]
        return long + [10, 1_000, 100_000].map(growth)
    }

    private static func line(
        against peer: String, figure: Figure? = nil, _ make: @escaping () async throws -> Crowd
    ) -> Row {
        Row("limiter/drain of a long line", .nanoseconds, against: peer, figure: figure) { stage, rounds in
            let count = stage.count(80_000, quick: 20_000)
            try await rounds(
                { try await drain(count, total: count, ours) },
                {
                    let crowd = try await make()
                    return try await drain(count, total: count) { crowd }
                })
        }
    }

    /// The cost of one waiting task must not depend on the number of waiting tasks.
    private static func growth(_ count: Int) -> Row {
        Row(
            "limiter/drain of \(Format.number(Double(count))) waiters", .nanoseconds,
            against: "continuations, one resumes the next"
        ) { stage, rounds in
            let total = max(count, stage.count(50_000, quick: 5_000))
            try await rounds(
                { try await drain(count, total: total, ours) },
                { try await drain(count, total: total) { .handingOver() } })
        }
    }

    /// Tasks that wait in line for a permit.
    static func ours() -> Crowd {
        ours { limiter in await limiter.run { 1 } }
    }

    static func ours(_ wait: @escaping @Sendable (ConcurrencyLimiter) async -> Int) -> Crowd {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let holder = Holder(limiter.tryAcquire())
        return Crowd {
            await wait(limiter)
        } count: {
            limiter.waitingCount
        } release: {
            holder.release()
        }
    }

    private static func actorsLine() async throws -> Crowd {
        let limiter = ActorLimiter(concurrency: 1)
        let (condition, signal) = Condition.makeCondition()
        let (held, tellHeld) = Condition.makeCondition()
        Task {
            await limiter.run {
                tellHeld.signal()
                await condition.wait()
            }
        }
        await held.wait()
        return Crowd {
            await limiter.run { 1 }
        } release: {
            signal.signal()
        }
    }
}

/// The holder of a place.
private final class Holder: Sendable {
    private let permit: Mutex<ConcurrencyLimiter.Permit?>

    init(_ permit: consuming ConcurrencyLimiter.Permit?) { self.permit = Mutex(permit) }

    func release() {
        let taken = permit.withLock { $0.take() }
        _ = consume taken
    }
}
