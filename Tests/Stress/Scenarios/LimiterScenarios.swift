import Foundation
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
                        // Part of the race: other tasks start to wait.
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
            // Tasks enter and leave one by one while others are cancelled.
            await heat.race(
                { round in if round == 1 { signal.signal() } },
                against: { round in
                    tasks[round].cancel()
                })
            for task in tasks {
                let ran = (try? await task.value) != nil
                (ran ? heat.firstWon : heat.secondWon).add()
            }
            // The last task's reference is released when the task is destroyed, a moment after its value is available.
            await spin { remains == nil }
        }
    }
}

// MARK: - Contests for a place

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

    /// The limit grows, and no place is released.
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

    /// Two of three places are taken. The first task in line needs all three, and the next one needs only one. One place is released as
    /// the first task is cancelled. Whichever happens last, the next task then fits, even though the other place stays taken.
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

    /// The last body ends as `waitUntilIdle` is cancelled, or as its deadline passes.
    private static var idleDeadline: [Scenario] {
        let claimed = "told or not, never both; idle at the end"
        return Contest.scenarios("limiter/idle against cancel", claim: claimed, sides: ("idle", "cancelled")) {
            idleContest(clock: nil)
        }
            + Contest.scenarios("limiter/idle against deadline", claim: claimed, sides: ("idle", "too late")) {
                idleContest(clock: ManualClock())
            }
    }

    /// With a clock, the deadline ends the wait. Otherwise cancellation does.
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

/// Holds a place until it is told to release it.
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

// MARK: - Keyed limiters

enum KeyedLimiterScenarios {
    static var all: [Scenario] { [release, load] }

    /// Each key's only place is released as the task that waits for it is cancelled.
    private static var release: Scenario {
        Scenario(
            "keyed limiter/release against cancel", claim: "one outcome; the next gets the place; idle at the end",
            sides: ("granted", "cancelled")
        ) { heat in
            let limiter = KeyedLimiter<Int>(perKey: 1, total: 1_000)
            let gates = (0..<heat.rounds).map { _ in Condition.makeCondition() }
            // The number of holders that are about to leave.
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
                        // Part of the race: other tasks start to wait.
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

// MARK: - Rate limiters

/// One token per second, and none at the start.
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
