import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

/// The steps of the loop and of the work, without tasks.
@Suite struct `ConcurrentMapState: reading ahead and ending` {
    struct Broken: Error, Equatable {}

    private func received(_ state: inout ConcurrentMapState<Int>) -> String? {
        switch state.receive() {
        case .result(.success(let output)): "\(output)"
        case .result(.failure(let error)): "\(error)"
        case .end: "end"
        case nil: nil
        }
    }

    @Test func `at most concurrency elements are ahead of the loop`() {
        var state = ConcurrentMapState<Int>(concurrency: 2, isOrdered: true)
        let taken = [state.take(), state.take()]

        let isFull = state.mayTake() == nil
        state.finish(1, .success(1))
        let isStillFull = state.mayTake() == nil
        state.finish(0, .success(0))
        let isFullUntilReceived = state.mayTake() == nil
        let first = received(&state)

        #expect(taken == [0, 1])
        #expect([isFull, isStillFull, isFullUntilReceived] == [true, true, true])
        #expect(first == "0")
        #expect(state.mayTake() == true)
    }

    @Test(arguments: [(true, ["0", "1", "2", "end"]), (false, ["2", "0", "1", "end"])])
    func `results come in element order, or in completion order if unordered`(isOrdered: Bool, expected: [String]) {
        var state = ConcurrentMapState<Int>(concurrency: 3, isOrdered: isOrdered)
        for _ in 0..<3 { _ = state.take() }
        state.end()
        for position in [2, 0, 1] { state.finish(position, .success(position)) }

        let outputs = (0..<4).map { _ in received(&state) }

        #expect(outputs == expected)
        #expect(state.isComplete)
    }

    @Test(arguments: [true, false])
    func `an error stops the work, and an element that arrives later is dropped`(isOrdered: Bool) {
        var state = ConcurrentMapState<Int>(concurrency: 3, isOrdered: isOrdered)
        for _ in 0..<2 { _ = state.take() }
        let mayTake = state.mayTake()

        state.finish(1, .failure(Broken()))

        #expect(mayTake == true)
        #expect(state.mayTake() == false)
        #expect(state.take() == nil)
        #expect(received(&state) == (isOrdered ? nil : "Broken()"))
        state.finish(0, .success(0))
        #expect(received(&state) == "0")
        #expect(received(&state) == (isOrdered ? "Broken()" : nil))
    }

    @Test func `the base's error comes after the results of the elements before it`() {
        var state = ConcurrentMapState<Int>(concurrency: 3, isOrdered: true)
        _ = state.take()
        state.end(Broken())
        let early = received(&state)
        state.finish(0, .success(0))

        #expect(early == nil)
        #expect((0..<3).map { _ in received(&state) } == ["0", "Broken()", "end"])
    }

    @Test func `the base's error after a transform's error isn't reported`() {
        var state = ConcurrentMapState<Int>(concurrency: 3, isOrdered: false)
        _ = state.take()
        state.finish(0, .failure(Broken()))
        state.end(CancellationError())

        #expect((0..<2).map { _ in received(&state) } == ["Broken()", "end"])
    }
}

/// The sequence, on all threads, with gates.
@Suite struct `concurrentMap, on async sequences` {
    struct Broken: Error, Equatable { var number: Int }

    /// Transforms that record that they begin, and then wait for their gates unless they are cancelled.
    struct Work: Sendable {
        let begun: [(condition: Condition, signal: Signal)]
        let gates: [(condition: Condition, signal: Signal)]
        let started = Recorder<Int>()
        let ended = Recorder<String>()

        init(count: Int) {
            begun = (0..<count).map { _ in Condition.makeCondition() }
            gates = (0..<count).map { _ in Condition.makeCondition() }
        }

        func transform(_ number: Int) async throws -> Int {
            started.note(number)
            begun[number].signal.signal()
            do {
                try await gates[number].condition.waitUnlessCancelled()
            } catch {
                ended.note("\(number) cancelled")
                throw error
            }
            ended.note("\(number)")
            return number
        }
    }

    private func stream(of count: Int) -> AsyncStream<Int> {
        AsyncStream { continuation in
            for number in 0..<count { continuation.yield(number) }
            continuation.finish()
        }
    }

    private func all<S: AsyncSequence & Sendable>(_ sequence: S) async throws -> [S.Element] where S.Element: Sendable {
        try await sequence.reduce(into: []) { $0.append($1) }
    }

    @Test func `results come in the order of the elements, whichever finishes first`() async throws {
        let work = Work(count: 5)
        async let numbers = all(stream(of: 5).concurrentMap(concurrency: 5, work.transform))
        for gate in work.begun { await gate.condition.wait() }
        for number in [3, 1, 4, 0, 2] { work.gates[number].signal.signal() }

        #expect(try await numbers == [0, 1, 2, 3, 4])
    }

