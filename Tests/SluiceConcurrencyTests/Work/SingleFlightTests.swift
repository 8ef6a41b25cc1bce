import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite(.timeLimit(.minutes(15))) struct `Single flight` {
    @Test func `concurrent calls for one key share one operation`() async throws {
        // Given
        let flights = SingleFlight<String, Int>()
        let gate = Gate()
        let started = Recorder<Int>()
        let executor = ManualExecutor()
        // When
        let callers = (0..<10).map { number in
            executor.spawnThrowing {
                try await flights.run(for: "key") {
                    started.note(number)
                    await gate.pass()
                    return 42
                }
            }
        }
        executor.runUntilIdle()
        await gate.arrivals(1)
        executor.runUntilIdle()
        #expect(flights.runningCount == 1 && flights.isRunning(for: "key"))
        await gate.open()
        await executor.run { for caller in callers { _ = await caller.result } }
        // Then
        for caller in callers { #expect(try await caller.value == 42) }
        #expect(started.values == [0])
        #expect(flights.runningCount == 0)
    }

    @Test func `a later call starts a new operation`() async throws {
        let flights = SingleFlight<String, Int>()
        #expect(try await flights.run(for: "key") { 1 } == 1)
        #expect(try await flights.run(for: "key") { 2 } == 2)
    }

    @Test func `an error goes to all waiting callers and isn't kept`() async throws {
        struct Broken: Error {}
        let flights = SingleFlight<String, Int>()
        let gate = Gate()
        let first = Task {
            try await flights.run(for: "key") {
                await gate.pass()
                throw Broken()
            }
        }
        await gate.arrivals(1)
        await gate.open()
        await #expect(throws: Broken.self) { try await first.value }
        #expect(try await flights.run(for: "key") { 3 } == 3)
    }

    @Test func `a cancelled caller leaves immediately and the operation continues for the others`() async throws {
        // Given two callers that wait for one operation
        let flights = SingleFlight<String, Int>()
        let gate = Gate()
        let started = Recorder<Int>()
        let ended = Recorder<Int>()
        let executor = ManualExecutor()
        let callers = (0..<2).map { number in
            executor.spawnThrowing {
                defer { ended.note(number) }
                return try await flights.run(for: "key") {
                    started.note(number)
                    await gate.pass()
                    return Task.isCancelled ? -1 : 42
                }
            }
        }
        // Makes sure that both wait: if the operation ended before a cancelled caller waited, the caller would get the value.
        executor.runUntilIdle()
        await gate.arrivals(1)
        // When the caller that started it is cancelled
        callers[0].cancel()
        executor.runUntilIdle()
        // Then
        #expect(ended.values == [0])
        await gate.open()
        await executor.run { for caller in callers { _ = await caller.result } }
        await #expect(throws: CancellationError.self) { try await callers[0].value }
        #expect(try await callers[1].value == 42)
        #expect(started.values == [0])
    }

    /// A key with a deinitializer that uses the single flight: it deadlocks or traps under the lock.
    private final class UsingKey: Hashable, Sendable {
        let flights: SingleFlight<UsingKey, Int>

        init(_ flights: SingleFlight<UsingKey, Int>) { self.flights = flights }

        deinit { _ = flights.runningCount }

        static func == (one: UsingKey, other: UsingKey) -> Bool { true }

        func hash(into hasher: inout Hasher) {}
    }

    @Test func `a key isn't destroyed under the lock, even after its caller has left`() async throws {
        // Given
        let flights = SingleFlight<UsingKey, Int>()
        let gate = Gate()
        let executor = ManualExecutor()
        let callers = (0..<2).map { _ in
            executor.spawnThrowing {
                try await flights.run(for: UsingKey(flights)) {
                    await gate.pass()
                    return 42
                }
            }
        }
        executor.runUntilIdle()
        await gate.arrivals(1)
        // When the caller whose key is in the table leaves first
        callers[0].cancel()
        executor.runUntilIdle()
        await gate.open()
        await executor.run { for caller in callers { _ = await caller.result } }
        // Then
        #expect(try await callers[1].value == 42)
        #expect(flights.runningCount == 0)
    }

    @Test func `when the last caller leaves, the operation is cancelled and has ended when the caller returns`() async {
        // Given
        let flights = SingleFlight<String, Int>()
        let gate = Gate()
        let events = Recorder<String>()
        let executor = ManualExecutor()
        let caller = executor.spawn {
            do {
                _ = try await flights.run(for: "key") {
                    await gate.pass()
                    events.note("the operation ends, cancelled: \(Task.isCancelled)")
                    return 1
                }
            } catch {
                events.note("the caller returns: \(error)")
            }
        }
        executor.runUntilIdle()
        await gate.arrivals(1)
        // When
        caller.cancel()
        executor.runUntilIdle()
        #expect(events.values == [])
        await gate.open()
        await executor.run { await caller.value }
        // Then
        #expect(events.values == ["the operation ends, cancelled: true", "the caller returns: CancellationError()"])
        #expect(flights.runningCount == 0)
    }

    @Test func `a caller of higher priority, or one that is raised later, raises the operation`() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // Given
        let flights = SingleFlight<Int, TaskPriority>()
        let (joined, raised) = (Gate(), Gate())
        let priorities = Recorder<TaskPriority>()
        let executor = ManualExecutor()
        let callers = [TaskPriority.low, .background, .medium].map { priority in
            executor.spawnThrowing(priority: priority) {
                try await flights.run(for: 1) {
                    await joined.pass()
                    priorities.note(Task.currentPriority)
                    await raised.pass()
                    return Task.currentPriority
                }
            }
        }
        // When
        executor.runUntilIdle()
        await joined.open()
        await raised.arrivals(1)
        // Then
        #expect(priorities.values == [.medium])
        // When
        callers[1].escalatePriority(to: .high)
        await raised.open()
        await executor.run { for caller in callers { _ = await caller.result } }
        // Then
        for caller in callers { #expect(try await caller.value == .high) }
    }

    @Test func `an operation starts with its first caller's raised priority`() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let flights = SingleFlight<Int, TaskPriority>()
        let executor = ManualExecutor()
        let caller = executor.spawnThrowing(priority: .low) {
            try await flights.run(for: 1) { Task.currentPriority }
        }
        caller.escalatePriority(to: .high)
        await executor.run { _ = await caller.result }
        #expect(try await caller.value == .high)
    }

    /// Raises the priority of the task that hashes it from low to high.
    struct RaisingKey: Hashable {
        func hash(into hasher: inout Hasher) {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
            withUnsafeCurrentTask { if $0?.priority == .low { $0?.escalatePriority(to: .high) } }
        }
    }

    @Test func `a priority raised while the caller joins counts`() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let executor = ManualExecutor()
        let flights = SingleFlight<RaisingKey, Void>()
        let (condition, signal) = Condition.makeCondition()
        let caller = executor.spawnThrowing(priority: .low) {
            try await flights.run(for: RaisingKey()) { await condition.wait() }
        }
        executor.runUntilIdle()

        #expect(flights.priority(for: RaisingKey()) == .high)

        signal.signal()
        await executor.run { _ = await caller.result }
    }

    @Test func `a key that isn't equal to itself traps with a message`() async {
        await #expect(processExitsWith: .failure) {
            let flights = SingleFlight<Double, Int>()
            _ = try await flights.run(for: .nan) { 1 }
        }
    }

    @Test func `an already cancelled task starts nothing`() async {
        let flights = SingleFlight<String, Int>()
        let started = Recorder<Int>()
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await flights.run(for: "key") {
                started.note(1)
                return 1
            }
        }
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(started.values.isEmpty)
    }

    @Test func `racing joins, leaves and finishes lose no caller`() async {
        let flights = SingleFlight<Int, Int>()
        for round in 0..<2_000 {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        let task = Task { try await flights.run(for: round % 3) { round } }
                        if number % 2 == 0 { task.cancel() }
                        _ = await task.result
                    }
                }
            }
        }
        #expect(flights.runningCount == 0)
    }
}

