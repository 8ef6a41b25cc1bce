import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

/// The effect of keys on waiting, step by step on a manual executor.
@Suite struct `KeyedLimiter: waiting` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()
    let limiter = KeyedLimiter<String>(perKey: 1, total: 1)

    /// Starts a task that runs until it is signalled, and waits until it runs.
    private func hold(_ key: String) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn { [limiter] in await limiter.run(for: key) { _ = await condition.wait() } }
        executor.runUntilIdle()
        return signal
    }

    /// Starts a task that records its name when it runs on the limiter, or that it was cancelled. Runs it until it waits or ends.
    @discardableResult
    private func note(_ key: String, _ name: String) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder] in
            do {
                try await limiter.run(for: key) { () async throws in recorder.note(name) }
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "failed")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test func `a key's only task waits for at most one task of a key that has a thousand`() {
        let signal = hold("many")
        for number in 0..<1_000 { note("many", "many \(number)") }
        note("one", "one")
        #expect(limiter.waitingCount == 1_001)
        #expect(
            (limiter.runningCount(for: "many"), limiter.waitingCount(for: "many"), limiter.waitingCount(for: "one"))
                == (1, 1_000, 1))

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values.firstIndex(of: "one")! <= 1)
        #expect(recorder.values.filter { $0 != "one" } == (0..<1_000).map { "many \($0)" })
    }

    @Test func `cancelWaiting for a key leaves other keys' tasks in line`() {
        let signal = hold("a")
        note("a", "a")
        note("b", "b1")
        note("b", "b2")

        limiter.cancelWaiting(for: "b")
        limiter.cancelWaiting(for: "unused")
        executor.runUntilIdle()
        #expect(recorder.values == ["b1 cancelled", "b2 cancelled"])
        note("b", "later")
        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values.dropFirst(2).sorted() == ["a cancelled", "later cancelled"])
        signal.signal()
        executor.runUntilIdle()

        #expect((limiter.runningCount, limiter.waitingCount) == (0, 0))
        #expect(limiter.storage.machine.withLock { $0.traces.keys } == 0)
    }
}

// MARK: - Permits, weights and limits

@Suite struct `KeyedLimiter: permits, weights and limits` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let recorder = Recorder<String>()
    let limiter = KeyedLimiter<String>(perKey: 2, total: 3)

    /// Starts a task that records its name when it gets a permit, or why it got none, and releases the permit.
    @discardableResult
    private func note(_ key: String, _ name: String, weight: Int = 1) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder, clock] in
            do {
                let deadline = ManualClock.Instant(offset: .seconds(60))
                let permit = try await limiter.acquire(for: key, weight: weight, until: deadline, clock: clock)
                recorder.note(name)
                permit.release()
            } catch let error as WeightExceedsLimit {
                recorder.note("\(name) \(error.weight) of \(error.maximumWeight)")
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "late")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test func `a permit holds a place until it is released`() {
        let permit = limiter.tryAcquire(for: "a")!
        let other = limiter.tryAcquire(for: "a")
        let third = limiter.tryAcquire(for: "a") == nil

        #expect((permit.key, permit.weight) == ("a", 1))
        #expect(third)
        #expect((limiter.runningCount, limiter.runningCount(for: "a")) == (2, 2))
        note("a", "waits")
        #expect(recorder.values == [])
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["waits"])
        #expect(limiter.runningCount == 1)
        withExtendedLifetime(other) {}
    }

    @Test func `a dropped permit releases its place`() async throws {
        do { _ = try await limiter.acquire(for: "a", weight: 2) }
        _ = try await limiter.acquire(for: "a")

        #expect(limiter.runningCount == 0)
    }

    @Test func `the weight of a body counts while it runs`() async throws {
        let counts = try await limiter.run(for: "a", weight: 2) {
            [limiter.runningCount, limiter.runningCount(for: "a"), limiter.runningCount(for: "b")]
        }

        #expect(counts == [2, 2, 0])
        #expect(limiter.runningCount == 0)
    }

    @Test func `a weight above a limit is refused, and the error names the smaller limit`() async {
        let error = await #expect(throws: WeightExceedsLimit.self) { try await limiter.run(for: "a", weight: 3) {} }
        let isRefused = limiter.tryAcquire(for: "a", weight: 3) == nil

        #expect((error?.weight, error?.maximumWeight) == (3, 2))
        #expect(isRefused)
    }

    @Test func `a waiting task gives up at its deadline`() {
        let first = limiter.tryAcquire(for: "x", weight: 2)
        note("a", "heavy", weight: 2)
        #expect(recorder.values == [])

        clock.advance(by: .seconds(60))
        executor.runUntilIdle()

        #expect(recorder.values == ["heavy late"])
        #expect((limiter.waitingCount, clock.sleeperCount) == (0, 0))
        withExtendedLifetime(first) {}
    }

    @Test func `cancelling a heavy waiting task admits the tasks behind it`() {
        let first = limiter.tryAcquire(for: "x", weight: 2)
        let heavy = note("a", "heavy", weight: 2)
        note("b", "light")

        heavy.cancel()
        executor.runUntilIdle()

        #expect(recorder.values.sorted() == ["heavy cancelled", "light"])
        withExtendedLifetime(first) {}
    }

    @Test func `new limits admit tasks, and fail requests that are too large`() {
        let first = limiter.tryAcquire(for: "x", weight: 2)
        let second = limiter.tryAcquire(for: "y")
        note("a", "light")
        note("b", "heavy", weight: 2)

        limiter.setLimits(perKey: 1)
        executor.runUntilIdle()
        #expect(recorder.values == ["heavy 2 of 1"])
        limiter.setLimits(total: 4)
        executor.runUntilIdle()

        #expect(recorder.values == ["heavy 2 of 1", "light"])
        #expect((limiter.perKey, limiter.total) == (1, 4))
        withExtendedLifetime(first) {}
        withExtendedLifetime(second) {}
    }
}

