import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `ConcurrencyLimiter: priorities and holders` {
    let executor = ManualExecutor()
    let limiter = ConcurrencyLimiter(concurrency: 1, order: .priority)
    let recorder = Recorder<String>()

    @discardableResult
    private func note(_ name: String, _ priority: TaskPriority, uninterrupted: Bool = false) -> Task<Void, Never> {
        let task = executor.spawn(priority: priority) { [limiter, recorder] in
            if uninterrupted {
                await limiter.run { recorder.note(name) }
            } else {
                do {
                    try await limiter.run { () async throws in recorder.note(name) }
                } catch {
                    recorder.note("\(name) cancelled")
                }
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test(arguments: [false, true])
    func `the more urgent go first, and among equals the first`(uninterrupted: Bool) throws {
        let permit = try limiter.take()
        note("low", .low, uninterrupted: uninterrupted)
        note("medium", .medium, uninterrupted: uninterrupted)
        note("high 1", .high, uninterrupted: uninterrupted)
        note("high 2", .high, uninterrupted: uninterrupted)

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["high 1", "high 2", "medium", "low"])
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `no task starves behind more urgent ones that keep coming`() throws {
        let permit = try limiter.take()
        note("low", .low)
        for number in 0..<40 { note("\(number)", .high) }

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.firstIndex(of: "low") == 16)
    }

    @Test
    func `a request that is the first in order is admitted if it fits, though a lower one waits for more`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 10, order: .priority)
        let permit = try limiter.take(5)
        func run(_ name: String, _ weight: Int, _ priority: TaskPriority) {
            _ = executor.spawn(priority: priority) { [recorder] in
                try? await limiter.run(weight: weight) { () async throws in recorder.note(name) }
            }
            executor.runUntilIdle()
        }
        run("background", 8, .background)
        run("as low", 1, .background)
        run("high", 3, .high)
        run("too heavy for now", 6, .high)
        run("behind it", 1, .high)
        #expect(recorder.values == ["high"])

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["high", "too heavy for now", "behind it", "background", "as low"])
    }

    @Test
    func `requests of higher priority pass over a heavy one sixteen times, and no more`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 10, order: .priority)
        let permit = try limiter.take(5)
        for number in 0..<20 {
            _ = executor.spawn(priority: number == 0 ? .background : .high) { [recorder] in
                try? await limiter.run(weight: number == 0 ? 8 : 1) { () async throws in recorder.note("\(number)") }
            }
            executor.runUntilIdle()
        }
        #expect(recorder.values == (1...16).map { "\($0)" })

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.suffix(4) == ["0", "17", "18", "19"])
    }

    /// A clock that calls a function whenever it is read.
    struct HookedClock: Clock {
        let hook: @Sendable () -> Void

        var now: ManualClock.Instant {
            hook()
            return .init()
        }
        var minimumResolution: Duration { .zero }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {}
    }

    @Test
    func `a priority that is raised while the task joins the line counts`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // The limiter reads the clock after the task has joined the line, with the priority that it had before.
        let clock = HookedClock {
            withUnsafeCurrentTask { if $0?.priority == .low { $0?.escalatePriority(to: .high) } }
        }
        let limiter = ConcurrencyLimiter(concurrency: 1, order: .priority, clock: clock)
        let permit = try limiter.take()
        for (name, priority) in [("medium", TaskPriority.medium), ("raised", .low)] {
            _ = executor.spawn(priority: priority) { [recorder] in
                try? await limiter.run { () async throws in recorder.note(name) }
            }
            executor.runUntilIdle()
        }

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "medium"])
    }

    @Test
    func `a task whose priority was raised stays in line`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let permit = try limiter.take()
        let raised = note("raised", .low)
        _ = executor.spawn { [limiter, recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()

        raised.escalatePriority(to: .high)
        permit.release()
        #expect(limiter.refuses(), "the place is the raised task's")
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "idle"])
    }

    @Test
    func `a raised request that fits is admitted before a heavy one, and those behind it too`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let limiter = ConcurrencyLimiter(concurrency: 4, order: .priority)
        let permit = try limiter.take(1)
        let tasks = [("heavy", 4, TaskPriority.medium), ("raised", 1, .low), ("light", 1, .low)].map {
            name, weight, priority in
            defer { executor.runUntilIdle() }
            return executor.spawn(priority: priority) { [recorder] in
                try? await limiter.run(weight: weight) { () async throws in recorder.note(name) }
            }
        }
        #expect(recorder.values == [])

        tasks[2].escalatePriority(to: .high)
        tasks[1].escalatePriority(to: .high)
        executor.runUntilIdle()
        #expect(recorder.values.sorted() == ["light", "raised"])
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.last == "heavy")
        #expect(limiter.runningCount == 0)
    }

    @Test(arguments: [false, true])
    func `a waiter moves up when its task becomes more urgent`(uninterrupted: Bool) throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let permit = try limiter.take()
        note("medium", .medium)
        let raised = note("raised", .low, uninterrupted: uninterrupted)
        note("low", .low)

        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        #expect(recorder.values == [])
        #expect(limiter.waitingCount == 3)
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "medium", "low"])
        #expect(limiter.storage.machine.withLock { $0.line.slotCount } == 0)
    }

    @Test
    func `one that moved up can still be cancelled`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let permit = try limiter.take()
        let raised = note("raised", .low)
        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        raised.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["raised cancelled"])
        permit.release()
        #expect(limiter.runningCount == 0)
    }

    /// On all threads: raising a priority meets cancelling, granting and leaving.
    @Test
    func `raising priorities races with everything else and loses no task`() async {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        await withTaskGroup(of: Void.self) { group in
            for round in 0..<300 {
                let tasks = (0..<4).map { number in
                    Task(priority: .low) { [limiter] in
                        if number % 2 == 0 {
                            try? await limiter.run { () async throws in await suspendOnce() }
                        } else {
                            await limiter.run { await suspendOnce() }
                        }
                    }
                }
                group.addTask {
                    for task in tasks { task.escalatePriority(to: round % 2 == 0 ? .medium : .high) }
                }
                group.addTask { tasks[round % 4].cancel() }
                group.addTask { for task in tasks { await task.value } }
            }
        }
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
        #expect(limiter.storage.machine.withLock { $0.line.slotCount } == 0)
    }

    /// On all threads: a raised task admits itself and others, in a handler that the runtime calls.
    @Test
    func `raised requests that admit each other lose no task`() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let limiter = ConcurrencyLimiter(concurrency: 4, order: .priority)
        for round in 0..<500 {
            let permit = try limiter.take(1)
            let heavy = Task(priority: .medium) { try? await limiter.run(weight: 4) { () async throws in } }
            let tasks = (0..<6).map { number in
                Task(priority: .low) {
                    _ = try? await limiter.run(weight: number % 3) { () async throws in await suspendOnce() }
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for task in tasks { group.addTask { task.escalatePriority(to: .high) } }
                group.addTask { tasks[round % 6].cancel() }
                group.addTask { heavy.escalatePriority(to: .high) }
            }
            permit.release()
            for task in tasks { await task.value }
            await heavy.value
        }
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
        #expect(limiter.storage.machine.withLock { $0.line.slotCount + $0.weightless } == 0)
    }

    // MARK: Holders

    @Test
    func `with holders tracked, a body that runs another one stops the program with a sentence`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let limiter = ConcurrencyLimiter(concurrency: 2, tracksHolders: true)
            await limiter.run { await limiter.run {} }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("must not use the same limiter"))
        #endif
    }

    @Test
    func `with holders tracked everything else works as usual`() async throws {
        let limiter = ConcurrencyLimiter(concurrency: 1, tracksHolders: true)
        struct Failure: Error {}

        let seven = await limiter.run { 7 }
        let eight = try await limiter.run { () async throws in 8 }
        let nine = await limiter.runIfAvailable { 9 }
        await #expect(throws: Failure.self) { try await limiter.run { throw Failure() } }
        await #expect(throws: WeightExceedsLimit.self) { try await limiter.run(weight: 2) { () async throws in } }
        let permit = try limiter.take()
        #expect(await limiter.runIfAvailable { 1 } == nil)
        let cancelled = executor.spawn { try? await limiter.run { () async throws in 1 } }
        executor.runUntilIdle()
        cancelled.cancel()
        executor.runUntilIdle()
        #expect(await cancelled.value == nil)
        permit.release()
        try await limiter.run(weight: 1) { () async throws in }
        await limiter.waitUntilIdle()

        #expect((seven, eight, nine) == (7, 8, 9))
        #expect(limiter.statistics.grantedCount == 6)
        #expect(limiter.statistics.maximumRunningCount == 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { await limiter.run { await suspendOnce() } } }
        }
        #expect(limiter.runningCount == 0)
        let inner = await limiter.run { await limiter.runIfAvailable { 1 } }
        #expect(inner == nil, "it does not wait, so it is no mistake")
        let wide = ConcurrencyLimiter(concurrency: 2, tracksHolders: true)
        let both = await wide.run { await wide.runIfAvailable { wide.runningCount } }
        #expect(both == 2)
        await wide.run {}
    }
}
