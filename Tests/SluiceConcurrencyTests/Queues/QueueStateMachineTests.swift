import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a queue` {
    typealias Machine = QueueStateMachine<FIFOBuffer<Int>, String, String, String>

    var machine = Machine()
    var bounded = Machine(capacity: 1)

    @Test
    mutating func `an element goes to the consumer that has waited longest`() throws {
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(consumer: first, "first") == nil)
        #expect(machine.suspend(consumer: second, "second") == nil)

        #expect(resumed(machine.offer(1, canSuspend: false)) == "first")
        #expect(resumed(machine.offer(2, canSuspend: false)) == "second")
        #expect(resumed(machine.offer(3, canSuspend: false)) == nil)

        #expect(machine.buffer.items == [3])
    }

    @Test
    mutating func `an element that arrives before the consumer suspends is kept for it`() throws {
        let ticket = try #require(wait())

        #expect(resumed(machine.offer(1, canSuspend: false)) == nil)
        #expect(machine.withdraw(consumer: ticket, .cancelled) == nil)

        #expect(machine.tryNext() == nil)
        #expect(machine.suspend(consumer: ticket, "consumer") == .element(1))
    }

    @Test
    mutating func `a consumer cancelled before it suspends takes no element`() throws {
        let ticket = try #require(wait())

        #expect(machine.withdraw(consumer: ticket, .cancelled) == nil)
        #expect(resumed(machine.offer(1, canSuspend: false)) == nil)

        #expect(machine.suspend(consumer: ticket, "consumer") == .cancelled)
        #expect(machine.buffer.items == [1])
    }

    @Test
    mutating func `finishing ends waiting consumers, suspended or not, and refuses elements`() throws {
        let first = try #require(wait())
        let second = try #require(wait())
        #expect(machine.suspend(consumer: first, "first") == nil)

        machine.finish()
        #expect(machine.takeOutbox().consumers == ["first"])
        machine.finish()
        #expect(!machine.hasDeferredActions)

        #expect(machine.suspend(consumer: second, "second") == .finished)
        guard case .done(.finished(1)) = machine.offer(1, canSuspend: true) else {
            Issue.record("A finished queue took an element.")
            return
        }
    }

    @Test
    mutating func `finishing ends waiting producers, suspended or not, and returns their offers`() throws {
        _ = bounded.offer(0, canSuspend: true)
        let first = try #require(offer(1))
        let second = try #require(offer(2))
        #expect(bounded.suspend(producer: first, "first") == nil)

        bounded.finish()
        let mail = bounded.takeOutbox()

        #expect(mail.producers.map(\.producer) == ["first"])
        #expect(mail.producers.map(\.outcome) == [.finished])
        #expect(mail.retired == [1, 2], "nothing is destroyed under the lock")
        #expect(bounded.suspend(producer: second, "second") == .finished)
        #expect(bounded.tryNext() == 0)
        #expect(bounded.tryNext() == nil)
    }

    @Test
    mutating func `a producer cancelled before it suspends adds nothing`() throws {
        _ = bounded.offer(0, canSuspend: true)
        let ticket = try #require(offer(1))

        bounded.withdraw(producer: ticket, .cancelled)
        #expect(bounded.tryNext() == 0)

        #expect(bounded.suspend(producer: ticket, "producer") == .cancelled)
        #expect(bounded.tryNext() == nil)
        #expect(bounded.takeOutbox().retired == [1])
    }

    @Test
    mutating func `a producer admitted before it suspends can't be cancelled anymore`() throws {
        _ = bounded.offer(0, canSuspend: true)
        let ticket = try #require(offer(1))

        #expect(bounded.tryNext() == 0)
        bounded.withdraw(producer: ticket, .cancelled)

        #expect(bounded.suspend(producer: ticket, "producer") == .enqueued)
        #expect(bounded.tryNext() == 1)
    }

    @Test
    mutating func `one hundred thousand cancelled consumers and producers leave no trace`() {
        let consumers = (0..<100_000).compactMap { _ in wait() }
        for ticket in consumers {
            _ = machine.suspend(consumer: ticket, "consumer")
            _ = machine.withdraw(consumer: ticket, .cancelled)
        }
        _ = bounded.offer(0, canSuspend: true)
        let producers = (0..<100_000).compactMap { offer($0) }
        for ticket in producers {
            _ = bounded.suspend(producer: ticket, "producer")
            bounded.withdraw(producer: ticket, .cancelled)
            _ = bounded.takeOutbox()
        }

        #expect(consumers.count == 100_000 && producers.count == 100_000)
        #expect(machine.consumers.isEmpty)
        #expect(machine.consumers.slotCount == 0)
        #expect(bounded.producers.isEmpty)
        #expect(bounded.producers.line.slotCount == 0)
        #expect(bounded.producers.offers.capacity <= 64)
        #expect(!bounded.hasDeferredActions)
    }

    @Test
    mutating func `an observer that isn't waiting isn't stored, and a cancelled one is forgotten`() throws {
        guard case .see(_, let version) = machine.look(after: nil) else {
            Issue.record("The first look waits.")
            return
        }
        #expect(machine.observers.slotCount == 0)
        guard case .suspend(let ticket) = machine.look(after: version) else {
            Issue.record("It sees what it saw.")
            return
        }

        #expect(machine.suspend(observer: ticket, "observer") == nil)
        #expect(machine.withdraw(observer: ticket) == "observer")

        #expect(machine.observers.slotCount == 0)
        _ = machine.offer(1, canSuspend: false)
        #expect(!machine.hasDeferredActions)
    }

    private mutating func wait() -> Machine.Consumers.Ticket? {
        if case .suspend(let ticket) = machine.next() { ticket } else { nil }
    }

    private mutating func offer(_ number: Int) -> Machine.Producers.Line.Ticket? {
        if case .suspend(let ticket) = bounded.offer(number, canSuspend: true) { ticket } else { nil }
    }

    private func resumed(_ action: Machine.OfferAction) -> String? {
        if case .resume(let consumer) = action { consumer } else { nil }
    }
}

