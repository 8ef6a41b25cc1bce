import TestSupport
import Testing

import SluiceConcurrency

@Suite struct `concurrentMap and its kin, on sequences` {
    struct Broken: Error, Equatable { var number: Int }

    let executor = ManualExecutor()

    @Test func `results come in the order of the elements, whichever is done first`() async throws {
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

    @Test(arguments: [1, 3]) func `as many as the limit run concurrently, and no element is taken ahead of them`(
        limit: Int
    ) {
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

    @Test func `the first error cancels the rest, and is thrown when all have ended`() async {
        let started = Recorder<Int>()
        let (gate, open) = Condition.makeCondition()
        let task = executor.spawn { () -> [String] in
            do {
                try await (0..<10).concurrentForEach(concurrency: 3) { number in
                    started.note(number)
                    if number == 1 { throw Broken(number: number) }
                    await gate.wait()
                    // Bodies that notice their cancellation come later, with other errors.
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

    @Test func `a cancelled caller starts no more, and throws`() async {
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

    @Test func `a caller that is cancelled after all bodies have started gets their results`() async throws {
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
    func `a caller that is cancelled during the last bodies gets the results`(limit: Int) async throws {
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

    @Test func `nothing in, nothing out; nil is left out of a compact map`() async throws {
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

    @Test(arguments: 1...30) func `any order of jobs gives the same results`(seed: UInt64) async throws {
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

    @Test func `a concurrency below one is refused with a sentence`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await [1].concurrentForEach(concurrency: 0) { _ in }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("concurrency must be at least 1; it is 0"))
        #endif
    }
}