// MARK: - The state machine

@Suite struct `The single flight's state machine` {
    typealias Machine = SingleFlightStateMachine<String, Int, String, String>

    @Test func `the first caller starts the operation, others join, and all get the outcome in order`() {
        var machine = Machine()
        let (first, starts) = machine.join("a")
        let (second, startsAgain) = machine.join("a")
        #expect(starts && !startsAgain)
        machine.started(first, "work")
        #expect(machine.suspend(first, 1) == nil)
        #expect(machine.suspend(second, 2) == nil)
        #expect(machine.finished(first, "done") == [1, 2])
        #expect(machine.isEmpty)
    }

    @Test func `keys are independent`() {
        var machine = Machine()
        #expect(machine.join("a").starts)
        #expect(machine.join("b").starts)
        #expect(machine.count == 2)
    }

    @Test func `an outcome that comes before its waiter suspends is kept for it, and then forgotten`() {
        var machine = Machine()
        let (first, _) = machine.join("a")
        let (second, _) = machine.join("a")
        #expect(machine.suspend(second, 2) == nil)
        #expect(machine.finished(first, "done") == [2])
        // A caller that comes now starts a new flight.
        #expect(machine.join("a").starts)
        #expect(machine.suspend(first, 1) == "done")
        #expect(machine.count == 1)
    }

