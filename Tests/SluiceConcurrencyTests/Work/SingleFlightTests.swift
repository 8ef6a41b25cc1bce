import SluiceConcurrency
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Single flight` {
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

    @Test func `an error goes to all waiting callers, and is not kept`() async throws {
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
        // Both wait now, for certain: an operation that ends before a cancelled caller waits gives it the value.
        executor.runUntilIdle()
        await gate.arrivals(1)
        // When the one that started it is cancelled
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

    @Test func `a caller of higher priority raises the operation, and so does one that is raised while it waits`()
        async throws
    {
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

    @Test func `an operation has the priority to which its first caller was raised before it joined`() async throws {
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

    @Test func `a priority that is raised while the caller joins counts`() async throws {
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

    @Test func `a key that is not equal to itself stops the program with a sentence`() async {
        await #expect(processExitsWith: .failure) {
            let flights = SingleFlight<Double, Int>()
            _ = try await flights.run(for: .nan) { 1 }
        }
    }

    @Test func `a task that is cancelled already starts nothing`() async {
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

    @Test func `joining, leaving and finishing race without losing any caller`() async {
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
