import TestSupport
import Testing

@testable import SluiceConcurrency

/// Cancellation, deadlines and the end of waiting, step by step on a manual executor.
@Suite struct `Both limiters: waiting` {
    typealias Use = SinglePlace.Use

    let executor = ManualExecutor()
    let clock = ManualClock()
    let recorder = Recorder<String>()

    /// Starts a task that holds the place until the signal, and runs it until it holds the place.
    private func hold(_ place: SinglePlace) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn { await place.hold { _ = await condition.wait() } }
        executor.runUntilIdle()
        return signal
    }

    /// Starts a task that records its name when it gets the place, or how its wait ended. Runs it until it waits or ends.
    @discardableResult
    private func note(_ name: String, _ place: SinglePlace, until seconds: Int? = nil) -> Task<Void, Never> {
        let task = executor.spawn { [clock, recorder] in
            do {
                if let seconds {
                    let deadline = ManualClock.Instant(offset: .seconds(seconds))
                    try await place.run(until: deadline, clock: clock) { recorder.note(name) }
                } else {
                    try await place.run { recorder.note(name) }
                }
            } catch {
                recorder.note("\(name) \(type(of: error))")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @discardableResult
    private func noteIdle(_ name: String, _ place: SinglePlace, until seconds: Int) -> Task<Void, Never> {
        let task = executor.spawn { [clock, recorder] in
            do {
                try await place.waitUntilIdle(until: ManualClock.Instant(offset: .seconds(seconds)), clock: clock)
                recorder.note("\(name) idle")
            } catch {
                recorder.note("\(name) \(type(of: error))")
            }
        }
        executor.runUntilIdle()
        return task
    }

    /// Runs jobs until no task waits: the place has a new holder, which hasn't run yet.
    private func runUntilGranted(_ place: SinglePlace, sourceLocation: SourceLocation = #_sourceLocation) {
        while place.waitingCount > 0, executor.runOne() {}
        #expect(place.waitingCount == 0, "No job is left, and a task still waits.", sourceLocation: sourceLocation)
    }

    private func expectIdle(_ place: SinglePlace, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect((place.runningCount, place.waitingCount) == (0, 0), sourceLocation: sourceLocation)
        #expect(clock.sleeperCount == 0, "nothing is left behind", sourceLocation: sourceLocation)
    }

    @Test(arguments: Use.allCases)
    func `cancelling the first task in line admits the next`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        let first = note("a", place)
        note("b", place)

        first.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["a CancellationError"])
        #expect(place.waitingCount == 1)
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a CancellationError", "b"])
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `a task cancelled before it arrives doesn't run, even if a place is free`(use: Use) {
        let place = SinglePlace(use)
        let task = executor.spawn { [recorder] in
            do { try await place.run { recorder.note("ran") } } catch { recorder.note("\(error)") }
            do { try await place.runUnlessCancelled { recorder.note("ran") } } catch { recorder.note("\(error)") }
        }

        task.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["CancellationError()", "CancellationError()"])
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `once a place is granted, the body runs, even if the task is cancelled before it resumes`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        let next = note("granted", place)

        signal.signal()
        runUntilGranted(place)
        next.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["granted"])
    }

    @Test(arguments: Use.allCases)
    func `bodies that can't throw run in cancelled tasks when their turn comes`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        let task = executor.spawn { [recorder] in
            await place.runNonthrowing { recorder.note("run, cancelled: \(Task.isCancelled)") }
            await place.runUninterrupted { recorder.note("runUninterrupted") }
            _ = await place.runIfAvailable { recorder.note("runIfAvailable") }
        }
        executor.runUntilIdle()

        task.cancel()
        place.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["run, cancelled: true", "runUninterrupted", "runIfAvailable"])
    }

    @Test(arguments: Use.allCases)
    func `runIfAvailable doesn't overtake a task that was granted a place but hasn't run yet`(use: Use) async {
        let place = SinglePlace(use)
        let signal = hold(place)
        #expect(await place.runIfAvailable {} == false)
        note("waiter", place)
        #expect(await place.runIfAvailable {} == false)

        signal.signal()
        runUntilGranted(place)
        #expect(await place.runIfAvailable {} == false)

        executor.runUntilIdle()
        #expect(recorder.values == ["waiter"])
        #expect(await place.runIfAvailable {} == true)
    }

    @Test(arguments: Use.allCases)
    func `waitUntilIdle returns when the last task has left, even in a cancelled task`(use: Use) async {
        let place = SinglePlace(use)
        await place.waitUntilIdle()
        let signal = hold(place)
        note("a", place)
        let idle = executor.spawn { [recorder] in
            await place.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()

        idle.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == [])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "idle"])
        expectIdle(place)
    }

    // MARK: Deadlines

    @Test(arguments: Use.allCases)
    func `a wait ends at its deadline, and the tasks behind it keep their order`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        note("a", place, until: 2)
        note("b", place, until: 5)
        #expect(place.waitingCount == 2)

        clock.advance(by: .seconds(2))
        executor.runUntilIdle()
        #expect(recorder.values == ["a DeadlineExceeded"])
        #expect(place.waitingCount == 1)
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a DeadlineExceeded", "b"])
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `a free place is given even after the deadline`(use: Use) {
        let place = SinglePlace(use)
        clock.advance(by: .seconds(10))
        note("a", place, until: 2)
        #expect(recorder.values == ["a"])
    }

    @Test(arguments: Use.allCases)
    func `with a deadline in the past, the wait ends immediately`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        clock.advance(by: .seconds(10))
        note("a", place, until: 2)
        #expect(recorder.values == ["a DeadlineExceeded"])
        signal.signal()
        executor.runUntilIdle()
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `a place granted before the deadline is kept, even if the deadline passes before the task runs`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        note("a", place, until: 2)
        signal.signal()
        runUntilGranted(place)
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()
        #expect(recorder.values == ["a"])
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `cancellation ends the wait before the deadline`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        let task = note("a", place, until: 2)
        task.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["a CancellationError"])
        signal.signal()
        executor.runUntilIdle()
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `a timeout ends the wait, on the continuous clock`(use: Use) async throws {
        let place = SinglePlace(use)
        try await place.run(timeout: .zero) { recorder.note("free") }
        let signal = hold(place)
        await #expect(throws: DeadlineExceeded.self) { try await place.run(timeout: .zero) { recorder.note("taken") } }
        #expect(place.waitingCount == 0)
        signal.signal()
        executor.runUntilIdle()
        #expect(recorder.values == ["free"])
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `waitUntilIdle ends at its deadline, on cancellation, or when the last task has left`(use: Use) {
        let place = SinglePlace(use)
        let signal = hold(place)
        noteIdle("a", place, until: 1)
        noteIdle("b", place, until: 2)
        noteIdle("c", place, until: 3).cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["c CancellationError"])

        clock.advance(by: .seconds(1))
        executor.runUntilIdle()
        #expect(recorder.values == ["c CancellationError", "a DeadlineExceeded"])

        signal.signal()
        executor.runUntilIdle()
        #expect(recorder.values.last == "b idle")
        expectIdle(place)
    }

    @Test(arguments: Use.allCases)
    func `waitUntilIdle returns on an idle limiter even after the deadline`(use: Use) {
        clock.advance(by: .seconds(5))
        noteIdle("a", SinglePlace(use), until: 1)
        #expect(recorder.values == ["a idle"])
    }
}