    @Test func `only the last caller to leave gets the work to cancel`() {
        var machine = Machine()
        let (first, _) = machine.join("a")
        let (second, _) = machine.join("a")
        machine.started(first, "work")
        #expect(machine.suspend(first, 1) == nil)
        #expect(machine.suspend(second, 2) == nil)
        #expect(machine.leave(first) { $0 ?? "others stay" }?.outcome == "others stay")
        let last = machine.leave(second) { $0 ?? "others stay" }
        #expect(last?.waiter == 2 && last?.outcome == "work")
        #expect(machine.isEmpty)
    }

    @Test func `a caller that leaves before it suspends finds its outcome, even if it was the last`() {
        var machine = Machine()
        let (only, _) = machine.join("a")
        machine.started(only, "work")
        let left = machine.leave(only) { $0 ?? "others stay" }
        #expect(left?.waiter == nil && left?.outcome == "work")
        #expect(machine.join("a").starts)
        #expect(machine.suspend(only, 1) == "work")
    }

    @Test func `the callers' highest priority counts, even before the work is known`() {
        var machine = Machine()
        let (first, _) = machine.join("a", priority: .low)
        let (second, _) = machine.join("a", priority: .high)
        #expect(machine.raise(second, to: .high) == nil, "not known yet")
        #expect(machine.started(first, "work")?.priority == .high)
        #expect(machine.raise(first, to: .medium) == nil)
        #expect(machine.raise(first, to: .userInitiated) == nil, "the same as .high")
        _ = machine.finished(first, "done")
        #expect(machine.raise(second, to: .high) == nil)
        #expect(machine.started(first, "work") == nil)
        let (third, _) = machine.join("a", priority: .background)
        #expect(machine.started(third, "later")?.priority == .background)
        #expect(machine.raise(third, to: .low) == "later")
        #expect(machine.raise(second, to: .high) == nil, "of the flight before")
    }

    @Test func `cancelling all returns the running work, and later work is cancelled when it starts`() {
        var machine = Machine()
        let (first, _) = machine.join("a")
        let (late, _) = machine.join("b")
        #expect(machine.started(first, "running")?.isCancelled == false)
        #expect(machine.cancelAll() == ["running"])
        #expect(machine.started(late, "late")?.isCancelled == true)
        let (new, _) = machine.join("c")
        #expect(machine.started(new, "new")?.isCancelled == true)
        #expect(machine.cancelAll().sorted() == ["late", "new", "running"])
    }

    @Test func `leaving twice, or after the end, does nothing`() {
        var machine = Machine()
        let (first, _) = machine.join("a")
        #expect(machine.suspend(first, 1) == nil)
        #expect(machine.finished(first, "done") == [1])
        #expect(machine.leave(first) { _ in "left" } == nil)
        #expect(machine.finished(first, "again") == [])
    }

