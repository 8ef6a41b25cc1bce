import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `A keyed rate limiter` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let recorder = Recorder<String>()
    let limiter: KeyedRateLimiter<String, ManualClock>

    /// For each key, a token each second, with a burst of two.
    init() {
        limiter = KeyedRateLimiter(rate: 1, per: .seconds(1), burst: 2, clock: clock)
    }

    @discardableResult
    private func consume(_ key: String, _ name: String) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder] in
            do {
                try await limiter.consume(for: key)
                recorder.note(name)
            } catch {
                recorder.note("\(name) cancelled")
            }
        }
        executor.runUntilIdle()
        return task
    }

    private func pass(_ seconds: Double) {
        clock.advance(by: .seconds(seconds))
        executor.runUntilIdle()
    }

    @Test func `each key has a bucket of its own`() {
        for number in 1...3 { consume("a", "a\(number)") }
        consume("b", "b1")
        #expect(recorder.values == ["a1", "a2", "b1"])
        #expect((limiter.available(for: "a"), limiter.available(for: "b"), limiter.available(for: "c")) == (0, 1, 2))
        #expect((limiter.tryConsume(for: "a"), limiter.tryConsume(for: "b")) == (false, true))

        pass(1)
        #expect(recorder.values == ["a1", "a2", "b1", "a3"])
    }

    @Test func `the wait of a request counts the tasks in its key's line only`() {
        for number in 1...4 { consume("a", "a\(number)") }
        #expect(limiter.timeUntilAvailable(for: "a") == .seconds(3))
        #expect(limiter.timeUntilAvailable(for: "b") == .zero)
        #expect(limiter.timeUntilAvailable(3, for: "b") == nil)
    }

    @Test func `a cancelled task takes no token`() {
        for number in 1...2 { consume("a", "a\(number)") }
        let cancelled = consume("a", "a3")
        consume("a", "a4")
        cancelled.cancel()
        executor.runUntilIdle()
        pass(1)
        #expect(recorder.values == ["a1", "a2", "a3 cancelled", "a4"])
    }

    @Test func `a deadline that can't be met and a request above the burst throw immediately`() async throws {
        #expect(limiter.tryConsume(2, for: "a"))
        await #expect(throws: DeadlineExceeded.self) {
            try await limiter.consume(for: "a", timeout: .milliseconds(999))
        }
        await #expect(throws: WeightExceedsLimit.self) { try await limiter.consume(3, for: "a") }
        try await limiter.consume(2, for: "b", timeout: .zero)
    }

    @Test func `full buckets are removed when the number of keys doubles, others are kept`() {
        for number in 0..<63 { _ = limiter.tryConsume(for: "early \(number)") }
        _ = limiter.tryConsume(2, for: "busy")
        #expect(limiter.keyCount == 64)

        // The early buckets are full after a second; the busy one has a token.
        clock.advance(by: .seconds(1))
        _ = limiter.tryConsume(for: "late")
        #expect(limiter.keyCount == 2)
        #expect((limiter.available(for: "busy"), limiter.available(for: "early 1")) == (1, 2))

        for number in 0..<200 { _ = limiter.tryConsume(for: "new \(number)") }
        #expect(limiter.keyCount == 202)
    }

    @Test func `a bucket that a task waits for is kept`() {
        for number in 1...3 { consume("a", "a\(number)") }
        for number in 0..<63 { _ = limiter.tryConsume(for: "other \(number)") }
        #expect(limiter.keyCount == 64)
        clock.advance(by: .seconds(100))
        // The waiting task hasn't run yet, so its bucket counts as full.
        _ = limiter.tryConsume(for: "late")
        #expect(limiter.keyCount == 2)
        executor.runUntilIdle()
        #expect(recorder.values == ["a1", "a2", "a3"])
        #expect(limiter.available(for: "a") == 1)
    }

    @Test func `removed keys are released outside the lock`() {
        final class Token: Hashable, Sendable {
            let number: Int
            let onRelease: @Sendable () -> Void
            init(_ number: Int, onRelease: @escaping @Sendable () -> Void) {
                (self.number, self.onRelease) = (number, onRelease)
            }
            deinit { onRelease() }
            static func == (one: Token, other: Token) -> Bool { one.number == other.number }
            func hash(into hasher: inout Hasher) { hasher.combine(number) }
        }
        let limiter = KeyedRateLimiter<Token, ManualClock>(rate: 1, per: .seconds(1), clock: clock)
        let released = Recorder<Int>()
        for number in 0..<64 {
            // Using the limiter under its own lock would trap.
            _ = limiter.tryConsume(for: Token(number) { [weak limiter] in released.note(limiter?.keyCount ?? 0) })
        }
        clock.advance(by: .seconds(1))
        _ = limiter.tryConsume(for: Token(64) {})
        #expect(released.values.count == 64)
        #expect(limiter.keyCount == 1)
    }
}
