import TestSupport
import Testing

@testable import SluiceConcurrency

/// Step by step on a manual executor. Each attempt to run the work waits for a separate signal.
@Suite struct `A lazy value` {
    struct Broken: Error {}

    let executor = ManualExecutor()
    let recorder = Recorder<String>()

    /// Attempts with outcomes that the test chooses.
    final class Attempts: Sendable {
        private let gates = (0..<4).map { _ in Promise<Int, any Error>.makePromise() }
        private let begun = Recorder<Int>()

        var count: Int { begun.values.count }

        func run() async throws -> Int {
            let number = begun.values.count
            begun.note(number)
            return try await gates[number].promise.valueUnlessCancelled()
        }

        func end(_ number: Int, _ result: Result<Int, any Error>) {
            gates[number].resolver.complete(with: result)
        }
    }

    @discardableResult
    private func ask(_ name: String, _ lazy: AsyncLazy<Int>) -> Task<Void, Never> {
        let task = executor.spawn { [recorder] in
            do {
                recorder.note("\(name) \(try await lazy.value)")
            } catch is CancellationError {
                recorder.note("\(name) cancelled")
            } catch {
                recorder.note("\(name) failed")
            }
        }
        executor.runUntilIdle()
        return task
    }

    @Test func `the work runs once, for the first caller, and its value is kept`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        #expect(lazy.valueIfLoaded == nil && attempts.count == 0)
        for name in ["a", "b", "c"] { ask(name, lazy) }
        #expect(attempts.count == 1 && recorder.values == [])

        attempts.end(0, .success(7))
        executor.runUntilIdle()
        ask("d", lazy)

        #expect(Set(recorder.values.prefix(3)) == ["a 7", "b 7", "c 7"])
        #expect(recorder.values.last == "d 7")
        #expect(attempts.count == 1 && lazy.valueIfLoaded == 7)
    }

    @Test func `a caller gets its own error, and the next waiting caller retries`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        for name in ["a", "b", "c"] { ask(name, lazy) }

        attempts.end(0, .failure(Broken()))
        executor.runUntilIdle()
        #expect(recorder.values == ["a failed"])
        #expect(attempts.count == 2)
        attempts.end(1, .success(7))
        executor.runUntilIdle()

        #expect(recorder.values.sorted() == ["a failed", "b 7", "c 7"])
    }

    @Test func `after a failure with no waiting callers, the next caller retries`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        ask("a", lazy)
        attempts.end(0, .failure(Broken()))
        executor.runUntilIdle()
        attempts.end(1, .success(7))
        ask("b", lazy)
        #expect(recorder.values == ["a failed", "b 7"])
    }

    @Test func `if the caller that runs the work is cancelled, the next waiting caller retries`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        let first = ask("a", lazy)
        ask("b", lazy)

        first.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["a cancelled"])
        #expect(attempts.count == 2)
        attempts.end(1, .success(7))
        executor.runUntilIdle()

        #expect(recorder.values == ["a cancelled", "b 7"])
    }

    @Test func `a cancelled waiting caller leaves, and the others aren't affected`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        ask("a", lazy)
        let second = ask("b", lazy)
        ask("c", lazy)

        second.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["b cancelled"])
        attempts.end(0, .success(7))
        executor.runUntilIdle()

        #expect(recorder.values.sorted() == ["a 7", "b cancelled", "c 7"])
        #expect(attempts.count == 1)
    }

    @Test func `a caller cancelled when its turn comes passes the turn to the next`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        ask("a", lazy)
        let second = ask("b", lazy)
        ask("c", lazy)

        attempts.end(0, .failure(Broken()))
        while recorder.values.isEmpty, executor.runOne() {}
        second.cancel()
        executor.runUntilIdle()
        attempts.end(1, .success(7))
        executor.runUntilIdle()

        #expect(recorder.values == ["a failed", "b cancelled", "c 7"])
        #expect(attempts.count == 2)
    }

    @Test func `a cancelled task starts nothing, but gets an existing value`() {
        let attempts = Attempts()
        let lazy = AsyncLazy { try await attempts.run() }
        let early = executor.spawn { [recorder] in
            do { _ = try await lazy.value } catch { recorder.note("\(error)") }
        }
        early.cancel()
        executor.runUntilIdle()
        #expect(recorder.values == ["CancellationError()"])
        #expect(attempts.count == 0)

        attempts.end(0, .success(7))
        ask("a", lazy)
        let late = executor.spawn { [recorder] in
            if let value = try? await lazy.value { recorder.note("late \(value)") }
        }
        late.cancel()
        executor.runUntilIdle()
        #expect(recorder.values.last == "late 7")
    }

    @Test @MainActor func `the work runs on the caller's task and its isolation`() async throws {
        enum Name { @TaskLocal static var current = "none" }
        let lazy = AsyncLazy { () async throws -> String in
            MainActor.preconditionIsolated("The work must run where its caller runs.")
            return Name.current
        }
        let name = try await Name.$current.withValue("caller") { try await lazy.value }
        #expect(name == "caller")
    }

    @Test func `the work's captures are released when the value is ready`() async throws {
        final class Token: Sendable {}
        weak var released: Token?
        let lazy: AsyncLazy<Int>
        do {
            let token = Token()
            released = token
            lazy = AsyncLazy { withExtendedLifetime(token) { 7 } }
        }
        #expect(released != nil)
        #expect(try await lazy.value == 7)
        #expect(released == nil)
    }

    /// Callers, failures and cancellations race on all threads.
    @Test func `any number of callers get one value, despite failures and cancellations`() async {
        for round in 0..<200 {
            let attempts = Recorder<Int>()
            let lazy = AsyncLazy { () async throws -> Int in
                attempts.note(0)
                await suspendOnce()
                if attempts.values.count < 3 { throw Broken() }
                return 7
            }
            let tasks = (0..<8).map { _ in Task { try await lazy.value } }
            tasks[round % 8].cancel()
            var values: [Int] = []
            for task in tasks { if let value = try? await task.value { values.append(value) } }
            #expect(values.count >= 5 && values.allSatisfy { $0 == 7 })
            #expect(lazy.valueIfLoaded == 7)
        }
    }
}

