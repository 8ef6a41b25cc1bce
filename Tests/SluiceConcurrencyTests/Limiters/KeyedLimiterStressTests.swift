import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `KeyedLimiter: many tasks` {
    /// The running bodies of each key and in total, and the largest number that ran concurrently.
    final class Occupancy: Sendable {
        struct Counts {
            var now: [Int: Int] = [:]
            var mostPerKey = 0
            var mostInTotal = 0
        }

        private let counts = Guarded(Counts())

        func enter(_ key: Int) {
            counts.withLock {
                $0.now[key, default: 0] += 1
                $0.mostPerKey = max($0.mostPerKey, $0.now[key]!)
                $0.mostInTotal = max($0.mostInTotal, $0.now.values.reduce(0, +))
            }
        }

        func leave(_ key: Int) { counts.withLock { $0.now[key]! -= 1 } }

        var peaks: (perKey: Int, total: Int) { counts.withLock { ($0.mostPerKey, $0.mostInTotal) } }
    }

    private func expectNoTrace<Key>(_ limiter: KeyedLimiter<Key>) {
        let traces = limiter.storage.machine.withLock { $0.traces }
        #expect((limiter.runningCount, limiter.waitingCount, traces.keys, traces.turns) == (0, 0, 0, 0))
    }

    @Test func `never more than the limits run concurrently, on all threads`() async {
        let limiter = KeyedLimiter<Int>(perKey: 2, total: 3)
        let occupancy = Occupancy()

        await withTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    for round in 0..<50 {
                        let key = (number + round) % 5
                        await limiter.run(for: key) {
                            occupancy.enter(key)
                            await suspendOnce()
                            occupancy.leave(key)
                        }
                    }
                }
            }
        }

        #expect(occupancy.peaks.perKey <= 2)
        #expect(occupancy.peaks.total <= 3)
        expectNoTrace(limiter)
    }

    /// Trap: racing release and cancel resume a waiter twice, or resume none and lose the place.
    @Test func `cancel racing release loses no place`() async {
        let limiter = KeyedLimiter<Int>(perKey: 1, total: 1)

        for round in 0..<1_000 {
            let (start, startSignal) = Condition.makeCondition()
            let (held, heldSignal) = Condition.makeCondition()
            let holder = Task {
                await limiter.run(for: 0) {
                    heldSignal.signal()
                    await start.wait()
                }
            }
            await held.wait()
            let first = Task { try await limiter.run(for: round % 2) { try Task.checkCancellation() } }
            let second = Task { await limiter.run(for: round % 3) {} }
            let canceller = Task {
                await start.wait()
                first.cancel()
            }
            startSignal.signal()
            await canceller.value
            _ = await first.result
            await second.value
            await holder.value
        }

        expectNoTrace(limiter)
        #expect(await limiter.runIfAvailable(for: 0) { true } == true)
    }

    @Test func `one hundred thousand cancelled waits leave no trace`() async {
        let limiter = KeyedLimiter<Int>(perKey: 1, total: 1)
        let (condition, signal) = Condition.makeCondition()
        let executor = ManualExecutor()
        let holder = executor.spawn { await limiter.run(for: 0) { _ = await condition.wait() } }
        executor.runUntilIdle()

        for _ in 0..<1_000 {
            let waiters = (0..<100).map { number in
                executor.spawnThrowing { try await limiter.run(for: number % 10) { () async throws in } }
            }
            executor.runUntilIdle()
            for waiter in waiters { waiter.cancel() }
            executor.runUntilIdle()
        }

        let traces = limiter.storage.machine.withLock { $0.traces }
        #expect((limiter.waitingCount, traces.keys, traces.turns) == (0, 1, 0))
        signal.signal()
        executor.runUntilIdle()
        await holder.value
        expectNoTrace(limiter)
    }

    @Test(arguments: 1...60)
    func `any order of jobs ends with every task served or cancelled, and nothing kept`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let clock = ManualClock()
        let (perKey, total) = (Int.random(in: 1...2, using: &random), Int.random(in: 1...4, using: &random))
        let limiter = KeyedLimiter<Int>(perKey: perKey, total: total)
        let occupancy = Occupancy()
        let done = Recorder<Int>()

        let tasks = (0..<20).map { number in
            executor.spawn {
                for round in 0..<3 {
                    let key = (number + round) % 4
                    try? await limiter.run(for: key) { () async throws in
                        occupancy.enter(key)
                        await suspendOnce()
                        occupancy.leave(key)
                    }
                    await limiter.run(for: key) { await suspendOnce() }
                    _ = try? await limiter.run(
                        for: round, until: clock.now.advanced(by: .seconds(round)), clock: clock
                    ) { await suspendOnce() }
                }
                done.note(number)
            }
        }
        for _ in 0..<12 {
            for _ in 0..<Int.random(in: 0..<20, using: &random) { executor.runOne() }
            tasks[Int.random(in: tasks.indices, using: &random)].cancel()
            clock.advance(by: .milliseconds(300))
            if Int.random(in: 0..<10, using: &random) == 0 { limiter.cancelWaiting() }
            if Int.random(in: 0..<10, using: &random) == 0 { limiter.cancelWaiting(for: 1) }
        }
        executor.runUntilIdle()

        #expect(done.values.sorted() == Array(0..<20))
        #expect(occupancy.peaks.perKey <= perKey)
        #expect(occupancy.peaks.total <= total)
        #expect(clock.sleeperCount == 0)
        expectNoTrace(limiter)
    }
}
