import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

/// Waiting for tokens, step by step on a manual executor and a manual clock.
@Suite struct `RateLimiter: waiting` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let recorder = Recorder<String>()
    let limiter: RateLimiter<ManualClock>

    /// A token each second, with a burst of ten.
    init() {
        limiter = RateLimiter(rate: 1, per: .seconds(1), burst: 10, clock: clock)
    }

    /// Starts a task that consumes and notes how that ended, and lets it come as far as it can.
    @discardableResult
    private func consume(_ weight: Int, _ name: String, within time: Duration? = nil) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder, clock] in
            do {
                if let time {
                    try await limiter.consume(weight, until: clock.now.advanced(by: time))
                } else {
                    try await limiter.consume(weight)
                }
                recorder.note(name)
            } catch is DeadlineExceeded {
                recorder.note("\(name) late")
            } catch is WeightExceedsLimit {
                recorder.note("\(name) too heavy")
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "failed")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    private func pass(_ seconds: Double) {
        clock.advance(by: .seconds(seconds))
        executor.runUntilIdle()
    }

    /// No task waits or sleeps, and nothing is kept for a task.
    private func expectNoTrace() {
        let (slots, queued) = limiter.storage.machine.withLock { ($0.line.slotCount, $0.queued) }
        #expect((slots, queued, clock.sleeperCount) == (0, 0, 0))
    }

    @Test func `a full bucket lets a burst pass immediately, then the rate`() {
        for number in 0..<13 { consume(1, "\(number)") }
        #expect(recorder.values == (0..<10).map(String.init))
        #expect(clock.sleeperCount == 1)

        for expected in 11...13 {
            pass(0.5)
            #expect(recorder.values.count == expected - 1)
            pass(0.5)
            #expect(recorder.values.count == expected)
        }
        #expect(recorder.values == (0..<13).map(String.init))
        expectNoTrace()
    }

    @Test func `a light request waits behind a heavy one, and tryConsume does not overtake`() {
        consume(5, "burst")
        consume(8, "heavy")
        consume(1, "light")
        #expect(!limiter.tryConsume())
        #expect((limiter.available, limiter.waitingCount) == (5, 2))

        pass(3)
        #expect(recorder.values == ["burst", "heavy"])
        pass(1)
        #expect(recorder.values == ["burst", "heavy", "light"])
        #expect(!limiter.tryConsume())
        pass(1)
        #expect(limiter.tryConsume())
    }

    @Test func `a cancelled leader spends nothing, and those behind it move up`() {
        consume(5, "burst")
        let heavy = consume(10, "heavy")
        consume(5, "light")
        consume(2, "next")

        heavy.cancel()
        executor.runUntilIdle()
        #expect(recorder.values.sorted() == ["burst", "heavy cancelled", "light"])
        #expect(clock.sleeperCount == 1)
        pass(2)

        #expect(recorder.values.last == "next")
        expectNoTrace()
    }

    @Test func `a cancelled task in the middle leaves the others in order`() {
        consume(10, "burst")
        consume(1, "a")
        let b = consume(1, "b")
        consume(1, "c")
        b.cancel()
        executor.runUntilIdle()
        pass(1)
        pass(1)
        #expect(recorder.values == ["burst", "b cancelled", "a", "c"])
        expectNoTrace()
    }

    @Test func `a task that is cancelled before it comes takes nothing`() {
        let task = executor.spawn { [limiter, recorder] in
            do { try await limiter.consume() } catch { recorder.note("\(error)") }
        }
        task.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["CancellationError()"])
        #expect(limiter.available == 10)
    }

    @Test func `a jump of the clock brings no more than a burst`() {
        consume(10, "burst")
        for number in 0..<30 { consume(1, "\(number)") }
        pass(1_000_000)
        #expect(recorder.values.count == 11)
        pass(1)
        #expect(recorder.values.count == 12)
        limiter.cancelWaiting()
        executor.runUntilIdle()
        expectNoTrace()
    }

    @Test func `more than the burst fails immediately, and says what helps`() async {
        consume(11, "heavy")
        #expect(recorder.values == ["heavy too heavy"])
        #expect(!limiter.tryConsume(11))
        let error = await #expect(throws: WeightExceedsLimit.self) { try await limiter.consume(11) }
        #expect(error == WeightExceedsLimit(weight: 11, maximumWeight: 10))
        #expect(error?.description.contains("a weight of 11, but the limiter allows at most 10") == true)
    }

    @Test func `zero waits its turn and takes nothing`() {
        consume(0, "zero")
        consume(10, "burst")
        consume(1, "one")
        consume(0, "zero in line")
        #expect(recorder.values == ["zero", "burst"])
        pass(1)
        #expect(recorder.values == ["zero", "burst", "one", "zero in line"])
        expectNoTrace()
    }

    // MARK: Deadlines

    @Test func `what cannot be there by the deadline fails immediately, counting those in line`() {
        consume(10, "burst")
        consume(3, "in line")
        consume(2, "too late", within: .seconds(4.999))
        consume(2, "just in time", within: .seconds(5))
        #expect(recorder.values == ["burst", "too late late"])
        #expect(limiter.waitingCount == 2)

        pass(3)
        pass(2)
        #expect(recorder.values == ["burst", "too late late", "in line", "just in time"])
        expectNoTrace()
    }

    @Test func `a timeout is a deadline by the clock of the limiter`() async throws {
        try await limiter.consume(10, timeout: .seconds(-1))
        await #expect(throws: DeadlineExceeded.self) { try await limiter.consume(2, timeout: .seconds(1.999)) }
        let waiting = executor.spawnThrowing { [limiter] in try await limiter.consume(2, timeout: .seconds(2)) }
        executor.runUntilIdle()
        pass(2)
        try await waiting.value
        expectNoTrace()
    }

    @Test func `available tokens are taken, even if the deadline is over`() {
        consume(3, "late", within: .seconds(-1))
        #expect(recorder.values == ["late"])
    }

    @Test func `a deadline ends a wait that became longer, of the leader and of others`() {
        consume(10, "burst")
        consume(2, "leader", within: .seconds(2))
        consume(1, "follower", within: .seconds(3))
        consume(1, "patient")
        limiter.setRate(1, per: .seconds(10))
        executor.runUntilIdle()

        pass(2)
        #expect(recorder.values == ["burst", "leader late"])
        pass(1)
        #expect(recorder.values == ["burst", "leader late", "follower late"])
        pass(7)
        #expect(recorder.values.last == "patient")
        expectNoTrace()
    }

    @Test func `a follower with a deadline becomes leader and is granted`() {
        consume(10, "burst")
        consume(1, "leader")
        consume(1, "follower", within: .seconds(10))
        pass(1)
        pass(1)
        #expect(recorder.values == ["burst", "leader", "follower"])
        expectNoTrace()
    }

    // MARK: Changes

    @Test func `a faster rate wakes the leader earlier, a slower one later`() {
        consume(10, "burst")
        consume(4, "a")
        consume(1, "b")
        pass(1)
        limiter.setRate(3, per: .seconds(1))
        executor.runUntilIdle()
        pass(1)
        #expect(recorder.values == ["burst", "a"])
        limiter.setRate(1, per: .seconds(60))
        executor.runUntilIdle()
        pass(59)
        #expect(recorder.values == ["burst", "a"])
        pass(1)
        #expect(recorder.values == ["burst", "a", "b"])
        expectNoTrace()
    }

    @Test func `a smaller burst fails the tasks that want more, and lets the others move up`() {
        consume(10, "burst")
        consume(8, "heavy")
        consume(1, "light")
        consume(9, "heavy too")
        limiter.setRate(1, per: .seconds(1), burst: 5)
        executor.runUntilIdle()
        #expect(recorder.values.sorted() == ["burst", "heavy too heavy", "heavy too too heavy"])
        pass(1)
        #expect(recorder.values.last == "light")
        pass(100)
        #expect(limiter.available == 5)
        expectNoTrace()
    }

    @Test func `cancelWaiting lets all go`() {
        consume(10, "burst")
        for name in ["a", "b"] { consume(1, name) }
        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values.sorted() == ["a cancelled", "b cancelled", "burst"])
        expectNoTrace()
    }

    @Test func `rates and waits of any size are taken`() {
        let slow = RateLimiter(rate: 1, per: Duration(attoseconds: .max), burst: 1, clock: clock)
        let fast = RateLimiter(rate: .max, per: Duration(attoseconds: 1), burst: .max, clock: clock)
        let waiter = executor.spawn { [recorder] in
            for _ in 0..<10_000 { try? await fast.consume() }
            try? await slow.consume()
            do { try await slow.consume() } catch { recorder.note("\(error)") }
        }
        executor.runUntilIdle()
        for _ in 0..<5 { pass(1_000_000) }
        #expect(recorder.values == [])
        waiter.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["CancellationError()"])
        #expect(clock.sleeperCount == 0)
    }
}
