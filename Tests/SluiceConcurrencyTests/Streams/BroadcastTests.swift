import SluiceConcurrency
import TestSupport
import Testing

@Suite struct `A broadcast` {
    struct Unplugged: Error, Hashable {}

    let executor = ManualExecutor()
    let recorder = Recorder<String>()
    let broadcast = Broadcast<Int, Unplugged>()

    /// Starts a task that records a subscription's elements, and runs it until it waits or ends.
    @discardableResult
    private func note(
        _ name: String, _ subscription: consuming Broadcast<Int, Unplugged>.Subscription
    ) -> Task<Void, Never> {
        // Only the task holds the subscription.
        let task = executor.spawn { [recorder, subscription = consume subscription] in
            do throws(Unplugged) {
                for try await delivery in subscription {
                    switch delivery {
                    case .value(let element): recorder.note("\(name)\(element)")
                    case .missed(let count): recorder.note("\(name)-\(count)")
                    }
                }
                recorder.note("\(name) ended")
            } catch {
                recorder.note("\(name) failed")
            }
        }
        executor.runUntilIdle()
        return task
    }

    private func send(_ elements: ClosedRange<Int>) {
        for element in elements { broadcast.send(element) }
    }

    // MARK: Plain loops

    @Test
    func `each loop over values is a subscriber that gets every element and the end, then is forgotten`() async throws {
        let loops = (0..<3).map { _ in
            executor.spawnThrowing { [values = broadcast.values] in
                var elements: [Int] = []
                for try await element in values { elements.append(element) }
                return elements
            }
        }
        #expect(broadcast.subscriberCount == 0)
        executor.runUntilIdle()
        #expect(broadcast.subscriberCount == 3)

        send(1...200)
        broadcast.finish()
        executor.runUntilIdle()

        for loop in loops { #expect(try await loop.value == Array(1...200)) }
        #expect(broadcast.subscriberCount == 0)
    }

    @Test
    func `a loop over values begins with the replayed elements and ends with the error`() async {
        let broadcast = Broadcast<Int, Unplugged>(replay: 2)
        for element in 1...3 { broadcast.send(element) }
        broadcast.finish(throwing: Unplugged())

        var elements: [Int] = []
        await #expect(throws: Unplugged()) {
            for try await element in broadcast.values { elements.append(element) }
        }
        #expect(elements == [2, 3])
    }

    // MARK: Every element to every subscriber

    @Test
    func `every subscriber gets every element, in order`() {
        note("a", broadcast.subscribe())
        note("b", broadcast.subscribe())

        for element in 1...2 {
            #expect(broadcast.send(element))
            executor.runUntilIdle()
        }

        #expect(recorder.values == ["a1", "b1", "a2", "b2"])
        #expect(broadcast.subscriberCount == 2)
    }

    @Test
    func `elements sent after subscribing aren't missed, even if the loop begins late`() {
        broadcast.send(1)
        let subscription = broadcast.subscribe()
        broadcast.send(2)

        note("a", subscription)

        #expect(recorder.values == ["a2"])
    }

    @Test
    func `a subscriber gets the replayed elements first and then the new ones, each once`() {
        let broadcast = Broadcast<Int, Unplugged>(replay: 2)
        for element in 1...3 { broadcast.send(element) }

        note("a", broadcast.subscribe())
        broadcast.send(4)
        executor.runUntilIdle()
        note("b", broadcast.subscribe())
        broadcast.finish()
        executor.runUntilIdle()
        note("c", broadcast.subscribe())

        #expect(recorder.values == ["a2", "a3", "a4", "b3", "b4", "a ended", "b ended", "c3", "c4", "c ended"])
    }

    // MARK: Slow subscribers

    @Test
    func `with newest, a slow subscriber gets the number of missed elements before the kept ones`() {
        let subscription = broadcast.subscribe(buffering: .newest(3))
        send(1...10)
        note("a", subscription)
        #expect(recorder.values == ["a-7", "a8", "a9", "a10"])

        recorder.forget()
        send(11...15)
        executor.runUntilIdle()

        #expect(recorder.values == ["a-2", "a13", "a14", "a15"])
    }

