import SluiceConcurrency
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `A body with a deadline` {
    let executor = ManualExecutor()
    let clock = ManualClock()

    struct BodyFailed: Error {}

    /// Waits until it is cancelled, and then throws.
    @Sendable
    static func hang() async throws {
        let (condition, signal) = Condition.makeCondition()
        try await condition.waitUnlessCancelled()
        signal.signal()
    }

    var threeSeconds: ManualClock.Instant { clock.after(.seconds(3)) }

    @Test
    func `a body that ends in time returns its result, and no sleeping task is left`() async throws {
        let (condition, signal) = Condition.makeCondition()
        let task = executor.spawnThrowing { [clock, threeSeconds] in
            try await withDeadline(until: threeSeconds, clock: clock) { () async throws in
                await condition.wait()
                return 7
            }
        }
        executor.runUntilIdle()
        #expect(clock.sleeperCount == 1)

        signal.signal()
        executor.runUntilIdle()

        #expect(clock.sleeperCount == 0)
        #expect(try await task.value == 7)
    }

    @Test
    func `a body that fails because the deadline cancelled it throws DeadlineExceeded`() async throws {
        let recorder = Recorder<Bool>()
        let deadline = threeSeconds
        let task = executor.spawnThrowing { [clock] in
            defer { recorder.note(Task.isCancelled) }
            try await withDeadline(until: deadline, clock: clock) { try await Self.hang() }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(2))
        executor.runUntilIdle()
        #expect(recorder.values == [])

        clock.advance(by: .seconds(1))
        executor.runUntilIdle()

        #expect(recorder.values == [false], "The calling task itself is not cancelled.")
        let error = await #expect(throws: DeadlineExceeded.self) { try await task.value }
        #expect(error?.cause is CancellationError)
        #expect(error?.description.contains("passed before the work was done") == true)
    }

    @Test
    func `a body that completes after the deadline returns its result`() async throws {
        let gate = Gate()
        let recorder = Recorder<Int>()
        let task = executor.spawnThrowing { [clock, threeSeconds] in
            let value = try await withDeadline(until: threeSeconds, clock: clock) { () async throws in
                await gate.pass()
                return Task.isCancelled ? 1 : 0
            }
            recorder.note(value)
        }
        await executor.run { await gate.arrivals(1) }
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        #expect(recorder.values == [], "It does not return before the body has.")

        await executor.run { await gate.open() }
        await executor.run { _ = await task.result }

        #expect(recorder.values == [1])
    }

    @Test
    func `a body that fails just before the deadline throws its own error`() async {
        let (ready, signal) = Condition.makeCondition()
        let task = executor.spawnThrowing { [clock, threeSeconds] in
            try await withDeadline(until: threeSeconds, clock: clock) { () async throws in
                await ready.wait()
                throw BodyFailed()
            }
        }
        executor.runUntilIdle()

        signal.signal()
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()

        await #expect(throws: BodyFailed.self) { try await task.value }
    }

    @Test
    func `the body's error before the deadline is thrown unchanged`() async {
        await #expect(throws: BodyFailed.self) {
            try await withDeadline(until: threeSeconds, clock: clock) { () async throws in throw BodyFailed() }
        }
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `the body's error after the deadline becomes the cause of DeadlineExceeded`() async throws {
        let task = executor.spawnThrowing { [clock, threeSeconds] in
            try await withDeadline(until: threeSeconds, clock: clock) {
                try? await Self.hang()
                throw BodyFailed()
            }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()

        let error = await #expect(throws: DeadlineExceeded.self) { try await task.value }
        #expect(error?.cause is BodyFailed)
    }

    @Test
    func `cancelling the caller cancels the body, and its error is thrown unchanged, even after the deadline`() async {
        let (stopped, stop) = Condition.makeCondition()
        let task = executor.spawnThrowing { [clock, threeSeconds] in
            try await withDeadline(until: threeSeconds, clock: clock) {
                try? await Self.hang()
                await stopped.wait()
                throw BodyFailed()
            }
        }
        executor.runUntilIdle()

        task.cancel()
        executor.runUntilIdle()
        #expect(clock.sleeperCount == 0)
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        stop.signal()
        executor.runUntilIdle()

        await #expect(throws: BodyFailed.self) { try await task.value }
    }

    @Test
    func `a deadline in the past cancels the body from the start, and its result still counts`() async throws {
        clock.advance(by: .seconds(1))
        let past = ManualClock.Instant()

        #expect(try await withDeadline(until: past, clock: clock) { () async throws in Task.isCancelled })
        #expect(try await withDeadline(until: clock.now, clock: clock) { () async throws in Task.isCancelled })
        await #expect(throws: DeadlineExceeded.self) {
            try await withDeadline(until: past, clock: clock) { try await Self.hang() }
        }
    }

    @Test
    func `with a deadline in the past, a cancelled caller gets the body's error`() async {
        let task = executor.spawnThrowing { [clock] in
            try await withDeadline(until: clock.now, clock: clock) { try await Self.hang() }
        }
        task.cancel()
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test
    func `the deadline cancels a body that can't throw, which returns its partial result`() async {
        let task = executor.spawn { [clock] in
            await withDeadline(until: clock.after(.seconds(3)), clock: clock) {
                try? await Self.hang()
                return Task.isCancelled
            }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()

        #expect(await task.value)
    }

    @Test
    func `the earlier of two nested deadlines counts, whichever it is`() async throws {
        for (outer, inner) in [(3, 5), (5, 3)] {
            let task = executor.spawnThrowing { [clock] in
                try await withDeadline(until: clock.after(.seconds(outer)), clock: clock) {
                    try await withDeadline(until: clock.after(.seconds(inner)), clock: clock) { try await Self.hang() }
                }
            }
            executor.runUntilIdle()
            clock.advance(by: .seconds(3))
            executor.runUntilIdle()

            await #expect(throws: DeadlineExceeded.self) { try await task.value }
            #expect(clock.sleeperCount == 0)
        }
    }

    @Test(arguments: 0..<100)
    func `under any schedule, nothing is left behind and the outcome is allowed`(seed: Int) async {
        let executor = ManualExecutor(seed: UInt64(seed))
        let clock = ManualClock()
        let (condition, signal) = Condition.makeCondition()
        let task = executor.spawnThrowing {
            try await withDeadline(until: clock.after(.seconds(3)), clock: clock) {
                try await condition.waitUnlessCancelled()
            }
        }
        for _ in 0..<(seed % 7) { executor.runOne() }
        _ = executor.spawn { signal.signal() }
        if seed % 2 == 0 { _ = executor.spawn { clock.advance(by: .seconds(3)) } }
        if seed % 3 == 0 { _ = executor.spawn { task.cancel() } }
        executor.runUntilIdle()

        #expect(clock.sleeperCount == 0, "seed \(seed)")
        switch await task.result {
        case .success(let outcome): #expect(outcome == .signalled)
        case .failure(is DeadlineExceeded): #expect(seed % 2 == 0)
        case .failure(is CancellationError): #expect(seed % 3 == 0)
        case .failure(let error): Issue.record(error)
        }
    }
}

// MARK: Isolation

/// Checks what must compile, and that bodies run in their callers' isolation.
extension `A body with a deadline` {
    final class NotSendable {
        var count = 0
    }

    struct NotCopyable: ~Copyable {
        let number: Int
    }

    actor Counter {
        var count = 0
        let object = NotSendable()

        func increment(_ clock: ManualClock) async throws -> Int {
            let same = try await withDeadline(until: clock.after(.seconds(1)), clock: clock) { () async throws in
                assertIsolated()
                count += 1
                object.count += 1
                await suspendOnce()
                assertIsolated()
                return object
            }
            assertIsolated()
            return count + same.count
        }
    }

    @Test
    func `on an actor, the body uses its state and returns a value that isn't Sendable`() async throws {
        #expect(try await Counter().increment(clock) == 2)
    }

    @Test @MainActor
    func `on the main actor, the body runs there, and values that aren't Sendable go in and out`() async throws {
        let object = NotSendable()
        let same = try await withDeadline(until: clock.after(.seconds(1)), clock: clock) { () async throws in
            MainActor.assertIsolated()
            object.count += 1
            await suspendOnce()
            MainActor.assertIsolated()
            return object
        }
        MainActor.assertIsolated()
        #expect(same === object && object.count == 1)
    }

    @Test
    func `on no actor, values that aren't Sendable or copyable go in and out`() async throws {
        let object = NotSendable()
        var local = 0
        let same = try await withDeadline(until: clock.after(.seconds(1)), clock: clock) { () async throws in
            object.count += 1
            local += 1
            return object
        }
        let unique = try await withDeadline(until: clock.after(.seconds(1)), clock: clock) { () async throws in
            NotCopyable(number: 5)
        }
        #expect(same === object && object.count == 1 && local == 1)
        #expect(unique.number == 5)
    }

    @Test
    func `a nonisolated(nonsending) function runs on its caller's actor`() async throws {
        actor Owner {
            func check(_ clock: ManualClock) async throws {
                try await withDeadline(until: clock.after(.seconds(1)), clock: clock, body: whereverTheCallerIs)
            }
        }
        nonisolated(nonsending) func whereverTheCallerIs() async throws {
            #expect(#isolation is Owner)
        }
        try await Owner().check(clock)
    }

    enum Local { @TaskLocal static var number = 0 }

    @Test
    func `the body has the caller's task-local values and priority`() async {
        await Task(priority: .high) { [clock] in
            let caller = Task.currentPriority
            await Local.$number.withValue(3) {
                await withDeadline(until: clock.after(.seconds(1)), clock: clock) {
                    #expect(Local.number == 3)
                    #expect(Task.currentPriority == caller)
                }
            }
        }.value
    }

    /// The actor is never free while the body runs, so the code that cancels the body must not need the actor.
    @Test @MainActor
    func `a body that keeps its actor busy is cancelled`() async {
        let limit = ContinuousClock.now.advanced(by: .seconds(20))
        await withDeadline(timeout: .milliseconds(1)) {
            while !Task.isCancelled, ContinuousClock.now < limit {}
            #expect(Task.isCancelled)
        }
    }

    @Test
    func `the body's captures are released when it ends`() async throws {
        weak var watched: NotSendable?
        func run() async throws {
            let object = NotSendable()
            watched = object
            try await withDeadline(until: clock.after(.seconds(1)), clock: clock) { () async throws in object.count += 1
            }
        }
        try await run()
        #expect(watched == nil)
    }
}

extension ManualClock {
    fileprivate func after(_ duration: Duration) -> Instant { now.advanced(by: duration) }
}

// MARK: - Waits of any duration

/// Every wait that takes a timeout or a deadline, with the longest and the shortest possible ones.
@Suite(.timeLimit(.minutes(15))) struct `Bounded waits of any duration` {
    static let endless: [Duration] = [
        .seconds(Int64.max), .seconds(Int64.max / 1_000_000_000), Duration(attoseconds: .max),
    ]
    static let over: [Duration] = [.zero, .seconds(-1), .seconds(Int64.min), Duration(attoseconds: .min)]

    /// A wait that can't succeed until `end` is called.
    struct Wait: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: @Sendable (Duration) async throws -> Void
        /// Lets the wait succeed. Called once.
        let end: @Sendable () -> Void

        init(
            _ name: String, _ body: @escaping @Sendable (Duration) async throws -> Void,
            end: @escaping @Sendable () -> Void
        ) {
            (testDescription, self.body, self.end) = (name, body, end)
        }
    }

    /// Acquires a permit. The returned function releases it.
    private static func hold(_ limiter: ConcurrencyLimiter) -> @Sendable () -> Void {
        Holder(limiter.tryAcquire()).release
    }

    /// Holds a permit for a closure, which can't consume one itself because permits aren't copyable.
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
    func `a timeout of centuries waits and then succeeds`(timeout: Duration) async {
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
    func `a zero or negative timeout has already passed`(timeout: Duration) async {
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

    /// The number of nanoseconds until the deadline doesn't fit into the continuous clock's integers.
    @Test
    func `a deadline too far away for the clock's sleep doesn't trap`() async throws {
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
    func `a wait with a deadline more than one sleep away sleeps again`() async {
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

// MARK: - Next to the standard library

/// The functions that SE-0526 proposed in its review of May 2026.
private func withDeadline<Return: ~Copyable, Failure: Error, C: Clock>(
    _ expiration: C.Instant, tolerance: C.Instant.Duration? = nil, clock: C = ContinuousClock(),
    body: () async throws(Failure) -> Return
) async throws(Failure) -> Return { try await body() }

private func withDeadline<Return: ~Copyable, Failure: Error>(
    in timeout: Duration, tolerance: Duration? = nil, body: () async throws(Failure) -> Return
) async throws(Failure) -> Return { try await body() }

@Suite struct `withDeadline next to SE-0526's function` {
    /// The test is that this compiles.
    @Test func `no call is ambiguous`() async throws {
        let clock = ContinuousClock()
        let ours = [
            await withDeadline(timeout: .seconds(60)) { 1 },
            try await withDeadline(until: clock.now + .seconds(60), clock: .continuous) { () async throws in 2 },
        ]
        let theirs = [
            await withDeadline(in: .seconds(60)) { 3 },
            await withDeadline(clock.now + .seconds(60), clock: clock) { 4 },
        ]

        #expect(ours + theirs == [1, 2, 3, 4])
    }
}