// MARK: - Priorities

/// The order of priorities, with tasks on a manual executor.
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
    func `within a key, higher priorities go first, and the keys' turns don't change`(form: Form) {
        #expect(limiter.order == .priority)
        let signal = hold("a")
        note("a", "low", .low, form)
        note("a", "high 1", .high, form)
        note("b", "other", .low, form)
        note("a", "high 2", .high, form)

        signal.signal()
        executor.runUntilIdle()

        // The key that isn't at its limit has waited longest for its turn, regardless of priorities.
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
                // The raised task hasn't run again when this one releases the last place.
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

    @Test func `a priority raised while the task joins the line counts`() async {
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

    /// Raises priorities on all threads while other tasks are cancelled, admitted and leave.
    @Test func `raising priorities concurrently with everything else loses no task`() async {
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

// MARK: - Keys, lifetime and mistakes

/// The lifetime of keys and of the limiter itself, and invalid arguments.
@Suite struct `KeyedLimiter: keys, lifetime and mistakes` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// A key that uses the limiter when it is destroyed.
    final class Visitor: Hashable, Sendable {
        let name: String
        let onEnd: @Sendable () -> Void

        init(_ name: String, onEnd: @escaping @Sendable () -> Void) {
            self.name = name
            self.onEnd = onEnd
        }

        deinit { onEnd() }

        static func == (first: Visitor, second: Visitor) -> Bool { first.name == second.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    @Test func `a key is destroyed outside the lock, so its deinit may use the limiter`() {
        let limiter = KeyedLimiter<Visitor>(perKey: 1, total: 1)
        let onEnd: @Sendable () -> Void = { [recorder] in recorder.note("\(limiter.waitingCount) wait") }
        let (condition, signal) = Condition.makeCondition()
        let tasks = (0..<5).map { number in
            executor.spawn {
                if number % 2 == 0 {
                    await limiter.run(for: Visitor("\(number / 2)", onEnd: onEnd)) { _ = await condition.wait() }
                } else {
                    try? await limiter.run(for: Visitor("\(number / 2)", onEnd: onEnd)) { () async throws in }
                }
            }
        }
        executor.runUntilIdle()
        limiter.cancelWaiting()
        for task in tasks { task.cancel() }
        executor.runUntilIdle()
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values.count == 5)
        #expect(limiter.storage.machine.withLock { $0.traces.keys } == 0)
    }

    @Test func `a waiting task keeps the limiter alive`() {
        weak var limiter: KeyedLimiter<String>?
        let (condition, signal) = Condition.makeCondition()
        do {
            let made = KeyedLimiter<String>(perKey: 1, total: 1)
            limiter = made
            for name in ["a", "b"] {
                _ = executor.spawn { [recorder] in
                    await made.run(for: name) {
                        await condition.wait()
                        recorder.note(name)
                    }
                }
            }
        }
        executor.runUntilIdle()
        #expect(limiter?.waitingCount == 1)
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "b"])
        #expect(limiter == nil)
    }

    @Test func `limits below one trap with a message`() async {
        let perKey = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = KeyedLimiter<Int>(perKey: 0, total: 1)
        }
        let total = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = KeyedLimiter<Int>(perKey: 1, total: 0)
        }
        let messages = [perKey, total].map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
        #if DEBUG
        #expect(messages[0].contains("perKey must be at least 1; it is 0"))
        #expect(messages[1].contains("total must be at least 1; it is 0"))
        #endif
    }
}