// MARK: - Interleavings

@Suite struct `Every interleaving of a queue` {
    @Test(arguments: QueueKind.all)
    func `every sequence of four steps matches a naive queue`(kind: QueueKind) {
        #expect(kind.plainDriver().explore(4) > 1_000)
    }

    @Test
    func `every sequence of five steps on a queue of capacity 1 matches a naive queue`() {
        #expect(QueueKind(capacity: 1, policy: .suspend).plainDriver().explore(5) > 20_000)
    }

    @Test(arguments: QueueKind.all)
    func `long random histories match a naive queue`(kind: QueueKind) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var driver = kind.plainDriver()
            for operation in QueueDriver<FIFOBuffer<Int>>.Operation.history(of: 1_000, using: &random) {
                _ = driver.perform(operation)
            }
            _ = driver.perform(.finish)
            for _ in 0..<100 { _ = driver.perform(.suspendProducer) && driver.perform(.suspendConsumer) }
        }
    }
}

@Suite struct `Every interleaving of a priority queue` {
    /// All kinds except dropOldest: a heap doesn't know its oldest element.
    static let kinds = QueueKind.all.filter { $0.policy != .dropOldest }

    @Test(arguments: kinds)
    func `every sequence of four steps matches a naive queue`(kind: QueueKind) {
        #expect(kind.priorityDriver().explore(4) > 1_000)
    }

    @Test(arguments: kinds)
    func `long random histories match a naive queue`(kind: QueueKind) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var driver = kind.priorityDriver()
            for operation in QueueDriver<PriorityBuffer<Int, Int>>.Operation.history(of: 1_000, using: &random) {
                _ = driver.perform(operation)
            }
        }
    }
}

// MARK: - The driver

/// Performs the same operations on a queue's state machine and on a naive queue, and expects the same results.
struct QueueDriver<Buffer: QueueBuffer> where Buffer.Element == Int {
    typealias Machine = QueueStateMachine<Buffer, Int, Int, Int>

    enum Operation: CaseIterable {
        case enqueue, send, suspendProducer, cancelFirstProducer, cancelLastProducer
        case next, suspendConsumer, cancelFirstConsumer, cancelLastConsumer, tryNext
        case removeAll, removeEven, finish
    }

    private(set) var machine: Machine
    private(set) var model: NaiveQueue
    private let item: (Int) -> Buffer.Item

    /// The tasks that are in line, or were settled before they suspended.
    private var producers: [(name: Int, ticket: Machine.Producers.Line.Ticket, isSuspended: Bool)] = []
    private var consumers: [(name: Int, ticket: Machine.Consumers.Ticket, isSuspended: Bool)] = []
    private var names = 0
    private(set) var version: UInt64 = 0

