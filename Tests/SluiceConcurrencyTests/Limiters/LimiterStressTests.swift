import SluiceLock
import Synchronization
import TestSupport
import Testing

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
    func `at most the limit runs concurrently, on all threads`(limit: Int) async {
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

    /// The interleaving explorer imitates the storage's accesses. Here, threads make the real ones. An access takes a few instructions, so
    /// a bug shows only after thousands of rounds.
    @Test
    func `only one thread at a time holds the only place, while others enter and change the limit`() async {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let occupancy = Occupancy()

        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<3 {
                group.addTask {
                    await offPool {
                        for round in 0..<100_000 {
                            if thread == 0, round.isMultiple(of: 2) {
                                limiter.resize(to: 1)
                            } else if let permit = limiter.tryAcquire() {
                                occupancy.enter()
                                occupancy.leave()
                                permit.release()
                            }
                        }
                    }
                }
            }
        }

        #expect(occupancy.peak == 1)
        #expect(limiter.runningCount == 0)
        #expect(await limiter.runIfAvailable { true } == true)
    }

    @Test
    func `the limit is reached`() async {
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

    /// Pitfall: a racing release and cancellation resume a waiter twice, or resume none and lose the place.
    @Test
    func `cancelling during a release loses no place`() async {
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
        #expect(limiter.storage.machine.withLock { $0.line.slotCount } == 0)
        signal.signal()
        executor.runUntilIdle()
        await holder.value
        #expect(limiter.runningCount == 0)
    }

    @Test(arguments: 1...100)
    func `in any order of jobs, every task is served or cancelled, and the limiter ends idle`(seed: UInt64) {
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

// MARK: - Any schedule

/// All operations together, in an order of jobs that the seed determines, so a failure can be reproduced.
@Suite struct `ConcurrencyLimiter: any schedule` {
    /// The running weight, and the number of tasks that have entered beyond the limit.
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
    func `every task is served, refused, late or cancelled, and the limiter ends idle`(seed: UInt64) {
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
        #expect(limiter.storage.machine.withLock { $0.line.slotCount } == 0)
        #expect(clock.sleeperCount == 0)
    }

    /// Checks against the limit of each moment, not just the largest: the running weight may exceed it only until enough tasks have left.
    @Test(arguments: UInt64(0)..<50)
    func `after the limit falls, no task enters until the running weight is below it`(seed: UInt64) {
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

// MARK: - A keyed limiter

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

    @Test func `at most the limits run concurrently, on all threads`() async {
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

    /// Pitfall: a racing release and cancellation resume a waiter twice, or resume none and lose the place.
    @Test func `cancelling during a release loses no place`() async {
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
    func `in any order of jobs, every task is served or cancelled, and no key is kept`(seed: UInt64) {
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
