import SluiceLock
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a broadcast` {
    typealias Machine = BroadcastStateMachine<Int, NaiveBroadcast.Failure, String>

    /// The machine and the model. Both get the same steps and must agree after each one.
    struct Pair {
        var machine: Machine
        var model: NaiveBroadcast
        var places: [Int: Int] = [:]
        var number = 0

        init(replay: Int, room: Int) {
            machine = Machine(replay: replay)
            machine.log.room = room
            model = NaiveBroadcast(replay: replay)
        }

        enum Step: Hashable {
            case subscribe(Int, NaiveBroadcast.Buffering)
            case drop(Int)
            case next(Int)
            case send
            case finish
            case fail
        }

        func isPossible(_ step: Step) -> Bool {
            switch step {
            case .subscribe(let name, _): places[name] == nil
            case .drop(let name), .next(let name): places[name] != nil
            case .send: true
            case .finish, .fail: model.end == nil
            }
        }

        /// Returns what they disagree on, or `nil`.
        mutating func take(_ step: Step) -> String? {
            switch step {
            case .subscribe(let name, let buffering):
                places[name] = machine.subscribe(buffering)
                model.subscribe(name, buffering)
            case .drop(let name):
                _ = machine.unsubscribe(places.removeValue(forKey: name)!)
                model.subscribers[name] = nil
            case .next(let name):
                let (got, expected) = (next(name), model.next(name))
                if got != expected { return "\(name) got \(got), not \(expected)" }
            case .send:
                number += 1
                _ = machine.send(number)
                model.send(number)
            case .finish:
                _ = machine.finish(.finished)
                model.end = .success(())
            case .fail:
                _ = machine.finish(.failed(.init()))
                model.end = .failure(.init())
            }
            return brokenInvariant()
        }

        /// Returns what a subscriber gets. If it must wait, it gives up immediately.
        private mutating func next(_ name: Int) -> NaiveBroadcast.Next {
            switch machine.next(places[name]!) {
            case .deliver(let delivery, _): return .delivery(delivery)
            case .finished: return .finished
            case .failed: return .failed
            case .suspend(let ticket):
                _ = machine.cancel(ticket)
                _ = machine.suspend(ticket, "")
                return .wait
            }
        }

        private func brokenInvariant() -> String? {
            let log = machine.log
            let cursors = machine.entries.compactMap(\.subscriber?.cursor)
            if machine.subscriberCount != places.count { return "\(machine.subscriberCount) subscribers" }
            if machine.line.slotCount != 0 { return "a trace of a wait" }
            for (index, slot) in log.slots.enumerated()
            where slot.cursors != cursors.count(where: { $0 == log.start + index }) {
                return "\(slot.cursors) cursors at \(log.start + index) of \(cursors)"
            }
            if log.cursorsAtEnd != cursors.count(where: { $0 == log.end }) { return "cursors at the end" }
            let needed = max(min(log.replay, model.sent.count), log.end - (cursors.min() ?? log.end))
            if log.slots.count != needed { return "\(log.slots.count) elements are kept, \(needed) needed" }
            return nil
        }
    }

    static let bufferings: [NaiveBroadcast.Buffering] = [.newest(1), .newest(2), .oldest(1), .oldest(2), .unbounded]

    /// Tries all orders of six more steps of two subscribers and a sender, after the first subscription.
    @Test(.timeLimit(.minutes(15)), arguments: bufferings, [0, 2])
    func `every order of six steps matches the naive model`(buffering: NaiveBroadcast.Buffering, replay: Int) async {
        let steps: [Pair.Step] = [
            .subscribe(1, buffering), .subscribe(2, .oldest(1)), .send, .next(1), .next(2), .drop(1), .fail,
        ]
        // With room for two, the log often checks for subscribers that lag.
        let found = await offPool {
            var pair = Pair(replay: replay, room: 2)
            _ = pair.take(.subscribe(1, buffering))
            return Self.explore(pair, steps, left: 6)
        }

        #expect(found.problem == nil)
        #expect(found.count > 5_000)
    }

    /// Returns the first problem that an order of steps leads to, or the number of orders.
    private static func explore(_ pair: Pair, _ steps: [Pair.Step], left: Int) -> (problem: String?, count: Int) {
        if left == 0 { return (nil, 1) }
        var count = 0
        for step in steps where pair.isPossible(step) {
            var pair = pair
            if let problem = pair.take(step) { return ("\(step): \(problem)", count) }
            let found = explore(pair, steps, left: left - 1)
            count += found.count
            if let problem = found.problem { return ("\(step), \(problem)", count) }
        }
        return (nil, count)
    }

    @Test(arguments: 1...30)
    func `random steps match the naive model`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let bounds = seed.isMultiple(of: 2) ? 1...4 : 1...150
        var pair = Pair(replay: Int.random(in: 0...5, using: &random), room: seed.isMultiple(of: 3) ? 4 : 64)
        var taken: [Pair.Step] = []

        for _ in 0..<1_000 {
            let name = Int.random(in: 0..<4, using: &random)
            let bound = Int.random(in: bounds, using: &random)
            let step: Pair.Step =
                switch Int.random(in: 0..<200, using: &random) {
                case 0..<5:
                    .subscribe(name, [.newest(bound), .oldest(bound), .unbounded].randomElement(using: &random)!)
                case 5..<8: .drop(name)
                case 8..<110: .next(name)
                case 199 where taken.count > 800: [.finish, .fail].randomElement(using: &random)!
                default: .send
                }
            guard pair.isPossible(step) else { continue }
            taken.append(step)
            if let problem = pair.take(step) {
                Issue.record("seed \(seed), step \(taken.count), \(step): \(problem)")
                return
            }
        }
    }

    // MARK: Waiting

    @Test
    func `an element wakes the waiting tasks in order, and those about to suspend`() throws {
        var machine = Machine(replay: 0)
        let places = (0..<3).map { _ in machine.subscribe(.unbounded) }
        let tickets = try places.map { try #require(wait($0, &machine)) }
        #expect(machine.suspend(tickets[0], "first") == nil)
        #expect(machine.suspend(tickets[2], "third") == nil)

        #expect(woken(machine.send(1)) == ["first", "third"])

        #expect(machine.suspend(tickets[1], "second") == .lookAgain)
        #expect(machine.line.slotCount == 0)
        for place in places { #expect(delivery(place, &machine) == .value(1)) }
    }

    @Test
    func `the end wakes the waiting tasks, and is reported only once`() throws {
        var machine = Machine(replay: 0)
        let place = machine.subscribe(.unbounded)
        let ticket = try #require(wait(place, &machine))
        #expect(machine.suspend(ticket, "waiter") == nil)

        #expect(machine.finish(.failed(.init())) == ["waiter"])
        #expect(machine.finish(.finished) == [])

        guard case .failed = machine.next(place), case .finished = machine.next(place) else {
            Issue.record("The error, and then the end, should have come.")
            return
        }
        #expect(woken(machine.send(1)) == nil)
    }

    @Test
    func `a subscriber cancelled before or after it suspends leaves no trace and misses nothing`() throws {
        var machine = Machine(replay: 0)
        let place = machine.subscribe(.newest(1))
        let early = try #require(wait(place, &machine))
        #expect(machine.cancel(early) == nil)
        #expect(machine.suspend(early, "early") == .cancelled)
        let late = try #require(wait(place, &machine))
        #expect(machine.suspend(late, "late") == nil)
        #expect(machine.cancel(late) == "late")
        #expect(machine.cancel(late) == nil)

        #expect(woken(machine.send(1)) == [])

        #expect(machine.line.slotCount == 0)
        #expect(delivery(place, &machine) == .value(1))
    }

    // MARK: Memory

    @Test
    func `a slow bounded subscriber doesn't keep the log alive, whichever elements it keeps`() {
        for buffering in [NaiveBroadcast.Buffering.newest(100), .oldest(100)] {
            var machine = Machine(replay: 3)
            let slow = machine.subscribe(buffering)
            let quick = machine.subscribe(.newest(1))
            var most = 0

            for number in 1...5_000 {
                _ = machine.send(number)
                _ = delivery(quick, &machine)
                most = max(most, machine.log.slots.count)
            }

            #expect(most <= 256)
            #expect(delivery(slow, &machine) == (buffering == .newest(100) ? .missed(4_900) : .value(1)))
        }
    }

    @Test
    func `a log that was long releases its memory`() {
        var machine = Machine(replay: 0)
        let slow = machine.subscribe(.unbounded)
        for number in 0..<50_000 { _ = machine.send(number) }
        #expect(machine.log.room >= 50_000)

        let received = (0..<50_000).map { _ in delivery(slow, &machine) }

        #expect(received == (0..<50_000).map { .value($0) })
        #expect(machine.log.slots.isEmpty)
        #expect(machine.log.room == 64)
    }

    @Test
    func `one hundred thousand subscriptions leave no trace`() {
        var machine = Machine(replay: 1)
        let first = machine.subscribe(.unbounded)

        for number in 0..<100_000 {
            let place = machine.subscribe(.oldest(1))
            _ = machine.send(number)
            _ = delivery(first, &machine)
            _ = machine.unsubscribe(place)
        }
        #expect(machine.entries.count == 2)
        _ = machine.unsubscribe(first)

        #expect(machine.entries.count == 0)
        #expect(machine.log.slots.count == 1)
        #expect(machine.subscriberCount == 0)
    }

    /// Returns the woken subscribers, or `nil` if the element was refused.
    private func woken(_ action: Machine.SendAction) -> [String]? {
        if case .resume(let waiters, _) = action { waiters } else { nil }
    }

    private func wait(_ place: Int, _ machine: inout Machine) -> Machine.Line.Ticket? {
        if case .suspend(let ticket) = machine.next(place) { ticket } else { nil }
    }

    private func delivery(_ place: Int, _ machine: inout Machine) -> NaiveBroadcast.Delivery? {
        if case .deliver(let delivery, _) = machine.next(place) { delivery } else { nil }
    }
}

