@usableFromInline
enum QueueDelivery<Item> {
    case element(Item)
    case finished
    case cancelled
    case expired

    @inlinable var item: Item? {
        if case .element(let item) = self { item } else { nil }
    }

    @inlinable
    func dequeued() throws(CancellationError) -> Item? {
        switch self {
        case .element(let item): return item
        case .finished: return nil
        case .cancelled, .expired: throw CancellationError()
        }
    }

    func dequeuedInTime() throws -> Item? {
        if case .expired = self { throw DeadlineExceeded() }
        return try dequeued()
    }
}

@usableFromInline
enum OverflowPolicy: Hashable, Sendable {
    /// The producer waits with its element if it can wait. Otherwise the element is refused.
    case suspend
    case dropOldest
    case dropNewest
}

/// The pending elements, the consumers that wait for elements, and the producers that wait for space.
///
/// ```text
/// pending elements    none              some                         as many as the capacity
/// waiting tasks       consumers                                      producers
/// ```
///
/// Free space goes to the first waiting producer immediately, and a new element to the first waiting consumer, so that no task overtakes
/// the waiting ones. The element of a suspended producer isn't pending.
///
/// It resumes no task. Actions for tasks other than the caller, and values to destroy after unlocking, are collected in `outbox`.
@usableFromInline
struct QueueStateMachine<
    Buffer: QueueBuffer, Consumer: Sendable, Producer: Sendable, Observer: Sendable
>: Sendable {
    @usableFromInline typealias Item = Buffer.Item
    @usableFromInline typealias Consumers = WaitingLine<Consumer, QueueDelivery<Item>>
    @usableFromInline typealias Producers = ProducerLine<Item, Producer>
    @usableFromInline typealias Observers = WaitingLine<Observer, Bool>
    @usableFromInline typealias Outbox = QueueOutbox<Item, Consumer, Producer, Observer>

    @usableFromInline
    enum OfferAction: Sendable {
        case done(SendResult<Item>)
        case resume(Consumer)
        case suspend(Producers.Line.Ticket)
    }

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(QueueDelivery<Item>)
        case suspend(Consumers.Ticket)
    }

    @usableFromInline let capacity: Int
    @usableFromInline let policy: OverflowPolicy
    @usableFromInline var unique: (any UniqueKeys<Item>)?
    // Comparing the optional existential `unique` with `nil` copies its value; a flag doesn't.
    @usableFromInline let isUnique: Bool

    @usableFromInline var buffer = Buffer()
    @usableFromInline var consumers = Consumers()
    @usableFromInline var producers = Producers()
    @usableFromInline var observers = Observers()
    @usableFromInline var outbox = Outbox()
    /// Whether `outbox` holds something. The outbox is large: returning it from each critical section would cost as much as everything
    /// else there.
    @usableFromInline var hasDeferredActions = false
    @usableFromInline var isFinished = false
    /// Whether the last reference to the queue was released. Observers get the last state and then the end.
    @usableFromInline var isAbandoned = false
    /// The number of changes to `buffer`. An observer keeps the version that it saw, so the queue stores nothing for a busy observer.
    @usableFromInline var version: UInt64 = 0

    @inlinable
    init(capacity: Int = .max, policy: OverflowPolicy = .suspend, unique: (any UniqueKeys<Item>)? = nil) {
        precondition(capacity >= 0, "A queue's capacity must not be negative; it is \(capacity).")
        self.capacity = capacity
        self.policy = policy
        self.unique = unique
        isUnique = unique != nil
    }

    // MARK: Producers

    /// Accepts or refuses an element, or adds its producer to the line if the producer can wait.
    @inlinable
    mutating func offer(_ item: Item, canSuspend: Bool) -> OfferAction {
        if isFinished { return .done(.finished(item)) }
        if !consumers.isEmpty {
            return consumers.settleFirst(.element(item)).map { .resume($0) } ?? .done(.enqueued)
        }
        if isUnique, isPending(item) { return .done(.alreadyPending) }
        if buffer.count < capacity {
            store(item)
            return .done(.enqueued)
        }
        return overflow(item, canSuspend: canSuspend)
    }

    @inlinable
    mutating func overflow(_ item: Item, canSuspend: Bool) -> OfferAction {
        switch policy {
        case .suspend: return canSuspend ? .suspend(producers.join(item)) : .done(.full(item))
        case .dropNewest: return .done(.dropped(item))
        case .dropOldest:
            guard let oldest = buffer.popFirst() else { return .done(.dropped(item)) }
            if isUnique { forget(oldest) }
            store(item)
            return .done(.enqueuedDropping(oldest))
        }
    }

    @inlinable
    mutating func suspend(producer ticket: Producers.Line.Ticket, _ producer: Producer) -> SendOutcome? {
        producers.suspend(ticket, producer)
    }

    /// Has no effect if the producer has left the line.
    @inlinable
    mutating func withdraw(producer ticket: Producers.Line.Ticket, _ outcome: SendOutcome) {
        guard let (item, producer) = producers.settle(ticket, outcome) else { return }
        afterUnlocking { $0.add(producer, outcome, retiring: item) }
    }

    // MARK: Consumers

    @inlinable
    mutating func next() -> NextAction {
        if let item = tryNext() { return .deliver(.element(item)) }
        return isFinished ? .deliver(.finished) : .suspend(consumers.join())
    }

    @inlinable
    mutating func tryNext() -> Item? {
        guard let item = buffer.popFirst() else { return takeOffer() }
        if isUnique { forget(item) }
        if !producers.isEmpty { admit() }
        changed()
        return item
    }

    @inlinable
    mutating func suspend(consumer ticket: Consumers.Ticket, _ consumer: Consumer) -> QueueDelivery<Item>? {
        consumers.suspend(ticket, consumer)
    }

    /// Returns the continuation of a cancelled or late consumer, which the caller resumes with the outcome.
    @inlinable
    mutating func withdraw(consumer ticket: Consumers.Ticket, _ outcome: QueueDelivery<Item>) -> Consumer? {
        consumers.settle(ticket, outcome)
    }

    // MARK: Machinery

    @inlinable
    mutating func store(_ item: Item) {
        buffer.append(item)
        if isUnique { remember(item) }
        changed()
    }

    /// Admits the producers that have waited longest, as long as there is space.
    @inlinable
    mutating func admit() {
        while buffer.count < capacity, let item = producers.firstOffer {
            if isUnique, isPending(item) {
                let producer = producers.settleFirst(.alreadyPending).producer
                afterUnlocking { $0.add(producer, .alreadyPending, retiring: item) }
            } else {
                let producer = producers.settleFirst(.enqueued).producer
                store(item)
                if let producer { afterUnlocking { $0.producers.append((producer, .enqueued)) } }
            }
        }
    }

    /// In a queue of capacity 0.
    @inlinable
    mutating func takeOffer() -> Item? {
        if producers.isEmpty { return nil }
        let (item, producer) = producers.settleFirst(.enqueued)
        if let producer { afterUnlocking { $0.producers.append((producer, .enqueued)) } }
        return item
    }

    @inlinable
    mutating func changed() {
        version &+= 1
        if !observers.isEmpty { wakeObservers() }
    }

    @inlinable
    mutating func afterUnlocking(_ action: (inout Outbox) -> Void) {
        action(&outbox)
        hasDeferredActions = true
    }
}