    @Test
    func `with oldest, a slow subscriber gets the number of missed elements after the kept ones`() async throws {
        let subscription = broadcast.subscribe(buffering: .oldest(3))
        send(1...5)
        var iterator = subscription.makeAsyncIterator()
        #expect(try await iterator.next() == .value(1))
        send(6...8)
        note("a", subscription)

        #expect(recorder.values == ["a2", "a3", "a-2", "a6", "a-2"])
    }

    @Test
    func `a slow unbounded subscriber misses nothing, and the default bound is 64`() {
        let (unbounded, byDefault) = (broadcast.subscribe(buffering: .unbounded), broadcast.subscribe())
        send(1...1_000)

        note("a", unbounded)
        #expect(recorder.values == (1...1_000).map { "a\($0)" })
        recorder.forget()
        note("b", byDefault)

        #expect(recorder.values == ["b-936"] + (937...1_000).map { "b\($0)" })
    }

    @Test
    func `replayed elements count against the bound like sent ones`() {
        let broadcast = Broadcast<Int, Unplugged>(replay: 3)
        for element in 1...3 { broadcast.send(element) }

        note("a", broadcast.subscribe(buffering: .newest(1)))
        note("b", broadcast.subscribe(buffering: .oldest(1)))

        #expect(recorder.values == ["a-2", "a3", "b1", "b-2"])
    }

    @Test
    func `a bound below 1 and a negative replay trap`() async {
        await #expect(processExitsWith: .failure) { _ = Broadcast<Int, Never>().subscribe(buffering: .newest(0)) }
        await #expect(processExitsWith: .failure) { _ = Broadcast<Int, Never>().subscribe(buffering: .oldest(0)) }
        await #expect(processExitsWith: .failure) { _ = Broadcast<Int, Never>(replay: -1) }
    }

    // MARK: The end

    @Test
    func `subscribers get the buffered elements before the end, and nothing is sent after finish`() {
        note("a", broadcast.subscribe())
        let late = broadcast.subscribe()
        send(1...2)
        broadcast.finish()
        broadcast.finish(throwing: Unplugged())

        #expect(!broadcast.send(3))
        executor.runUntilIdle()
        note("b", late)

        #expect(recorder.values == ["a1", "a2", "a ended", "b1", "b2", "b ended"])
    }

    @Test
    func `each subscriber, even a later one, gets the error once, after the buffered elements`() async throws {
        let subscription = broadcast.subscribe()
        note("w", broadcast.subscribe())
        broadcast.send(1)
        broadcast.finish(throwing: Unplugged())
        broadcast.finish()
        executor.runUntilIdle()
        note("l", broadcast.subscribe())
        var iterator = subscription.makeAsyncIterator()

        #expect(recorder.values == ["w1", "w failed", "l failed"])
        #expect(try await iterator.next() == .value(1))
        await #expect(throws: Unplugged.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test
    func `releasing the broadcast ends its subscribers after the buffered elements`() {
        var dropped: Broadcast<Int, Unplugged>? = Broadcast()
        note("a", dropped!.subscribe())
        dropped!.send(1)

        dropped = nil
        executor.runUntilIdle()

        #expect(dropped == nil)
        #expect(recorder.values == ["a1", "a ended"])
    }

    // MARK: Leaving

    @Test
    func `a loop left by break or by an error unsubscribes`() {
        let leaving = executor.spawnThrowing { [broadcast] in
            for try await _ in broadcast.subscribe() { break }
            #expect(broadcast.subscriberCount == 0)
            for try await _ in broadcast.subscribe() { throw Unplugged() }
        }
        executor.runUntilIdle()
        #expect(broadcast.subscriberCount == 1)

        for element in 1...2 {
            broadcast.send(element)
            executor.runUntilIdle()
        }

        #expect(broadcast.subscriberCount == 0)
        leaving.cancel()
    }

    @Test
    func `a cancelled loop unsubscribes, whether it waits or has not begun`() {
        let waiting = note("a", broadcast.subscribe())
        note("b", broadcast.subscribe())
        let early = executor.spawn { [recorder, subscription = broadcast.subscribe()] in
            do { for try await _ in subscription { recorder.note("early") } } catch {}
        }

        waiting.cancel()
        early.cancel()
        executor.runUntilIdle()
        #expect(broadcast.subscriberCount == 1)
        broadcast.send(1)
        executor.runUntilIdle()

        #expect(recorder.values == ["a ended", "b1"])
    }

    @Test
    func `a task cancelled after it was woken takes nothing from its subscription`() async throws {
        let subscription = broadcast.subscribe()
        let task = note("a", subscription)

        broadcast.send(1)
        task.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["a ended"])
        var iterator = subscription.makeAsyncIterator()
        #expect(try await iterator.next() == .value(1))
    }

