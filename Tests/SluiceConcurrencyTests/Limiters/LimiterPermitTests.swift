import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `ConcurrencyLimiter: permits and weights` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// Starts a task that waits for a permit, records that it got one or why not, and releases it when the gate opens.
    @discardableResult
    private func acquire(
        _ name: String, of limiter: ConcurrencyLimiter, weight: Int = 1, until condition: Condition? = nil
    ) -> Task<Void, Never> {
        let task = executor.spawn { [recorder] in
            do {
                let permit = try await limiter.acquire(weight: weight)
                recorder.note(name)
                await condition?.wait()
                permit.release()
            } catch {
                recorder.note("\(name): \(error)")
            }
        }
        executor.runUntilIdle()
        return task
    }

    // MARK: Permits

    @Test
    func `a permit holds its place until it is released`() async throws {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let permit = try await limiter.acquire()
        #expect(limiter.runningCount == 1)
        acquire("next", of: limiter)
        #expect(recorder.values == [])

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["next"])
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a permit that goes out of scope releases its place, even if an error is thrown`() async throws {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        struct Failure: Error {}
        func fail() async throws {
            let permit = try await limiter.acquire()
            if permit.weight == 1 { throw Failure() }
            permit.release()
        }

        await #expect(throws: Failure.self) { try await fail() }

        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a permit captured by a task is released when the task ends, and keeps the limiter alive`() async {
        weak var limiter: ConcurrencyLimiter?
        let (condition, signal) = Condition.makeCondition()
        do {
            let made = ConcurrencyLimiter(concurrency: 1)
            limiter = made
            let permit = made.tryAcquire()!
            _ = executor.spawn { [permit] in
                await condition.wait()
                #expect(permit.weight == 1)
            }
        }
        executor.runUntilIdle()
        #expect(limiter?.runningCount == 1)
        // Only on this thread, so that everything the tasks held is released when they end. Other threads may release it a little later.
        _ = executor.spawn { [limiter, recorder] in
            await limiter?.run { recorder.note("\(limiter?.runningCount ?? 0) runs") }
        }
        executor.runUntilIdle()
        #expect(recorder.values == [] && limiter?.waitingCount == 1)

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["1 runs"])
        #expect(limiter == nil)
    }

    @Test
    func `tryAcquire fails if no place is free or a task waits`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 2)
        let first = try limiter.take(1)
        acquire("heavy", of: limiter, weight: 2)

        #expect(limiter.refuses(), "one is free, but the heavy one is next")
        first.release()
        executor.runUntilIdle()
        #expect(recorder.values == ["heavy"])
        #expect(limiter.refuses(3), "it would never fit")
        #expect(!limiter.refuses(2))
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `acquire throws if its task is cancelled before, during or after the wait`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let early = executor.spawn { [recorder] in
            do throws(CancellationError) { _ = try await limiter.acquire() } catch { recorder.note("early") }
        }
        early.cancel()
        executor.runUntilIdle()
        let permit = try limiter.take()
        let waiting = acquire("waiting", of: limiter)
        waiting.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["early", "waiting: CancellationError()"])

        let granted = acquire("granted", of: limiter)
        permit.release()
        granted.cancel()
        executor.runUntilIdle()

        #expect(recorder.values.last == "granted")
        #expect(limiter.runningCount == 0)
    }

    // MARK: Weights

    @Test
    func `no lighter task overtakes a heavy one`() {
        let limiter = ConcurrencyLimiter(concurrency: 3)
        let (condition, signal) = Condition.makeCondition()
        acquire("two", of: limiter, weight: 2, until: condition)
        acquire("three", of: limiter, weight: 3)
        acquire("one", of: limiter)
        #expect(recorder.values == ["two"])
        #expect(limiter.waitingCount == 2)

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["two", "three", "one"])
        #expect(limiter.statistics.maximumRunningCount == 3)
    }

    /// Pitfall: the tasks behind a cancelled head, which need less than it did, aren't considered.
    @Test
    func `cancelling a heavy task at the head of the line admits the tasks behind it`() {
        let limiter = ConcurrencyLimiter(concurrency: 3)
        let (condition, signal) = Condition.makeCondition()
        acquire("two", of: limiter, weight: 2, until: condition)
        let heavy = acquire("three", of: limiter, weight: 3)
        acquire("one", of: limiter)

        heavy.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["two", "one", "three: CancellationError()"] || recorder.values.last == "one")
        #expect(limiter.runningCount == 2)
        signal.signal()
        executor.runUntilIdle()
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a request heavier than the limit fails immediately with a message`() async {
        let limiter = ConcurrencyLimiter(concurrency: 3)
        let expected = WeightExceedsLimit(weight: 4, maximumWeight: 3)

        await #expect(throws: expected) { try await limiter.run(weight: 4) { () async throws in } }
        acquire("four", of: limiter, weight: 4)

        #expect(recorder.values == ["four: \(expected)"])
        #expect("\(expected)".contains("weight of 4"))
        #expect("\(expected)".contains("at most 3"))
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a negative weight traps with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ConcurrencyLimiter(concurrency: 1).tryAcquire(weight: -1)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("must not be negative; it is -1"))
        #endif
    }

    @Test
    func `a weight of zero waits its turn, takes no capacity and returns none`() async throws {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let permit = try limiter.take()
        try await limiter.run(weight: 0) { () async throws in #expect(limiter.runningCount == 1) }
        acquire("one", of: limiter)
        acquire("none", of: limiter, weight: 0)
        #expect(recorder.values == [], "a task waits, so it does, too")

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["one", "none"])
        #expect(limiter.runningCount == 0)
        #expect(limiter.statistics.waitingCount == 0)
        try limiter.take(0).release()
        await limiter.waitUntilIdle()
    }

    // MARK: Resizing

    @Test
    func `a larger limit admits the next tasks, and a smaller one none until enough have left`() {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let (condition, signal) = Condition.makeCondition()
        for name in ["a", "b", "c", "d"] { acquire(name, of: limiter, until: condition) }

        limiter.resize(to: 3)
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "b", "c"])
        #expect(limiter.concurrency == 3)
        limiter.resize(to: 1)
        #expect(limiter.runningCount == 3)
        #expect(limiter.refuses())
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "b", "c", "d"])
        #expect(limiter.runningCount == 0)
        #expect(limiter.statistics.maximumRunningCount == 3)
    }

    @Test
    func `tasks that wait for more than the new limit fail`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 4)
        let permit = try limiter.take(4)
        acquire("heavy", of: limiter, weight: 3)
        acquire("light", of: limiter, weight: 2)

        limiter.resize(to: 2)
        executor.runUntilIdle()
        #expect(recorder.values == ["heavy: \(WeightExceedsLimit(weight: 3, maximumWeight: 2))"])
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.last == "light")
    }
}

// MARK: - Shorthand

extension ConcurrencyLimiter {
    struct NoPlace: Error {}

    /// Takes a place that is known to be free.
    func take(_ weight: Int = 1) throws -> Permit {
        guard let permit = tryAcquire(weight: weight) else { throw NoPlace() }
        return permit
    }

    /// Returns whether no place is free. Releases the place if one was.
    func refuses(_ weight: Int = 1) -> Bool {
        switch tryAcquire(weight: weight) {
        case .none: true
        case .some: false
        }
    }
}
