import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

/// Order, cancellation, deadlines and the end of waiting, step by step on a manual executor.
@Suite struct `KeyedLimiter: waiting` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()
    let clock = ManualClock()
    let limiter = KeyedLimiter<String>(perKey: 1, total: 1)

    /// Starts a task that runs until it is signalled, and waits until it runs.
    private func hold(_ key: String) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn { [limiter] in await limiter.run(for: key) { _ = await condition.wait() } }
        executor.runUntilIdle()
        return signal
    }

    /// Starts a task that notes its name on the limiter, or that it was cancelled, and lets it come as far as it can.
    @discardableResult
    private func note(_ key: String, _ name: String) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder] in
            do {
                try await limiter.run(for: key) { () async throws in recorder.note(name) }
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "failed")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    /// Runs jobs until no task waits: the place is handed over, and its new holder has not run.
    private func runUntilGranted(sourceLocation: SourceLocation = #_sourceLocation) {
        while limiter.waitingCount > 0, executor.runOne() {}
        #expect(limiter.waitingCount == 0, "No job is left, and a task still waits.", sourceLocation: sourceLocation)
    }

    /// Like `note`, by the deadline.
    @discardableResult
    private func note(_ key: String, _ name: String, within time: Duration) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder, clock] in
            let deadline = clock.now.advanced(by: time)
            do {
                try await limiter.run(for: key, until: deadline, clock: clock) { recorder.note(name) }
            } catch is DeadlineExceeded {
                recorder.note("\(name) expired")
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "failed")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test func `the one task of a key is served within one turn of a key with a thousand`() {
        let signal = hold("many")
        for number in 0..<1_000 { note("many", "many \(number)") }
        note("one", "one")
        #expect(limiter.waitingCount == 1_001)
        #expect(
            (limiter.runningCount(for: "many"), limiter.waitingCount(for: "many"), limiter.waitingCount(for: "one"))
                == (1, 1_000, 1))

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values.firstIndex(of: "one")! <= 1)
        #expect(recorder.values.filter { $0 != "one" } == (0..<1_000).map { "many \($0)" })
    }

    @Test func `a cancelled task gives its place in line to the next of its key`() {
        let signal = hold("a")
        let first = note("a", "1")
        note("a", "2")

        first.cancel()
        executor.runUntilIdle()
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["1 cancelled", "2"])
    }

    @Test func `a task that is cancelled before it comes does not run, though there is a place`() {
        let task = executor.spawn { [limiter, recorder] in
            do { try await limiter.run(for: "a") { () async throws in recorder.note("ran") } } catch {
                recorder.note("no")
            }
            do { try await limiter.runUnlessCancelled(for: "a") { recorder.note("ran") } } catch { recorder.note("no") }
        }
        task.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["no", "no"])
    }

    @Test func `once a place is granted the body runs, though the task is cancelled before it gets there`() {
        let signal = hold("a")
        let next = note("b", "granted")

        signal.signal()
        runUntilGranted()
        next.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["granted"])
    }

    @Test func `bodies that cannot throw run in cancelled tasks, when it is their turn`() {
        let signal = hold("a")
        let task = executor.spawn { [limiter, recorder] in
            await limiter.run(for: "a") { recorder.note("run, cancelled: \(Task.isCancelled)") }
            await limiter.runUninterrupted(for: "a") { recorder.note("runUninterrupted") }
            _ = await limiter.runIfAvailable(for: "a") { recorder.note("runIfAvailable") }
        }
        executor.runUntilIdle()

        task.cancel()
        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["run, cancelled: true", "runUninterrupted", "runIfAvailable"])
    }

    @Test func `runIfAvailable does not overtake a task that was granted a place and has not run yet`() async {
        let signal = hold("a")
        note("a", "waiter")
        #expect(await limiter.runIfAvailable(for: "b") { 1 } == nil)

        signal.signal()
        runUntilGranted()
        #expect(await limiter.runIfAvailable(for: "b") { 1 } == nil)

        executor.runUntilIdle()
        #expect(await limiter.runIfAvailable(for: "b") { 1 } == 1)
    }

    @Test func `cancelWaiting for a key leaves the others in line`() {
        let signal = hold("a")
        note("a", "a")
        note("b", "b1")
        note("b", "b2")

        limiter.cancelWaiting(for: "b")
        limiter.cancelWaiting(for: "unused")
        executor.runUntilIdle()
        #expect(recorder.values == ["b1 cancelled", "b2 cancelled"])
        note("b", "later")
        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values.dropFirst(2).sorted() == ["a cancelled", "later cancelled"])
        signal.signal()
        executor.runUntilIdle()

        #expect((limiter.runningCount, limiter.waitingCount) == (0, 0))
        #expect(limiter.storage.machine.withLock { $0.traces.keys } == 0)
    }

    @Test func `waitUntilIdle returns when the last has left, also in a cancelled task`() async {
        await limiter.waitUntilIdle()
        let signal = hold("a")
        note("b", "b")
        let idle = executor.spawn { [limiter, recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()

        idle.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["b", "idle"])
    }

    // MARK: Deadlines

    @Test func `the wait for an idle limiter ends at its deadline, and otherwise when the last has left`() {
        let signal = hold("a")
        for seconds in [1, 3] {
            let deadline = clock.now.advanced(by: .seconds(seconds))
            _ = executor.spawn { [limiter, recorder, clock] in
                do {
                    try await limiter.waitUntilIdle(until: deadline, clock: clock)
                    recorder.note("\(seconds) idle")
                } catch {
                    recorder.note("\(seconds) \(type(of: error))")
                }
            }
        }
        executor.runUntilIdle()

        clock.advance(by: .seconds(1))
        executor.runUntilIdle()
        #expect(recorder.values == ["1 DeadlineExceeded"])

        signal.signal()
        executor.runUntilIdle()
        #expect(recorder.values == ["1 DeadlineExceeded", "3 idle"])
    }

    @Test func `a deadline ends the wait, and only the wait`() {
        let signal = hold("a")
        note("a", "short", within: .seconds(1))
        note("a", "long", within: .seconds(3))

        clock.advance(by: .seconds(1))
        executor.runUntilIdle()
        #expect(recorder.values == ["short expired"])
        #expect(limiter.waitingCount == 1)
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["short expired", "long"])
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a timeout ends the wait, on the continuous clock`() async throws {
        #expect(try await limiter.run(for: "a", timeout: .zero) { () async throws in 7 } == 7)
        let signal = hold("a")
        await #expect(throws: DeadlineExceeded.self) {
            try await limiter.run(for: "a", timeout: .zero) { () async throws in 7 }
        }
        #expect(limiter.waitingCount == 0)
        signal.signal()
        executor.runUntilIdle()
    }

    @Test func `with a place free the body runs, also if the deadline is over`() {
        note("a", "late", within: .seconds(-1))
        #expect(recorder.values == ["late"])
    }

    @Test func `a deadline that is over ends a wait immediately`() {
        let signal = hold("a")
        note("a", "late", within: .seconds(-1))
        #expect(recorder.values == ["late expired"])
        signal.signal()
    }

    @Test func `a task that waits until a deadline can be cancelled, and nothing sleeps on`() {
        let signal = hold("a")
        let task = note("a", "waiter", within: .seconds(5))

        task.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["waiter cancelled"])
        #expect(clock.sleeperCount == 0)
        #expect(limiter.waitingCount == 0)
        signal.signal()
        executor.runUntilIdle()
    }
}
