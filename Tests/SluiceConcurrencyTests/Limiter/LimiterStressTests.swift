import Synchronization
import Testing
import TestSupport

@testable import SluiceConcurrency

@Suite struct `ConcurrencyLimiter: many tasks` {
    /// The number of running bodies, and the largest number that ran concurrently.
    final class Occupancy: Sendable {
        private let now = Atomic(0)
        private let most = Atomic(0)

        func enter() {
            let (_, entered) = now.add(1, ordering: .sequentiallyConsistent)
            _ = most.max(entered, ordering: .sequentiallyConsistent)
        }

        func leave() { _ = now.subtract(1, ordering: .sequentiallyConsistent) }

        var peak: Int { most.load(ordering: .sequentiallyConsistent) }
    }

    @Test(arguments: [1, 4])
    func `never more than the limit run concurrently, on all threads`(limit: Int) async {
        let limiter = ConcurrencyLimiter(concurrency: limit)
        let occupancy = Occupancy()

        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    for _ in 0..<200 {
                        await limiter.run {
                            occupancy.enter()
                            await suspendOnce()
                            occupancy.leave()
                        }
                    }
                }
            }
        }

        #expect(occupancy.peak <= limit)
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
    }

    @Test
    func `as many as the limit do run concurrently`() async {
        let limiter = ConcurrencyLimiter(concurrency: 3)
        let gate = Gate()

        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { await limiter.run { await gate.pass() } } }
            await gate.arrivals(3)
            #expect(limiter.runningCount == 3)
            #expect(await limiter.runIfAvailable { true } == nil)
            await gate.open()
        }

        #expect(limiter.runningCount == 0)
    }

    /// Trap: racing release and cancel resume a waiter twice, or resume none and lose the place.
    @Test
    func `cancel racing release loses no place`() async {
        let limiter = ConcurrencyLimiter(concurrency: 1)

        for _ in 0..<3_000 {
            let (start, startSignal) = Condition.makeCondition()
            let (held, heldSignal) = Condition.makeCondition()
            let holder = Task {
                await limiter.run {
                    heldSignal.signal()
                    await start.wait()
                }
            }
            await held.wait()
            let first = Task { try await limiter.run { try Task.checkCancellation() } }
            let second = Task { await limiter.run {} }
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

        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
        #expect(await limiter.runIfAvailable { true } == true)
    }

    @Test
    func `one hundred thousand cancelled waits leave no trace`() async {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let (condition, signal) = Condition.makeCondition()
        let executor = ManualExecutor()
        let holder = executor.spawn { await limiter.run { _ = await condition.wait() } }
        executor.runUntilIdle()

        for _ in 0..<1_000 {
            let waiters = (0..<100).map { _ in executor.spawnThrowing { try await limiter.run { () async throws in } } }
            executor.runUntilIdle()
            for waiter in waiters { waiter.cancel() }
            executor.runUntilIdle()
        }

        #expect(limiter.waitingCount == 0)
        #expect(limiter.storage.withMachine { $0.line.slotCount } == 0)
        signal.signal()
        executor.runUntilIdle()
        await holder.value
        #expect(limiter.runningCount == 0)
    }

    @Test(arguments: 1...100)
    func `any order of jobs ends with every task served or cancelled, and the limiter idle`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let limit = Int.random(in: 1...3, using: &random)
        let limiter = ConcurrencyLimiter(concurrency: limit)
        let occupancy = Occupancy()
        let done = Recorder<Int>()

        let tasks = (0..<20).map { number in
            executor.spawn {
                for _ in 0..<3 {
                    try? await limiter.run { () async throws in
                        occupancy.enter()
                        await suspendOnce()
                        occupancy.leave()
                    }
                    await limiter.run { await suspendOnce() }
                }
                done.note(number)
            }
        }
        for _ in 0..<10 {
            for _ in 0..<Int.random(in: 0..<20, using: &random) { executor.runOne() }
            tasks[Int.random(in: tasks.indices, using: &random)].cancel()
            if Int.random(in: 0..<10, using: &random) == 0 { limiter.cancelWaiting() }
        }
        executor.runUntilIdle()

        #expect(done.values.sorted() == Array(0..<20))
        #expect(occupancy.peak <= limit)
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
    }
}
