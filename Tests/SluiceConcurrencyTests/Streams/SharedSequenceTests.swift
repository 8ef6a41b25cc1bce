import TestSupport
import Testing

@testable import SluiceConcurrency

/// Loops over a shared sequence. The test decides when the base yields an element, and waits until each has been taken.
@Suite(.timeLimit(.minutes(15))) struct `A shared sequence` {
    struct Unplugged: Error {}

    /// Counts from 1 to a number that the test sets, and records its calls.
    struct Source: AsyncSequence, Sendable {
        typealias Element = Int
        typealias Failure = any Error

        var count = Int.max
        var fails = false
        /// Signalled when the base suspends after its first element, until it is cancelled. `nil` if it shouldn't suspend.
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

    @Test func `a slow loop stops a fast one at the buffer's limit`() async throws {
        let shared = Source(events: events).shared(buffer: 3)
        var (slow, fast) = (shared.makeAsyncIterator(), shared.makeAsyncIterator())
        for expected in 1...3 { #expect(try await fast.next() == expected) }
        #expect(events.values.count == 3)

        // The fourth element comes only after the slow loop has taken the first.
        let waiting = Task { [fast = Unchecked(fast)] in
            var fast = fast.value
            return try await fast.next()
        }
        #expect(try await slow.next() == 1)
        #expect(try await waiting.value == 4)

        #expect(events.values == ["gives 1", "gives 2", "gives 3", "gives 4"])
        for expected in 2...4 { #expect(try await slow.next() == expected) }
    }

    @Test func `the base isn't iterated before a loop requests an element`() async throws {
        let shared = Source(events: events).shared(buffer: 8)
        var iterator = shared.makeAsyncIterator()
        #expect(events.values == [])
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == 2)
        #expect(events.values == ["gives 1", "gives 2"])
    }

    @Test func `when the last loop is cancelled, the base is cancelled and has ended when the loop returns`() async {
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

    @Test func `leaving the last loop cancels the base`() async throws {
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
    func `the base's error reaches every loop, after the elements`(buffer: Int) async throws {
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

    @Test func `a late loop begins with the next element, or with the replayed ones`() async throws {
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

    /// On all threads, loops start, leave and are cancelled. Every loop gets elements without gaps.
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
    func `the buffer and the replay can be Int.max`(buffer: Int, replay: Int) async throws {
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

    @Test func `invalid arguments trap with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Source(events: Recorder()).shared(buffer: 0)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #if DEBUG
        #expect(message.contains("buffer must be at least 1; it is 0"))
        #endif
    }
}

/// Moves an iterator to the only task that uses it from then on.
private struct Unchecked<Value>: @unchecked Sendable {
    // No lock: one task at a time uses the value.
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

// MARK: - The state machine

@Suite struct `The shared sequence's state machine` {
    struct Unplugged: Error {}

    typealias Machine = SharedStateMachine<Int, Unplugged, String, String>

    /// Returns what a loop gets, as a word. A loop that must wait suspends under its name.
    private func next(_ machine: inout Machine, _ loop: UInt64, _ name: String) -> String {
        switch machine.next(loop) {
        case .deliver(let element, _, let go): return "\(element)" + (go.map { " lets \($0) on" } ?? "")
        case .finished: return "finished"
        case .failed: return "failed"
        case .suspend(let ticket, let starts, let go):
            let known = machine.suspend(ticket, name)
            #expect(known == nil)
            return (starts ? "starts" : "waits") + (go.map { " lets \($0) on" } ?? "")
        }
    }

    @Test func `the producer is resumed when a loop needs an element, not before`() {
        var machine = Machine(buffer: 4, replay: 0)
        let a = machine.join()
        #expect(machine.produce("producer") == nil)
        #expect(next(&machine, a, "a") == "starts lets producer on")
        let woken1 = machine.deliver(1).waiters
        #expect(woken1 == ["a"])
        #expect(machine.produce("producer") == nil)
        #expect(next(&machine, a, "a") == "1")
        #expect(next(&machine, a, "a") == "waits lets producer on")
    }

    @Test(arguments: 1...3)
    func `no loop is more than the buffer ahead of the slowest`(buffer: Int) {
        var machine = Machine(buffer: buffer, replay: 0)
        let (fast, slow) = (machine.join(), machine.join())
        for number in 0..<buffer {
            _ = next(&machine, fast, "fast")
            #expect(machine.produce("producer") == .go)
            let woken2 = machine.deliver(number).waiters
            #expect(woken2 == ["fast"])
            #expect(next(&machine, fast, "fast") == "\(number)")
        }

        #expect(machine.produce("producer") == nil)
        #expect(next(&machine, fast, "fast") == "waits")
        #expect(machine.elementCount == buffer)

        #expect(next(&machine, slow, "slow") == "0 lets producer on")
        #expect(machine.elementCount == buffer - 1)
    }

    @Test func `a slow loop that leaves no longer delays the others`() {
        var machine = Machine(buffer: 1, replay: 0)
        let (fast, slow) = (machine.join(), machine.join())
        _ = next(&machine, fast, "fast")
        _ = machine.produce("producer")
        _ = machine.deliver(1)
        _ = next(&machine, fast, "fast")
        _ = next(&machine, fast, "fast")
        #expect(machine.produce("producer") == nil)

        let action = machine.leave(slow)

        #expect(action.go == "producer" && action.stop == nil && action.work == nil)
        #expect(action.removed.first == 1)
        #expect(machine.elementCount == 0)
    }

    @Test func `the last loop that leaves stops the producer, and later loops end`() {
        var machine = Machine(buffer: 1, replay: 0)
        let (a, b) = (machine.join(), machine.join())
        _ = next(&machine, a, "a")
        #expect(machine.started("work") == false)
        _ = machine.deliver(1)
        #expect(machine.produce("producer") == nil)

        let first = machine.leave(b)
        let last = machine.leave(a)

        #expect(first.work == nil && first.stop == nil)
        #expect(last.work == "work" && last.stop == "producer")
        #expect(machine.elementCount == 0)
        let late = machine.join()
        #expect(next(&machine, late, "late") == "finished")
        let work3 = machine.leave(late).work
        #expect(work3 == nil)
    }

    @Test func `work that is recorded after the last loop has left must be cancelled`() {
        var machine = Machine(buffer: 1, replay: 0)
        let a = machine.join()
        _ = next(&machine, a, "a")
        let work4 = machine.leave(a).work
        #expect(work4 == nil)
        #expect(machine.started("work") == true)
        #expect(machine.produce("producer") == .stop)
        let dropped5 = machine.deliver(1).removed
        #expect(dropped5 == 1)
    }

    @Test func `an iterator that is never used doesn't end the iteration`() {
        var machine = Machine(buffer: 1, replay: 0)
        _ = machine.leave(machine.join())
        let a = machine.join()
        #expect(next(&machine, a, "a") == "starts")
    }

    @Test func `the end comes after the elements, and an error once to each loop`() {
        var machine = Machine(buffer: 2, replay: 0)
        let (a, b) = (machine.join(), machine.join())
        _ = next(&machine, a, "a")
        _ = machine.deliver(1)
        _ = next(&machine, a, "a")
        _ = next(&machine, a, "a")

        #expect(machine.finish(.failed(Unplugged())) == ["a"])

        #expect([next(&machine, a, "a"), next(&machine, a, "a")] == ["failed", "finished"])
        #expect((1...3).map { _ in next(&machine, b, "b") } == ["1", "failed", "finished"])
        let late = machine.join()
        #expect([next(&machine, late, "late"), next(&machine, late, "late")] == ["failed", "finished"])
    }

    @Test(arguments: 0...3)
    func `a late loop gets the replayed elements`(replay: Int) {
        var machine = Machine(buffer: 1, replay: replay)
        let a = machine.join()
        for number in 1...5 {
            _ = next(&machine, a, "a")
            _ = machine.deliver(number)
            _ = next(&machine, a, "a")
        }
        #expect(machine.elementCount == replay)

        let late = machine.join()
        let got = (0..<replay).map { _ in next(&machine, late, "late") }

        #expect(got == (5 - replay + 1..<6).map(String.init))
        #expect(next(&machine, late, "late") == "waits")
    }

    @Test func `a late loop with replayed elements limits the others, even while an element is being produced`() {
        var machine = Machine(buffer: 1, replay: 2)
        let a = machine.join()
        for number in 1...3 {
            _ = next(&machine, a, "a")
            _ = machine.deliver(number)
            _ = next(&machine, a, "a")
        }
        _ = next(&machine, a, "a")
        #expect(machine.produce("producer") == .go)
        let late = machine.join()
        _ = machine.deliver(4)
        #expect(next(&machine, a, "a") == "4")
        _ = next(&machine, a, "a")

        #expect(machine.produce("producer") == nil)
        #expect(next(&machine, late, "late") == "2 lets producer on")
    }

    @Test func `a loop that is resumed before it suspends looks again`() {
        var machine = Machine(buffer: 1, replay: 0)
        let a = machine.join()
        guard case .suspend(let ticket, true, nil) = machine.next(a) else {
            Issue.record("There is no element yet.")
            return
        }
        let woken6 = machine.deliver(1).waiters
        #expect(woken6 == [])
        #expect(machine.cancel(ticket) == nil)
        #expect(machine.suspend(ticket, "a") == .go)
        #expect(next(&machine, a, "a") == "1")
        #expect(machine.line.slotCount == 0)
    }
}

// MARK: - Any order of steps

/// Thousands of random steps of loops and of the producer.
@Suite struct `Any order of steps of a shared sequence` {
    struct Unplugged: Error {}
    typealias Machine = SharedStateMachine<Int, Unplugged, Int, String>

    struct Loop {
        /// The number of the next element.
        var next: Int
        var ticket: Machine.Line.Ticket?
        var isSuspended = false
        var hasEnded = false
    }

    enum Producer {
        case notStarted, asks, waits, takes, ended
    }

    @Test(arguments: UInt64(0)..<40)
    func `every loop gets all elements in order, and no task waits that could continue`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (buffer, replay) = (Int.random(in: 1...3, using: &random), Int.random(in: 0...3, using: &random))
        let bound = max(buffer, replay + 1)
        var machine = Machine(buffer: buffer, replay: replay)
        var loops: [UInt64: Loop] = [:]
        var producer = Producer.notStarted
        /// The number of elements that the base has yielded; each is its number.
        var count = 0
        var isOver = false

        func resume(producer waiter: Int?) {
            guard let waiter else { return }
            if waiter != -1 || producer != .waits {
                Issue.record("\(waiter) is resumed while the producer \(producer)")
            }
            producer = .takes
        }

        func resume(_ waiters: [Int]) {
            for waiter in waiters {
                let number = UInt64(waiter)
                if loops[number]?.isSuspended != true { Issue.record("\(number) is resumed, and isn't suspended") }
                loops[number]?.ticket = nil
                loops[number]?.isSuspended = false
            }
        }

        func leave(_ number: UInt64) {
            loops[number] = nil
            let action = machine.leave(number)
            resume(producer: action.go)
            // The last loop stops the producer, which ends at its next step.
            if loops.isEmpty, producer != .notStarted { isOver = true }
            if let stop = action.stop {
                if stop != -1 || !isOver { Issue.record("the producer is stopped too early") }
                producer = .ended
            }
        }

        for step in 0..<2_000 where !isOver || step % 50 == 0 {
            let number = loops.keys.sorted().randomElement(using: &random)
            switch Int.random(in: 0..<14, using: &random) {
            case 0 where loops.count < 4:
                loops[machine.join()] = Loop(next: max(0, count - replay))
            case 1..<6:
                guard let number, let loop = loops[number], loop.ticket == nil else { continue }
                switch machine.next(number) {
                case .deliver(let element, _, let go):
                    if element != loop.next || element >= count { Issue.record("\(element), not \(loop.next)") }
                    loops[number]?.next += 1
                    resume(producer: go)
                case .finished:
                    if loop.next != count || !isOver { Issue.record("the end comes too early") }
                    loops[number]?.hasEnded = true
                case .failed: Issue.record("nothing fails")
                case .suspend(let ticket, let starts, let go):
                    if loop.next != count || isOver { Issue.record("a loop waits for what is there") }
                    loops[number]?.ticket = ticket
                    if starts {
                        if producer != .notStarted { Issue.record("the producer starts twice") }
                        producer = .asks
                    }
                    resume(producer: go)
                }
            case 6, 7:
                guard let number, let loop = loops[number], let ticket = loop.ticket, !loop.isSuspended else {
                    continue
                }
                if machine.suspend(ticket, Int(number)) == nil {
                    loops[number]?.isSuspended = true
                } else {
                    loops[number]?.ticket = nil
                }
            case 8:
                // A cancelled loop leaves. The last loop stays for a while, so that there is something to test.
                guard let number, let loop = loops[number], loops.count > 1 || step > 1_500 else { continue }
                if let ticket = loop.ticket {
                    let waiter = machine.cancel(ticket)
                    if !loop.isSuspended {
                        if waiter != nil { Issue.record("\(number) is resumed, and isn't suspended") }
                        _ = machine.suspend(ticket, Int(number))
                    }
                }
                leave(number)
            case 9...12:
                switch producer {
                case .asks:
                    switch machine.produce(-1) {
                    case .go: producer = .takes
                    case nil: producer = .waits
                    case .stop, .cancelled:
                        if !isOver { Issue.record("the producer is stopped too early") }
                        producer = .ended
                    }
                case .takes:
                    let (waiters, _) = machine.deliver(count)
                    if !isOver { count += 1 }
                    resume(waiters)
                    producer = .asks
                case .notStarted, .waits, .ended: continue
                }
            case 13 where step > 1_000 && producer == .takes && !isOver:
                isOver = true
                producer = .ended
                resume(machine.finish(.finished))
            default: continue
            }
            let slowest = loops.values.map(\.next).min() ?? count
            if count - slowest > bound { Issue.record("a loop is \(count - slowest) elements behind") }
            let isWanted = loops.values.contains { $0.ticket != nil && $0.next == count } && count - slowest < bound
            if isWanted, producer == .waits { Issue.record("the producer waits, and an element is wanted") }
            if loops.values.contains(where: { $0.isSuspended && $0.next < count }) {
                Issue.record("a loop waits, and its element is there")
            }
        }
        #expect(machine.loopCount == loops.count)
        #expect(count > 20)
    }
}
