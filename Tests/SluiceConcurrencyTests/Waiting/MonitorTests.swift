import SluiceConcurrency
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A monitor` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let monitor = Monitor(0)

    struct Refused: Error {}

    @Test
    func `a change wakes exactly the tasks with a predicate that holds then, in order`() {
        let recorder = Recorder<String>()
        for (name, wanted) in [("a", 2), ("b", 1), ("c", 2), ("d", 3)] {
            _ = executor.spawn { [monitor] in
                await monitor.wait(where: { $0 == wanted })
                recorder.note(name)
            }
        }
        executor.runUntilIdle()

        monitor.withState { $0 = 2 }
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "c"])

        monitor.withState { $0 = 3 }
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "c", "d"])

        monitor.withState { $0 = 1 }
        executor.runUntilIdle()
        #expect(recorder.values == ["a", "c", "d", "b"])
    }

    /// Trap: notify-all also wakes tasks that come after it.
    @Test
    func `a change wakes the tasks that waited before it, also if it is undone immediately, and no later ones`() {
        let recorder = Recorder<String>()
        @Sendable func wait(_ name: String) {
            _ = executor.spawn { [monitor] in
                await monitor.wait(where: { $0 == 1 })
                recorder.note(name)
            }
            executor.runUntilIdle()
        }
        wait("before")

        monitor.withState { $0 = 1 }
        monitor.withState { $0 = 0 }
        wait("after")

        #expect(recorder.values == ["before"])
        monitor.withState { $0 = 1 }
        executor.runUntilIdle()
        #expect(recorder.values == ["before", "after"])
    }

    @Test
    func `a predicate that holds already needs no waiting`() async throws {
        await monitor.wait(where: { $0 == 0 })
        try await monitor.waitUnlessCancelled(where: { $0 == 0 })
        try await monitor.wait(where: { $0 == 0 }, until: clock.now, clock: clock)
        try await monitor.wait(where: { $0 == 0 }, timeout: .zero)
        #expect(try await monitor.wait(claiming: { $0 }, timeout: .zero) == 0)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `of many claiming tasks exactly one gets each thing, the first to come first`() {
        let pool = Monitor([String]())
        let recorder = Recorder<String>()
        for number in 0..<4 {
            _ = executor.spawn {
                let thing = await pool.wait(claiming: { $0.popLast() })
                recorder.note("\(number) \(thing)")
            }
        }
        executor.runUntilIdle()

        pool.withState { $0.append("x") }
        executor.runUntilIdle()
        #expect(recorder.values == ["0 x"])

        pool.withState { $0 += ["y", "z"] }
        executor.runUntilIdle()
        #expect(recorder.values == ["0 x", "1 z", "2 y"])
        #expect(pool.state == [])
    }

    @Test
    func `a claim that succeeds immediately serves the tasks that wait for the rest`() async {
        let recorder = Recorder<String>()
        _ = executor.spawn { [monitor] in
            await monitor.wait(where: { $0 == 5 })
            recorder.note("served")
        }
        executor.runUntilIdle()

        let claimed = await monitor.wait(claiming: { state -> Int? in
            state = 5
            return state
        })
        executor.runUntilIdle()

        #expect(claimed == 5 && recorder.values == ["served"])
    }

    @Test
    func `a cancelled waiter has claimed nothing, and the next gets it`() async {
        let cancelled = executor.spawnThrowing { [monitor] in
            try await monitor.waitUnlessCancelled(claiming: Self.takeOne)
        }
        let next = executor.spawnThrowing { [monitor] in try await monitor.waitUnlessCancelled(claiming: Self.takeOne) }
        let steady = executor.spawn { [monitor] in await monitor.wait(claiming: Self.takeOne) }
        executor.runUntilIdle()
        cancelled.cancel()
        steady.cancel()

        monitor.withState { $0 = 2 }
        executor.runUntilIdle()

        #expect(monitor.state == 0)
        // Releases the tasks that still wait, so that a monitor that forgot the cancellation fails and does not hang.
        monitor.withState { $0 = 9 }
        executor.runUntilIdle()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await (try? next.value) == 2)
        #expect(await steady.value == 1)
    }

    @Sendable
    static func takeOne(_ state: inout Int) -> Int? {
        guard state > 0 else { return nil }
        defer { state -= 1 }
        return state
    }

    @Test
    func `a deadline ends the wait, claims nothing and leaves no sleep`() async throws {
        let deadline = ManualClock.Instant(offset: .seconds(3))
        let claim = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(claiming: Self.takeOne, until: deadline, clock: clock)
        }
        let wait = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(where: { $0 > 0 }, until: deadline, clock: clock)
        }
        let late = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(claiming: Self.takeOne, until: deadline.advanced(by: .seconds(1)), clock: clock)
        }
        let cancelled = executor.spawnThrowing { [monitor, clock] in
            try await monitor.wait(where: { $0 > 0 }, until: deadline, clock: clock)
        }
        executor.runUntilIdle()
        #expect(clock.sleeperCount == 4)

        cancelled.cancel()
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        monitor.withState { $0 = 1 }
        executor.runUntilIdle()

        await #expect(throws: DeadlineExceeded.self) { try await claim.value }
        await #expect(throws: DeadlineExceeded.self) { try await wait.value }
        #expect(try await late.value == 1)
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a timeout of zero ends a wait for a predicate that does not hold`() async {
        await #expect(throws: DeadlineExceeded.self) {
            try await monitor.wait(where: { $0 > 0 }, timeout: .zero)
        }
        await #expect(throws: DeadlineExceeded.self) {
            try await monitor.wait(claiming: Self.takeOne, timeout: .zero)
        }
    }

    @Test
    func `an error of a predicate or a claim ends its wait, with its type, and no other`() async throws {
        let refused = executor.spawn { [monitor] in
            do throws(Refused) {
                try await monitor.wait(where: { state throws(Refused) in
                    if state == 1 { throw Refused() }
                    return false
                })
                return false
            } catch {
                let _: Refused = error
                return true
            }
        }
        let steady = executor.spawn { [monitor] in await monitor.wait(where: { $0 == 1 }) }
        executor.runUntilIdle()

        monitor.withState { $0 = 1 }
        executor.runUntilIdle()

        #expect(await refused.value)
        await steady.value
        await #expect(throws: Refused.self) {
            try await monitor.wait(claiming: { _ throws(Refused) -> Int? in throw Refused() })
        }
    }

    @Test
    func `a body that throws wakes the tasks that waited for its changes`() {
        let recorder = Recorder<String>()
        _ = executor.spawn { [monitor] in
            await monitor.wait(where: { $0 == 1 })
            recorder.note("served")
        }
        executor.runUntilIdle()

        #expect(throws: Refused.self) {
            try monitor.withState { state throws(Refused) in
                state = 1
                throw Refused()
            }
        }
        executor.runUntilIdle()

        #expect(recorder.values == ["served"])
    }

    @Test(arguments: 0..<100)
    func `under every schedule each thing is claimed once, and unclaimed things remain`(seed: Int) async {
        let executor = ManualExecutor(seed: UInt64(seed))
        let clock = ManualClock()
        let pool = Monitor([Int]())
        let claims = Recorder<Int>()
        var waiting: [Task<Void, any Error>] = []
        for number in 0..<6 {
            waiting.append(
                executor.spawnThrowing {
                    switch number % 3 {
                    case 0: claims.note(await pool.wait(claiming: { $0.popLast() }))
                    case 1: claims.note(try await pool.waitUnlessCancelled(claiming: { $0.popLast() }))
                    default:
                        let deadline = ManualClock.Instant(offset: .seconds(1))
                        let claimed = try await pool.wait(claiming: { $0.popLast() }, until: deadline, clock: clock)
                        claims.note(claimed)
                    }
                })
        }
        for _ in 0..<(seed % 9) { executor.runOne() }
        for thing in 0..<4 { _ = executor.spawn { pool.withState { $0.append(thing) } } }
        _ = executor.spawn { [waiting] in waiting[1].cancel() }
        _ = executor.spawn { [waiting] in waiting[3].cancel() }
        _ = executor.spawn { clock.advance(by: .seconds(1)) }
        executor.runUntilIdle()

        #expect((claims.values + pool.state).sorted() == [0, 1, 2, 3], "seed \(seed)")
        #expect(clock.sleeperCount == 0)
        pool.withState { $0 += [4, 5] }
        executor.runUntilIdle()
        #expect((claims.values + pool.state).sorted() == [0, 1, 2, 3, 4, 5], "seed \(seed)")
        for task in waiting { _ = await task.result }
    }

    @Test
    func `on real threads each thing is claimed once while others are cancelled`() async {
        for _ in 0..<100 {
            let pool = Monitor([Int]())
            let claims = Recorder<Int>()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { claims.note(await pool.wait(claiming: { $0.popLast() })) } }
                let cancelled = Task { try await pool.waitUnlessCancelled(claiming: { $0.popLast() }) }
                group.addTask { if let thing = try? await cancelled.value { claims.note(thing) } }
                group.addTask { cancelled.cancel() }
                group.addTask { for thing in 0..<5 { pool.withState { $0.append(thing) } } }
            }
            #expect((claims.values + pool.state).sorted() == [0, 1, 2, 3, 4])
        }
    }
}

