import Observation
import SluiceConcurrency
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) @MainActor struct `The latest value` {
    struct Unplugged: Error {}

    /// A sequence of elements that the test sends. Neither the sequence nor its elements are `Sendable`.
    final class Sequence: AsyncSequence, AsyncIteratorProtocol {
        final class Element {
            let number: Int
            init(_ number: Int) { self.number = number }
        }

        var steps: [() async throws -> Element?]

        init(_ steps: [() async throws -> Element?]) {
            self.steps = steps
        }

        func makeAsyncIterator() -> Sequence { self }

        func next() async throws -> Element? { try await next(isolation: #isolation) }

        func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            steps.isEmpty ? nil : try await steps.removeFirst()()
        }
    }

    @Test func `the value follows the sequence, on the main actor`() async {
        let latest = Latest(Sequence.Element(0))
        var seen: [Int] = []
        var steps: [() async throws -> Sequence.Element?] = []
        for number in 1...3 {
            steps.append {
                MainActor.preconditionIsolated("The sequence must be iterated on the main actor.")
                seen.append(latest.value.number)
                #expect(latest.isFollowing)
                return Sequence.Element(number)
            }
        }

        await latest.follow(Sequence(steps))

        #expect(seen == [0, 1, 2])
        #expect(latest.value.number == 3)
        #expect(latest.failure == nil && !latest.isFollowing)
    }

    @Test func `observers are notified when the value changes`() async {
        let (elements, continuation) = AsyncStream<Int>.makeStream()
        let latest = Latest(0)
        let changes = AsyncStream<Void>.makeStream()
        withObservationTracking {
            _ = latest.value
        } onChange: {
            changes.continuation.yield()
        }
        let following = Task { await latest.follow(elements) }

        continuation.yield(1)
        for await _ in changes.stream { break }
        continuation.finish()
        await following.value

        #expect(latest.value == 1)
    }

    @Test func `observers are notified of a failure and of the end of the sequence`() async {
        let latest = Latest(Sequence.Element(0))
        let told = Recorder<String>()
        withObservationTracking {
            _ = latest.failure
        } onChange: {
            told.note("failure")
        }
        await latest.follow(Sequence([{ throw Unplugged() }]))
        #expect(told.values == ["failure"])
        withObservationTracking {
            _ = latest.isFollowing
        } onChange: {
            told.note("following")
        }
        await latest.follow(Sequence([]))
        #expect(told.values == ["failure", "following"])
    }

    @Test func `an error becomes the failure, the value stays, and a new sequence clears the failure`() async {
        let latest = Latest(Sequence.Element(0))

        await latest.follow(Sequence([{ Sequence.Element(1) }, { throw Unplugged() }]))
        #expect(latest.failure is Unplugged)
        #expect(latest.value.number == 1)

        await latest.follow(Sequence([{ Sequence.Element(2) }]))
        #expect(latest.failure == nil)
        #expect(latest.value.number == 2)
    }

    @Test func `cancelling the task ends the iteration without a failure`() async {
        let (elements, continuation) = AsyncStream<Int>.makeStream()
        let ended = Gate()
        continuation.onTermination = { _ in Task { await ended.open() } }
        let latest = Latest(0)
        let following = Task { await latest.follow(elements) }

        following.cancel()
        await following.value
        await ended.pass()

        #expect(latest.value == 0)
        #expect(latest.failure == nil && !latest.isFollowing)
    }

    @Test func `elements and errors after cancellation are ignored`() async {
        let latest = Latest(Sequence.Element(0))
        for last in [{ Sequence.Element(2) }, { throw CancellationError() }] as [() throws -> Sequence.Element] {
            let following = Task {
                await latest.follow(
                    Sequence([
                        { Sequence.Element(1) },
                        {
                            withUnsafeCurrentTask { $0?.cancel() }
                            return try last()
                        },
                    ]))
            }
            await following.value
            #expect(latest.value.number == 1)
            #expect(latest.failure == nil)
        }
    }

    @Test func `a later call takes over`() async {
        let latest = Latest(Sequence.Element(0))
        let inner = Sequence([{ Sequence.Element(10) }])
        let outer = Sequence([
            {
                await latest.follow(inner)
                return Sequence.Element(1)
            }, { throw Unplugged() },
        ])

        await latest.follow(outer)

        #expect(latest.value.number == 10)
        #expect(latest.failure == nil && !latest.isFollowing)
    }

    @Test func `an object that owns its iteration shows the elements and the error`() async {
        let (elements, continuation) = AsyncThrowingStream<Int, any Error>.makeStream()
        let latest = Latest(0, following: elements)
        #expect(latest.isFollowing)

        continuation.yield(1)
        await change { _ = latest.value }
        #expect(latest.value == 1)

        continuation.finish(throwing: Unplugged())
        await change { _ = latest.failure }
        #expect(latest.failure is Unplugged)
        #expect(latest.value == 1 && !latest.isFollowing)
    }

    @Test func `releasing the object ends the iteration that it owns`() async {
        let (elements, continuation) = AsyncStream<Int>.makeStream()
        let ended = Gate()
        continuation.onTermination = { _ in Task { await ended.open() } }
        var latest: Latest<Int>? = Latest(0, following: elements)
        continuation.yield(1)
        await change { _ = latest?.value }
        weak let released = latest

        latest = nil

        await ended.pass()
        #expect(released == nil)
    }

    @Test func `a call replaces the iteration that the object owns`() async {
        let (elements, continuation) = AsyncStream<Int>.makeStream()
        let ended = Gate()
        continuation.onTermination = { _ in Task { await ended.open() } }
        let latest = Latest(Sequence.Element(0), following: elements.map { Sequence.Element($0) })

        await latest.follow(Sequence([{ Sequence.Element(2) }]))
        await ended.pass()

        #expect(latest.value.number == 2)
        #expect(latest.failure == nil && !latest.isFollowing)
    }

    /// Waits until a property that `read` reads has changed. Observation reports a change before it happens, but on the main actor, so this
    /// test continues after it.
    private func change(of read: () -> Void) async {
        let changes = AsyncStream<Void>.makeStream()
        withObservationTracking(read) { changes.continuation.yield() }
        for await _ in changes.stream { break }
    }
}