    @Test
    func `a second loop over a subscription continues where the first stopped`() async throws {
        let subscription = broadcast.subscribe()
        send(1...3)
        broadcast.finish()

        for try await delivery in subscription {
            #expect(delivery == .value(1))
            break
        }
        var rest: [Broadcast<Int, Unplugged>.Delivery] = []
        for try await delivery in subscription { rest.append(delivery) }

        #expect(rest == [.value(2), .value(3)])
        #expect(broadcast.subscriberCount == 1)
    }

    @Test
    func `two tasks waiting on one subscription trap`() async {
        await #expect(processExitsWith: .failure) {
            let executor = ManualExecutor()
            let broadcast = Broadcast<Int, Never>()
            let subscription = broadcast.subscribe()
            for _ in 0..<2 { _ = executor.spawn { for await _ in subscription {} } }
            executor.runUntilIdle()
        }
    }

    // MARK: Values

    @Test
    func `a subscription's values throw once at a gap and unsubscribe`() async throws {
        var iterator = broadcast.subscribe(buffering: .oldest(1)).values.makeAsyncIterator()
        send(1...3)

        #expect(try await iterator.next() == 1)
        do throws(BroadcastError<Unplugged>) {
            _ = try await iterator.next()
            Issue.record("Two elements are missing.")
        } catch {
            guard case .missed(2) = error else { throw error }
            #expect(error.description.contains("missed 2 elements"))
        }

        #expect(broadcast.subscriberCount == 0)
        send(4...4)
        #expect(try await iterator.next() == nil)
    }

    @Test
    func `a subscription's values throw the broadcast's error or end with it`() async throws {
        var failing = broadcast.subscribe().values.makeAsyncIterator()
        send(1...1)
        broadcast.finish(throwing: Unplugged())
        #expect(try await failing.next() == 1)
        do throws(BroadcastError<Unplugged>) {
            _ = try await failing.next()
            Issue.record("It was finished with an error.")
        } catch {
            guard case .failed(Unplugged()) = error else { throw error }
        }
        #expect(try await failing.next() == nil)

        let other = Broadcast<Int, Never>(replay: 1)
        other.send(1)
        other.finish()
        var values: [Int] = []
        for try await value in other.subscribe().values { values.append(value) }
        #expect(values == [1])
    }

    @Test
    func `an unbounded subscription gets every element and the error`() async throws {
        let subscription = broadcast.subscribeUnbounded()
        send(1...500)
        broadcast.finish(throwing: Unplugged())
        var values: [Int] = []

        do throws(Unplugged) {
            for try await value in subscription { values.append(value) }
            Issue.record("It was finished with an error.")
        } catch {
            #expect(values == Array(1...500))
        }
    }
}

// MARK: - Sharing a sequence

@Suite struct `Broadcast: sharing a sequence` {
    struct Unplugged: Error {}

    /// Counts up to a number, and then throws if requested. Not `Sendable`.
    final class Counter: AsyncSequence, AsyncIteratorProtocol {
        var count = 0
        let limit: Int
        let fails: Bool

        init(to limit: Int, fails: Bool = false) {
            (self.limit, self.fails) = (limit, fails)
        }

        func makeAsyncIterator() -> Counter { self }

        func next() async throws(Unplugged) -> Int? {
            try await next(isolation: #isolation)
        }

        func next(isolation actor: isolated (any Actor)?) async throws(Unplugged) -> Int? {
            await suspendOnce()
            if Task.isCancelled { return nil }
            if count == limit, fails { throw Unplugged() }
            if count == limit { return nil }
            count += 1
            return count
        }
    }