    init(
        capacity: Int, policy: OverflowPolicy, key: (@Sendable (Int) -> Int)?,
        rank: @escaping (Int) -> Int = { _ in 0 },
        item: @escaping (Int) -> Buffer.Item
    ) {
        let keys: (any UniqueKeys<Buffer.Item>)? = key.map { key in KeySet { key(Buffer.element(of: $0)) } }
        machine = Machine(capacity: capacity, policy: policy, unique: keys)
        model = NaiveQueue(capacity: capacity, policy: policy, key: key, rank: rank)
        self.item = item
    }

    /// Performs an operation on both; returns false if it isn't possible now.
    mutating func perform(_ operation: Operation) -> Bool {
        let before = model.pending
        switch operation {
        case .enqueue: offer(canSuspend: false)
        case .send: offer(canSuspend: true)
        case .suspendProducer:
            guard let index = producers.firstIndex(where: { !$0.isSuspended }) else { return false }
            suspendProducer(index)
        case .cancelFirstProducer, .cancelLastProducer:
            guard let one = operation == .cancelFirstProducer ? producers.first : producers.last else { return false }
            model.withdraw(producer: one.name, .cancelled)
            machine.withdraw(producer: one.ticket, .cancelled)
        case .next: next()
        case .suspendConsumer:
            guard let index = consumers.firstIndex(where: { !$0.isSuspended }) else { return false }
            suspendConsumer(index)
        case .cancelFirstConsumer, .cancelLastConsumer:
            guard let one = operation == .cancelFirstConsumer ? consumers.first : consumers.last else { return false }
            model.withdraw(consumer: one.name)
            if let resumed = machine.withdraw(consumer: one.ticket, .cancelled) { consumed(resumed, .cancelled) }
        case .tryNext:
            check(machine.tryNext().map(Buffer.element) == model.tryNext())
        case .removeAll:
            check(Buffer.elements(of: machine.removeAll().items) == model.removeAll { _ in true })
        case .removeEven:
            let removed = machine.removeAll { $0.isMultiple(of: 2) }.removed
            check(Buffer.elements(of: removed) == model.removeAll { $0.isMultiple(of: 2) })
        case .finish:
            guard !model.isFinished else { return false }
            machine.finish()
            model.finish()
        }
        readMail()
        compare(before)
        return true
    }

    private mutating func offer(canSuspend: Bool) {
        names += 1
        let name = names
        let expected = model.offer(name, producer: canSuspend ? name : nil)
        switch machine.offer(item(name), canSuspend: canSuspend) {
        case .done(let result): check(plain(result) == expected)
        case .resume(let consumer):
            check(expected == .enqueued)
            consumed(consumer, .element(name))
        case .suspend(let ticket):
            check(expected == nil)
            producers.append((name, ticket, false))
        }
    }

    private mutating func suspendProducer(_ index: Int) {
        let (name, ticket, _) = producers[index]
        if let outcome = machine.suspend(producer: ticket, name) {
            check(outcome == model.sent[name])
            producers.remove(at: index)
        } else {
            check(model.sent[name] == nil)
            producers[index].isSuspended = true
        }
    }

    private mutating func next() {
        names += 1
        let expected = model.next(names)
        switch machine.next() {
        case .deliver(let delivery): check(plain(delivery) == expected)
        case .suspend(let ticket):
            check(expected == nil)
            consumers.append((names, ticket, false))
        }
    }

    private mutating func suspendConsumer(_ index: Int) {
        let (name, ticket, _) = consumers[index]
        if let delivery = machine.suspend(consumer: ticket, name) {
            check(plain(delivery) == model.delivered[name])
            consumers.remove(at: index)
        } else {
            check(model.delivered[name] == nil)
            consumers[index].isSuspended = true
        }
    }

    /// Called when a consumer is resumed. It must have been suspended and not resumed before, and the delivery must match the model.
    private mutating func consumed(_ name: Int, _ delivery: QueueDelivery<Int>) {
        check(delivery == model.delivered[name])
        let index = consumers.firstIndex { $0.name == name && $0.isSuspended }
        check(index != nil, "consumer \(name) does not wait")
        if let index { consumers.remove(at: index) }
    }

