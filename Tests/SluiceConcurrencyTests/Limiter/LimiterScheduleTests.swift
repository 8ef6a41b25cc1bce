import Synchronization
import TestSupport
import Testing

@testable import SluiceConcurrency

/// All operations together, in an order of jobs that a seed decides: a failing seed fails again.
@Suite struct `ConcurrencyLimiter: any schedule` {
    /// The weights that run at this moment, and the most that ever did beyond the limit of that moment.
    final class Load: Sendable {
        let now = Atomic(0)
        let tooMany = Atomic(0)

        func enter(_ weight: Int, limit: Int) {
            let (_, entered) = now.add(weight, ordering: .sequentiallyConsistent)
            if entered > limit { tooMany.add(1, ordering: .sequentiallyConsistent) }
        }

        func leave(_ weight: Int) { now.subtract(weight, ordering: .sequentiallyConsistent) }
    }

    @Test(arguments: UInt64(0)..<100)
    func `all are served, refused, late or cancelled, and the limiter is idle afterwards`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let clock = ManualClock()
        let limiter = ConcurrencyLimiter(
            concurrency: 4, order: seed % 2 == 0 ? .fifo : .priority, tracksHolders: seed % 3 == 0, clock: clock)
        let load = Load()
        let ended = Recorder<Int>()
        let weights = (0..<24).map { _ in Int.random(in: 1...5, using: &random) }

        let tasks = weights.enumerated().map { number, weight in
            executor.spawn(priority: [.low, .medium, .high][number % 3]) {
                @Sendable func body() async {
                    load.enter(weight, limit: 6)
                    await suspendOnce()
                    load.leave(weight)
                }
                let deadline = ManualClock.Instant(offset: .seconds(number))
                for turn in 0..<3 {
                    switch (number + turn) % 5 {
                    case 0: try? await limiter.run(weight: weight) { () async throws in await body() }
                    case 1:
                        await limiter.run {
                            load.enter(1, limit: 6)
                            await suspendOnce()
                            load.leave(1)
                        }
                    case 2:
                        if let permit = try? await limiter.acquire(weight: weight, until: deadline, clock: clock) {
                            await body()
                            permit.release()
                        }
                    case 3:
                        if let permit = limiter.tryAcquire(weight: weight) {
                            await body()
                            permit.release()
                        }
                    default:
                        _ = try? await limiter.run(weight: weight, until: deadline, clock: clock) { () async throws in
                            await body()
                        }
                    }
                }
                ended.note(number)
            }
        }
        for _ in 0..<40 {
            for _ in 0..<Int.random(in: 0..<12, using: &random) { executor.runOne() }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: limiter.cancelWaiting()
            case 1, 2: limiter.resize(to: Int.random(in: 2...6, using: &random))
            case 3, 4: clock.advance(by: .seconds(1))
            default: tasks[Int.random(in: tasks.indices, using: &random)].cancel()
            }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(100))
        executor.runUntilIdle()

        #expect(ended.values.sorted() == Array(0..<24))
        #expect(load.tooMany.load(ordering: .relaxed) == 0)
        let statistics = limiter.statistics
        #expect((statistics.runningCount, statistics.waitingCount) == (0, 0))
        #expect(statistics.maximumRunningCount <= 6)
        #expect(limiter.storage.withMachine { $0.line.slotCount } == 0)
        #expect(clock.sleeperCount == 0)
    }

    /// The limit at every moment, and not only the largest: what runs may exceed it only until enough have left.
    @Test(arguments: UInt64(0)..<50)
    func `after a limit has fallen no task enters until the running weight is below it`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let limiter = ConcurrencyLimiter(concurrency: 5)
        let wrong = Recorder<String>()

        for number in 0..<60 {
            _ = executor.spawn {
                let before = limiter.statistics
                if number % 2 == 0 {
                    await limiter.run { await suspendOnce() }
                } else if let permit = limiter.tryAcquire() {
                    if before.runningCount >= before.concurrency { wrong.note("\(before)") }
                    await suspendOnce()
                    permit.release()
                }
            }
        }
        for _ in 0..<60 {
            for _ in 0..<Int.random(in: 0..<6, using: &random) {
                let before = limiter.statistics
                executor.runOne()
                let after = limiter.statistics
                if after.runningCount > before.runningCount && after.runningCount > after.concurrency {
                    wrong.note("\(before), \(after)")
                }
            }
            limiter.resize(to: Int.random(in: 1...5, using: &random))
        }
        executor.runUntilIdle()

        #expect(wrong.values == [])
        #expect(limiter.runningCount == 0)
    }
}
