import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite("ConcurrencyLimiter: deadlines and metrics")
struct LimiterDeadlineTests {
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
                guard let permit = try await limiter.acquire(until: deadline, clock: clock) else {
                    recorder.note("\(name) late")
                    return
                }
                recorder.note(name)
                permit.release()
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
        #expect(limiter.waiting == 2)

        clock.advance(by: .seconds(2))
        executor.runUntilIdle()
        #expect(recorder.values == ["a late"])
        #expect(limiter.waiting == 1)
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["a late", "b"])
        #expect(clock.sleeperCount == 0, "nothing is left behind")
        #expect(limiter.running == 0)
    }

    @Test
    func `a place that is free is given also after the deadline`() {
        clock.advance(by: .seconds(10))
        acquire("a", until: 2)
        #expect(recorder.values == ["a"])
    }

    @Test
    func `with a deadline that has passed, nobody waits for long`() throws {
        let permit = try limiter.take()
        clock.advance(by: .seconds(10))
        acquire("a", until: 2)
        #expect(recorder.values == ["a late"])
        permit.release()
        #expect(limiter.running == 0)
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
        #expect(limiter.running == 0)
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
        let late = try await limiter.run(until: deadline, clock: clock) { () async throws -> Int in 7 }
        #expect(late == nil)
        permit.release()
        await #expect(throws: WeightExceedsLimit.self) {
            _ = try await limiter.run(weight: 2, until: deadline, clock: clock) { () async throws -> Int in 7 }
        }
        #expect(limiter.running == 0)
    }

    // MARK: Metrics

    @Test
    func `metrics count what is going on and what has been`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 4, clock: clock)
        #expect(
            limiter.metrics
                == .init(
                    limit: 4, running: 0, waiting: 0, peak: 0, granted: 0, waited: .zero, longestWait: .zero))
        let first = try limiter.take(3)
        let waiting = [2, 3].map { weight in
            executor.spawn { _ = try? await limiter.acquire(weight: weight) }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(2))
        #expect(limiter.metrics.running == 3)
        #expect(limiter.metrics.waiting == 2)

        waiting[1].cancel()
        executor.runUntilIdle()
        clock.advance(by: .milliseconds(1_500))
        first.release()
        executor.runUntilIdle()

        let metrics = limiter.metrics
        #expect((metrics.running, metrics.waiting, metrics.peak, metrics.granted) == (0, 0, 3, 2))
        #expect(metrics.waited == .milliseconds(5_500))
        #expect(metrics.longestWait == .milliseconds(3_500))
    }

    @Test
    func `without a clock no time is measured`() {
        #expect(limiter.metrics.waited == nil)
        #expect(limiter.metrics.longestWait == nil)
    }

    @Test
    func `every body and permit is counted, however many there are`() async {
        for _ in 0..<100_000 { await limiter.run {} }
        #expect(limiter.metrics.granted == 100_000)
        #expect(limiter.metrics.peak == 1)
    }
}
