import SluiceConcurrency
import TestSupport
import Testing

@Suite struct `concurrentMap and its variants, on sequences` {
    struct Broken: Error, Equatable { var number: Int }

    let executor = ManualExecutor()

    @Test func `results come in the order of the elements, whichever finishes first`() async throws {
        let gates = (0..<5).map { _ in Condition.makeCondition() }
        let all = executor.spawnThrowing {
            try await (0..<5).concurrentMap(concurrency: 5) { number in
                await gates[number].condition.wait()
                return number * 10
            }
        }
        executor.runUntilIdle()
        for number in [3, 1, 4, 0, 2] {
            gates[number].signal.signal()
            executor.runUntilIdle()
        }
        #expect(try await all.value == [0, 10, 20, 30, 40])
    }

    @Test(arguments: [1, 3]) func `the limit is reached, and no element is taken ahead of it`(limit: Int) {
        let taken = Recorder<Int>()
        let started = Recorder<Int>()
        let gates = (0..<100).map { _ in Condition.makeCondition() }
        let endless = sequence(first: 0) { last in
            taken.note(last + 1)
            return last + 1
        }
        let task = executor.spawn { [limit] in
            try? await endless.concurrentForEach(concurrency: limit) { number in
                started.note(number)
                await gates[number].condition.wait()
            }
        }
        executor.runUntilIdle()
        #expect(started.values == Array(0..<limit))
        #expect(taken.values.count < limit)
        for number in 0..<10 {
            gates[number].signal.signal()
            executor.runUntilIdle()
            #expect(started.values == Array(0...(number + limit)))
        }
        task.cancel()
        for gate in gates { gate.signal.signal() }
        executor.runUntilIdle()
        #expect(started.values.count == 10 + limit)
    }

    @Test func `the first error cancels the rest and is thrown when all have ended`() async {
        let started = Recorder<Int>()
        let (gate, open) = Condition.makeCondition()
        let task = executor.spawn { () -> [String] in
            do {
                try await (0..<10).concurrentForEach(concurrency: 3) { number in
                    started.note(number)
                    if number == 1 { throw Broken(number: number) }
                    await gate.wait()
                    // Bodies that notice the cancellation fail later, with other errors.
                    if Task.isCancelled { throw Broken(number: number) }
                }
                return []
            } catch {
                started.note(-1)
                return ["\(error)"]
            }
        }
        executor.runUntilIdle()
        #expect(started.values == [0, 1, 2])
        open.signal()
        executor.runUntilIdle()
        #expect(started.values == [0, 1, 2, -1])
        #expect(await task.value == ["\(Broken(number: 1))"])
    }

    @Test func `a cancelled caller starts no more bodies and throws`() async {
        let started = Recorder<Int>()
        let (gate, open) = Condition.makeCondition()
        let task = executor.spawnThrowing {
            try await (0..<10).concurrentMap(concurrency: 2) { number in
                started.note(number)
                await gate.wait()
                return Task.isCancelled
            }
        }
        executor.runUntilIdle()
        task.cancel()
        open.signal()
        executor.runUntilIdle()
        #expect(started.values == [0, 1])
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a caller cancelled after all bodies have started gets their results`() async throws {
        let (gate, open) = Condition.makeCondition()
        let task = executor.spawnThrowing {
            try await (0..<2).concurrentMap(concurrency: 5) { number in
                await gate.wait()
                return Task.isCancelled
            }
        }
        executor.runUntilIdle()
        task.cancel()
        open.signal()
        executor.runUntilIdle()
        #expect(try await task.value == [true, true])
    }

    @Test(arguments: [1, 2])
    func `a caller cancelled during the last bodies gets the results`(limit: Int) async throws {
        let (gate, open) = Condition.makeCondition()
        let task = executor.spawnThrowing {
            try await [1, 2].suffix(limit).concurrentMap(concurrency: limit) { number in
                await gate.wait()
                return number
            }
        }
        executor.runUntilIdle()
        task.cancel()
        open.signal()
        executor.runUntilIdle()
        #expect(try await task.value == [1, 2].suffix(limit))
    }

    @Test func `an empty sequence gives no results, and concurrentCompactMap drops nil`() async throws {
        #expect(try await [Int]().concurrentMap(concurrency: 3) { $0 } == [])
        #expect(try await (0..<6).concurrentCompactMap(concurrency: 3) { $0 % 2 == 0 ? $0 : nil } == [0, 2, 4])
        #expect(try await [nil, 1].concurrentMap(concurrency: 1) { $0 } == [nil, 1])
    }

    @Test @MainActor func `the transform runs on no actor, unless it chooses one`() async throws {
        let isolated = try await (0..<2).concurrentMap(concurrency: 2) { _ in #isolation == nil }
        let chosen = try await (0..<2).concurrentMap(concurrency: 2) { @MainActor _ in
            MainActor.preconditionIsolated()
            return true
        }
        MainActor.preconditionIsolated()
        #expect((isolated, chosen) == ([true, true], [true, true]))
    }

    @Test(arguments: 1...30) func `every order of jobs gives the same results`(seed: UInt64) async throws {
        let executor = ManualExecutor(seed: seed)
        let limit = Int(seed % 5) + 1
        let running = Recorder<Int>()
        let task = executor.spawnThrowing {
            try await (0..<30).concurrentMap(concurrency: limit) { number in
                running.note(1)
                for _ in 0..<(number % 3) { await suspendOnce() }
                running.note(-1)
                return number
            }
        }
        executor.runUntilIdle()
        #expect(try await task.value == Array(0..<30))
        let atOnce = running.values.reduce(into: [0]) { $0.append($0.last! + $1) }
        #expect(atOnce.max()! <= limit)
    }

    @Test func `a concurrency below one traps with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await [1].concurrentForEach(concurrency: 0) { _ in }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("concurrency must be at least 1; it is 0"))
        #endif
    }
}

