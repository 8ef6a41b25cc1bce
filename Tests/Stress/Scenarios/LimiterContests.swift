import Foundation
import SluiceConcurrency
import TestSupport

/// A task waits in line for the only place.
enum LimiterContests {
    static var all: [Scenario] { release + cancelWaiting + deadline + resize + idleDeadline + [cancelledHead, idle] }

    private static let claimOfPlace = "granted or not, never both; the place is free at the end"

    private static var release: [Scenario] {
        scenarios("limiter/release against cancel") { limiter, holder in
            contest(limiter) {
                try await limiter.acquire()
            } serve: {
                holder.drop()
            }
        }
            + scenarios("limiter/release against cancel, by priority", order: .priority) { limiter, holder in
                contest(limiter) {
                    try await limiter.acquire()
                } serve: {
                    holder.drop()
                }
            }
    }

    private static var cancelWaiting: [Scenario] {
        scenarios("limiter/release against cancelWaiting", cancelled: "told to give up") { limiter, holder in
            contest(limiter) {
                try await limiter.acquire()
            } serve: {
                holder.drop()
            } cancel: {
                limiter.cancelWaiting()
            }
        }
    }

    private static var deadline: [Scenario] {
        scenarios("limiter/release against deadline", cancelled: "too late") { limiter, holder in
            let clock = ManualClock()
            return contest(limiter) {
                do {
                    return try await limiter.acquire(until: .init(offset: .seconds(1)), clock: clock)
                } catch is DeadlineExceeded {
                    throw CancellationError()
                }
            } serve: {
                holder.drop()
            } cancel: {
                clock.advance(by: .seconds(2))
            }
        }
    }

    /// The limit grows instead of a place being given back.
    private static var resize: [Scenario] {
        scenarios("limiter/resize against cancel") { limiter, holder in
            contest(limiter) {
                try await limiter.acquire()
            } serve: {
                limiter.resize(to: 2)
            } after: {
                holder.drop()
            }
        }
    }

    /// Two of three places are taken, the head wants all three and the next only one. One place is given back as the head is
    /// cancelled: whichever comes last, the next then fits, though the other place stays taken.
    private static var cancelledHead: Scenario {
        Scenario(
            "limiter/release against cancel of a heavy head", claim: "the lighter one behind gets its place",
            sides: ("released first", "cancelled first")
        ) { heat in
            let limiters = (0..<heat.rounds).map { _ in ConcurrencyLimiter(concurrency: 3) }
            let leaving = limiters.map { Holder($0.tryAcquire()) }
            let staying = limiters.map { Holder($0.tryAcquire()) }
            let heads = limiters.map { waiter($0, weight: 3, heat) }
            await spin { limiters.allSatisfy { $0.waitingCount == 1 } }
            let followers = limiters.map { waiter($0, weight: 1, heat) }
            await spin { limiters.allSatisfy { $0.waitingCount == 2 } }
            await heat.race(
                { leaving[$0].drop() },
                against: { round in
                    let wasReleased = limiters[round].runningCount == 1
                    heads[round].cancel()
                    (wasReleased ? heat.firstWon : heat.secondWon).add()
                })
            for (round, limiter) in limiters.enumerated() {
                try claim(try await heads[round].value == .cancelled, "the head got three places of two")
                try claim(try await followers[round].value == .served, "the one behind was not served")
                staying[round].drop()
                try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
            }
        }
    }

    private typealias Waiter = Task<Ending, any Error>

    private static func waiter(_ limiter: ConcurrencyLimiter, weight: Int, _ heat: Heat) -> Waiter {
        Task {
            defer { heat.ended.add() }
            do {
                try await limiter.acquire(weight: weight).release()
                return .served
            } catch is CancellationError {
                return .cancelled
            }
        }
    }

    private static var idle: Scenario {
        Scenario(
            "limiter/release against waitUntilIdle", claim: "a task that waits for idleness is told",
            sides: ("was idle", "had to wait")
        ) { heat in
            let limiters = (0..<heat.rounds).map { _ in ConcurrencyLimiter(concurrency: 2) }
            let holders = limiters.map { Holder($0.tryAcquire()) }
            await heat.race(
                { holders[$0].drop() },
                against: { round in
                    let wasIdle = limiters[round].runningCount == 0
                    await limiters[round].waitUntilIdle()
                    heat.ended.add()
                    (wasIdle ? heat.firstWon : heat.secondWon).add()
                })
        }
    }

    /// The last body ends while the wait for that is cancelled, or its deadline comes.
    private static var idleDeadline: [Scenario] {
        let claimed = "told or not, never both; idle at the end"
        return Contest.scenarios("limiter/idle against cancel", claim: claimed, sides: ("idle", "cancelled")) {
            idleContest(clock: nil)
        }
            + Contest.scenarios("limiter/idle against deadline", claim: claimed, sides: ("idle", "too late")) {
                idleContest(clock: ManualClock())
            }
    }

    /// With a clock, the deadline ends the wait, otherwise the cancellation of its task.
    private static func idleContest(clock: ManualClock?) -> Contest {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let holder = Holder(limiter.tryAcquire())
        let waited = clock ?? ManualClock()
        let deadline = ManualClock.Instant(offset: .seconds(1))
        let advance: @Sendable () -> Void = { waited.advance(by: .seconds(2)) }
        return Contest(
            wait: {
                do {
                    try await limiter.waitUntilIdle(until: deadline, clock: waited)
                    return .served
                } catch is DeadlineExceeded {
                    return .cancelled
                } catch is CancellationError {
                    return .cancelled
                }
            },
            serve: { holder.drop() },
            cancel: clock == nil ? nil : advance,
            check: { _ in
                await limiter.waitUntilIdle()
                try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
                try claim(limiter.tryAcquire() != nil, "the place is lost")
            })
    }

    // MARK: Machinery

    private static func scenarios(
        _ name: String, order: ConcurrencyLimiter.Order = .fifo, cancelled: String = "cancelled",
        _ make: @escaping @Sendable (ConcurrencyLimiter, Holder) -> Contest
    ) -> [Scenario] {
        Contest.scenarios(name, claim: claimOfPlace, sides: ("granted", cancelled)) {
            let limiter = ConcurrencyLimiter(concurrency: 1, order: order)
            return make(limiter, Holder(limiter.tryAcquire()))
        }
    }

    private static func contest(
        _ limiter: ConcurrencyLimiter,
        _ acquire: @escaping @Sendable () async throws -> ConcurrencyLimiter.Permit,
        serve: @escaping @Sendable () -> Void, cancel: (@Sendable () -> Void)? = nil,
        after: @escaping @Sendable () -> Void = {}
    ) -> Contest {
        Contest(
            wait: {
                do {
                    try await acquire().release()
                    return .served
                } catch is CancellationError {
                    return .cancelled
                }
            }, serve: serve, cancel: cancel,
            check: { _ in
                after()
                try claim(limiter.runningCount == 0 && limiter.waitingCount == 0, "not idle at the end")
                try claim(limiter.tryAcquire() != nil, "the place is lost")
            })
    }
}

/// A holder of a place, which gives it back when told to.
final class Holder: @unchecked Sendable {
    // `lock` protects `permit`.
    private let lock = NSLock()
    private var permit: ConcurrencyLimiter.Permit?

    init(_ permit: consuming ConcurrencyLimiter.Permit?) { self.permit = permit }

    func drop() {
        lock.lock()
        let taken = permit.take()
        lock.unlock()
        _ = consume taken
    }
}
