import TestSupport
import Testing

import SluiceConcurrency

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

    @Test @MainActor func `it is used from an actor without leaving it, also by those that are not Sendable`()
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

    @Test func `what makes no sense is refused with a sentence`() async {
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
