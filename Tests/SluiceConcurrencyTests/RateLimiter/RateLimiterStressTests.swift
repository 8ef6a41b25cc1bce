import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `RateLimiter: many tasks` {
    @Test(arguments: 1...60)
    func `any order of jobs ends with every task served, refused or cancelled, and no token too many`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let clock = ManualClock()
        let burst = Int.random(in: 1...5, using: &random)
        let limiter = RateLimiter(rate: 3, per: .seconds(1), burst: burst, clock: clock)
        let spent = Recorder<Int>()
        let done = Recorder<Int>()

        let tasks = (0..<20).map { number in
            let weight = Int.random(in: 0...burst, using: &random)
            return executor.spawn {
                for round in 0..<3 {
                    do {
                        if round == 1 {
                            try await limiter.consume(weight, until: clock.now.advanced(by: .seconds(number)))
                        } else {
                            try await limiter.consume(weight)
                        }
                        spent.note(weight)
                    } catch {}
                }
                done.note(number)
            }
        }
        var elapsed = 0
        for _ in 0..<400 where done.values.count < 20 {
            for _ in 0..<Int.random(in: 0..<30, using: &random) { executor.runOne() }
            if Int.random(in: 0..<20, using: &random) == 0 { tasks[Int.random(in: 0..<20, using: &random)].cancel() }
            let step = Int.random(in: 0...700, using: &random)
            elapsed += step
            clock.advance(by: .milliseconds(step))
            #expect(spent.values.reduce(0, +) <= burst + elapsed * 3 / 1_000)
        }
        for _ in 0..<200 where done.values.count < 20 {
            executor.runUntilIdle()
            elapsed += 1_000
            clock.advance(by: .seconds(1))
        }
        executor.runUntilIdle()

        #expect(done.values.sorted() == Array(0..<20))
        let slots = limiter.storage.machine.withLock { $0.line.slotCount }
        #expect((slots, clock.sleeperCount) == (0, 0))
    }

    @Test func `cancel racing the clock on all threads loses no task and no token`() async {
        let limiter = RateLimiter(rate: 1_000_000, per: .seconds(1), burst: 3)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    for round in 0..<60 {
                        let task = Task { try await limiter.consume((number + round) % 3 + 1) }
                        if (number + round) % 4 == 0 { task.cancel() }
                        if round % 20 == 0 { limiter.setRate(1_000_000 + round, per: .seconds(1)) }
                        _ = await task.result
                    }
                }
            }
        }
        let (slots, queued) = limiter.storage.machine.withLock { ($0.line.slotCount, $0.queued) }
        #expect((slots, queued) == (0, 0))
    }

    @Test func `one hundred thousand cancelled waits leave no trace`() {
        let executor = ManualExecutor()
        let clock = ManualClock()
        let limiter = RateLimiter(rate: 1, per: .seconds(1), burst: 1, clock: clock)
        _ = limiter.tryConsume()
        for _ in 0..<1_000 {
            let waiters = (0..<100).map { _ in executor.spawnThrowing { try await limiter.consume() } }
            executor.runUntilIdle()
            // From the end, so that the leader stays the same.
            for waiter in waiters.reversed() { waiter.cancel() }
            executor.runUntilIdle()
        }
        let (slots, queued) = limiter.storage.machine.withLock { ($0.line.slotCount, $0.queued) }
        #expect((slots, queued, clock.sleeperCount) == (0, 0, 0))
        clock.advance(by: .seconds(1))
        #expect(limiter.available == 1)
    }
}