/// A limiter with one place, used in one of several ways.
struct SinglePlace: Sendable {
    enum Use: CaseIterable, Sendable {
        case bodies
        case permits
        /// All tasks use one key.
        case oneKey
        /// The task that first holds the place has a different key.
        case twoKeys
    }

    let use: Use
    private let limiter = ConcurrencyLimiter(concurrency: 1)
    private let keyed = KeyedLimiter<String>(perKey: 1, total: 1)

    init(_ use: Use) {
        self.use = use
    }

    private var isKeyed: Bool { use == .oneKey || use == .twoKeys }

    var runningCount: Int { isKeyed ? keyed.runningCount : limiter.runningCount }
    var waitingCount: Int { isKeyed ? keyed.waitingCount : limiter.waitingCount }

    func hold(_ body: () async -> Void) async {
        if isKeyed {
            await keyed.run(for: use == .twoKeys ? "holder" : "a") { await body() }
        } else {
            await limiter.run { await body() }
        }
    }

    func run(_ body: () -> Void) async throws {
        switch use {
        case .bodies: try await limiter.run { () async throws in body() }
        case .permits:
            let permit = try await limiter.acquire()
            body()
            permit.release()
        case .oneKey, .twoKeys: try await keyed.run(for: "a") { () async throws in body() }
        }
    }

