import SluiceConcurrency
import TestSupport
import Testing

/// Every wait with a timeout or a deadline, with the longest and the shortest that there are.
@Suite(.timeLimit(.minutes(5))) struct `Bounded waits of any duration` {
    static let endless: [Duration] = [
        .seconds(Int64.max), .seconds(Int64.max / 1_000_000_000), Duration(attoseconds: .max),
    ]
    static let over: [Duration] = [.zero, .seconds(-1), .seconds(Int64.min), Duration(attoseconds: .min)]

    /// A wait for something that isn't there until `end` is called.
    struct Wait: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: @Sendable (Duration) async throws -> Void
        /// Lets the wait succeed; called once.
        let end: @Sendable () -> Void

        init(
            _ name: String, _ body: @escaping @Sendable (Duration) async throws -> Void,
            end: @escaping @Sendable () -> Void
        ) {
            (testDescription, self.body, self.end) = (name, body, end)
        }
    }

    /// Holds a permit until it is called.
    private static func hold(_ limiter: ConcurrencyLimiter) -> @Sendable () -> Void {
        Holder(limiter.tryAcquire()).release
    }

    /// A permit isn't copyable, so that a closure can't give it up.
    private final class Holder: @unchecked Sendable {
        // Used by one thread at a time.
        private var permit: ConcurrencyLimiter.Permit?

        init(_ permit: consuming ConcurrencyLimiter.Permit?) { self.permit = permit }

        func release() { permit.take()?.release() }
    }

    private static func holdKey(_ limiter: KeyedLimiter<Int>, _ executor: ManualExecutor) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn { await limiter.run(for: 1) { _ = await condition.wait() } }
        executor.runUntilIdle()
        return signal
    }

    static func waits(_ executor: ManualExecutor) -> [Wait] {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let release = hold(limiter)
        let idle = ConcurrencyLimiter(concurrency: 1)
        let releaseIdle = hold(idle)
        let permits = ConcurrencyLimiter(concurrency: 1, order: .priority)
        let releasePermit = hold(permits)
        let keyed = KeyedLimiter<Int>(perKey: 1, total: 1)
        let keyedIdle = KeyedLimiter<Int>(perKey: 1, total: 1)
        let leave = holdKey(keyed, executor)
        let leaveIdle = holdKey(keyedIdle, executor)
        let (condition, signal) = Condition.makeCondition()
        let (promise, resolver) = Promise<Int, any Error>.makePromise()
        let queue = AsyncQueue<Int>()
        let urgent = AsyncPriorityQueue<Int, Int>()
        let bounded = AsyncBoundedQueue<Int>(capacity: 1)
        let full = AsyncBoundedQueue<Int>(capacity: 0)
        let (monitor, claims) = (Monitor(0), Monitor(0))
        let clock = ManualClock()
        let rate = RateLimiter(rate: 1, per: .seconds(1), burst: 1, clock: clock)
        _ = rate.tryConsume()
        let (work, workIsDone) = Condition.makeCondition()
        return [
            Wait("limiter, run", { try await limiter.run(timeout: $0) { () async throws in } }, end: release),
            Wait("limiter, acquire", { try await permits.acquire(timeout: $0).release() }, end: releasePermit),
            Wait("limiter, waitUntilIdle", { try await idle.waitUntilIdle(timeout: $0) }, end: releaseIdle),
            Wait(
                "keyed limiter, run", { try await keyed.run(for: 1, timeout: $0) { () async throws in } },
                end: leave.signal),
            Wait(
                "keyed limiter, waitUntilIdle", { try await keyedIdle.waitUntilIdle(timeout: $0) },
                end: leaveIdle.signal),
            Wait("condition", { try await condition.wait(timeout: $0) }, end: signal.signal),
            Wait("promise", { _ = try await promise.value(timeout: $0) }, end: { resolver.succeed(1) }),
            Wait("queue", { _ = try await queue.dequeue(timeout: $0) }, end: { queue.enqueue(1) }),
            Wait("priority queue", { _ = try await urgent.dequeue(timeout: $0) }, end: { urgent.enqueue(1) }),
            Wait("bounded queue", { _ = try await bounded.dequeue(timeout: $0) }, end: { _ = bounded.trySend(1) }),
            Wait("bounded queue, send", { try await full.send(1, timeout: $0) }, end: { _ = full.tryDequeue() }),
            Wait(
                "monitor, predicate", { try await monitor.wait(where: { $0 > 0 }, timeout: $0) },
                end: { monitor.withState { $0 = 1 } }),
            Wait(
                "monitor, claim", { try await claims.wait(claiming: { $0 > 0 ? () : nil }, timeout: $0) },
                end: { claims.withState { $0 = 1 } }),
            Wait("rate limiter", { try await rate.consume(timeout: $0) }, end: { clock.advance(by: .seconds(1)) }),
            Wait(
                "withDeadline",
                {
                    try await withDeadline(timeout: $0) {
                        try Task.checkCancellation()
                        try await work.waitUnlessCancelled()
                    }
                }, end: workIsDone.signal),
        ]
    }

    @Test(arguments: endless)
    func `a timeout of centuries waits, and ends with what it waits for`(timeout: Duration) async {
        let executor = ManualExecutor()
        for wait in Self.waits(executor) {
            let outcome = Recorder<String>()
            let task = executor.spawn {
                do {
                    try await wait.body(timeout)
                    outcome.note("success")
                } catch {
                    outcome.note("\(error)")
                }
            }
            executor.runUntilIdle()
            #expect(outcome.values == [], "\(wait.testDescription)")
            wait.end()
            await executor.run { await task.value }
            #expect(outcome.values == ["success"], "\(wait.testDescription)")
        }
    }

    @Test(arguments: over)
    func `a timeout of nothing, or less, has passed`(timeout: Duration) async {
        let executor = ManualExecutor()
        for wait in Self.waits(executor) {
            let task = executor.spawnThrowing { try await wait.body(timeout) }
            // No timer: the wait is over without one.
            executor.runUntilIdle()
            await executor.run { _ = await task.result }
            await #expect(throws: DeadlineExceeded.self, "\(wait.testDescription)") { try await task.value }
            wait.end()
            executor.runUntilIdle()
        }
    }

    /// The nanoseconds until such a deadline don't fit into the numbers of the continuous clock.
    @Test
    func `a deadline that the clock can't sleep until doesn't stop the program`() async throws {
        let executor = ManualExecutor()
        let deadline = ContinuousClock.now + .seconds(Int64.max)
        let (condition, signal) = Condition.makeCondition()
        let waiter = executor.spawnThrowing { try await condition.wait(until: deadline, clock: .continuous) }
        let worker = executor.spawnThrowing {
            try await withDeadline(until: deadline, clock: .continuous) { try await condition.waitUnlessCancelled() }
        }
        executor.runUntilIdle()
        signal.signal()
        await executor.run { _ = await (waiter.result, worker.result) }
        #expect(try await (waiter.value, worker.value) == (.signalled, .signalled))
    }

    @Test
    func `a wait whose deadline is further away than one sleep sleeps again`() async {
        let executor = ManualExecutor()
        let clock = ManualClock()
        let (condition, signal) = Condition.makeCondition()
        let recorder = Recorder<String>()
        let deadline = ManualClock.Instant(offset: .seconds(86_400 * 3))
        let task = executor.spawn {
            do { try await condition.wait(until: deadline, clock: clock) } catch { recorder.note("\(type(of: error))") }
        }
        executor.runUntilIdle()
        for _ in 1...2 {
            clock.advance(by: .seconds(86_400))
            executor.runUntilIdle()
            #expect(recorder.values == [])
            #expect(clock.sleeperCount == 1)
        }
        clock.advance(by: .seconds(86_399))
        executor.runUntilIdle()
        #expect(recorder.values == [])
        clock.advance(by: .seconds(1))
        executor.runUntilIdle()

        #expect(recorder.values == ["DeadlineExceeded"])
        await task.value
        signal.signal()
    }
}
