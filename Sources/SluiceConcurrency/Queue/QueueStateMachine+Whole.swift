// What concerns the queue as a whole: its end, all its elements, and its observers.
extension QueueStateMachine {
    /// No more elements come; all waiting tasks are resumed.
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

    /// The queue is gone: no more elements come, and observers get the end.
    @inlinable
    mutating func abandon() {
        isAbandoned = true
        finish()
        wakeObservers()
    }

    /// Everything goes that is pending; the places go to producers.
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

    /// What satisfies the predicate goes, or nothing if that throws; the places go to producers.
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
        /// The caller is in line, and suspends with this ticket.
        case suspend(Observers.Ticket)
    }

    /// An observer wants to see what it has not seen, and waits for it if need be.
    mutating func look(after seen: UInt64?) -> LookAction {
        if seen != version { return .see(buffer, version: version) }
        if isAbandoned || (isFinished && buffer.count == 0) { return .end }
        return .suspend(observers.join())
    }

    /// An observer in line suspends; returns whether it should look again if that is known by now.
    mutating func suspend(observer ticket: Observers.Ticket, _ observer: Observer) -> Bool? {
        observers.suspend(ticket, observer)
    }

    /// An observer in line was cancelled; returns it to be resumed with false.
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

    /// Takes the messages for other tasks, and the values to destroy, for after the unlock.
    @inlinable
    mutating func takeOutbox() -> Outbox {
        if isUnique { outbox.retiredKeys = unique?.takeRetired() }
        defer { (outbox, hasMail) = (Outbox(), false) }
        return outbox
    }
}

/// What a critical section leaves to be done after it.
@usableFromInline
struct QueueOutbox<Item: Sendable, Consumer: Sendable, Producer: Sendable, Observer: Sendable>: Sendable {
    /// Consumers to be resumed with the end.
    @usableFromInline var consumers: [Consumer] = []
    /// Producers to be resumed, in order, and with what.
    @usableFromInline var producers: [(producer: Producer, outcome: SendOutcome)] = []
    /// Observers to be resumed, to look again.
    @usableFromInline var observers: [Observer] = []
    /// What only has to be destroyed.
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