    @Test func `unordered results come as they finish`() async throws {
        let work = Work(count: 5)
        var iterator = stream(of: 5).concurrentMap(concurrency: 5, ordered: false, work.transform).makeAsyncIterator()
        var received: [Int?] = []
        for number in [3, 1, 4, 0, 2] {
            work.gates[number].signal.signal()
            received.append(try await iterator.next())
        }

        #expect(received == [3, 1, 4, 0, 2])
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func `results before an error come first, then the error once all transforms have ended`() async throws {
        let work = Work(count: 10)
        let sequence = stream(of: 10).concurrentMap(concurrency: 4) { number in
            if number == 2 { throw Broken(number: number) }
            return try await work.transform(number)
        }
        var iterator = sequence.makeAsyncIterator()
        var received: [Int?] = []
        for number in 0..<2 {
            work.gates[number].signal.signal()
            received.append(try await iterator.next())
        }

        #expect(received == [0, 1])
        await #expect(throws: Broken(number: 2)) { try await iterator.next() }
        // The loop received two results, so at most six elements were taken, even if transform 2 began last. All transforms have ended.
        let mayHaveBegun = ["0", "1", "3 cancelled", "4 cancelled", "5 cancelled"]
        #expect(work.ended.values.allSatisfy(mayHaveBegun.contains))
        #expect(work.ended.values.count == work.started.values.count)
        #expect(try await iterator.next() == nil)
    }

    @Test func `an unordered sequence throws the first error immediately and cancels the others`() async throws {
        let work = Work(count: 3)
        let sequence = stream(of: 3).concurrentMap(concurrency: 3, ordered: false) { number in
            if number < 2 { return try await work.transform(number) }
            for gate in work.begun.prefix(2) { await gate.condition.wait() }
            throw Broken(number: number)
        }

        await #expect(throws: Broken(number: 2)) { try await all(sequence) }
        #expect(work.ended.values.sorted() == ["0 cancelled", "1 cancelled"])
    }

    @Test func `the base's error comes after the results`() async throws {
        let (base, continuation) = AsyncThrowingStream<Int, any Error>.makeStream()
        for number in 0..<2 { continuation.yield(number) }
        continuation.finish(throwing: Broken(number: 9))
        var iterator = base.concurrentMap(concurrency: 4) { $0 }.makeAsyncIterator()

        #expect([try await iterator.next(), try await iterator.next()] == [0, 1])
        await #expect(throws: Broken(number: 9)) { try await iterator.next() }
    }

    /// An `AsyncStream` ends when its task is cancelled.
    @Test func `a cancelled loop throws when its transforms have ended`() async {
        let (silent, continuation) = AsyncStream<Int>.makeStream()
        continuation.yield(0)
        let work = Work(count: 1)
        let task = Task { try await all(silent.concurrentMap(concurrency: 4, work.transform)) }
        await work.begun[0].condition.wait()

        task.cancel()

        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(work.ended.values == ["0 cancelled"])
        withExtendedLifetime(continuation) {}
    }

    @Test func `a cancelled loop ends even if there are always more results`() async {
        let endless = AsyncStream(unfolding: { 1 })
        let task = Task {
            for try await _ in endless.concurrentMap(concurrency: 2, { $0 }) {
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }

        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `leaving the loop cancels the transforms`() async throws {
        let cancelled = Condition.makeCondition()
        let never = Condition.makeCondition()
        for try await number in stream(of: 3).concurrentMap(
            concurrency: 3,
            { number in
                if number == 0 { return number }
                do { try await never.condition.waitUnlessCancelled() } catch { cancelled.signal.signal() }
                return number
            })
        {
            #expect(number == 0)
            break
        }

        await cancelled.condition.wait()
        withExtendedLifetime(never.signal) {}
    }

    @TaskLocal static var name = ""

    @Test @MainActor func `transforms run on no actor, with the loop's task-local values`() async throws {
        let sequence = stream(of: 2).concurrentMap(concurrency: 2) { _ in (#isolation == nil) ? Self.name : "isolated" }
        let names = try await Self.$name.withValue("ann") { try await all(sequence) }
        MainActor.preconditionIsolated()

        #expect(names == ["ann", "ann"])
    }

    @Test func `each loop starts its own work`() async throws {
        let calls = Recorder<Int>()
        let sequence = ReplayedNumbers(count: 3).concurrentMap(concurrency: 2) { number in
            calls.note(number)
            return number * 10
        }

        #expect(try await all(sequence) == [0, 10, 20])
        #expect(try await all(sequence) == [0, 10, 20])
        #expect(calls.values.sorted() == [0, 0, 1, 1, 2, 2])
    }

    /// Counts up from 0 in each loop.
    struct ReplayedNumbers: AsyncSequence, Sendable {
        let count: Int

        struct Iterator: AsyncIteratorProtocol {
            let count: Int
            var next = 0

            mutating func next() async -> Int? {
                defer { next += 1 }
                return next < count ? next : nil
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(count: count) }
    }

    @Test(arguments: [true, false])
    func `racing errors, cancellation, break and the end loses no task`(isOrdered: Bool) async {
        for round in 0..<300 {
            let running = Recorder<Int>()
            let task = Task {
                var numbers: [Int] = []
                let sequence = stream(of: 20).concurrentMap(concurrency: 3, ordered: isOrdered) { number in
                    running.note(1)
                    defer { running.note(-1) }
                    if number == round % 40 { throw Broken(number: number) }
                    await Task.yield()
                    return number
                }
                for try await number in sequence { numbers.append(number) }
                return numbers
            }
            if round % 3 == 0 { task.cancel() }
            switch await task.result {
            case .success(let numbers):
                if (isOrdered ? numbers : numbers.sorted()) != Array(0..<20) { Issue.record("\(numbers)") }
            case .failure(let error as Broken): #expect(error.number == round % 40)
            case .failure(let error): #expect(error is CancellationError)
            }
            #expect(running.values.reduce(0, +) == 0, "a transform runs after the loop has ended")
        }
    }
}
