import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `Broadcast: sharing a sequence` {
    struct Unplugged: Error {}

    /// Counts up to a number, and then fails if requested; not `Sendable`.
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
    func `each subscriber gets all elements of the sequence, and its end or error`(fails: Bool) async {
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
    func `cancelling the task that shares ends the sequence and the broadcast`() {
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
        #expect(broadcast.send(1) == .finished)
    }

    @Test
    func `where any error may be thrown, a sequence that was cancelled does not look complete`() async {
        let broadcast = Broadcast<Int, any Error>()
        let (stream, _) = AsyncThrowingStream<Int, any Error>.makeStream()
        let subscription = broadcast.subscribe()
        let sharing = Task { await broadcast.run(sharing: stream) }

        sharing.cancel()
        await sharing.value

        await #expect(throws: CancellationError.self) { for try await _ in subscription {} }
    }

    @Test
    func `sharing returns once the broadcast is finished by another task`() async {
        let broadcast = Broadcast<Int, Unplugged>()
        let counter = Counter(to: 10)
        broadcast.finish()

        await broadcast.run(sharing: counter)

        #expect(counter.count == 1)
    }

    // MARK: Isolation

    @Test @MainActor
    func `subscribers and sharing tasks stay on the actor from which they do it`() async throws {
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
    func `an actor that waits for elements gets them on itself, without an error to catch`() async {
        let broadcast = Broadcast<Int, Never>()
        let screen = Screen()
        async let showing: Void = screen.show(broadcast.subscribeUnbounded())
        broadcast.send(1)
        broadcast.finish()
        await showing
        // Whether the subscription or the element came first is open; nothing else is.
        #expect(await screen.shown.allSatisfy { $0 == 1 })
    }
}