    private mutating func readMail() {
        guard machine.hasDeferredActions else { return }
        let mail = machine.takeOutbox()
        for name in mail.consumers { consumed(name, .finished) }
        for (name, outcome) in mail.producers {
            check(outcome == model.sent[name])
            let index = producers.firstIndex { $0.name == name && $0.isSuspended }
            check(index != nil, "producer \(name) does not wait")
            if let index { producers.remove(at: index) }
        }
    }

    private mutating func compare(_ before: [Int]) {
        check(Buffer.elements(of: machine.buffer.items) == model.pending)
        check(machine.producers.count == model.offers.count)
        check(machine.producers.offers.count { $0 != nil } == model.offers.count, "an offer without a producer is kept")
        check(machine.consumers.count == model.consumers.count)
        check(machine.isFinished == model.isFinished)
        check(!machine.hasDeferredActions)
        check(machine.buffer.count <= machine.capacity)
        if let keys = machine.unique { check(keys.count == machine.buffer.count) }
        if before != model.pending { check(machine.version != version, "an observer would miss a change") }
        version = machine.version
        if producers.isEmpty { check(machine.producers.line.slotCount == 0 && machine.producers.offers.isEmpty) }
        if consumers.isEmpty { check(machine.consumers.slotCount == 0) }
    }

    /// An `#expect` that costs nothing if it succeeds, because there are millions.
    private func check(_ claim: Bool, _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation) {
        if !claim { Issue.record(comment ?? "It disagrees with the naive queue.", sourceLocation: location) }
    }

    private func plain(_ result: SendResult<Buffer.Item>) -> SendResult<Int> {
        switch result {
        case .enqueued: .enqueued
        case .enqueuedDropping(let item): .enqueuedDropping(Buffer.element(of: item))
        case .dropped(let item): .dropped(Buffer.element(of: item))
        case .full(let item): .full(Buffer.element(of: item))
        case .alreadyPending: .alreadyPending
        case .finished(let item): .finished(Buffer.element(of: item))
        }
    }

    private func plain(_ delivery: QueueDelivery<Buffer.Item>) -> QueueDelivery<Int> {
        switch delivery {
        case .element(let item): .element(Buffer.element(of: item))
        case .finished: .finished
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }
}

/// A kind of queue to explore.
struct QueueKind: Sendable, CustomTestStringConvertible {
    let capacity: Int
    let policy: OverflowPolicy
    var isUnique = false

    var testDescription: String {
        "\(policy), capacity \(capacity == .max ? "unlimited" : "\(capacity)")\(isUnique ? ", unique" : "")"
    }

    static let unbounded = [false, true].map { QueueKind(capacity: .max, policy: .suspend, isUnique: $0) }

    static let all: [QueueKind] =
        unbounded
        + [0, 1, 2].flatMap { capacity in
            [OverflowPolicy.suspend, .dropOldest, .dropNewest].flatMap { policy in
                [false, true].map { QueueKind(capacity: capacity, policy: policy, isUnique: $0) }
            }
        }

    /// There are more keys than places. Otherwise no producer would ever wait with a key that is pending when its turn comes.
    func plainDriver() -> QueueDriver<FIFOBuffer<Int>> {
        let key: @Sendable (Int) -> Int = { $0 % 3 }
        return QueueDriver(
            capacity: capacity, policy: policy, key: isUnique ? key : nil, item: { $0 })
    }

    /// The priority of a number is its remainder when divided by three.
    ///
    /// Real priority queues are unbounded. With a capacity and waiting producers, the machine has more to get wrong.
    func priorityDriver() -> QueueDriver<PriorityBuffer<Int, Int>> {
        let key: @Sendable (Int) -> Int = { $0 % 4 }
        return QueueDriver(
            capacity: capacity, policy: policy, key: isUnique ? key : nil, rank: { $0 % 3 },
            item: { PrioritizedElement($0, priority: $0 % 3) })
    }
}

extension QueueDriver.Operation {
    /// Random operations, without `finish`, which would end the history early.
    ///
    /// For a while only a few kinds of operations happen, and then other kinds. Otherwise some task would always take what was just added,
    /// and no queue would ever be full with several producers in line.
    static func history(of steps: Int, using random: inout SeededRandom) -> [Self] {
        var some: [Self] = []
        return (0..<steps).map { step in
            if step.isMultiple(of: 10) {
                some = Array(allCases.filter { $0 != .finish }.shuffled(using: &random).prefix(4))
            }
            return some[Int.random(in: some.indices, using: &random)]
        }
    }
}

extension QueueDriver {
    /// Tries all sequences of this many steps. Returns how many there are.
    func explore(_ steps: Int) -> Int {
        if steps == 0 { return 1 }
        var ways = 0
        for operation in Operation.allCases {
            var next = self
            if next.perform(operation) { ways += next.explore(steps - 1) }
        }
        return ways
    }
}

// MARK: - The naive queue

/// A queue written without regard to speed: numbers in arrays.
struct NaiveQueue {
    struct Offer {
        let producer: Int
        let number: Int
    }