    func run(until deadline: ManualClock.Instant, clock: ManualClock, _ body: () -> Void) async throws {
        switch use {
        case .bodies: try await limiter.run(until: deadline, clock: clock) { () async throws in body() }
        case .permits:
            let permit = try await limiter.acquire(until: deadline, clock: clock)
            body()
            permit.release()
        case .oneKey, .twoKeys:
            try await keyed.run(for: "a", until: deadline, clock: clock) { () async throws in body() }
        }
    }

    func run(timeout: Duration, _ body: () -> Void) async throws {
        switch use {
        case .bodies: try await limiter.run(timeout: timeout) { () async throws in body() }
        case .permits:
            let permit = try await limiter.acquire(timeout: timeout)
            body()
            permit.release()
        case .oneKey, .twoKeys: try await keyed.run(for: "a", timeout: timeout) { () async throws in body() }
        }
    }

    func runNonthrowing(_ body: () -> Void) async {
        if isKeyed { await keyed.run(for: "a") { body() } } else { await limiter.run { body() } }
    }

    func runUninterrupted(_ body: () -> Void) async {
        if isKeyed {
            await keyed.runUninterrupted(for: "a") { body() }
        } else {
            await limiter.runUninterrupted { body() }
        }
    }

    func runUnlessCancelled(_ body: () -> Void) async throws {
        if isKeyed {
            try await keyed.runUnlessCancelled(for: "a") { body() }
        } else {
            try await limiter.runUnlessCancelled { body() }
        }
    }

    func runIfAvailable(_ body: () -> Void) async -> Bool {
        if isKeyed {
            await keyed.runIfAvailable(for: "a") { body() } != nil
        } else {
            await limiter.runIfAvailable { body() } != nil
        }
    }

    func cancelWaiting() {
        if isKeyed { keyed.cancelWaiting() } else { limiter.cancelWaiting() }
    }

    func waitUntilIdle() async {
        if isKeyed { await keyed.waitUntilIdle() } else { await limiter.waitUntilIdle() }
    }

    func waitUntilIdle(until deadline: ManualClock.Instant, clock: ManualClock) async throws {
        if isKeyed {
            try await keyed.waitUntilIdle(until: deadline, clock: clock)
        } else {
            try await limiter.waitUntilIdle(until: deadline, clock: clock)
        }
    }
}

// MARK: - A limiter without keys

/// Order and the end of waiting, step by step on a manual executor.
@Suite struct `ConcurrencyLimiter: waiting` {
    let executor = ManualExecutor()
    let limiter = ConcurrencyLimiter(concurrency: 1)
    let recorder = Recorder<String>()

    /// Starts a task that runs on the limiter until the gate opens, and runs it until it is admitted.
    private func hold() -> (task: Task<Void, Never>, signal: Signal) {
        let (condition, signal) = Condition.makeCondition()
        let task = executor.spawn { [limiter] in await limiter.run { _ = await condition.wait() } }
        executor.runUntilIdle()
        return (task, signal)
    }

