import Foundation
import SluiceConcurrency
import TestSupport
import Testing

@Suite struct `Hostile values for SluiceConcurrency` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-hostile-waits-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for SluiceConcurrency`.calls, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test(arguments: traps.indices)
    func `a programming error traps`(index: Int) async {
        await #expect(processExitsWith: .failure, "\(Self.traps[index].reason)") { [index] in
            try await `Hostile values for SluiceConcurrency`.traps[index].body()
        }
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("SluiceConcurrency", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    /// The documented preconditions.
    static let traps: [(reason: String, body: @Sendable () async throws -> Void)] = [
        ("a limiter admits at least one task", { _ = ConcurrencyLimiter(concurrency: 0) }),
        ("a limiter isn't resized to a negative number", { ConcurrencyLimiter(concurrency: 1).resize(to: -1) }),
        ("a weight isn't negative", { _ = ConcurrencyLimiter(concurrency: 1).tryAcquire(weight: -1) }),
        ("a keyed limiter admits at least one task per key", { _ = KeyedLimiter<Int>(perKey: 0, total: 1) }),
        ("a keyed limiter admits at least one task", { _ = KeyedLimiter<Int>(perKey: 1, total: 0) }),
        ("a keyed limiter's limit isn't set to zero", { KeyedLimiter<Int>(perKey: 1, total: 1).setLimits(total: 0) }),
        (
            "a keyed weight isn't negative",
            { _ = KeyedLimiter<Int>(perKey: 1, total: 1).tryAcquire(for: 1, weight: -1) }
        ),
        ("a rate is at least 1", { _ = RateLimiter(rate: 0, per: .seconds(1)) }),
        ("a period is longer than zero", { _ = RateLimiter(rate: 1, per: .zero) }),
        ("a burst is at least 1", { _ = RateLimiter(rate: 1, per: .seconds(1), burst: 0) }),
        ("the rate of each key is at least 1", { _ = KeyedRateLimiter<String, _>(rate: 0, per: .seconds(1)) }),
        (
            "a key of a rate limiter is equal to itself",
            { _ = KeyedRateLimiter<Double, _>(rate: 1, per: .seconds(1)).tryConsume(for: .nan) }
        ),
        ("the weight of a request isn't negative", { _ = RateLimiter(rate: 1, per: .seconds(1)).tryConsume(-1) }),
        ("a queue has no negative capacity", { _ = AsyncBoundedQueue<Int>(capacity: -1) }),
        ("a broadcast has no negative replay", { _ = Broadcast<Int, Never>(replay: -1) }),
        ("a map runs at least one task", { _ = try await [1].concurrentMap(concurrency: 0) { $0 } }),
        ("a sequence of results runs at least one task", { _ = numbers.concurrentMap(concurrency: 0) { $0 } }),
        ("a shared sequence has a buffer", { _ = AsyncStream<Int> { nil }.shared(buffer: 0) }),
    ]

    static let calls: [HostileCall] = [
        HostileCall("AsyncBoundedQueue.init(capacity:overflow:)") { values in
            let overflows: [AsyncBoundedQueue<Int>.Overflow] = [.dropNewest, .dropOldest]
            let queue = AsyncBoundedQueue<Int>(capacity: values.int(from: 0), overflow: values.one(of: overflows))
            for number in 0..<5 { _ = queue.trySend(number) }
            _ = (queue.tryDequeue(), queue.count, queue.removeAll())
        },
        HostileCall("AsyncBoundedQueue.init(capacity:overflow:unique:)") { values in
            let queue = AsyncBoundedQueue<Int>(capacity: values.int(from: 0), unique: { $0 })
            for number in 0..<5 { _ = queue.trySend(number % 2) }
        },
        HostileCall("AsyncBoundedQueue.dequeue(timeout:)") { values in
            let timeout = values.duration()
            await waiting { _ = try await AsyncBoundedQueue<Int>(capacity: 1).dequeue(timeout: timeout) }
        },
        HostileCall("AsyncBoundedQueue.send(_:timeout:)") { values in
            let timeout = values.duration()
            await waiting { _ = try await AsyncBoundedQueue<Int>(capacity: 0).send(1, timeout: timeout) }
        },
        HostileCall("AsyncPriorityQueue.dequeue(timeout:)") { values in
            let timeout = values.duration()
            await waiting { _ = try await AsyncPriorityQueue<Int, Int>().dequeue(timeout: timeout) }
        },
        HostileCall("AsyncQueue.dequeue(timeout:)") { values in
            let timeout = values.duration()
            await waiting { _ = try await AsyncQueue<Int>().dequeue(timeout: timeout) }
        },
        HostileCall("AsyncSequence.concurrentMap(concurrency:ordered:_:)") { values in
            let (concurrency, ordered) = (values.int(from: 1), values.one(of: [true, false]))
            for try await _ in numbers.concurrentMap(concurrency: concurrency, ordered: ordered, { $0 }) {}
        },
        HostileCall("AsyncSequence.concurrentForEach(concurrency:_:)") {
            try await numbers.concurrentForEach(concurrency: $0.int(from: 1)) { _ in }
        },
        HostileCall("AsyncSequence.shared(buffer:replay:)") { values in
            for await _ in numbers.shared(buffer: values.int(from: 1), replay: values.int(from: 0)) {}
        },
        HostileCall("Broadcast.init(replay:)") { values in
            let broadcast = Broadcast<Int, Never>(replay: values.int(from: 0))
            for number in 0..<5 { broadcast.send(number) }
            broadcast.finish()
        },
        HostileCall("ConcurrencyLimiter.init(concurrency:order:tracksHolders:clock:)") { _ = limiter(&$0) },
        HostileCall("ConcurrencyLimiter.resize(to:)") { values in
            let limiter = limiter(&values)
            let permit = limiter.tryAcquire(weight: values.int(from: 0))
            for _ in 0..<3 { limiter.resize(to: values.int(from: 1)) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("ConcurrencyLimiter.tryAcquire(weight:)") { values in
            let limiter = limiter(&values)
            let first = limiter.tryAcquire(weight: values.int(from: 0))
            _ = limiter.tryAcquire(weight: values.int(from: 0))
            withExtendedLifetime(first) {}
        },
        HostileCall("ConcurrencyLimiter.acquire(weight:)") { values in
            let (limiter, weights) = (limiter(&values), [values.int(from: 0), values.int(from: 0)])
            await waiting {
                let first = try await limiter.acquire(weight: weights[0])
                _ = try await limiter.acquire(weight: weights[1])
                withExtendedLifetime(first) {}
            }
        },
        HostileCall("ConcurrencyLimiter.acquire(weight:timeout:)") { values in
            let (limiter, weight, timeout) = (limiter(&values), values.int(from: 0), values.duration())
            let permit = limiter.tryAcquire(weight: 1)
            await waiting { _ = try await limiter.acquire(weight: weight, timeout: timeout) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("ConcurrencyLimiter.acquire(weight:until:clock:)") { values in
            let (limiter, weight) = (limiter(&values), values.int(from: 0))
            let permit = limiter.tryAcquire(weight: 1)
            let clock = SuspendingClock()
            let deadline = clock.now.advanced(by: values.one(of: [.seconds(-1), .zero, .seconds(1 << 40)]))
            await waiting { _ = try await limiter.acquire(weight: weight, until: deadline, clock: clock) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("ConcurrencyLimiter.run(weight:_:)") { values in
            let (limiter, weight) = (limiter(&values), values.int(from: 0))
            try await limiter.run(weight: weight) { await Task.yield() }
        },
        HostileCall("ConcurrencyLimiter.run(weight:timeout:_:)") { values in
            let (limiter, weight, timeout) = (limiter(&values), values.int(from: 0), values.duration())
            try await limiter.run(weight: weight, timeout: timeout) { await Task.yield() }
        },
        HostileCall("ConcurrencyLimiter.run(weight:until:clock:_:)") { values in
            let (limiter, weight) = (limiter(&values), values.int(from: 0))
            try await limiter.run(weight: weight, until: .now + .seconds(-1), clock: ContinuousClock()) {
                await Task.yield()
            }
        },
        HostileCall("ConcurrencyLimiter.waitUntilIdle(timeout:)") { values in
            let (limiter, timeout) = (limiter(&values), values.duration())
            let permit = limiter.tryAcquire()
            await waiting { try await limiter.waitUntilIdle(timeout: timeout) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("Condition.wait(timeout:)") { values in
            let timeout = values.duration()
            let (condition, signal) = Condition.makeCondition()
            await waiting { try await condition.wait(timeout: timeout) }
            withExtendedLifetime(signal) {}
        },
        HostileCall("KeyedLimiter.init(perKey:total:order:)") { values in
            let limiter = KeyedLimiter<String>(perKey: values.int(from: 1), total: values.int(from: 1))
            await limiter.run(for: values.text()) { await Task.yield() }
        },
        HostileCall("KeyedLimiter.acquire(for:)") { values in
            let (limiter, key) = (keyed(&values), values.text())
            await waiting { try await limiter.acquire(for: key).release() }
        },
        HostileCall("KeyedLimiter.acquire(for:weight:)") { values in
            let (limiter, key) = (keyed(&values), values.text())
            let weights = [values.int(from: 0), values.int(from: 0)]
            await waiting {
                let first = try await limiter.acquire(for: key, weight: weights[0])
                _ = try await limiter.acquire(for: "", weight: weights[1])
                first.release()
            }
        },
        HostileCall("KeyedLimiter.acquire(for:weight:timeout:)") { values in
            let (limiter, key, weight, timeout) = (
                keyed(&values), values.text(), values.int(from: 0), values.duration()
            )
            let permit = limiter.tryAcquire(for: key)
            await waiting { _ = try await limiter.acquire(for: key, weight: weight, timeout: timeout) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("KeyedLimiter.acquire(for:weight:until:clock:)") { values in
            let (limiter, key, weight) = (keyed(&values), values.text(), values.int(from: 0))
            let permit = limiter.tryAcquire(for: key)
            let clock = SuspendingClock()
            let deadline = clock.now.advanced(by: values.one(of: [.seconds(-1), .zero, .seconds(1 << 40)]))
            await waiting { _ = try await limiter.acquire(for: key, weight: weight, until: deadline, clock: clock) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("KeyedLimiter.run(for:weight:_:)") { values in
            let (limiter, key, weight) = (keyed(&values), values.text(), values.int(from: 0))
            try await limiter.run(for: key, weight: weight) { await Task.yield() }
        },
        HostileCall("KeyedLimiter.run(for:weight:timeout:_:)") { values in
            let (key, weight, timeout) = (values.text(), values.int(from: 0), values.duration())
            let limiter = KeyedLimiter<String>(perKey: 1, total: 1)
            await limiter.run(for: "") {
                await waiting { try await limiter.run(for: key, weight: weight, timeout: timeout) {} }
            }
        },
        HostileCall("KeyedLimiter.run(for:weight:until:clock:_:)") { values in
            let (limiter, key, weight) = (keyed(&values), values.text(), values.int(from: 0))
            try await limiter.run(for: key, weight: weight, until: .now + .seconds(-1), clock: ContinuousClock()) {
                await Task.yield()
            }
        },
        HostileCall("KeyedLimiter.setLimits(perKey:total:)") { values in
            let (limiter, key) = (keyed(&values), values.text())
            let permit = limiter.tryAcquire(for: key, weight: values.int(from: 0))
            for _ in 0..<3 {
                limiter.setLimits(
                    perKey: values.one(of: [nil, values.int(from: 1)]),
                    total: values.one(of: [nil, values.int(from: 1)]))
            }
            withExtendedLifetime(permit) {}
        },
        HostileCall("KeyedLimiter.tryAcquire(for:weight:)") { values in
            let (limiter, key) = (keyed(&values), values.text())
            let first = limiter.tryAcquire(for: key, weight: values.int(from: 0))
            _ = limiter.tryAcquire(for: "", weight: values.int(from: 0))
            withExtendedLifetime(first) {}
        },
        HostileCall("KeyedLimiter.waitUntilIdle(timeout:)") { values in
            let timeout = values.duration()
            let limiter = KeyedLimiter<String>(perKey: 1, total: 1)
            await limiter.run(for: "") { await waiting { try await limiter.waitUntilIdle(timeout: timeout) } }
        },
        HostileCall("KeyedRateLimiter.init(rate:per:burst:)") { _ = keyedRate(&$0) },
        HostileCall("KeyedRateLimiter.init(rate:per:burst:clock:)") { values in
            let limiter = KeyedRateLimiter<String, _>(
                rate: values.int(from: 1), per: max(values.duration(), .nanoseconds(1)), clock: SuspendingClock())
            _ = limiter.tryConsume(values.int(from: 0), for: values.text())
        },
        HostileCall("KeyedRateLimiter.tryConsume(_:for:)") { values in
            let limiter = keyedRate(&values)
            for _ in 0..<200 { _ = limiter.tryConsume(values.int(from: 0), for: values.text()) }
        },
        HostileCall("KeyedRateLimiter.timeUntilAvailable(_:for:)") { values in
            let (limiter, key) = (keyedRate(&values), values.text())
            _ = limiter.tryConsume(values.int(from: 0), for: key)
            _ = (limiter.timeUntilAvailable(values.int(from: 0), for: key), limiter.timeUntilAvailable(for: ""))
        },
        HostileCall("KeyedRateLimiter.available(for:)") { values in
            let (limiter, key) = (keyedRate(&values), values.text())
            _ = (limiter.tryConsume(values.int(from: 0), for: key), limiter.available(for: key))
        },
        HostileCall("KeyedRateLimiter.consume(_:for:)") { values in
            let (limiter, weights) = (keyedRate(&values), [values.int(from: 0), values.int(from: 0)])
            let key = values.text()
            await waiting { for weight in weights { try await limiter.consume(weight, for: key) } }
        },
        HostileCall("KeyedRateLimiter.consume(_:for:timeout:)") { values in
            let (limiter, weights) = (keyedRate(&values), [values.int(from: 0), values.int(from: 0)])
            let (key, timeout) = (values.text(), values.duration())
            await waiting { for weight in weights { try await limiter.consume(weight, for: key, timeout: timeout) } }
        },
        HostileCall("KeyedRateLimiter.consume(_:for:until:)") { values in
            let (limiter, weights) = (keyedRate(&values), [values.int(from: 0), values.int(from: 0)])
            let (key, deadline) = (
                values.text(), ContinuousClock.now + values.one(of: [.seconds(-1), .zero, .seconds(1 << 40)])
            )
            await waiting { for weight in weights { try await limiter.consume(weight, for: key, until: deadline) } }
        },
        HostileCall("Promise.value(timeout:)") { values in
            let timeout = values.duration()
            let (promise, resolver) = Promise<Int, any Error>.makePromise()
            await waiting { _ = try await promise.value(timeout: timeout) }
            resolver.succeed(1)
        },
        HostileCall("RateLimiter.init(rate:per:burst:)") { _ = rate(&$0) },
        HostileCall("RateLimiter.init(rate:per:burst:clock:)") { values in
            let limiter = RateLimiter(
                rate: values.int(from: 1), per: max(values.duration(), .nanoseconds(1)), clock: SuspendingClock())
            _ = (limiter.tryConsume(values.int(from: 0)), limiter.available)
        },
        HostileCall("RateLimiter.setRate(_:per:burst:)") { values in
            let limiter = rate(&values)
            _ = limiter.tryConsume(values.int(from: 0))
            limiter.setRate(
                values.int(from: 1), per: max(values.duration(), .nanoseconds(1)), burst: values.int(from: 1))
            _ = (limiter.tryConsume(values.int(from: 0)), limiter.available)
        },
        HostileCall("RateLimiter.tryConsume(_:)") { values in
            let limiter = rate(&values)
            for _ in 0..<4 { _ = (limiter.tryConsume(values.int(from: 0)), limiter.available) }
        },
        HostileCall("RateLimiter.timeUntilAvailable(_:)") { values in
            let limiter = rate(&values)
            for _ in 0..<4 {
                _ = (limiter.tryConsume(values.int(from: 0)), limiter.timeUntilAvailable(values.int(from: 0)))
            }
        },
        HostileCall("RateLimiter.consume(_:)") { values in
            let (limiter, weights) = (rate(&values), [values.int(from: 0), values.int(from: 0)])
            await waiting { for weight in weights { try await limiter.consume(weight) } }
        },
        HostileCall("RateLimiter.consume(_:timeout:)") { values in
            let (limiter, weights, timeout) = (
                rate(&values), [values.int(from: 0), values.int(from: 0)], values.duration()
            )
            await waiting { for weight in weights { try await limiter.consume(weight, timeout: timeout) } }
        },
        HostileCall("RateLimiter.consume(_:until:)") { values in
            let (limiter, weights) = (rate(&values), [values.int(from: 0), values.int(from: 0)])
            let deadline = ContinuousClock.now + values.one(of: [.seconds(-1), .zero, .seconds(1 << 40)])
            await waiting { for weight in weights { try await limiter.consume(weight, until: deadline) } }
        },
        HostileCall("Sequence.concurrentMap(concurrency:_:)") {
            _ = try await (0..<4).concurrentMap(concurrency: $0.int(from: 1)) { $0 }
        },
        HostileCall("Sequence.concurrentCompactMap(concurrency:_:)") { values in
            _ = try await (0..<4).concurrentCompactMap(concurrency: values.int(from: 1)) { Optional($0) }
        },
        HostileCall("Sequence.concurrentForEach(concurrency:_:)") {
            try await (0..<4).concurrentForEach(concurrency: $0.int(from: 1)) { _ in }
        },
        HostileCall("AsyncBoundedQueue.dequeue(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            await waiting { _ = try await AsyncBoundedQueue<Int>(capacity: 1).dequeue(until: deadline, clock: clock) }
        },
        HostileCall("AsyncBoundedQueue.send(_:until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            await waiting { _ = try await AsyncBoundedQueue<Int>(capacity: 0).send(1, until: deadline, clock: clock) }
        },
        HostileCall("AsyncPriorityQueue.dequeue(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            await waiting { _ = try await AsyncPriorityQueue<Int, Int>().dequeue(until: deadline, clock: clock) }
        },
        HostileCall("AsyncQueue.dequeue(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            await waiting { _ = try await AsyncQueue<Int>().dequeue(until: deadline, clock: clock) }
        },
        HostileCall("ConcurrencyLimiter.waitUntilIdle(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            let limiter = limiter(&values)
            let permit = limiter.tryAcquire()
            await waiting { try await limiter.waitUntilIdle(until: deadline, clock: clock) }
            withExtendedLifetime(permit) {}
        },
        HostileCall("Condition.wait(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            let (condition, signal) = Condition.makeCondition()
            await waiting { try await condition.wait(until: deadline, clock: clock) }
            withExtendedLifetime(signal) {}
        },
        HostileCall("KeyedLimiter.waitUntilIdle(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            let limiter = KeyedLimiter<String>(perKey: 1, total: 1)
            await limiter.run(for: "") {
                await waiting { try await limiter.waitUntilIdle(until: deadline, clock: clock) }
            }
        },
        HostileCall("Monitor.wait(claiming:timeout:)") { values in
            let (monitor, timeout) = (Monitor(0), values.duration())
            await waiting { _ = try await monitor.wait(claiming: { $0 > 0 ? $0 : nil }, timeout: timeout) }
        },
        HostileCall("Monitor.wait(claiming:until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            let monitor = Monitor(0)
            await waiting {
                _ = try await monitor.wait(claiming: { $0 > 0 ? $0 : nil }, until: deadline, clock: clock)
            }
        },
        HostileCall("Monitor.wait(where:timeout:)") { values in
            let (monitor, timeout) = (Monitor(0), values.duration())
            await waiting { try await monitor.wait(where: { $0 > 0 }, timeout: timeout) }
        },
        HostileCall("Monitor.wait(where:until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            let monitor = Monitor(0)
            await waiting { try await monitor.wait(where: { $0 > 0 }, until: deadline, clock: clock) }
        },
        HostileCall("Promise.value(until:clock:)") { values in
            let (clock, deadline) = deadline(&values)
            let (promise, resolver) = Promise<Int, any Error>.makePromise()
            await waiting { _ = try await promise.value(until: deadline, clock: clock) }
            resolver.succeed(1)
        },
        HostileCall("withDeadline(until:clock:body:)") { values in
            let (clock, deadline) = deadline(&values)
            _ = try await withDeadline(until: deadline, clock: clock) { () async throws -> Int in
                await Task.yield(); return 1
            }
        },
        HostileCall("WeightExceedsLimit.init(weight:maximumWeight:)") {
            _ = WeightExceedsLimit(weight: $0.int(), maximumWeight: $0.int()).description
        },
        HostileCall("withDeadline(timeout:body:)") { values in
            let timeout = values.duration()
            _ = try await withDeadline(timeout: timeout) { () async throws -> Int in
                await Task.yield(); return 1
            }
        },
    ]

    private static var numbers: AsyncStream<Int> {
        AsyncStream { continuation in
            for number in 0..<4 { continuation.yield(number) }
            continuation.finish()
        }
    }

    /// A clock and a deadline that may have passed.
    private static func deadline(_ values: inout HostileValues) -> (SuspendingClock, SuspendingClock.Instant) {
        let clock = SuspendingClock()
        return (clock, clock.now.advanced(by: values.one(of: [.seconds(-1), .zero, .seconds(1 << 40)])))
    }

    private static func limiter(_ values: inout HostileValues) -> ConcurrencyLimiter {
        ConcurrencyLimiter(concurrency: values.int(from: 1))
    }

    private static func keyed(_ values: inout HostileValues) -> KeyedLimiter<String> {
        KeyedLimiter(perKey: values.int(from: 1), total: values.int(from: 1))
    }

    private static func rate(_ values: inout HostileValues) -> RateLimiter<ContinuousClock> {
        RateLimiter(
            rate: values.int(from: 1), per: max(values.duration(), .nanoseconds(1)),
            burst: values.one(of: [nil, values.int(from: 1)]))
    }

    private static func keyedRate(_ values: inout HostileValues) -> KeyedRateLimiter<String, ContinuousClock> {
        KeyedRateLimiter(
            rate: values.int(from: 1), per: max(values.duration(), .nanoseconds(1)),
            burst: values.one(of: [nil, values.int(from: 1)]))
    }

    /// Runs a wait that may never end, and cancels it after it has had a chance to suspend.
    private static func waiting(_ body: @escaping @Sendable () async throws -> Void) async {
        let task = Task { try await body() }
        for _ in 0..<10 { await Task.yield() }
        task.cancel()
        _ = await task.result
    }
}
