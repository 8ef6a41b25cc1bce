import SluiceConcurrency
import Synchronization

/// Tasks that really wait: all are in line behind one permit, which is then given back. Timed from there until the last has
/// run.
extension LimiterRows {
    static var drained: [Row] {
        let long = [
            // The figure's peer: whoever is resumed resumes the next, which is what a limit of 1 has to do.
            line(against: "continuations, one resumes the next", figure: .atMost(1.3)) { .handingOver() },
            // Cheaper for the peer, and what a limiter cannot do: its tasks then run all at once.
            line(against: "continuations, all resumed at once") { .allAtOnce() },
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

    /// What one waiter costs must not depend on how many there are.
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

    /// A line behind a permit.
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

/// Somebody who has a place.
private final class Holder: Sendable {
    private let permit: Mutex<ConcurrencyLimiter.Permit?>

    init(_ permit: consuming ConcurrencyLimiter.Permit?) { self.permit = Mutex(permit) }

    func release() {
        let taken = permit.withLock { $0.take() }
        _ = consume taken
    }
}
