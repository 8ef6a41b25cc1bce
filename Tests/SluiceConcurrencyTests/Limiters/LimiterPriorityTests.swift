import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `ConcurrencyLimiter: priorities and holders` {
    let executor = ManualExecutor()
    let limiter = ConcurrencyLimiter(concurrency: 1, order: .priority)
    let recorder = Recorder<String>()

    @discardableResult
    private func note(_ name: String, _ priority: TaskPriority, uninterrupted: Bool = false) -> Task<Void, Never> {
        let task = executor.spawn(priority: priority) { [limiter, recorder] in
            if uninterrupted {
                await limiter.run { recorder.note(name) }
            } else {
                do {
                    try await limiter.run { () async throws in recorder.note(name) }
                } catch {
                    recorder.note("\(name) cancelled")
                }
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test(arguments: [false, true])
    func `tasks with a higher priority go first, and equal ones in order of arrival`(uninterrupted: Bool) throws {
        let permit = try limiter.take()
        note("low", .low, uninterrupted: uninterrupted)
        note("medium", .medium, uninterrupted: uninterrupted)
        note("high 1", .high, uninterrupted: uninterrupted)
        note("high 2", .high, uninterrupted: uninterrupted)

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["high 1", "high 2", "medium", "low"])
        #expect(limiter.runningCount == 0)
    }

    @Test
    func `a steady stream of higher priorities starves no task`() throws {
        let permit = try limiter.take()
        note("low", .low)
        for number in 0..<40 { note("\(number)", .high) }

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.firstIndex(of: "low") == 16)
    }

    @Test
    func `a request that would be next is admitted if it fits, even while a lower priority waits for more`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 10, order: .priority)
        let permit = try limiter.take(5)
        func run(_ name: String, _ weight: Int, _ priority: TaskPriority) {
            _ = executor.spawn(priority: priority) { [recorder] in
                try? await limiter.run(weight: weight) { () async throws in recorder.note(name) }
            }
            executor.runUntilIdle()
        }
        run("background", 8, .background)
        run("as low", 1, .background)
        run("high", 3, .high)
        run("too heavy for now", 6, .high)
        run("behind it", 1, .high)
        #expect(recorder.values == ["high"])

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["high", "too heavy for now", "behind it", "background", "as low"])
    }

    @Test
    func `higher priorities pass over a heavy request at most sixteen times`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 10, order: .priority)
        let permit = try limiter.take(5)
        for number in 0..<20 {
            _ = executor.spawn(priority: number == 0 ? .background : .high) { [recorder] in
                try? await limiter.run(weight: number == 0 ? 8 : 1) { () async throws in recorder.note("\(number)") }
            }
            executor.runUntilIdle()
        }
        #expect(recorder.values == (1...16).map { "\($0)" })

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.suffix(4) == ["0", "17", "18", "19"])
    }

    /// A clock that calls a function whenever it is read.
    struct HookedClock: Clock {
        let hook: @Sendable () -> Void

        var now: ManualClock.Instant {
            hook()
            return .init()
        }
        var minimumResolution: Duration { .zero }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {}
    }

    @Test
    func `a priority raised while the task joins the line counts`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // The limiter reads the clock after the task has joined the line with its previous priority.
        let clock = HookedClock {
            withUnsafeCurrentTask { if $0?.priority == .low { $0?.escalatePriority(to: .high) } }
        }
        let limiter = ConcurrencyLimiter(concurrency: 1, order: .priority, clock: clock)
        let permit = try limiter.take()
        for (name, priority) in [("medium", TaskPriority.medium), ("raised", .low)] {
            _ = executor.spawn(priority: priority) { [recorder] in
                try? await limiter.run { () async throws in recorder.note(name) }
            }
            executor.runUntilIdle()
        }

        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "medium"])
    }

    @Test
    func `a task whose priority was raised stays in line`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let permit = try limiter.take()
        let raised = note("raised", .low)
        _ = executor.spawn { [limiter, recorder] in
            await limiter.waitUntilIdle()
            recorder.note("idle")
        }
        executor.runUntilIdle()

        raised.escalatePriority(to: .high)
        permit.release()
        #expect(limiter.refuses(), "the place is the raised task's")
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "idle"])
    }

    @Test
    func `a raised request that fits is admitted before a heavy one, and so are those behind it`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let limiter = ConcurrencyLimiter(concurrency: 4, order: .priority)
        let permit = try limiter.take(1)
        let tasks = [("heavy", 4, TaskPriority.medium), ("raised", 1, .low), ("light", 1, .low)].map {
            name, weight, priority in
            defer { executor.runUntilIdle() }
            return executor.spawn(priority: priority) { [recorder] in
                try? await limiter.run(weight: weight) { () async throws in recorder.note(name) }
            }
        }
        #expect(recorder.values == [])

        tasks[2].escalatePriority(to: .high)
        tasks[1].escalatePriority(to: .high)
        executor.runUntilIdle()
        #expect(recorder.values.sorted() == ["light", "raised"])
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values.last == "heavy")
        #expect(limiter.runningCount == 0)
    }

    @Test(arguments: [false, true])
    func `a waiting task moves up when its priority is raised`(uninterrupted: Bool) throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let permit = try limiter.take()
        note("medium", .medium)
        let raised = note("raised", .low, uninterrupted: uninterrupted)
        note("low", .low)

        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        #expect(recorder.values == [])
        #expect(limiter.waitingCount == 3)
        permit.release()
        executor.runUntilIdle()

        #expect(recorder.values == ["raised", "medium", "low"])
        #expect(limiter.storage.machine.withLock { $0.line.slotCount } == 0)
    }

    @Test
    func `a task that moved up can still be cancelled`() throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let permit = try limiter.take()
        let raised = note("raised", .low)
        raised.escalatePriority(to: .high)
        executor.runUntilIdle()
        raised.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["raised cancelled"])
        permit.release()
        #expect(limiter.runningCount == 0)
    }

    /// Raises priorities on all threads while other tasks are cancelled, admitted and leave.
    @Test
    func `raising priorities concurrently with everything else loses no task`() async {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        await withTaskGroup(of: Void.self) { group in
            for round in 0..<300 {
                let tasks = (0..<4).map { number in
                    Task(priority: .low) { [limiter] in
                        if number % 2 == 0 {
                            try? await limiter.run { () async throws in await suspendOnce() }
                        } else {
                            await limiter.run { await suspendOnce() }
                        }
                    }
                }
                group.addTask {
                    for task in tasks { task.escalatePriority(to: round % 2 == 0 ? .medium : .high) }
                }
                group.addTask { tasks[round % 4].cancel() }
                group.addTask { for task in tasks { await task.value } }
            }
        }
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
        #expect(limiter.storage.machine.withLock { $0.line.slotCount } == 0)
    }

    /// On all threads, a raised task admits itself and others in a handler that the runtime calls.
    @Test
    func `no task is lost when raised tasks admit each other`() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let limiter = ConcurrencyLimiter(concurrency: 4, order: .priority)
        for round in 0..<500 {
            let permit = try limiter.take(1)
            let heavy = Task(priority: .medium) { try? await limiter.run(weight: 4) { () async throws in } }
            let tasks = (0..<6).map { number in
                Task(priority: .low) {
                    _ = try? await limiter.run(weight: number % 3) { () async throws in await suspendOnce() }
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for task in tasks { group.addTask { task.escalatePriority(to: .high) } }
                group.addTask { tasks[round % 6].cancel() }
                group.addTask { heavy.escalatePriority(to: .high) }
            }
            permit.release()
            for task in tasks { await task.value }
            await heavy.value
        }
        #expect(limiter.runningCount == 0)
        #expect(limiter.waitingCount == 0)
        #expect(limiter.storage.machine.withLock { $0.line.slotCount + $0.weightless } == 0)
    }

    // MARK: Holders

    @Test
    func `with tracksHolders, a nested run traps with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let limiter = ConcurrencyLimiter(concurrency: 2, tracksHolders: true)
            await limiter.run { await limiter.run {} }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("must not use the same limiter"))
        #endif
    }

    @Test
    func `with tracksHolders, everything else works as usual`() async throws {
        let limiter = ConcurrencyLimiter(concurrency: 1, tracksHolders: true)
        struct Failure: Error {}

        let seven = await limiter.run { 7 }
        let eight = try await limiter.run { () async throws in 8 }
        let nine = await limiter.runIfAvailable { 9 }
        await #expect(throws: Failure.self) { try await limiter.run { throw Failure() } }
        await #expect(throws: WeightExceedsLimit.self) { try await limiter.run(weight: 2) { () async throws in } }
        let permit = try limiter.take()
        #expect(await limiter.runIfAvailable { 1 } == nil)
        let cancelled = executor.spawn { try? await limiter.run { () async throws in 1 } }
        executor.runUntilIdle()
        cancelled.cancel()
        executor.runUntilIdle()
        #expect(await cancelled.value == nil)
        permit.release()
        try await limiter.run(weight: 1) { () async throws in }
        await limiter.waitUntilIdle()

        #expect((seven, eight, nine) == (7, 8, 9))
        #expect(limiter.statistics.grantedCount == 6)
        #expect(limiter.statistics.maximumRunningCount == 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { await limiter.run { await suspendOnce() } } }
        }
        #expect(limiter.runningCount == 0)
        let inner = await limiter.run { await limiter.runIfAvailable { 1 } }
        #expect(inner == nil, "it does not wait, so it is no mistake")
        let wide = ConcurrencyLimiter(concurrency: 2, tracksHolders: true)
        let both = await wide.run { await wide.runIfAvailable { wide.runningCount } }
        #expect(both == 2)
        await wide.run {}
    }
}

// MARK: - Newest first

@Suite struct `Limiters with newestFirst` {
    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    private func spawn(_ body: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
        let task = executor.spawn { [recorder] in
            do { try await body() } catch { recorder.note("\(type(of: error))") }
        }
        executor.runUntilIdle()
        return task
    }

    @Test(arguments: [false, true])
    func `the task that arrived last is served first`(uninterrupted: Bool) throws {
        let limiter = ConcurrencyLimiter(concurrency: 1, order: .newestFirst)
        let permit = try limiter.take()
        var tasks: [Task<Void, Never>] = []
        for name in ["a", "b", "c", "d"] {
            tasks.append(
                spawn { [recorder] in
                    if uninterrupted {
                        await limiter.run { recorder.note(name) }
                    } else {
                        try await limiter.run { () async throws in recorder.note(name) }
                    }
                })
        }
        if !uninterrupted { tasks[2].cancel() }
        permit.release()
        executor.runUntilIdle()
        #expect(recorder.values == (uninterrupted ? ["d", "c", "b", "a"] : ["CancellationError", "d", "b", "a"]))
        #expect(limiter.runningCount == 0 && limiter.waitingCount == 0)
    }

    @Test func `a newer request passes a heavy one that waits, an older request never does`() throws {
        let limiter = ConcurrencyLimiter(concurrency: 10, order: .newestFirst)
        let permit = try limiter.take(6)
        func run(_ name: String, _ weight: Int) {
            _ = spawn { [recorder] in try await limiter.run(weight: weight) { () async throws in recorder.note(name) } }
        }
        run("old and heavy", 9)
        run("heavy", 8)
        run("new", 4)
        run("newer and too heavy", 5)
        #expect(recorder.values == ["new"])
        permit.release()
        executor.runUntilIdle()
        #expect(recorder.values == ["new", "newer and too heavy", "heavy", "old and heavy"])
    }

    @Test(arguments: [false, true])
    func `each key's newest task is served first, and the keys take turns`(uninterrupted: Bool) {
        let limiter = KeyedLimiter<String>(perKey: 1, total: 1, order: .newestFirst)
        let gate = Condition.makeCondition()
        _ = spawn {
            try await limiter.run(for: "x") { () async throws in _ = try await gate.condition.waitUnlessCancelled() }
        }
        for (key, name) in [("x", "x1"), ("x", "x2"), ("y", "y1"), ("x", "x3"), ("y", "y2")] {
            _ = spawn { [recorder] in
                if uninterrupted {
                    await limiter.run(for: key) { recorder.note(name) }
                } else {
                    try await limiter.run(for: key) { () async throws in recorder.note(name) }
                }
            }
        }
        #expect(limiter.waitingCount == 5)
        gate.signal.signal()
        executor.runUntilIdle()
        #expect(recorder.values == ["y2", "x3", "y1", "x2", "x1"])
    }
}