// MARK: - The naive broadcast

/// A model of a broadcast, as simple as possible: each subscriber has a separate list.
struct NaiveBroadcast {
    typealias Buffering = Broadcast<Int, Failure>.Buffering
    typealias Delivery = Broadcast<Int, Failure>.Delivery

    struct Failure: Error, Hashable {}

    enum Next: Equatable {
        case delivery(Delivery)
        case finished
        case failed
        case wait
    }

    struct Subscriber {
        let buffering: Buffering
        var waiting: [Delivery] = []
        var isTold = false

        private var values: Int { waiting.count { if case .value = $0 { true } else { false } } }

        init(_ buffering: Buffering, replayed: ArraySlice<Int>) {
            self.buffering = buffering
            for element in replayed { receive(element) }
        }

        mutating func receive(_ element: Int) {
            switch buffering {
            case .unbounded:
                waiting.append(.value(element))
            case .oldest(let bound):
                if values < bound { waiting.append(.value(element)) } else { miss(at: waiting.endIndex) }
            case .newest(let bound):
                waiting.append(.value(element))
                if values > bound { miss(at: waiting.firstIndex { if case .value = $0 { true } else { false } }!) }
            }
        }

        /// Records that one element is missing at an index. If a value is there, it's the missing one.
        private mutating func miss(at index: Int) {
            if index < waiting.endIndex { waiting.remove(at: index) }
            if index > 0, case .missed(let count) = waiting[index - 1] {
                waiting[index - 1] = .missed(count + 1)
            } else {
                waiting.insert(.missed(1), at: index)
            }
        }
    }

