import TestSupport
import Testing

@testable import SluiceConcurrency

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