// MARK: - The line

@Suite struct `LimiterLine: the next task` {
    private func line(_ priorities: [UInt8]) -> LimiterLine<Int> {
        var line = LimiterLine<Int>()
        for (number, priority) in priorities.enumerated() {
            _ = line.join(LimiterRequest(priority: priority), number)
        }
        return line
    }

    private func drain(_ line: inout LimiterLine<Int>) -> [Int] {
        var order: [Int] = []
        while !line.isEmpty { order.append(line.settleNext()!) }
        return order
    }

    @Test
    func `the highest priority is next, and among equals the first to arrive`() {
        var line = line([9, 25, 17, 25, 9, 33])
        #expect(drain(&line) == [5, 1, 3, 2, 0, 4])
        #expect(line.slotCount == 0)
    }

    @Test
    func `of seventeen consecutive places, one goes to a task that was passed over`() {
        var line = line([9, 9, 9])
        var order: [Int] = []
        for number in 0..<60 {
            _ = line.join(LimiterRequest(priority: 25), 100 + number)
            order.append(line.settleNext()!)
        }

        #expect(order.firstIndex(of: 0) == 16)
        #expect(order.firstIndex(of: 1) == 33)
        #expect(order.firstIndex(of: 2) == 50)
        let urgent = order.filter { $0 >= 100 }
        #expect(urgent == urgent.sorted(), "an aged one that goes first changes nothing among the urgent")
    }

