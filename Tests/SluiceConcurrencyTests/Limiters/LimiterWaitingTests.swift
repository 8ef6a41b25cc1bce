import TestSupport
import Testing

@testable import SluiceConcurrency

/// Order, cancellation and the end of waiting, step by step on a manual executor.
@Suite struct `ConcurrencyLimiter: waiting` {
    let executor = ManualExecutor()
    let limiter = ConcurrencyLimiter(concurrency: 1)
    let recorder = Recorder<String>()

    /// Starts a task that runs on the limiter until the gate opens, and lets it come that far.
    private func hold() -> (task: Task<Void, Never>, signal: Signal) {
        let (condition, signal) = Condition.makeCondition()
        let task = executor.spawn { [limiter] in await limiter.run { _ = await condition.wait() } }
        executor.runUntilIdle()
        return (task, signal)
    }

    /// Starts a task that notes its name on the limiter, or that it was cancelled, and lets it come as far as it can.
    @discardableResult
    private func note(_ name: String) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder] in
            do {
                try await limiter.run { () async throws in recorder.note(name) }
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "failed")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    /// Runs jobs until no task waits: the place is handed over, and its new holder has not run.
    private func runUntilGranted(sourceLocation: SourceLocation = #_sourceLocation) {
        while limiter.waitingCount > 0, executor.runOne() {}
        #expect(limiter.waitingCount == 0, "No job is left, and a task still waits.", sourceLocation: sourceLocation)
    }

    @Test
    func `tasks are let in in the order in which they came`() {
        let holder = hold()
        for name in ["a", "b", "c"] { note(name) }
        #expect(limiter.runningCount == 1)
        #expect(limiter.waitingCount == 3)

        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "b", "c"])
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
    }

    @Test
    func `a cancelled head of the line lets the next in`() {
        let holder = hold()
        let first = note("a")
        note("b")

        first.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["a cancelled"])
        #expect(limiter.waitingCount == 1)
        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a cancelled", "b"])
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a task that is cancelled before it comes does not run, though there is a place`() {
        let task = executor.spawn { [limiter, recorder] in
            do { try await limiter.run { () async throws in recorder.note("ran") } } catch { recorder.note("\(error)") }
            do { try await limiter.runUnlessCancelled { recorder.note("ran") } } catch { recorder.note("\(error)") }
        }

        task.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["CancellationError()", "CancellationError()"])
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `once a place is granted the body runs, though the task is cancelled before it gets there`() {
        let holder = hold()
        let next = note("granted")

        holder.signal.signal()
        runUntilGranted()
        next.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["granted"])
    }

    @Test
    func `bodies that cannot throw run in cancelled tasks, when it is their turn`() {
        let holder = hold()
        let task = executor.spawn { [limiter, recorder] in
            await limiter.run { recorder.note("run, cancelled: \(Task.isCancelled)") }
            await limiter.runUninterrupted { recorder.note("runUninterrupted") }
            _ = await limiter.runIfAvailable { recorder.note("runIfAvailable") }
        }
        executor.runUntilIdle()

        task.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["run, cancelled: true", "runUninterrupted", "runIfAvailable"])
    }

    @Test
    func `runIfAvailable returns nil if there is no place`() async {
        let holder = hold()

        let result = await limiter.runIfAvailable { 1 }

        #expect(result == nil)
        holder.signal.signal()
        executor.runUntilIdle()
        #expect(await limiter.runIfAvailable { 1 } == 1)
    }

    @Test
    func `runIfAvailable does not overtake a task that was granted a place and has not run yet`() async {
        let holder = hold()
        note("waiter")

        holder.signal.signal()
        runUntilGranted()
        let result = await limiter.runIfAvailable { 1 }

        #expect(result == nil)
        executor.runUntilIdle()
        #expect(recorder.values == ["waiter"])
    }

    @Test
    func `cancelWaiting lets go the tasks that can give up, and only those`() {
        let holder = hold()
        note("a")
        let stubborn = executor.spawn { [limiter, recorder] in await limiter.run { recorder.note("stubborn") } }
        executor.runUntilIdle()
        note("b")

        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values == ["a cancelled", "b cancelled"])
        #expect(limiter.waitingCount == 1)
        note("later")
        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a cancelled", "b cancelled", "stubborn", "later"])
        #expect(!stubborn.isCancelled)
    }

    @Test
    func `waitUntilIdle returns when the last has left, also in a cancelled task`() async {
        await limiter.waitUntilIdle()
        let holder = hold()
        note("a")
        let idle = executor.spawn { [limiter, recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()

        idle.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "idle"])
        #expect(await limiter.runIfAvailable { true } == true)
    }

    /// Notes when a body of weight zero begins, and lets it run until the signal.
    private func holdNothing(_ limiter: ConcurrencyLimiter, _ priority: TaskPriority? = nil) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn(priority: priority) { [recorder] in
            try? await limiter.run(weight: 0) { () async throws in
                recorder.note("begins")
                await condition.wait()
            }
        }
        executor.runUntilIdle()
        return signal
    }

    private func watch(_ limiter: ConcurrencyLimiter) {
        _ = executor.spawn { [recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()
    }

    @Test
    func `waitUntilIdle returns if the last place goes to a waiting body of weight zero`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 2)
        let permit = try limiter.take(2)
        limiter.resize(to: 1)
        let signal = holdNothing(limiter)
        watch(limiter)
        #expect(recorder.values == [])

        permit.release()
        executor.runUntilIdle()
        #expect(recorder.values == ["begins"])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["begins", "idle"])
    }

    @Test(arguments: [false, true])
    func `waitUntilIdle waits for bodies of weight zero`(isWatchedFirst: Bool) throws {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let permit = try limiter.take()
        let signals = [holdNothing(limiter), holdNothing(limiter)]
        if isWatchedFirst { watch(limiter) }
        permit.release()
        if !isWatchedFirst { watch(limiter) }
        executor.runUntilIdle()
        #expect(recorder.values == ["begins", "begins"])
        signals[0].signal()
        executor.runUntilIdle()
        #expect(recorder.values == ["begins", "begins"])

        signals[1].signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["begins", "begins", "idle"])
        #expect(limiter.statistics.grantedCount == 3)
    }

    @Test
    func `a waiting task keeps the limiter alive`() {
        weak var limiter: ConcurrencyLimiter?
        let (condition, signal) = Condition.makeCondition()
        do {
            let made = ConcurrencyLimiter(concurrency: 1)
            limiter = made
            for name in ["a", "b"] {
                _ = executor.spawn { [recorder] in
                    await made.run {
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

    @Test
    func `a limit below one is refused with a sentence`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ConcurrencyLimiter(concurrency: 0)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("must be at least 1; it is 0"))
        #endif
    }
}

// MARK: - Deadlines

@Suite struct `ConcurrencyLimiter: deadlines and statistics` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let limiter = ConcurrencyLimiter(concurrency: 1)
    let recorder = Recorder<String>()

    private func at(_ seconds: Int) -> ManualClock.Instant { .init(offset: .seconds(seconds)) }

    @discardableResult
    private func acquire(_ name: String, until seconds: Int) -> Task<Void, Never> {
        let deadline = at(seconds)
        let task = executor.spawn { [limiter, clock, recorder] in
            do {
                let permit = try await limiter.acquire(until: deadline, clock: clock)
                recorder.note(name)
                permit.release()
            } catch is DeadlineExceeded {
                recorder.note("\(name) late")
            } catch {
                recorder.note("\(name): \(error)")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test
    func `a wait ends at its deadline, and those behind it keep their places`() throws {
        let permit = try limiter.take()
        acquire("a", until: 2)
        acquire("b", until: 5)
        #expect(limiter.waitingCount == 2)

        clock.advance(by: .seconds(2))
        executor.runUntilIdle()
        #expect(recorder.values == ["a late"])
        #expect(limiter.waitingCount == 1)
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["a late", "b"])
        #expect(clock.sleeperCount == 0, "nothing is left behind")
        #expect(limiter.runningCount == 0)
    }

    /// Starts a task that waits until the limiter is idle, and notes how that ended.
    @discardableResult
    private func noteIdle(_ name: String, until seconds: Int) -> Task<Void, Never> {
        let deadline = at(seconds)
        let task = executor.spawn { [limiter, recorder, clock] in
            do {
                try await limiter.waitUntilIdle(until: deadline, clock: clock)
                recorder.note("\(name) idle")
            } catch {
                recorder.note("\(name) \(type(of: error))")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test
    func `the wait for an idle limiter ends at its deadline or with its task, and otherwise when the last has left`()
        throws
    {
        let permit = try limiter.take()
        noteIdle("a", until: 1)
        noteIdle("b", until: 2)
        noteIdle("c", until: 3).cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["c CancellationError"])

        clock.advance(by: .seconds(1))
        executor.runUntilIdle()
        #expect(recorder.values == ["c CancellationError", "a DeadlineExceeded"])

        permit.release()
        executor.runUntilIdle()
        #expect(recorder.values.last == "b idle")
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `the wait for a limiter that is idle returns even after the deadline`() {
        clock.advance(by: .seconds(5))
        noteIdle("a", until: 1)
        #expect(recorder.values == ["a idle"])
    }

    @Test
    func `a place that is free is given also after the deadline`() {
        clock.advance(by: .seconds(10))
        acquire("a", until: 2)
        #expect(recorder.values == ["a"])
    }

    @Test
    func `with a deadline that has passed, no task waits for long`() throws {
        let permit = try limiter.take()
        clock.advance(by: .seconds(10))
        acquire("a", until: 2)
        #expect(recorder.values == ["a late"])
        permit.release()
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a place that is granted before the deadline is kept, though the deadline comes before its task runs`() throws
    {
        let permit = try limiter.take()
        acquire("a", until: 2)
        permit.release()
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        #expect(recorder.values == ["a"])
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `cancellation ends the wait before the deadline`() throws {
        let permit = try limiter.take()
        let task = acquire("a", until: 2)
        task.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["a: CancellationError()"])
        #expect(clock.sleeperCount == 0)
        permit.release()
    }

    @Test
    func `run with a deadline bounds the wait and not the body`() async throws {
        let deadline = at(1)
        let ran = try await limiter.run(until: deadline, clock: clock) { () async throws -> Int in
            clock.advance(by: .seconds(5))
            return 7
        }
        #expect(ran == 7)
        let permit = try limiter.take()
        let late = await #expect(throws: DeadlineExceeded.self) {
            try await limiter.run(until: deadline, clock: clock) { () async throws -> Int in 7 }
        }
        #expect(late?.cause == nil)
        permit.release()
        await #expect(throws: WeightExceedsLimit.self) {
            _ = try await limiter.run(weight: 2, until: deadline, clock: clock) { () async throws -> Int in 7 }
        }
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a timeout ends the wait and not the body, on the continuous clock`() async throws {
        #expect(try await limiter.run(timeout: .zero) { () async throws -> Int in 7 } == 7)
        try await limiter.acquire(timeout: .zero).release()

        let permit = try limiter.take()
        await #expect(throws: DeadlineExceeded.self) {
            try await limiter.run(timeout: .zero) { () async throws -> Int in 7 }
        }
        await #expect(throws: DeadlineExceeded.self) { try await limiter.acquire(timeout: .zero).release() }
        permit.release()
        #expect((limiter.runningCount, limiter.waitingCount) == (0, 0))
    }

    // MARK: Statistics

    @Test
    func `statistics count the present and the past`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 4, clock: clock)
        #expect(
            limiter.statistics
                == .init(
                    concurrency: 4, runningCount: 0, waitingCount: 0, maximumRunningCount: 0, grantedCount: 0,
                    totalWait: .zero, maximumWait: .zero))
        let first = try limiter.take(3)
        let waiting = [2, 3].map { weight in
            executor.spawn { _ = try? await limiter.acquire(weight: weight) }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(2))
        #expect(limiter.statistics.runningCount == 3)
        #expect(limiter.statistics.waitingCount == 2)

        waiting[1].cancel()
        executor.runUntilIdle()
        clock.advance(by: .milliseconds(1_500))
        first.release()
        executor.runUntilIdle()

        let statistics = limiter.statistics
        #expect(
            (statistics.runningCount, statistics.waitingCount, statistics.maximumRunningCount, statistics.grantedCount)
                == (0, 0, 3, 2))
        #expect(statistics.totalWait == .milliseconds(5_500))
        #expect(statistics.maximumWait == .milliseconds(3_500))
    }

    @Test
    func `without a clock no time is measured`() {
        #expect(limiter.statistics.totalWait == nil)
        #expect(limiter.statistics.maximumWait == nil)
    }

    @Test
    func `every body and permit is counted, however many there are`() async {
        for _ in 0..<100_000 { await limiter.run {} }
        #expect(limiter.statistics.grantedCount == 100_000)
        #expect(limiter.statistics.maximumRunningCount == 1)
    }
}
