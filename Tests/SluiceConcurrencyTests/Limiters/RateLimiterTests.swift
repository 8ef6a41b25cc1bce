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

    /// One token per second, with a burst of ten.
    init() {
        limiter = RateLimiter(rate: 1, per: .seconds(1), burst: 10, clock: clock)
    }

    /// Starts a task that consumes and records the outcome. Runs it until it waits or ends.
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

    /// Expects that no task waits or sleeps, and that nothing is kept for any task.
    private func expectNoTrace() {
        let (slots, queued) = limiter.storage.machine.withLock { ($0.line.slotCount, $0.queued) }
        #expect((slots, queued, clock.sleeperCount) == (0, 0, 0))
    }

    @Test func `a full bucket admits a burst immediately, then requests at the rate`() {
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

    @Test func `a light request waits behind a heavy one, and tryConsume doesn't overtake`() {
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

    @Test func `a cancelled leader takes no tokens, and the tasks behind it move up`() {
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

    @Test func `a task cancelled before it arrives takes no tokens`() {
        let task = executor.spawn { [limiter, recorder] in
            do { try await limiter.consume() } catch { recorder.note("\(error)") }
        }
        task.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["CancellationError()"])
        #expect(limiter.available == 10)
    }

    /// A server sends this time in `Retry-After`.
    @Test func `the time until tokens are available counts the tokens, their fraction and the tasks in line`() {
        #expect([0, 10, 11].map(limiter.timeUntilAvailable) == [.zero, .zero, nil])
        consume(9, "burst")
        #expect([0, 1, 2, 10].map(limiter.timeUntilAvailable) == [.zero, .zero, .seconds(1), .seconds(9)])
        pass(0.25)
        #expect(limiter.timeUntilAvailable(2) == .seconds(0.75))

        consume(3, "first in line")
        #expect([0, 1, 2].map(limiter.timeUntilAvailable) == [.seconds(1.75), .seconds(2.75), .seconds(3.75)])
        limiter.setRate(2, per: .seconds(1))
        #expect(limiter.timeUntilAvailable(1) == .seconds(1.375))
        pass(1.375)
        #expect(recorder.values == ["burst", "first in line"])
        #expect(limiter.timeUntilAvailable(1) == .zero)
        expectNoTrace()
    }

    @Test func `a jump of the clock adds no more than a burst`() {
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

    @Test func `a request for more than the burst fails immediately and says what to do`() async {
        consume(11, "heavy")
        #expect(recorder.values == ["heavy too heavy"])
        #expect(!limiter.tryConsume(11))
        let error = await #expect(throws: WeightExceedsLimit.self) { try await limiter.consume(11) }
        #expect(error == WeightExceedsLimit(weight: 11, maximumWeight: 10))
        #expect(error?.description.contains("a weight of 11, but the limiter allows at most 10") == true)
    }

    @Test func `a weight of zero waits its turn and takes no tokens`() {
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

    @Test func `a request fails immediately if its tokens can't arrive by the deadline, given the tasks in line`() {
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

    @Test func `a timeout is a deadline on the limiter's clock`() async throws {
        try await limiter.consume(10, timeout: .seconds(-1))
        await #expect(throws: DeadlineExceeded.self) { try await limiter.consume(2, timeout: .seconds(1.999)) }
        let waiting = executor.spawnThrowing { [limiter] in try await limiter.consume(2, timeout: .seconds(2)) }
        executor.runUntilIdle()
        pass(2)
        try await waiting.value
        expectNoTrace()
    }

    /// Regression: if the clock advanced between two readings, the first task in line slept past the arrival of its tokens.
    @Test func `a clock that advances between two readings makes no sleep longer`() async throws {
        let clock = MovingClock()
        let limiter = RateLimiter(rate: 1, per: .seconds(1), burst: 1, clock: clock)
        try await limiter.consume()
        try await limiter.consume()
        // One second after the first token was taken, which was at the second reading.
        #expect(clock.sleeps.map(\.offset) == [.milliseconds(1100)])
    }

    @Test func `available tokens are taken even after the deadline`() {
        consume(3, "late", within: .seconds(-1))
        #expect(recorder.values == ["late"])
    }

    @Test func `a deadline ends a wait that became longer, for the leader and for others`() {
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

    @Test func `a smaller burst fails the tasks that need more, and the others move up`() {
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

    @Test func `cancelWaiting ends every wait`() {
        consume(10, "burst")
        for name in ["a", "b"] { consume(1, name) }
        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values.sorted() == ["a cancelled", "b cancelled", "burst"])
        expectNoTrace()
    }

    @Test func `rates and waits of any size work`() {
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

// MARK: - Lifetime, isolation and mistakes

@Suite struct `RateLimiter: lifetime, isolation and mistakes` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let recorder = Recorder<String>()

    @Test func `a waiting task keeps the limiter alive`() {
        weak var limiter: RateLimiter<ManualClock>?
        do {
            let made = RateLimiter(rate: 1, per: .seconds(1), burst: 1, clock: clock)
            limiter = made
            _ = executor.spawn { [recorder] in
                for _ in 0..<2 { try? await made.consume() }
                recorder.note("done")
            }
        }
        executor.runUntilIdle()
        #expect(limiter != nil)
        clock.advance(by: .seconds(1))
        executor.runUntilIdle()
        #expect(recorder.values == ["done"])
        #expect(limiter == nil)
    }

    @Test @MainActor func `consume doesn't leave the caller's actor, so values used around it needn't be Sendable`()
        async throws
    {
        final class Diary { var lines = 0 }
        let diary = Diary()
        let limiter = RateLimiter(rate: 1_000_000, per: .seconds(1), burst: 1)
        for _ in 0..<20 {
            try await limiter.consume()
            MainActor.preconditionIsolated()
            diary.lines += 1
        }
        #expect(diary.lines == 20)
    }

    @Test func `invalid arguments trap with a message`() async {
        let rate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RateLimiter(rate: 0, per: .seconds(1), burst: 1)
        }
        let period = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RateLimiter(rate: 1, per: .zero, burst: 1)
        }
        let weight = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RateLimiter(rate: 1, per: .seconds(1), burst: 1).tryConsume(-1)
        }
        let messages = [rate, period, weight].map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
        #if DEBUG
        #expect(messages[0].contains("rate must be at least 1; it is 0"))
        #expect(messages[1].contains("period must be greater than zero"))
        #expect(messages[2].contains("must not be negative; it is -1"))
        #endif
    }
}

// MARK: - Many tasks

@Suite struct `RateLimiter: many tasks` {
    @Test(arguments: 1...60)
    func `in any order of jobs, every task is served, refused or cancelled, without excess tokens`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let clock = ManualClock()
        let burst = Int.random(in: 1...5, using: &random)
        let limiter = RateLimiter(rate: 3, per: .seconds(1), burst: burst, clock: clock)
        let spent = Recorder<Int>()
        let done = Recorder<Int>()

        let tasks = (0..<20).map { number in
            let weight = Int.random(in: 0...burst, using: &random)
            return executor.spawn {
                for round in 0..<3 {
                    do {
                        if round == 1 {
                            try await limiter.consume(weight, until: clock.now.advanced(by: .seconds(number)))
                        } else {
                            try await limiter.consume(weight)
                        }
                        spent.note(weight)
                    } catch {}
                }
                done.note(number)
            }
        }
        var elapsed = 0
        for _ in 0..<400 where done.values.count < 20 {
            for _ in 0..<Int.random(in: 0..<30, using: &random) { executor.runOne() }
            if Int.random(in: 0..<20, using: &random) == 0 { tasks[Int.random(in: 0..<20, using: &random)].cancel() }
            let step = Int.random(in: 0...700, using: &random)
            elapsed += step
            clock.advance(by: .milliseconds(step))
            #expect(spent.values.reduce(0, +) <= burst + elapsed * 3 / 1_000)
        }
        for _ in 0..<200 where done.values.count < 20 {
            executor.runUntilIdle()
            elapsed += 1_000
            clock.advance(by: .seconds(1))
        }
        executor.runUntilIdle()

        #expect(done.values.sorted() == Array(0..<20))
        let slots = limiter.storage.machine.withLock { $0.line.slotCount }
        #expect((slots, clock.sleeperCount) == (0, 0))
    }

    @Test func `cancelling while time passes, on all threads, loses no task and no token`() async {
        let limiter = RateLimiter(rate: 1_000_000, per: .seconds(1), burst: 3)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    for round in 0..<60 {
                        let task = Task { try await limiter.consume((number + round) % 3 + 1) }
                        if (number + round) % 4 == 0 { task.cancel() }
                        if round % 20 == 0 { limiter.setRate(1_000_000 + round, per: .seconds(1)) }
                        _ = await task.result
                    }
                }
            }
        }
        let (slots, queued) = limiter.storage.machine.withLock { ($0.line.slotCount, $0.queued) }
        #expect((slots, queued) == (0, 0))
    }

    @Test func `one hundred thousand cancelled waits leave no trace`() {
        let executor = ManualExecutor()
        let clock = ManualClock()
        let limiter = RateLimiter(rate: 1, per: .seconds(1), burst: 1, clock: clock)
        _ = limiter.tryConsume()
        for _ in 0..<1_000 {
            let waiters = (0..<100).map { _ in executor.spawnThrowing { try await limiter.consume() } }
            executor.runUntilIdle()
            // From the end, so that the leader stays the same.
            for waiter in waiters.reversed() { waiter.cancel() }
            executor.runUntilIdle()
        }
        let (slots, queued) = limiter.storage.machine.withLock { ($0.line.slotCount, $0.queued) }
        #expect((slots, queued, clock.sleeperCount) == (0, 0, 0))
        clock.advance(by: .seconds(1))
        #expect(limiter.available == 1)
    }
}

/// A clock that advances by a tenth of a second with each reading, and records how long tasks sleep.
private final class MovingClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private struct State {
        var now = Instant(offset: .milliseconds(-100))
        var sleeps: [Instant] = []
    }

    private let state = Lock(State())

    var now: Instant {
        state.withLock {
            $0.now = $0.now.advanced(by: .milliseconds(100))
            return $0.now
        }
    }

    var minimumResolution: Duration { .milliseconds(100) }
    var sleeps: [Instant] { state.withLock { $0.sleeps } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        state.withLock {
            $0.sleeps.append(deadline)
            $0.now = max($0.now, deadline)
        }
    }
}
