import SluiceLock
import Testing
import TestSupport

@testable import SluiceConcurrency

@Suite struct `Broadcast: what it holds` {
    /// An element with a deinitializer that uses its broadcast: it deadlocks or traps under the lock.
    final class Meddler: Sendable {
        let broadcast: Broadcast<Meddler, Never>
        let ended: Recorder<Int>
        let number: Int

        init(_ number: Int, _ broadcast: Broadcast<Meddler, Never>, _ ended: Recorder<Int>) {
            (self.number, self.broadcast, self.ended) = (number, broadcast, ended)
        }

        deinit {
            _ = broadcast.subscriberCount
            ended.note(number)
        }
    }

    let ended = Recorder<Int>()

    private func send(_ numbers: ClosedRange<Int>, to broadcast: Broadcast<Meddler, Never>) {
        for number in numbers { broadcast.send(Meddler(number, broadcast, ended)) }
    }

    private func take(_ count: Int, _ subscription: Broadcast<Meddler, Never>.Subscription) async {
        var iterator = subscription.makeAsyncIterator()
        for _ in 0..<count { _ = await iterator.next() }
    }

    @Test
    func `an element is let go when the last subscriber has got it`() async {
        let broadcast = Broadcast<Meddler, Never>()
        send(0...0, to: broadcast)
        #expect(ended.values == [0], "no task subscribes")
        let (first, second) = (broadcast.subscribe(), broadcast.subscribe())
        send(1...3, to: broadcast)

        await take(2, first)
        #expect(ended.values == [0])
        await take(1, second)
        #expect(ended.values == [0, 1])
        await take(2, second)
        #expect(ended.values == [0, 1, 2])
        await take(1, first)

        #expect(ended.values == [0, 1, 2, 3])
    }

    @Test
    func `replayed elements are released when newer ones replace them`() async {
        let broadcast = Broadcast<Meddler, Never>(replay: 2)

        send(1...4, to: broadcast)
        #expect(ended.values == [1, 2])
        let subscription = broadcast.subscribe()
        send(5...6, to: broadcast)
        #expect(ended.values == [1, 2])
        await take(4, subscription)

        #expect(ended.values == [1, 2, 3, 4])
    }

    @Test
    func `elements that are missed, of either kind, are not destroyed under the lock`() async {
        for buffering in [Broadcast<Meddler, Never>.Buffering.newest(2), .oldest(2)] {
            ended.forget()
            let broadcast = Broadcast<Meddler, Never>()
            let slow = broadcast.subscribe(buffering: buffering)

            send(1...200, to: broadcast)
            #expect(ended.values.count >= 200 - 64, "elements that no subscriber can get are not kept for long")
            await take(3, slow)

            #expect(ended.values.sorted() == Array(1...200))
        }
    }

    @Test
    func `the remaining elements of a subscriber are released with it, outside the lock`() {
        for buffering in [Broadcast<Meddler, Never>.Buffering.unbounded, .oldest(3)] {
            ended.forget()
            let broadcast = Broadcast<Meddler, Never>()
            var subscription: Broadcast<Meddler, Never>.Subscription? = broadcast.subscribe(buffering: buffering)
            send(1...100, to: broadcast)
            #expect(subscription != nil)

            subscription = nil

            #expect(ended.values.sorted() == Array(1...100))
            #expect(broadcast.subscriberCount == 0)
        }
    }

    @Test
    func `a broadcast and its subscriptions hold nothing of each other when both are gone`() {
        final class Probe: Sendable {}
        weak var element: Probe?
        do {
            let broadcast = Broadcast<Probe, Never>(replay: 1)
            let subscription = broadcast.subscribe()
            let probe = Probe()
            element = probe
            broadcast.send(probe)
            withExtendedLifetime(subscription) {}
        }

        #expect(element == nil)
    }

    @Test
    func `one hundred thousand subscriptions, and ten thousand that waited and were cancelled, are all forgotten`() {
        let executor = ManualExecutor()
        let broadcast = Broadcast<Int, Never>()
        for number in 0..<100_000 {
            let subscription = broadcast.subscribe()
            broadcast.send(number)
            withExtendedLifetime(subscription) {}
        }
        for _ in 0..<100 {
            let tasks = (0..<100).map { _ in
                executor.spawn { for await _ in broadcast.subscribe() {} }
            }
            executor.runUntilIdle()
            for task in tasks { task.cancel() }
            executor.runUntilIdle()
        }

        #expect(broadcast.subscriberCount == 0)
        #expect(broadcast.storage.machine.withLock { $0.line.slotCount + $0.entries.count + $0.log.slots.count } == 0)
    }
}