extension QueueDelivery: Sendable where Item: Sendable {}
extension QueueDelivery: Hashable, Equatable where Item: Hashable {}

// MARK: - The whole queue

extension QueueStateMachine {
    @inlinable
    mutating func finish() {
        if isFinished { return }
        isFinished = true
        let waiting = consumers.settleAll(.finished)
        if !waiting.isEmpty { afterUnlocking { $0.consumers = waiting } }
        while !producers.isEmpty {
            let (item, producer) = producers.settleFirst(.finished)
            afterUnlocking { $0.add(producer, .finished, retiring: item) }
        }
        wakeObservers()
    }

    /// The last reference to the queue was released. Observers get the end.
    @inlinable
    mutating func abandon() {
        isAbandoned = true
        finish()
        wakeObservers()
    }

    mutating func removeAll() -> Buffer {
        let old = buffer
        buffer = Buffer()
        if isUnique {
            unique?.removeAll()
            hasDeferredActions = true
        }
        if old.count > 0 {
            admit()
            changed()
        }
        return old
    }

    /// Removes the elements that satisfy the predicate, or none if the predicate throws, and admits waiting producers.
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Buffer.Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Item], old: Buffer) {
        let (removed, old) = try buffer.removeAll(where: shouldBeRemoved)
        if !removed.isEmpty {
            for item in removed where isUnique { forget(item) }
            admit()
            changed()
        }
        return (removed, old)
    }

    // MARK: Observers

    enum LookAction: Sendable {
        case see(Buffer, version: UInt64)
        case end
        case suspend(Observers.Ticket)
    }

    mutating func look(after seen: UInt64?) -> LookAction {
        if seen != version { return .see(buffer, version: version) }
        if isAbandoned || (isFinished && buffer.count == 0) { return .end }
        return .suspend(observers.join())
    }

    mutating func suspend(observer ticket: Observers.Ticket, _ observer: Observer) -> Bool? {
        observers.suspend(ticket, observer)
    }

    /// Returns the continuation of a cancelled observer, which the caller resumes with `false`.
    mutating func withdraw(observer ticket: Observers.Ticket) -> Observer? {
        observers.settle(ticket, false)
    }

    @inlinable @inline(never)
    mutating func wakeObservers() {
        let waiting = observers.settleAll(true)
        if !waiting.isEmpty { afterUnlocking { $0.observers += waiting } }
    }

    // MARK: Keys

    @inlinable @inline(never)
    mutating func isPending(_ item: Item) -> Bool {
        hasDeferredActions = true
        return unique?.contains(item) == true
    }

    @inlinable @inline(never)
    mutating func remember(_ item: Item) {
        unique?.insert(item)
    }

    @inlinable @inline(never)
    mutating func forget(_ item: Item) {
        hasDeferredActions = true
        unique?.remove(item)
    }

    // MARK: Outbox

    /// The caller processes the outbox after unlocking.
    @inlinable
    mutating func takeOutbox() -> Outbox {
        if isUnique { outbox.retiredKeys = unique?.takeRetired() }
        defer { (outbox, hasDeferredActions) = (Outbox(), false) }
        return outbox
    }
}

