import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

/// What becomes of keys and of the limiter itself, and what is refused.
@Suite struct `KeyedLimiter: keys, lifetime and mistakes` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// A key that uses the limiter when it is destroyed.
    final class Visitor: Hashable, Sendable {
        let name: String
        let onEnd: @Sendable () -> Void

        init(_ name: String, onEnd: @escaping @Sendable () -> Void) {
            self.name = name
            self.onEnd = onEnd
        }

        deinit { onEnd() }

        static func == (first: Visitor, second: Visitor) -> Bool { first.name == second.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    @Test func `a key that uses the limiter when it is destroyed does so outside of the lock`() {
        let limiter = KeyedLimiter<Visitor>(perKey: 1, total: 1)
        let onEnd: @Sendable () -> Void = { [recorder] in recorder.note("\(limiter.waitingCount) wait") }
        let (condition, signal) = Condition.makeCondition()
        let tasks = (0..<5).map { number in
            executor.spawn {
                if number % 2 == 0 {
                    await limiter.run(for: Visitor("\(number / 2)", onEnd: onEnd)) { _ = await condition.wait() }
                } else {
                    try? await limiter.run(for: Visitor("\(number / 2)", onEnd: onEnd)) { () async throws in }
                }
            }
        }
        executor.runUntilIdle()
        limiter.cancelWaiting()
        for task in tasks { task.cancel() }
        executor.runUntilIdle()
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values.count == 5)
        #expect(limiter.storage.machine.withLock { $0.traces.keys } == 0)
    }

    @Test func `a waiting task keeps the limiter alive`() {
        weak var limiter: KeyedLimiter<String>?
        let (condition, signal) = Condition.makeCondition()
        do {
            let made = KeyedLimiter<String>(perKey: 1, total: 1)
            limiter = made
            for name in ["a", "b"] {
                _ = executor.spawn { [recorder] in
                    await made.run(for: name) {
                        await condition.wait()
                        recorder.note(name)
                    }
                }
            }
        }
        executor.runUntilIdle()
        #expect(limiter?.waitingCount == 1)
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "b"])
        #expect(limiter == nil)
    }

    @Test func `limits below one are refused with a sentence`() async {
        let perKey = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = KeyedLimiter<Int>(perKey: 0, total: 1)
        }
        let total = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = KeyedLimiter<Int>(perKey: 1, total: 0)
        }
        let messages = [perKey, total].map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
        #if DEBUG
        #expect(messages[0].contains("perKey must be at least 1; it is 0"))
        #expect(messages[1].contains("total must be at least 1; it is 0"))
        #endif
    }
}