// MARK: - Asynchronous sequences

@Suite struct `concurrentForEach, on async sequences` {
    struct Broken: Error, Equatable { var number: Int }

    /// Counts up forever, and records what was taken.
    struct Counter: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let taken: Recorder<Int>
        var number = 0

        func makeAsyncIterator() -> Counter { self }

        mutating func next() async -> Int? {
            taken.note(number)
            number += 1
            return number - 1
        }
    }

    let executor = ManualExecutor()

    @Test(arguments: [1, 3]) func `an endless sequence isn't drained ahead of the work`(limit: Int) {
        let taken = Recorder<Int>()
        let gates = (0..<100).map { _ in Condition.makeCondition() }
        let task = executor.spawn { [limit] in
            try? await Counter(taken: taken).concurrentForEach(concurrency: limit) { await gates[$0].condition.wait() }
        }
        executor.runUntilIdle()
        #expect(taken.values == Array(0..<limit))
        for number in 0..<10 {
            gates[number].signal.signal()
            executor.runUntilIdle()
            #expect(taken.values == Array(0...(number + limit)))
        }
        task.cancel()
        for gate in gates { gate.signal.signal() }
        executor.runUntilIdle()
        #expect(taken.values.count == 10 + limit)
    }

    @Test func `an error ends the call even if the sequence never yields again`() async {
        let (silent, continuation) = AsyncStream<Int>.makeStream()
        continuation.yield(1)
        continuation.yield(2)
        let (gate, open) = Condition.makeCondition()
        let noted = Recorder<String>()
        _ = executor.spawn {
            do {
                try await silent.concurrentForEach(concurrency: 4) { number in
                    if number == 2 { return }
                    await gate.wait()
                    throw Broken(number: number)
                }
            } catch {
                noted.note("\(error)")
            }
        }
        executor.runUntilIdle()
        open.signal()
        executor.runUntilIdle()

        // Without awaiting the task: if the error were stuck, so would the test be.
        #expect(noted.values == ["\(Broken(number: 1))"])
        withExtendedLifetime(continuation) {}
    }

    /// Returns 1 immediately, and 2 when the test allows it, even in a cancelled task.
    struct Late: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let mayCome: Condition
        var number = 0

        func makeAsyncIterator() -> Late { self }

        mutating func next() async -> Int? {
            number += 1
            if number == 2 { await mayCome.wait() }
            return number <= 2 ? number : nil
        }
    }

    @Test func `an element that arrives after the first error isn't started`() {
        let (mayCome, comes) = Condition.makeCondition()
        let noted = Recorder<String>()
        _ = executor.spawn {
            do {
                try await Late(mayCome: mayCome).concurrentForEach(concurrency: 4) { number in
                    noted.note("begins \(number)")
                    throw Broken(number: number)
                }
            } catch {
                noted.note("\(error)")
            }
        }
        executor.runUntilIdle()
        comes.signal()
        executor.runUntilIdle()

        #expect(noted.values == ["begins 1", "\(Broken(number: 1))"])
    }

    @Test func `the sequence's error cancels the running bodies and is thrown when they have ended`() async {
        let (failing, continuation) = AsyncThrowingStream<Int, any Error>.makeStream()
        continuation.yield(1)
        continuation.finish(throwing: Broken(number: 9))
        let (gate, open) = Condition.makeCondition()
        let noted = Recorder<String>()
        let task = executor.spawn {
            do {
                try await failing.concurrentForEach(concurrency: 4) { _ in
                    await gate.wait()
                    noted.note("ended, cancelled: \(Task.isCancelled)")
                }
            } catch {
                noted.note("\(error)")
            }
        }
        executor.runUntilIdle()
        #expect(noted.values == [])
        open.signal()
        executor.runUntilIdle()
        await task.value
        #expect(noted.values == ["ended, cancelled: true", "\(Broken(number: 9))"])
    }

    /// Throws when the condition is signalled.
    struct Failing: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let mayFail: Condition
        var number = 0

        func makeAsyncIterator() -> Failing { self }

        mutating func next() async throws -> Int? {
            number += 1
            if number == 1 { return 1 }
            await mayFail.wait()
            throw Broken(number: 9)
        }
    }

    @Test func `the sequence's error is thrown even if the calls that it cancels fail too`() {
        let (mayFail, fail) = Condition.makeCondition()
        let noted = Recorder<String>()
        _ = executor.spawn {
            let never = Condition.makeCondition()
            do {
                try await Failing(mayFail: mayFail).concurrentForEach(concurrency: 4) { _ in
                    try await never.condition.waitUnlessCancelled()
                }
            } catch {
                noted.note("\(error)")
            }
            withExtendedLifetime(never.signal) {}
        }
        executor.runUntilIdle()
        fail.signal()
        executor.runUntilIdle()

        #expect(noted.values == ["\(Broken(number: 9))"])
    }

    @Test func `a sequence that ends because of cancellation doesn't count as complete`() async {
        let (silent, continuation) = AsyncStream<Int>.makeStream()
        continuation.yield(1)
        let task = executor.spawnThrowing { try await silent.concurrentForEach(concurrency: 4) { _ in } }
        executor.runUntilIdle()
        task.cancel()
        executor.runUntilIdle()
        await #expect(throws: CancellationError.self) { try await task.value }
        withExtendedLifetime(continuation) {}
    }
}

private func stream(of count: Int) -> AsyncStream<Int> {
    AsyncStream { continuation in
        for number in 0..<count { continuation.yield(number) }
        continuation.finish()
    }
}