    @Test func `the end of an abandoned operation doesn't affect the next one`() {
        var machine = Machine()
        let (old, _) = machine.join("a")
        #expect(machine.suspend(old, 1) == nil)
        _ = machine.leave(old) { _ in "left" }
        let (new, starts) = machine.join("a")
        #expect(starts)
        #expect(machine.suspend(new, 2) == nil)
        #expect(machine.finished(old, "late") == [])
        #expect(machine.finished(new, "new") == [2])
    }

    @Test func `work recorded after it ended isn't attributed to the next flight`() {
        var machine = Machine()
        let (old, _) = machine.join("a")
        #expect(machine.finished(old, "done") == [])
        let (new, _) = machine.join("a")
        machine.started(new, "new")
        machine.started(old, "old")
        #expect(machine.leave(new) { $0 ?? "nothing" }?.outcome == "new")
        #expect(machine.suspend(old, 1) == "done")
    }
}

// MARK: - Any order of events

@Suite struct `Any order of events matches the naive single flight` {
    typealias Machine = SingleFlightStateMachine<Int, Int, String, Int>

    /// A caller, and the stage of its wait.
    private struct Caller {
        let ticket: Machine.Ticket
        let flight: Int
        var isSuspended = false
        /// The outcome that it must get, once known.
        var expected: String?
        var told: String?
    }

    @Test(arguments: 1...100) func `random calls, ends and cancellations match`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = Machine()
        var callers: [Caller] = []
        /// The flight of each key, and the callers in it.
        var flights: [Int: (number: Int, first: Machine.Ticket, callers: [Int])] = [:]
        var abandoned: [Machine.Ticket] = []
        var numbers = 0

        func tell(_ caller: Int, _ outcome: String) {
            #expect(callers[caller].isSuspended && callers[caller].told == nil)
            callers[caller].told = outcome
        }

        for _ in 0..<200 {
            let key = Int.random(in: 0..<3, using: &random)
            let pending = callers.indices.filter { callers[$0].told == nil }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                let (ticket, starts) = machine.join(key)
                #expect(starts == (flights[key] == nil))
                if starts {
                    numbers += 1
                    flights[key] = (numbers, ticket, [])
                    machine.started(ticket, numbers)
                }
                flights[key]?.callers.append(callers.count)
                callers.append(Caller(ticket: ticket, flight: flights[key]!.number))
            case 3..<7:
                guard let caller = pending.filter({ !callers[$0].isSuspended }).randomElement(using: &random) else {
                    break
                }
                let known = machine.suspend(callers[caller].ticket, caller)
                #expect(known == callers[caller].expected)
                callers[caller].isSuspended = true
                callers[caller].told = known
            case 7:
                if let old = abandoned.popLast() {
                    let nobody = machine.finished(old, "late")
                    #expect(nobody == [])
                }
                guard let flight = flights.removeValue(forKey: key) else { break }
                let resumed = machine.finished(flight.first, "done \(flight.number)")
                #expect(resumed == flight.callers.filter { callers[$0].isSuspended })
                for caller in flight.callers { callers[caller].expected = "done \(flight.number)" }
                for caller in resumed { tell(caller, "done \(flight.number)") }
            default:
                guard let caller = pending.randomElement(using: &random) else { break }
                let left = machine.leave(callers[caller].ticket) { $0.map { "last of \($0)" } ?? "left" }
                let place = flights.first { $0.value.callers.contains(caller) }
                guard let place else {
                    #expect(left == nil)
                    break
                }
                let isLast = place.value.callers.count == 1
                let outcome = isLast ? "last of \(place.value.number)" : "left"
                #expect(left?.outcome == outcome)
                #expect((left?.waiter != nil) == callers[caller].isSuspended)
                callers[caller].expected = outcome
                if left?.waiter != nil { tell(caller, outcome) }
                flights[place.key]?.callers.removeAll { $0 == caller }
                if isLast {
                    abandoned.append(place.value.first)
                    flights[place.key] = nil
                }
            }
            #expect(machine.count == flights.count)
        }

        for (_, flight) in flights { for waiter in machine.finished(flight.first, "end") { tell(waiter, "end") } }
        for caller in callers.indices where !callers[caller].isSuspended {
            let known = machine.suspend(callers[caller].ticket, caller)
            #expect(known != nil)
        }
        #expect(machine.isEmpty)
    }
}