    @Test
    func `several priorities that are passed over take turns`() {
        var line = line(Array(repeating: 9, count: 5) + Array(repeating: 17, count: 5))
        var low: [Int] = []
        for number in 0..<200 {
            _ = line.join(LimiterRequest(priority: 25), 100 + number)
            let next = line.settleNext()!
            if next < 100 { low.append(next) }
        }

        #expect(low.prefix(4) == [5, 0, 6, 1])
        #expect(low.count == 10)
    }

    @Test
    func `an aged heavy request stays next until it fits`() {
        var line = LimiterLine<Int>()
        _ = line.join(LimiterRequest(weight: 5, priority: 9), 0)
        for number in 1...20 { _ = line.join(LimiterRequest(priority: 25), number) }
        for _ in 0..<16 {
            #expect(line.nextWeight == 1)
            _ = line.settleNext()
        }

        #expect(line.nextWeight == 5)
        _ = line.join(LimiterRequest(priority: 33), 21)
        #expect(line.nextWeight == 5)
        #expect(line.settleNext() == 0)
    }

    @Test
    func `a raised task goes to the end of its new level and keeps its ticket`() {
        var line = LimiterLine<Int>()
        let tickets = [9, 9, 17, 25, 9].enumerated().map { line.join(LimiterRequest(priority: $1), $0) }
        let lowered = line.raise(tickets[3], to: 9)
        let raised = [line.raise(tickets[1], to: 25), line.raise(tickets[4], to: 17), line.raise(tickets[1], to: 33)]

        #expect(!lowered && raised == [true, true, true])
        #expect(line.settle(tickets[4], .cancelled) == 4)
        let raisedAfterwards = line.raise(tickets[4], to: 33)
        #expect(!raisedAfterwards)
        #expect(drain(&line) == [1, 3, 2, 0])
    }

