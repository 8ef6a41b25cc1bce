// Operations on the whole queue: finishing, removal of all elements, and observers.
extension QueueStateMachine {
    @inlinable
    mutating func finish() {
        if isFinished { return }
        isFinished = true
        let waiting = consumers.settleAll(.finished)
        if !waiting.isEmpty { post { $0.consumers = waiting } }
        while !producers.isEmpty {
            let (item, producer) = producers.settleFirst(.finished)
            post { $0.add(producer, .finished, retiring: item) }
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
            hasMail = true
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
        if !waiting.isEmpty { post { $0.observers += waiting } }
    }

    // MARK: Keys

    @inlinable @inline(never)
    mutating func isPending(_ item: Item) -> Bool {
        hasMail = true
        return unique?.contains(item) == true
    }

    @inlinable @inline(never)
    mutating func remember(_ item: Item) {
        unique?.insert(item)
    }

    @inlinable @inline(never)
    mutating func forget(_ item: Item) {
        hasMail = true
        unique?.remove(item)
    }

    // MARK: Outbox

    /// The caller processes the outbox after unlocking.
    @inlinable
    mutating func takeOutbox() -> Outbox {
        if isUnique { outbox.retiredKeys = unique?.takeRetired() }
        defer { (outbox, hasMail) = (Outbox(), false) }
        return outbox
    }
}

/// Actions and values that a critical section collects for the time after unlocking.
@usableFromInline
struct QueueOutbox<Item: Sendable, Consumer: Sendable, Producer: Sendable, Observer: Sendable>: Sendable {
    /// Resumed with the end.
    @usableFromInline var consumers: [Consumer] = []
    /// Resumed in order.
    @usableFromInline var producers: [(producer: Producer, outcome: SendOutcome)] = []
    /// Resumed so that they look again.
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