    let capacity: Int
    let policy: OverflowPolicy
    /// Numbers with equal keys count as equal. `nil` if no numbers do.
    let key: ((Int) -> Int)?
    /// The priority of a number: the same for all numbers in a plain queue.
    let rank: (Int) -> Int

    private(set) var pending: [Int] = []
    private(set) var offers: [Offer] = []
    private(set) var consumers: [Int] = []
    private(set) var isFinished = false
    /// The outcomes of the waits that have ended.
    private(set) var sent: [Int: SendOutcome] = [:]
    private(set) var delivered: [Int: QueueDelivery<Int>] = [:]

    init(capacity: Int, policy: OverflowPolicy, key: ((Int) -> Int)?, rank: @escaping (Int) -> Int) {
        (self.capacity, self.policy, self.key, self.rank) = (capacity, policy, key, rank)
    }

    private func isPending(_ number: Int) -> Bool {
        guard let key else { return false }
        return pending.contains { key($0) == key(number) }
    }

    private mutating func insert(_ number: Int) {
        pending.insert(number, at: pending.firstIndex { rank($0) < rank(number) } ?? pending.endIndex)
    }

    private mutating func admit() {
        while pending.count < capacity, !offers.isEmpty {
            let offer = offers.removeFirst()
            sent[offer.producer] = isPending(offer.number) ? .alreadyPending : .enqueued
            if sent[offer.producer] == .enqueued { insert(offer.number) }
        }
    }

    /// Returns nil if the producer waits.
    mutating func offer(_ number: Int, producer: Int?) -> SendResult<Int>? {
        if isFinished { return .finished(number) }
        if !consumers.isEmpty {
            delivered[consumers.removeFirst()] = .element(number)
            return .enqueued
        }
        if isPending(number) { return .alreadyPending }
        if pending.count < capacity {
            insert(number)
            return .enqueued
        }
        switch policy {
        case .dropNewest: return .dropped(number)
        case .suspend:
            guard let producer else { return .full(number) }
            offers.append(Offer(producer: producer, number: number))
            return nil
        case .dropOldest:
            guard !pending.isEmpty else { return .dropped(number) }
            let oldest = pending.removeFirst()
            insert(number)
            return .enqueuedDropping(oldest)
        }
    }

    mutating func withdraw(producer: Int, _ outcome: SendOutcome) {
        guard let index = offers.firstIndex(where: { $0.producer == producer }) else { return }
        offers.remove(at: index)
        sent[producer] = outcome
    }

    mutating func tryNext() -> Int? {
        if !pending.isEmpty {
            defer { admit() }
            return pending.removeFirst()
        }
        guard !offers.isEmpty else { return nil }
        let offer = offers.removeFirst()
        sent[offer.producer] = .enqueued
        return offer.number
    }

    /// Returns nil if the consumer waits.
    mutating func next(_ consumer: Int) -> QueueDelivery<Int>? {
        if let number = tryNext() { return .element(number) }
        if isFinished { return .finished }
        consumers.append(consumer)
        return nil
    }

    mutating func withdraw(consumer: Int) {
        guard let index = consumers.firstIndex(of: consumer) else { return }
        consumers.remove(at: index)
        delivered[consumer] = .cancelled
    }

    mutating func finish() {
        isFinished = true
        for offer in offers { sent[offer.producer] = .finished }
        for consumer in consumers { delivered[consumer] = .finished }
        (offers, consumers) = ([], [])
    }

    mutating func removeAll(where shouldBeRemoved: (Int) -> Bool) -> [Int] {
        let removed = pending.filter(shouldBeRemoved)
        pending.removeAll(where: shouldBeRemoved)
        admit()
        return removed
    }
}
