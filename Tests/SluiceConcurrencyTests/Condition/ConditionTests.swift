import SluiceConcurrency
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `A condition` {
    let executor = ManualExecutor()

    @Test
    func `a signal lets go all waiting tasks, in order, and all later ones`() async {
        let (condition, signal) = Condition.makeCondition()
        let recorder = Recorder<Int>()
        for number in 0..<5 {
            _ = executor.spawn {
                await condition.wait()
                recorder.note(number)
            }
        }
        executor.runUntilIdle()
        #expect(recorder.values == [])

        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == [0, 1, 2, 3, 4])
        #expect(await condition.wait() == .signalled)
    }

    @Test
    func `signalling again changes nothing`() async {
        let (condition, signal) = Condition.makeCondition()

        signal.signal()
        signal.signal()

        #expect(await condition.wait() == .signalled)
    }

    @Test
    func `dropping the last signal lets go the waiting tasks, as abandoned`() async throws {
        let signals = [Recorder<Signal>(), Recorder<Signal>()]
        let condition = makeCondition(signals)
        let recorder = Recorder<Condition.Outcome>()
        _ = executor.spawn { recorder.note(await condition.wait()) }
        let cancellable = executor.spawnThrowing { try await condition.waitUnlessCancelled() }
        executor.runUntilIdle()

        signals[0].forget()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signals[1].forget()
        executor.runUntilIdle()

        #expect(recorder.values == [.abandoned])
        #expect(try await cancellable.value == .abandoned)
        #expect(await condition.wait() == .abandoned)
    }

    /// Makes a condition with a signal that only these recorders hold.
    private func makeCondition(_ recorders: [Recorder<Signal>]) -> Condition {
        let (condition, signal) = Condition.makeCondition()
        for recorder in recorders { recorder.note(signal) }
        return condition
    }

    @Test
    func `a producer that fails tells the waiting tasks, though others still hold the signal`() async {
        let (condition, signal) = Condition.makeCondition()
        let waiter = executor.spawn { await condition.wait() }
        executor.runUntilIdle()

        signal.abandon()
        signal.signal()
        executor.runUntilIdle()

        #expect(await waiter.value == .abandoned)
        #expect(await condition.wait() == .abandoned)
    }

    @Test
    func `a signal that was used is not abandoned when it is dropped`() async {
        func signalled() -> Condition {
            let (condition, signal) = Condition.makeCondition()
            signal.signal()
            return condition
        }

        #expect(await signalled().wait() == .signalled)
    }

    @Test
    func `wait does not return before the signal in a cancelled task`() async {
        let (condition, signal) = Condition.makeCondition()
        let recorder = Recorder<Condition.Outcome>()
        let waiter = executor.spawn { recorder.note(await condition.wait()) }

        waiter.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == [.signalled])
    }

    @Test
    func `waitUnlessCancelled ends with CancellationError if cancelled before or while waiting`() {
        let (condition, signal) = Condition.makeCondition()
        let cancelled = Recorder<String>()
        func spawn(_ name: String) -> Task<Void, Never> {
            executor.spawn { do { try await condition.waitUnlessCancelled() } catch { cancelled.note(name) } }
        }
        spawn("early").cancel()
        executor.runUntilIdle()
        let late = spawn("late")
        executor.runUntilIdle()
        late.cancel()
        executor.runUntilIdle()

        // Without an await, which would wait forever if one of them did.
        #expect(cancelled.values == ["early", "late"])
        signal.signal()
        executor.runUntilIdle()
    }

    @Test
    func `an earlier signal is reported to a cancelled task, too`() async throws {
        let (condition, signal) = Condition.makeCondition()
        signal.signal()
        let task = executor.spawnThrowing { try await condition.waitUnlessCancelled() }

        task.cancel()
        executor.runUntilIdle()

        #expect(try await task.value == .signalled)
    }

    /// Trap: a signal gets lost on a waiter that is cancelled at the same time.
    @Test
    func `cancel racing signal lets go every other task`() async {
        for _ in 0..<3_000 {
            let (condition, signal) = Condition.makeCondition()
            let cancelled = Task { try await condition.waitUnlessCancelled() }
            let other = Task { try await condition.waitUnlessCancelled() }
            let canceller = Task { cancelled.cancel() }
            let signaller = Task { signal.signal() }

            _ = await cancelled.result
            #expect(await (try? other.value) == .signalled)
            await canceller.value
            await signaller.value
        }
    }

    @Test @MainActor
    func `a waiter comes back to the actor from which it waits`() async {
        let (condition, signal) = Condition.makeCondition()
        async let signalling: Void = Task { @concurrent in signal.signal() }.value

        await condition.wait()

        MainActor.preconditionIsolated("A waiter must come back to its actor.")
        await signalling
    }
}