    @Test(arguments: [false, true])
    func `each subscriber gets all elements of the sequence and its end or error`(fails: Bool) async {
        let broadcast = Broadcast<Int, Unplugged>()
        let subscriptions = (0..<3).map { _ in broadcast.subscribe() }

        await broadcast.run(sharing: Counter(to: 50, fails: fails))

        for subscription in subscriptions {
            var sum = 0
            do throws(Unplugged) {
                for try await case .value(let number) in subscription { sum += number }
                #expect(!fails)
            } catch {
                #expect(fails)
            }
            #expect(sum == 1_275)
        }
    }

    @Test
    func `cancelling the sharing task ends the sequence and the broadcast`() {
        let executor = ManualExecutor()
        let recorder = Recorder<String>()
        let broadcast = Broadcast<Int, Unplugged>()
        let sharing = executor.spawn { await broadcast.run(sharing: Counter(to: .max)) }
        _ = executor.spawn { [subscription = broadcast.subscribe()] in
            do { for try await _ in subscription {} } catch {}
            recorder.note("ended")
        }
        for _ in 0..<20 { executor.runOne() }

        sharing.cancel()
        executor.runUntilIdle()

        #expect(recorder.values == ["ended"])
        #expect(!broadcast.send(1))
    }

    @Test
    func `if any error may be thrown, a cancelled sequence doesn't look complete`() async {
        let broadcast = Broadcast<Int, any Error>()
        let (stream, _) = AsyncThrowingStream<Int, any Error>.makeStream()
        let subscription = broadcast.subscribe()
        let sharing = Task { await broadcast.run(sharing: stream) }

        sharing.cancel()
        await sharing.value

        await #expect(throws: CancellationError.self) { for try await _ in subscription {} }
    }

    @Test
    func `sharing returns when another task finishes the broadcast`() async {
        let broadcast = Broadcast<Int, Unplugged>()
        let counter = Counter(to: 10)
        broadcast.finish()

        await broadcast.run(sharing: counter)

        #expect(counter.count == 1)
    }

    // MARK: Isolation

    @Test @MainActor
    func `subscribers and sharing tasks stay on their actor`() async throws {
        let broadcast = Broadcast<Int, Unplugged>()
        let (subscription, values) = (broadcast.subscribe(), broadcast.subscribe().values)
        let unbounded = broadcast.subscribeUnbounded()
        let counter = Counter(to: 5)
        var sums = [0, 0, 0]

        await broadcast.run(sharing: counter)
        MainActor.preconditionIsolated("Sharing must come back to its actor.")
        for try await case .value(let number) in subscription {
            MainActor.preconditionIsolated("A subscriber must come back to its actor.")
            sums[0] += number
        }
        for try await number in values { sums[1] += number }
        for try await number in unbounded { sums[2] += number }

        MainActor.preconditionIsolated("A subscriber must come back to its actor.")
        #expect(sums == [15, 15, 15])
        #expect(counter.count == 5)
    }

    actor Screen {
        var shown: [Int] = []

        func show(_ subscription: Broadcast<Int, Never>.UnboundedSubscription) async {
            for await number in subscription { shown.append(number) }
        }
    }