    /// Starts a task that records its name when it runs on the limiter, or that it was cancelled. Runs it until it waits or ends.
    @discardableResult
    private func note(_ name: String) -> Task<Void, Never> {
        let task = executor.spawn { [limiter, recorder] in
            do {
                try await limiter.run { () async throws in recorder.note(name) }
            } catch {
                recorder.note("\(name) \(error is CancellationError ? "cancelled" : "failed")")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test
    func `tasks are admitted in order of arrival`() {
        let holder = hold()
        for name in ["a", "b", "c"] { note(name) }
        #expect(limiter.runningCount == 1)
        #expect(limiter.waitingCount == 3)

        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a", "b", "c"])
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
    }

    @Test
    func `cancelWaiting ends only the waits that can be cancelled`() {
        let holder = hold()
        note("a")
        let stubborn = executor.spawn { [limiter, recorder] in await limiter.run { recorder.note("stubborn") } }
        executor.runUntilIdle()
        note("b")

        limiter.cancelWaiting()
        executor.runUntilIdle()
        #expect(recorder.values == ["a cancelled", "b cancelled"])
        #expect(limiter.waitingCount == 1)
        note("later")
        holder.signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["a cancelled", "b cancelled", "stubborn", "later"])
        #expect(!stubborn.isCancelled)
    }

    /// Starts a body of weight zero that records that it begins, and runs until the signal.
    private func holdNothing(_ limiter: ConcurrencyLimiter, _ priority: TaskPriority? = nil) -> Signal {
        let (condition, signal) = Condition.makeCondition()
        _ = executor.spawn(priority: priority) { [recorder] in
            try? await limiter.run(weight: 0) { () async throws in
                recorder.note("begins")
                await condition.wait()
            }
        }
        executor.runUntilIdle()
        return signal
    }

    private func watch(_ limiter: ConcurrencyLimiter) {
        _ = executor.spawn { [recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()
    }

    @Test
    func `waitUntilIdle returns even if the last place goes to a waiting body of weight zero`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 2)
        let permit = try limiter.take(2)
        limiter.resize(to: 1)
        let signal = holdNothing(limiter)
        watch(limiter)
        #expect(recorder.values == [])

        permit.release()
        executor.runUntilIdle()
        #expect(recorder.values == ["begins"])
        signal.signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["begins", "idle"])
    }

    @Test(arguments: [false, true])
    func `waitUntilIdle waits for bodies of weight zero`(isWatchedFirst: Bool) throws {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        let permit = try limiter.take()
        let signals = [holdNothing(limiter), holdNothing(limiter)]
        if isWatchedFirst { watch(limiter) }
        permit.release()
        if !isWatchedFirst { watch(limiter) }
        executor.runUntilIdle()
        #expect(recorder.values == ["begins", "begins"])
        signals[0].signal()
        executor.runUntilIdle()
        #expect(recorder.values == ["begins", "begins"])

        signals[1].signal()
        executor.runUntilIdle()

        #expect(recorder.values == ["begins", "begins", "idle"])
        #expect(limiter.statistics.grantedCount == 3)
    }

    @Test
    func `a waiting task keeps the limiter alive`() {
        weak var limiter: ConcurrencyLimiter?
        let (condition, signal) = Condition.makeCondition()
        do {
            let made = ConcurrencyLimiter(concurrency: 1)
            limiter = made
            for name in ["a", "b"] {
                _ = executor.spawn { [recorder] in
                    await made.run {
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

    @Test
    func `a limit below one traps with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ConcurrencyLimiter(concurrency: 0)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("must be at least 1; it is 0"))
        #endif
    }
}

// MARK: - Deadlines

@Suite struct `ConcurrencyLimiter: deadlines and statistics` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let limiter = ConcurrencyLimiter(concurrency: 1)

    @Test
    func `run with a deadline bounds the wait and not the body`() async throws {
        let deadline = ManualClock.Instant(offset: .seconds(1))
        let ran = try await limiter.run(until: deadline, clock: clock) { () async throws -> Int in
            clock.advance(by: .seconds(5))
            return 7
        }
        #expect(ran == 7)
        let permit = try limiter.take()
        let late = await #expect(throws: DeadlineExceeded.self) {
            try await limiter.run(until: deadline, clock: clock) { () async throws -> Int in 7 }
        }
        #expect(late?.cause == nil)
        permit.release()
        await #expect(throws: WeightExceedsLimit.self) {
            _ = try await limiter.run(weight: 2, until: deadline, clock: clock) { () async throws -> Int in 7 }
        }
        #expect(limiter.runningCount == 0)
    }

    // MARK: Statistics

    @Test
    func `statistics report current counts and totals`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 4, clock: clock)
        #expect(
            limiter.statistics
                == .init(
                    concurrency: 4, runningCount: 0, waitingCount: 0, maximumRunningCount: 0, grantedCount: 0,
                    totalWait: .zero, maximumWait: .zero))
        let first = try limiter.take(3)
        let waiting = [2, 3].map { weight in
            executor.spawn { _ = try? await limiter.acquire(weight: weight) }
        }
        executor.runUntilIdle()
        clock.advance(by: .seconds(2))
        #expect(limiter.statistics.runningCount == 3)
        #expect(limiter.statistics.waitingCount == 2)

        waiting[1].cancel()
        executor.runUntilIdle()
        clock.advance(by: .milliseconds(1_500))
        first.release()
        executor.runUntilIdle()

        let statistics = limiter.statistics
        #expect(
            (statistics.runningCount, statistics.waitingCount, statistics.maximumRunningCount, statistics.grantedCount)
                == (0, 0, 3, 2))
        #expect(statistics.totalWait == .milliseconds(5_500))
        #expect(statistics.maximumWait == .milliseconds(3_500))
    }

    @Test
    func `without a clock no time is measured`() {
        #expect(limiter.statistics.totalWait == nil)
        #expect(limiter.statistics.maximumWait == nil)
    }

    @Test
    func `every body and permit is counted, however many there are`() async {
        for _ in 0..<100_000 { await limiter.run {} }
        #expect(limiter.statistics.grantedCount == 100_000)
        #expect(limiter.statistics.maximumRunningCount == 1)
    }
}