// MARK: - The outbox

/// Actions and values that a critical section collects for the time after unlocking.
@usableFromInline
struct QueueOutbox<Item: Sendable, Consumer: Sendable, Producer: Sendable, Observer: Sendable>: Sendable {
    /// Resumed with the end.
    @usableFromInline var consumers: [Consumer] = []
    /// Resumed in order.
    @usableFromInline var producers: [(producer: Producer, outcome: SendOutcome)] = []
    /// Resumed to look again.
    @usableFromInline var observers: [Observer] = []
    /// Only to be destroyed.
    @usableFromInline var retired: [Item] = []
    @usableFromInline var retiredKeys: (any Sendable)?

    @inlinable
    init() {}

    @inlinable
    mutating func add(_ producer: Producer?, _ outcome: SendOutcome, retiring item: Item) {
        if let producer { producers.append((producer, outcome)) }
        retired.append(item)
    }
}

// MARK: - The producers

@usableFromInline
enum SendOutcome: Hashable, Sendable {
    case enqueued
    /// When the producer was admitted, an element with an equal key was pending.
    case alreadyPending
    case finished
    case cancelled
    case expired

    @inlinable
    func result<Item>() throws -> SendResult<Item> {
        switch self {
        case .enqueued: return .enqueued
        case .alreadyPending: return .alreadyPending
        case .finished: throw QueueFinished()
        case .cancelled, .expired: throw CancellationError()
        }
    }
}

/// The producers that wait for space, with the elements that they offer.
///
/// An offered element isn't pending until its producer is admitted. It is stored under the number of the producer's slot, so that leaving
/// the line is O(1) and releases the element.
@usableFromInline
struct ProducerLine<Item: Sendable, Producer: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Producer, SendOutcome>

    @usableFromInline var line = Line()
    /// Indexed by the slots of the line.
    @usableFromInline var offers: [Item?] = []

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { line.isEmpty }
    @inlinable var count: Int { line.count }

    @inlinable var firstOffer: Item? { line.isEmpty ? nil : offers[line.first] }

    @inlinable
    mutating func join(_ item: Item) -> Line.Ticket {
        let ticket = line.join()
        if ticket.slot == offers.count { offers.append(item) } else { offers[ticket.slot] = item }
        return ticket
    }

    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ producer: Producer) -> SendOutcome? {
        defer { shrink() }
        return line.suspend(ticket, producer)
    }

    /// Removes the first producer from the line. Returns its offer, and its continuation if it has suspended.
    @inlinable
    mutating func settleFirst(_ outcome: SendOutcome) -> (item: Item, producer: Producer?) {
        defer { shrink() }
        guard let item = offers[line.first].take() else { preconditionFailure("A waiting producer has no offer.") }
        return (item, line.settleFirst(outcome))
    }

    /// Does nothing if the producer has left the line.
    @inlinable
    mutating func settle(_ ticket: Line.Ticket, _ outcome: SendOutcome) -> (item: Item, producer: Producer?)? {
        guard line.contains(ticket), let item = offers[ticket.slot].take() else { return nil }
        defer { shrink() }
        return (item, line.settle(ticket, outcome))
    }

    /// Releases the offers if the line has released its slots, as it does when it becomes empty.
    @inlinable
    mutating func shrink() {
        if line.slotCount == 0 { offers.removeAll(keepingCapacity: offers.count <= Line.slotsKept) }
    }
}