    @Test
    func `an actor receives elements on itself, without an error to catch`() async {
        let broadcast = Broadcast<Int, Never>()
        let screen = Screen()
        async let showing: Void = screen.show(broadcast.subscribeUnbounded())
        broadcast.send(1)
        broadcast.finish()
        await showing
        // Only whether the subscription or the element came first is undetermined.
        #expect(await screen.shown.allSatisfy { $0 == 1 })
    }
}

// MARK: - Many tasks

@Suite struct `Broadcast: many tasks` {
    @Test(.timeLimit(.minutes(15)))
    func `with several senders, each subscriber gets or misses each element, all in the same order`() async {
        let broadcast = Broadcast<Int, Never>()
        let (senders, each) = (3, 2_000)
        let bufferings: [Broadcast<Int, Never>.Buffering] = [.unbounded, .unbounded, .newest(16), .oldest(16)]
        let subscriptions = bufferings.map { broadcast.subscribe(buffering: $0) }

        let received = await withTaskGroup(of: (Int, [Int], missed: Int).self) { group in
            for (index, subscription) in subscriptions.enumerated() {
                group.addTask {
                    var (elements, missed): ([Int], Int) = ([], 0)
                    for await delivery in subscription {
                        switch delivery {
                        case .value(let element): elements.append(element)
                        case .missed(let count): missed += count
                        }
                    }
                    return (index, elements, missed)
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for sender in 0..<senders {
                    group.addTask {
                        for number in 0..<each {
                            broadcast.send(sender * each + number)
                            if number.isMultiple(of: 10) { await suspendOnce() }
                        }
                    }
                }
            }
            broadcast.finish()
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }
        }

        let all = received[0].1
        #expect(all.sorted() == Array(0..<senders * each))
        #expect(received[1].1 == all)
        let position = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })
        for (_, elements, missed) in received {
            #expect(elements.count + missed == all.count)
            let positions = elements.compactMap { position[$0] }
            #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `subscribers that come and go at any time get elements without a gap`() async {
        let broadcast = Broadcast<Int, Never>(replay: 3)
        // For each element that a subscriber is about to wait for, one is sent.
        let wishes = AsyncQueue<Int>()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for round in 0..<150 {
                        var last: Int?
                        var taken = 0
                        let subscription = broadcast.subscribeUnbounded()
                        wishes.enqueue(worker)
                        for await number in subscription {
                            if let last, number != last + 1 { Issue.record("\(number) came after \(last)") }
                            last = number
                            taken += 1
                            if taken == 1 + (worker + round) % 7 { break }
                            wishes.enqueue(worker)
                        }
                    }
                }
            }
            let sending = Task {
                var number = 0
                for await _ in wishes.elements {
                    broadcast.send(number)
                    number += 1
                }
            }
            await group.waitForAll()
            wishes.finish()
            await sending.value
        }

        #expect(broadcast.subscriberCount == 0)
    }

    @Test(.timeLimit(.minutes(15)))
    func `cancelling during send and finish resumes each subscriber once`() async {
        for round in 0..<2_000 {
            let broadcast = Broadcast<Int, Never>()
            let subscription = broadcast.subscribe()
            let cancelled = Task {
                for await _ in subscription {}
            }
            let other = Task { [subscription = broadcast.subscribeUnbounded()] in
                await subscription.reduce(0, +)
            }
            let canceller = Task { cancelled.cancel() }
            let sender = Task {
                broadcast.send(round)
                if round.isMultiple(of: 2) { broadcast.finish() }
            }
            await sender.value
            await canceller.value
            broadcast.finish()

            await cancelled.value
            #expect(await other.value == round)
        }
    }

    @Test(arguments: 1...50)
    func `in any order of jobs, each subscriber gets each element or is told that it is missing`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let broadcast = Broadcast<Int, Never>()
        let counted = (0..<5).map { _ in Recorder<Int>() }
        let bufferings: [Broadcast<Int, Never>.Buffering] = [
            .unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3),
        ]
        let tasks = zip(counted, bufferings).map { recorder, buffering in
            executor.spawn { [subscription = broadcast.subscribe(buffering: buffering)] in
                var next = 0
                for await delivery in subscription {
                    switch delivery {
                    case .value(let number):
                        recorder.note(number)
                        if number != next { Issue.record("seed \(seed): \(number) came in the place of \(next)") }
                        next += 1
                    case .missed(let count): next += count
                    }
                }
                recorder.note(-next)
            }
        }

        for number in 0..<100 {
            broadcast.send(number)
            for _ in 0..<Int.random(in: 0..<4, using: &random) { executor.runOne() }
            if number == 50 { tasks[Int(seed) % 5].cancel() }
        }
        broadcast.finish()
        executor.runUntilIdle()

        for (index, recorder) in counted.enumerated() where index != Int(seed) % 5 {
            #expect(recorder.values.last == -100)
        }
        #expect(broadcast.subscriberCount == 0)
    }
}