// MARK: - The state machine

@Suite struct `The lazy value's state machine` {
    typealias Machine = LazyStateMachine<Int, String>

    /// Returns what a caller does next, as a word.
    private func enter(_ machine: inout Machine, isCancelled: Bool = false) -> String {
        switch machine.enter(isCancelled: isCancelled) {
        case .loaded(let value): "\(value)"
        case .work: "work"
        case .wait: "wait"
        case .cancelled: "cancelled"
        }
    }

    /// Joins the line and suspends.
    private func wait(_ machine: inout Machine, _ name: String) -> Machine.Line.Ticket? {
        guard case .wait(let ticket) = machine.enter() else { return nil }
        #expect(machine.suspend(ticket, name) == nil)
        return ticket
    }

    @Test func `the first caller runs the work, and the others wait and get its value in order`() {
        var machine = Machine()
        #expect(enter(&machine) == "work")
        _ = wait(&machine, "a")
        _ = wait(&machine, "b")

        #expect(machine.succeeded(7) == ["a", "b"])
        #expect(machine.value == 7)
        #expect(enter(&machine) == "7")
        #expect(enter(&machine, isCancelled: true) == "7")
        #expect(machine.line.slotCount == 0)
    }

    @Test func `after a failure, the first waiting or next arriving caller runs the work`() {
        var machine = Machine()
        _ = machine.enter()
        _ = wait(&machine, "a")
        _ = wait(&machine, "b")

        #expect(machine.failed() == "a")
        #expect(enter(&machine) == "wait")
        #expect(machine.failed() == "b")
        _ = machine.failed()
        #expect(machine.failed() == nil)
        #expect(enter(&machine) == "work")
    }

    @Test func `a cancelled caller leaves the line, and starts nothing`() {
        var machine = Machine()
        #expect(enter(&machine, isCancelled: true) == "cancelled")
        _ = machine.enter()
        let ticket = wait(&machine, "a")!
        _ = wait(&machine, "b")

        #expect(machine.cancel(ticket) == "a")
        #expect(machine.cancel(ticket) == nil)
        #expect(machine.failed() == "b")
    }

    @Test func `a caller that gets its turn before it suspends finds out when it does`() {
        var machine = Machine()
        _ = machine.enter()
        guard case .wait(let ticket) = machine.enter() else {
            Issue.record("Another caller works.")
            return
        }
        #expect(machine.failed() == nil)
        #expect(machine.cancel(ticket) == nil)
        #expect(enter(&machine) == "wait")
        guard case .work = machine.suspend(ticket, "a") else {
            Issue.record("It is the turn of the waiting caller.")
            return
        }
    }
}

extension LazyOutcome: Equatable where Value: Equatable {
    static func == (left: LazyOutcome, right: LazyOutcome) -> Bool {
        switch (left, right) {
        case (.loaded(let value), .loaded(let other)): value == other
        case (.work, .work), (.cancelled, .cancelled): true
        default: false
        }
    }
}