// MARK: What is promised about isolation and ownership

extension `A monitor` {
    final class NotSendable {
        var number = 0
    }

    struct NotCopyable: ~Copyable {
        let number: Int
    }

    @Test
    func `withState takes in and gives back what is not Sendable or cannot be copied, and keeps the type of errors`()
        throws
    {
        let object = NotSendable()
        let same = monitor.withState { state in
            object.number = state + 1
            return object
        }
        let unique = monitor.withState { NotCopyable(number: $0) }
        #expect(same === object && object.number == 1 && unique.number == 0)
        do throws(Refused) {
            try monitor.withState { _ throws(Refused) in throw Refused() }
        } catch {
            let _: Refused = error
        }
    }

    @Test @MainActor
    func `a waiter comes back to the actor from which it waits`() async {
        async let changing: Void = Task { @concurrent [monitor] in monitor.withState { $0 = 1 } }.value

        await monitor.wait(where: { $0 == 1 })

        MainActor.preconditionIsolated("A waiter must come back to its actor.")
        await changing
    }

    final class Tracked: Sendable {
        let whenGone: @Sendable () -> Void
        init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
        deinit { whenGone() }
    }

    /// If one were destroyed under the lock, its deinit, which uses the monitor, would trap.
    @Test
    func `captures of predicates are destroyed outside the lock, served or cancelled`() {
        let states = Recorder<Int>()
        @Sendable func wait() -> Task<Void, any Error> {
            executor.spawnThrowing { [monitor] in
                let tracked = Tracked { [monitor] in states.note(monitor.state) }
                try await monitor.waitUnlessCancelled(where: { [tracked] state in
                    withExtendedLifetime(tracked) { state == 1 }
                })
            }
        }
        _ = wait()
        let cancelled = wait()
        executor.runUntilIdle()
        cancelled.cancel()
        executor.runUntilIdle()
        #expect(states.values == [0])

        monitor.withState { $0 = 1 }
        executor.runUntilIdle()

        #expect(states.values == [0, 1])
    }

    @Test
    func `a predicate that uses its monitor traps`() async {
        await #expect(processExitsWith: .failure) {
            let monitor = Monitor(0)
            await monitor.wait(where: { _ in monitor.state == 0 })
        }
    }
}
