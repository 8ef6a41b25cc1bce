import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

/// The order by priority, with tasks on a manual executor.
@Suite struct `KeyedLimiter: priorities` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let recorder = Recorder<String>()
    let limiter = KeyedLimiter<String>(perKey: 1, total: 1, order: .priority)

    enum Form: CaseIterable {
        case throwing, uninterrupted, bounded
    }

    /// Starts a task that runs until it is signalled, and waits until it runs.
    private func hold(_ key: String) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn { [limiter] in await limiter.run(for: key) { _ = await condition.wait() } }
        executor.runUntilIdle()
        return signal
    }

    @discardableResult
    private func note(
        _ key: String, _ name: String, _ priority: TaskPriority, _ form: Form = .throwing
    ) -> Task<Void, Never> {
        let task = executor.spawn(priority: priority) { [limiter, recorder, clock] in
            do {
                switch form {
                case .throwing: try await limiter.run(for: key) { () async throws in recorder.note(name) }
                case .uninterrupted: await limiter.run(for: key) { recorder.note(name) }
                case .bounded:
                    let deadline = ManualClock.Instant(offset: .seconds(60))
                    try await limiter.run(for: key, until: deadline, clock: clock) { recorder.note(name) }
                }
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "late")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    private func expectNoTrace() {
        let traces = limiter.storage.machine.withLock { $0.traces }
        #expect((limiter.runningCount, limiter.waitingCount, traces.keys, traces.turns) == (0, 0, 0, 0))
        #expect(clock.sleeperCount == 0)
    }

    @Test(arguments: Form.allCases)
    func `within a key higher priorities go first, and the turns of the keys don't change`(form: Form) {
        #expect(limiter.order == .priority)
        let signal = hold("a")
        note("a", "low", .low, form)
        note("a", "high 1", .high, form)
        note("b", "other", .low, form)
        note("a", "high 2", .high, form)

        signal.signal()
        executor.runUntilIdle()

        // The key that is not at its limit has waited longest for its turn, whatever the priorities are.
        #expect(recorder.values == ["other", "high 1", "high 2", "low"])
        expectNoTrace()
    }

    @Test(arguments: Form.allCases)
    func `a waiting task moves up when its priority is raised`(form: Form) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let signal = hold("a")
        note("a", "medium", .medium, form)
        let raised = note("a", "raised", .low, form)
        note("a", "low", .low, form)

        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        #expect(recorder.values == [])
        #expect(limiter.waitingCount(for: "a") == 3)
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "medium", "low"])
        expectNoTrace()
    }

    @Test func `a task whose priority was raised stays in line`() {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (condition, signal) = Condition.makeCondition()
        let raised = Recorder<Task<Void, Never>>()
        _ = executor.spawn { [limiter] in
            await limiter.run(for: "a") {
                await condition.wait()
                // The raised task hasn't run again when this one gives back the last place.
                for task in raised.values { task.escalatePriority(to: .high) }
            }
        }
        executor.runUntilIdle()
        raised.note(note("a", "raised", .low))
        _ = executor.spawn { [limiter, recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "idle"])
        expectNoTrace()
    }

    @Test func `cancelWaiting reaches a task whose priority was just raised`() {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let signal = hold("a")
        let raised = note("a", "raised", .low)

        raised.escalatePriority(to: .high)
        limiter.cancelWaiting(for: "a")
        executor.runUntilIdle()

        #expect(recorder.values == ["raised cancelled"])
        signal.signal()
        executor.runUntilIdle()
        expectNoTrace()
    }

    /// Raises the priority of the task that hashes it from low to high.
    struct RaisingKey: Hashable {
        func hash(into hasher: inout Hasher) {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
            withUnsafeCurrentTask { if $0?.priority == .low { $0?.escalatePriority(to: .high) } }
        }
    }

    @Test func `a priority that is raised while the task joins the line counts`() async {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let limiter = KeyedLimiter<RaisingKey>(perKey: 1, total: 1, order: .priority)
        let (condition, signal) = Condition.makeCondition()
        for (name, priority) in [("holder", TaskPriority.high), ("medium", .medium), ("raised", .low)] {
            _ = executor.spawn(priority: priority) { [recorder] in
                await limiter.run(for: RaisingKey()) {
                    if name == "holder" { await condition.wait() }
                    recorder.note(name)
                }
            }
            executor.runUntilIdle()
        }

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["holder", "raised", "medium"])
    }

    @Test(arguments: [Form.throwing, .bounded])
    func `a task that moved up can still be cancelled`(form: Form) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let signal = hold("a")
        let raised = note("a", "raised", .low, form)
        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        raised.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["raised cancelled"])
        signal.signal()
        executor.runUntilIdle()
        expectNoTrace()
    }

    @Test func `a task that moved up keeps its deadline`() {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let signal = hold("a")
        let raised = note("a", "raised", .low, .bounded)
        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        clock.advance(by: .seconds(60))
        executor.runUntilIdle()
        #expect(recorder.values == ["raised late"])
        signal.signal()
        executor.runUntilIdle()
        expectNoTrace()
    }

    /// On all threads: raising a priority meets cancelling, granting and leaving.
    @Test func `raising priorities races with everything else and loses no task`() async {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        await withTaskGroup(of: Void.self) { group in
            for round in 0..<300 {
                let tasks = (0..<4).map { number in
                    Task(priority: .low) { [limiter] in
                        if number % 2 == 0 {
                            try? await limiter.run(for: "a") { () async throws in await suspendOnce() }
                        } else {
                            await limiter.run(for: number == 1 ? "a" : "b") { await suspendOnce() }
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
        expectNoTrace()
    }
}
