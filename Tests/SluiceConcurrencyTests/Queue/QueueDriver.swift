import TestSupport
import Testing

@testable import SluiceConcurrency

/// Tells a queue's state machine and a naive queue the same, and expects the same of both.
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

    /// Does one thing to both; returns false if it cannot be done now.
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

    /// A consumer was resumed: it must be suspended, only once, and with what the model says.
    private mutating func consumed(_ name: Int, _ delivery: QueueDelivery<Int>) {
        check(delivery == model.delivered[name])
        let index = consumers.firstIndex { $0.name == name && $0.isSuspended }
        check(index != nil, "consumer \(name) does not wait")
        if let index { consumers.remove(at: index) }
    }

    private mutating func readMail() {
        guard machine.hasMail else { return }
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
        check(!machine.hasMail)
        check(machine.buffer.count <= machine.capacity)
        if let keys = machine.unique { check(keys.count == machine.buffer.count) }
        if before != model.pending { check(machine.version != version, "an observer would miss a change") }
        version = machine.version
        if producers.isEmpty { check(machine.producers.line.slotCount == 0 && machine.producers.offers.isEmpty) }
        if consumers.isEmpty { check(machine.consumers.slotCount == 0) }
    }

    /// An `#expect` that costs nothing where it holds: there are millions.
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

/// A kind of queue that is explored.
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

    /// More keys than places, or no producer would ever wait with a key that is pending when its turn comes.
    func plainDriver() -> QueueDriver<FIFOBuffer<Int>> {
        let key: @Sendable (Int) -> Int = { $0 % 3 }
        return QueueDriver(
            capacity: capacity, policy: policy, key: isUnique ? key : nil, item: { $0 })
    }

    /// The priority of a number is what it leaves when divided by three.
    ///
    /// Priority queues are unbounded. With a capacity, and producers that wait, there is more for the machine to get wrong.
    func priorityDriver() -> QueueDriver<PriorityBuffer<Int, Int>> {
        let key: @Sendable (Int) -> Int = { $0 % 4 }
        return QueueDriver(
            capacity: capacity, policy: policy, key: isUnique ? key : nil, rank: { $0 % 3 },
            item: { PrioritizedElement($0, priority: $0 % 3) })
    }
}

extension QueueDriver.Operation {
    /// Operations at random. The end is not among them, as it comes once, or there would be little to see.
    ///
    /// For a while only a few of them happen, and then other ones: else some task always takes what has been added, and
    /// no queue is ever full with several producers in line.
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
    /// Tries all sequences of this many steps; returns their number.
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
