import Observation
import SluiceConcurrency
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) @MainActor struct `Observed expressions` {
    @Observable @MainActor final class Player {
        var title = "none"
        var position = 0
        var volume = 5
    }

    /// A counter whose setter takes effect long after the change was reported, so that the test can act in between.
    @MainActor final class SlowCounter: Observable {
        private let registrar = ObservationRegistrar()
        private var stored = 0

        var count: Int {
            registrar.access(self, keyPath: \.count)
            return stored
        }

        func set(_ count: Int, before change: () -> Void) {
            registrar.withMutation(of: self, keyPath: \.count) {
                change()
                stored = count
            }
        }
    }

    @Test func `the first value comes immediately, and the next after a change`() async {
        let player = Player()
        var iterator = observed { "\(player.title) \(player.position)" }.makeAsyncIterator()
        var received = [await iterator.next()]

        player.title = "Fly"
        received.append(await iterator.next())
        player.position = 3
        received.append(await iterator.next())

        #expect(received == ["none 0", "Fly 0", "Fly 3"])
    }

    @Test func `changes before the next element are combined, and others aren't tracked`() async {
        let player = Player()
        var iterator = observed { player.position }.makeAsyncIterator()
        _ = await iterator.next()

        for position in 1...3 { player.position = position }
        player.volume = 0
        let combined = await iterator.next()
        player.volume = 1
        player.position = 4

        #expect(combined == 3)
        #expect(await iterator.next() == 4)
    }

    @Test func `a waiting loop gets the value after the change, even though it's notified before`() async {
        let counter = SlowCounter()
        let (isWaiting, waits) = Condition.makeCondition()
        let received = Recorder<Int>()
        let loop = Task { @MainActor in
            for await count in observed({ counter.count }) {
                received.note(count)
                if count == 2 { return }
                waits.signal()
            }
        }
        await isWaiting.wait()

        counter.set(1) {
            // The loop was notified, and can't run before the setter has finished.
            #expect(received.values == [0])
        }
        counter.set(2) {}
        await loop.value

        #expect(received.values.last == 2)
        #expect(!received.values.contains(1), "the changes are combined")
    }

    @Test func `no change is lost by a loop that runs between the changes`() async {
        let player = Player()
        let last = Task { @MainActor in
            var last = -1
            for await position in observed({ player.position }) {
                #expect(position >= last)
                last = position
                if position == 1_000 { break }
            }
            return last
        }
        for position in 1...1_000 {
            player.position = position
            if position % 3 == 0 { await Task.yield() }
        }

        #expect(await last.value == 1_000)
    }

    /// Compared with the standard library's `Observations`, where available.
    @Test func `a loop reaches the same value as Observations`() async {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let player = Player()
        let ours = Task { @MainActor in
            for await position in observed({ player.position }) where position == 100 { return true }
            return false
        }
        let theirs = Task { @MainActor in
            for await position in Observations({ player.position }) where position == 100 { return true }
            return false
        }
        for position in 1...100 {
            player.position = position
            await Task.yield()
        }

        #expect(await ours.value)
        #expect(await theirs.value)
    }

    @Test func `a cancelled loop ends`() async {
        let player = Player()
        let (isWaiting, waits) = Condition.makeCondition()
        let loop = Task { @MainActor in
            for await _ in observed({ player.position }) { waits.signal() }
            return Task.isCancelled
        }
        await isWaiting.wait()

        loop.cancel()

        #expect(await loop.value)
    }

    @Test func `an expression that reads nothing observable has one value`() async {
        var iterator = observed { 7 }.makeAsyncIterator()

        #expect(await iterator.next() == 7)
        #expect(await iterator.next() == nil)
    }

    @Test func `the loop ends when the last object is destroyed`() async {
        var player: Player? = Player()
        var iterator = observed { [weak player] in player?.position }.makeAsyncIterator()
        let first = await iterator.next()
        player = nil

        #expect(first == 0)
        #expect(await iterator.next() == nil)
    }
}
