import SluiceConcurrency
import TestSupport
import Testing

/// Loops over a shared sequence; the test says when the base gives an element, and waits until each has been taken.
@Suite(.timeLimit(.minutes(5))) struct `A shared sequence` {
    struct Unplugged: Error {}

    /// Counts from 1 to a number that the test sets, and records its calls.
    struct Source: AsyncSequence, Sendable {
        typealias Element = Int
        typealias Failure = any Error

        var count = Int.max
        var fails = false
        /// Signalled when the base suspends after its first element, until it is cancelled; nil if it doesn't.
        var paused: Signal?
        var cancelled: Signal?
        let events: Recorder<String>

        struct AsyncIterator: AsyncIteratorProtocol {
            let source: Source
            var given = 0

            mutating func next() async throws -> Int? {
                try await next(isolation: #isolation)
            }

            mutating func next(isolation actor: isolated (any Actor)?) async throws -> Int? {
                if given == source.count {
                    if source.fails { throw Unplugged() }
                    return nil
                }
                if let paused = source.paused, given == 1 { try await pause(paused) }
                await suspendOnce()
                given += 1
                source.events.note("gives \(given)")
                return given
            }

            private func pause(_ paused: Signal) async throws {
                let (condition, signal) = Condition.makeCondition()
                defer { signal.signal() }
                paused.signal()
                do { try await condition.waitUnlessCancelled() } catch {
                    source.events.note("cancelled")
                    source.cancelled?.signal()
                    throw error
                }
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
    }

    let events = Recorder<String>()

    @Test(arguments: [1, 3])
    func `every loop gets all elements in order, from one iteration`(buffer: Int) async throws {
        let shared = Source(count: 100, events: events).shared(buffer: buffer)
        let iterators = (0..<4).map { _ in Unchecked(shared.makeAsyncIterator()) }

        let results = try await withThrowingTaskGroup(of: [Int].self) { group in
            for iterator in iterators {
                group.addTask {
                    var (iterator, elements) = (iterator.value, [Int]())
                    while let element = try await iterator.next() { elements.append(element) }
                    return elements
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(results == Array(repeating: Array(1...100), count: 4))
        #expect(events.values == (1...100).map { "gives \($0)" })
    }

    @Test func `one loop leaves by break, and the other continues`() async throws {
        let shared = Source(count: 20, events: events).shared()
        var staying = shared.makeAsyncIterator()
        for try await element in shared {
            #expect(try await staying.next() == element)
            if element == 3 { break }
        }

        #expect(shared.loopCount == 1)
        for expected in 4...20 { #expect(try await staying.next() == expected) }
        #expect(try await staying.next() == nil)
    }

    @Test func `a slow loop holds the fast one back at the buffer`() async throws {
        let shared = Source(events: events).shared(buffer: 3)
        var (slow, fast) = (shared.makeAsyncIterator(), shared.makeAsyncIterator())
        for expected in 1...3 { #expect(try await fast.next() == expected) }
        #expect(events.values.count == 3)

        // The fourth comes only when the slow loop has taken the first.
        let waiting = Task { [fast = Unchecked(fast)] in
            var fast = fast.value
            return try await fast.next()
        }
        #expect(try await slow.next() == 1)
        #expect(try await waiting.value == 4)

        #expect(events.values == ["gives 1", "gives 2", "gives 3", "gives 4"])
        for expected in 2...4 { #expect(try await slow.next() == expected) }
    }

    @Test func `the base is not asked before a loop wants an element`() async throws {
        let shared = Source(events: events).shared(buffer: 8)
        var iterator = shared.makeAsyncIterator()
        #expect(events.values == [])
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == 2)
        #expect(events.values == ["gives 1", "gives 2"])
    }

    @Test func `when the last loop is cancelled, the base is cancelled, and has ended when the loop returns`() async {
        let (isPaused, paused) = Condition.makeCondition()
        let shared = Source(paused: paused, events: events).shared()
        let loops = [Unchecked(shared.makeAsyncIterator()), Unchecked(shared.makeAsyncIterator())].map { iterator in
            Task { [events] in
                var iterator = iterator.value
                while (try? await iterator.next()) != nil {}
                events.note("left")
                #expect((try? await iterator.next()) == nil, "A loop that was cancelled has ended.")
            }
        }
        // Then both have taken the first element.
        await isPaused.wait()

        loops[0].cancel()
        await loops[0].value
        #expect(events.values == ["gives 1", "left"])
        loops[1].cancel()
        await loops[1].value

        #expect(events.values == ["gives 1", "left", "cancelled", "left"])
        var late = shared.makeAsyncIterator()
        #expect((try? await late.next()) == nil)
    }

    @Test func `when the last loop is left without being cancelled, the base is cancelled`() async throws {
        let (isPaused, paused) = Condition.makeCondition()
        let (isCancelled, cancelled) = Condition.makeCondition()
        let shared = Source(paused: paused, cancelled: cancelled, events: events).shared(buffer: 2)
        var last: SharedSequence<Source>.Iterator? = shared.makeAsyncIterator()
        #expect(try await last?.next() == 1)
        let other = Task {
            var iterator = shared.makeAsyncIterator()
            return try await iterator.next()
        }
        await isPaused.wait()
        other.cancel()
        #expect(try await other.value == nil)
        #expect(events.values == ["gives 1"])

        last = nil

        await isCancelled.wait()
        #expect(events.values == ["gives 1", "cancelled"])
    }

    @Test(arguments: [1, 4])
    func `an error of the base reaches every loop, after the elements`(buffer: Int) async throws {
        let shared = Source(count: 5, fails: true, events: events).shared(buffer: buffer)
        let iterators = (0..<3).map { _ in Unchecked(shared.makeAsyncIterator()) }

        await withTaskGroup(of: Void.self) { group in
            for iterator in iterators {
                group.addTask {
                    var (iterator, elements) = (iterator.value, [Int]())
                    await #expect(throws: Unplugged.self) {
                        while let element = try await iterator.next() { elements.append(element) }
                    }
                    #expect(elements == [1, 2, 3, 4, 5])
                    #expect((try? await iterator.next()) == nil)
                }
            }
        }
    }

    @Test func `a late loop begins with the next element, or with those that are replayed`() async throws {
        for replay in 0...2 {
            let shared = Source(events: events).shared(replay: replay)
            var first = shared.makeAsyncIterator()
            for _ in 1...3 { _ = try await first.next() }

            var late = shared.makeAsyncIterator()
            for expected in (4 - replay)..<4 { #expect(try await late.next() == expected) }

            let next = Task { [late = Unchecked(late)] in
                var late = late.value
                return try await late.next()
            }
            #expect(try await first.next() == 4)
            #expect(try await next.value == 4)
        }
    }

    /// On all threads: loops come, leave and are cancelled, and every loop gets a run without gaps.
    @Test(arguments: [1, 2, 7])
    func `no loop sees a gap, whatever the others do`(buffer: Int) async {
        for round in 0..<40 {
            let shared = Source(count: 60, events: Recorder()).shared(buffer: buffer)
            let staying = Unchecked(shared.makeAsyncIterator())
            let loops = (0..<6).map { number in
                Task {
                    var last: Int?
                    for try await element in shared {
                        if let last { #expect(element == last + 1) }
                        last = element
                        if element == number * 9 { break }
                    }
                }
            }
            loops[round % 6].cancel()
            var (iterator, expected) = (staying.value, 0)
            while let element = try? await iterator.next() {
                expected += 1
                #expect(element == expected)
            }
            #expect(expected == 60)
            for loop in loops { _ = await loop.result }
        }
    }

    @Test(arguments: [(Int.max, 0), (1, Int.max), (Int.max, Int.max)])
    func `the buffer and the replay can be as large as a number can be`(buffer: Int, replay: Int) async throws {
        let base = AsyncStream { continuation in
            for number in 1...3 { continuation.yield(number) }
            continuation.finish()
        }
        let shared = base.shared(buffer: buffer, replay: replay)
        var first: [Int] = []
        for await number in shared { first.append(number) }
        var late: [Int] = []
        for await number in shared { late.append(number) }

        #expect(first == [1, 2, 3])
        #expect(late == (replay > 0 ? [1, 2, 3] : []))
    }

    @Test func `nonsense is refused with a sentence`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Source(events: Recorder()).shared(buffer: 0)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("buffer must be at least 1; it is 0"))
        #endif
    }
}

/// Moves an iterator to the one task that uses it from then on.
private struct Unchecked<Value>: @unchecked Sendable {
    // No lock: one task at a time uses the value.
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