    let replay: Int
    var sent: [Int] = []
    var subscribers: [Int: Subscriber] = [:]
    var end: Result<Void, Failure>?

    init(replay: Int) {
        self.replay = replay
    }

    mutating func subscribe(_ name: Int, _ buffering: Buffering) {
        subscribers[name] = Subscriber(buffering, replayed: sent.suffix(replay))
    }

    mutating func send(_ element: Int) {
        guard end == nil else { return }
        sent.append(element)
        for name in subscribers.keys { subscribers[name]?.receive(element) }
    }

    mutating func next(_ name: Int) -> Next {
        if subscribers[name]?.waiting.isEmpty == false { return .delivery(subscribers[name]!.waiting.removeFirst()) }
        switch end {
        case nil: return .wait
        case .success: return .finished
        case .failure:
            defer { subscribers[name]?.isTold = true }
            return subscribers[name]!.isTold ? .finished : .failed
        }
    }
}

// MARK: - Memory

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
    func `an element is released when the last subscriber has received it`() async {
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
    func `missed elements, oldest or newest, aren't destroyed under the lock`() async {
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
    func `a subscriber's remaining elements are released with it, outside the lock`() {
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
    func `a broadcast and its subscriptions release their elements when both are gone`() {
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
    func `many subscriptions, some cancelled while waiting, leave no trace`() {
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