    @Test
    func `a task would be next if its priority is higher than all others and none has aged`() {
        var line = line([17, 17])
        let next = (UInt8(9)...25).filter { line.wouldBeNext(LimiterRequest(priority: $0)) }
        #expect(next == Array(18...25))
        for _ in 0..<16 { line.passOver() }
        #expect(!line.wouldBeNext(LimiterRequest(priority: 25)))
        #expect(drain(&line) == [0, 1])
        #expect(line.wouldBeNext(LimiterRequest(priority: 9)))
    }

    @Test
    func `a sole priority is no longer aged after it gets a place`() {
        var line = line([17, 17])
        for _ in 0..<16 { line.passOver() }
        #expect(line.settleNext() == 0)
        #expect(line.wouldBeNext(LimiterRequest(priority: 25)))
    }

    /// Compared with a stack.
    @Test(arguments: UInt64(0)..<20)
    func `a line joined at the front serves the last arrival first`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var line = LimiterLine<Int>()
        var stack: [(number: Int, ticket: LimiterLine<Int>.Ticket)] = []
        let request = LimiterRequest(joinsAtFront: true)
        for number in 0..<400 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: stack.append((number, line.join(request, number)))
            case 2:
                guard let newest = stack.popLast() else { continue }
                #expect(line.settleNext() == newest.number)
            case 3:
                #expect(line.wouldBeNext(request))
                if !stack.isEmpty { line.passOver() }
            default:
                guard let index = stack.indices.randomElement(using: &random) else { continue }
                let gone = stack.remove(at: index)
                #expect(line.settle(gone.ticket, .cancelled) == gone.number)
            }
            #expect(line.count == stack.count)
        }
        #expect(drain(&line) == stack.reversed().map(\.number))
    }

    /// Compared with a list that is searched from the beginning each time.
    @Test(arguments: UInt64(0)..<30)
    func `any order of joining, leaving and serving matches a plain list`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var line = LimiterLine<Int>()
        var plain: [(number: Int, priority: UInt8, ticket: LimiterLine<Int>.Ticket)] = []
        var passedOver: [UInt8: Int] = [:]
        for number in 0..<600 {
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1, 2:
                let priority: UInt8 = [9, 17, 25].randomElement(using: &random)!
                plain.append((number, priority, line.join(LimiterRequest(priority: priority), number)))
            case 3:
                guard !plain.isEmpty else { continue }
                let waiting = Set(plain.map(\.priority)).sorted(by: >)
                var next = waiting[0]
                for priority in waiting where (passedOver[priority] ?? 0) >= 16 {
                    if passedOver[priority]! > passedOver[next] ?? 0 { next = priority }
                }
                for priority in waiting { passedOver[priority, default: 0] += 1 }
                passedOver[next] = 0
                let index = plain.firstIndex { $0.priority == next }!
                #expect(line.settleNext() == plain.remove(at: index).number)
            case 4:
                guard let index = plain.indices.randomElement(using: &random) else { continue }
                var raised = plain[index]
                let priority: UInt8 = [17, 25, 33].randomElement(using: &random)!
                let moved = line.raise(raised.ticket, to: priority)
                #expect(moved == (priority > raised.priority))
                guard moved else { continue }
                plain.remove(at: index)
                raised.priority = priority
                plain.append(raised)
            case 5:
                let priority: UInt8 = [9, 17, 25, 33].randomElement(using: &random)!
                let isHighest = plain.allSatisfy { $0.priority < priority }
                let isAged = Set(plain.map(\.priority)).contains { passedOver[$0] ?? 0 >= 16 }
                #expect(line.wouldBeNext(LimiterRequest(priority: priority)) == (isHighest && !isAged))
                guard isHighest, !isAged else { continue }
                line.passOver()
                for waiting in Set(plain.map(\.priority)) { passedOver[waiting, default: 0] += 1 }
            default:
                guard let index = plain.indices.randomElement(using: &random) else { continue }
                let gone = plain.remove(at: index)
                #expect(line.settle(gone.ticket, .cancelled) == gone.number)
                #expect(line.settle(gone.ticket, .cancelled) == nil)
            }
            for priority in passedOver.keys where !plain.contains(where: { $0.priority == priority }) {
                passedOver[priority] = 0
            }
            #expect(line.count == plain.count)
        }
    }
}
