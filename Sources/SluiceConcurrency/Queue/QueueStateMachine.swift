/// What a consumer that waits for an element gets in the end.
@usableFromInline
enum QueueDelivery<Item> {
    case element(Item)
    case finished
    case cancelled
    case expired

    @inlinable var item: Item? {
        if case .element(let item) = self { item } else { nil }
    }

    /// What `dequeue()` returns or throws.
    @inlinable
    func dequeued() throws(CancellationError) -> Item? {
        switch self {
        case .element(let item): return item
        case .finished: return nil
        case .cancelled, .expired: throw CancellationError()
        }
    }

    /// What a `dequeue` with a deadline returns or throws.
    func dequeuedInTime() throws -> Item? {
        if case .expired = self { throw DeadlineExceeded() }
        return try dequeued()
    }
}

/// What happens to an element that comes while the queue is full.
@usableFromInline
enum OverflowPolicy: Hashable, Sendable {
    /// It waits with its producer if that can wait, and is refused if not.
    case suspend
    case dropOldest
    case dropNewest
}

/// The pending elements, the consumers that wait for some, and the producers that wait for a place.
///
/// ```text
/// pending elements    none              some                         as many as the capacity
/// waiting tasks       consumers                                      producers
/// ```
///
/// A place that becomes free goes to the first producer immediately, and an element that comes goes to the first consumer. So no task
/// overtakes those that wait. What a suspended producer offers is not pending.
///
/// Events in, actions out; it resumes no task. What an event means for other tasks than the caller, and values that must be
/// destroyed after the unlock, are collected in `outbox`.
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
        /// It goes to this consumer.
        case resume(Consumer)
        /// The caller is in line, and suspends with this ticket.
        case suspend(Producers.Line.Ticket)
    }

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(QueueDelivery<Item>)
        /// The caller is in line, and suspends with this ticket.
        case suspend(Consumers.Ticket)
    }

    @usableFromInline let capacity: Int
    @usableFromInline let policy: OverflowPolicy
    @usableFromInline var unique: (any UniqueKeys<Item>)?
    // A plain flag, because comparing such an optional with nil copies what is in it.
    @usableFromInline let isUnique: Bool

    @usableFromInline var buffer = Buffer()
    @usableFromInline var consumers = Consumers()
    @usableFromInline var producers = Producers()
    @usableFromInline var observers = Observers()
    @usableFromInline var outbox = Outbox()
    /// Whether there is anything in `outbox`, which is too large to be handed out each time: that costs as much as the rest.
    @usableFromInline var hasMail = false
    @usableFromInline var isFinished = false
    /// Whether the queue itself is gone: observers see what it was, and then the end.
    @usableFromInline var isAbandoned = false
    /// How often `buffer` has changed. An observer knows which version it saw, and so leaves nothing here while it is busy.
    @usableFromInline var version: UInt64 = 0

    @inlinable
    init(capacity: Int = .max, policy: OverflowPolicy = .suspend, unique: (any UniqueKeys<Item>)? = nil) {
        precondition(capacity >= 0, "A queue cannot have room for fewer than no elements.")
        self.capacity = capacity
        self.policy = policy
        self.unique = unique
        isUnique = unique != nil
    }

    // MARK: Producers

    /// An element comes; its producer waits for a place if need be, if it can.
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

    /// A producer in line suspends; returns what it is resumed with if that is known by now.
    @inlinable
    mutating func suspend(producer ticket: Producers.Line.Ticket, _ producer: Producer) -> SendOutcome? {
        producers.suspend(ticket, producer)
    }

    /// A producer in line was cancelled or has waited too long; nothing happens if it is in line no more.
    @inlinable
    mutating func withdraw(producer ticket: Producers.Line.Ticket, _ outcome: SendOutcome) {
        guard let (item, producer) = producers.settle(ticket, outcome) else { return }
        post { $0.add(producer, outcome, retiring: item) }
    }

    // MARK: Consumers

    /// A consumer wants an element, and waits for it if need be.
    @inlinable
    mutating func next() -> NextAction {
        if let item = tryNext() { return .deliver(.element(item)) }
        return isFinished ? .deliver(.finished) : .suspend(consumers.join())
    }

    /// A consumer wants an element if there is one.
    @inlinable
    mutating func tryNext() -> Item? {
        guard let item = buffer.popFirst() else { return takeOffer() }
        if isUnique { forget(item) }
        if !producers.isEmpty { admit() }
        changed()
        return item
    }

    /// A consumer in line suspends; returns what it is resumed with if that is known by now.
    @inlinable
    mutating func suspend(consumer ticket: Consumers.Ticket, _ consumer: Consumer) -> QueueDelivery<Item>? {
        consumers.suspend(ticket, consumer)
    }

    /// A consumer in line was cancelled or has waited too long; returns it to be resumed with the outcome.
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

    /// Gives the free places to the producers that have waited longest.
    @inlinable
    mutating func admit() {
        while buffer.count < capacity, let item = producers.firstOffer {
            if isUnique, isPending(item) {
                let producer = producers.settleFirst(.alreadyPending).producer
                post { $0.add(producer, .alreadyPending, retiring: item) }
            } else {
                let producer = producers.settleFirst(.enqueued).producer
                store(item)
                if let producer { post { $0.producers.append((producer, .enqueued)) } }
            }
        }
    }

    /// A queue without places hands over from producer to consumer.
    @inlinable
    mutating func takeOffer() -> Item? {
        if producers.isEmpty { return nil }
        let (item, producer) = producers.settleFirst(.enqueued)
        if let producer { post { $0.producers.append((producer, .enqueued)) } }
        return item
    }

    @inlinable
    mutating func changed() {
        version &+= 1
        if !observers.isEmpty { wakeObservers() }
    }

    @inlinable
    mutating func post(_ letter: (inout Outbox) -> Void) {
        letter(&outbox)
        hasMail = true
    }
}

extension QueueDelivery: Sendable where Item: Sendable {}
extension QueueDelivery: Hashable, Equatable where Item: Hashable {}
