public import SluiceLock

@usableFromInline
final class QueueStorage<Buffer: QueueBuffer>: Sendable {
    @usableFromInline typealias Item = Buffer.Item
    @usableFromInline typealias Consumer = UnsafeContinuation<QueueDelivery<Item>, Never>
    @usableFromInline typealias Producer = UnsafeContinuation<SendOutcome, Never>
    @usableFromInline typealias Observer = UnsafeContinuation<Bool, Never>
    @usableFromInline typealias Machine = QueueStateMachine<Buffer, Consumer, Producer, Observer>

    @usableFromInline let machine: Lock<Machine>

    @inlinable
    init(capacity: Int = .max, policy: OverflowPolicy = .suspend, unique: (any UniqueKeys<Item>)? = nil) {
        machine = Lock(Machine(capacity: capacity, policy: policy, unique: unique))
    }

    // MARK: Producers

    @inlinable
    func enqueue(_ item: Item) -> EnqueueResult {
        switch trySend(item) {
        case .enqueued: .enqueued
        case .alreadyPending: .alreadyPending
        case .finished: .finished
        case .enqueuedDropping, .dropped, .full: preconditionFailure("An unbounded queue was full.")
        }
    }

    @inlinable
    func trySend(_ item: Item) -> SendResult<Item> {
        switch offer(item, canSuspend: false) {
        case .done(let result): return result
        case .resume, .suspend: preconditionFailure("A producer that can't suspend was told to suspend.")
        }
    }

    @inlinable
    func offer(_ item: Item, canSuspend: Bool) -> Machine.OfferAction {
        let (action, hasDeferredActions) = machine.withLock {
            ($0.offer(item, canSuspend: canSuspend), $0.hasDeferredActions)
        }
        if hasDeferredActions { performDeferredActions() }
        guard case .resume(let consumer) = action else { return action }
        consumer.resume(returning: .element(item))
        return .done(.enqueued)
    }

    @inlinable
    func send(_ item: Item) async throws -> SendResult<Item> {
        if Task.isCancelled { throw CancellationError() }
        switch offer(item, canSuspend: true) {
        case .suspend(let ticket): return try await suspend(producer: ticket).result()
        case .done(let result): return try sent(result)
        case .resume: preconditionFailure("A consumer wasn't resumed.")
        }
    }

    func send<C: Clock>(_ item: Item, until deadline: C.Instant, clock: C) async throws -> SendResult<Item> {
        if Task.isCancelled { throw CancellationError() }
        switch offer(item, canSuspend: true) {
        case .suspend(let ticket):
            let outcome = await ending(at: deadline, clock: clock) {
                self.withdraw(producer: ticket, .expired)
            } wait: {
                await suspend(producer: ticket)
            }
            if outcome == .expired { throw DeadlineExceeded() }
            return try outcome.result()
        case .done(let result): return try sent(result)
        case .resume: preconditionFailure("A consumer wasn't resumed.")
        }
    }

    @inlinable
    func suspend(producer ticket: Machine.Producers.Line.Ticket) async -> SendOutcome {
        await suspending { producer in
            machine.withLock { $0.suspend(producer: ticket, producer) }
        } onCancel: {
            withdraw(producer: ticket, .cancelled)
        }
    }

    @inlinable
    func withdraw(producer ticket: Machine.Producers.Line.Ticket, _ outcome: SendOutcome) {
        machine.withLock { $0.withdraw(producer: ticket, outcome) }
        performDeferredActions()
    }

    @inlinable
    func sent(_ result: SendResult<Item>) throws(QueueFinished) -> SendResult<Item> {
        if case .finished = result { throw QueueFinished() }
        return result
    }

    /// Performs the actions that a critical section has collected, unless another task has done so.
    @inlinable @inline(never)
    func performDeferredActions() {
        machine.withLock { $0.takeOutbox() }.deliver()
    }

    // MARK: Consumers

    @inlinable
    func next() async -> QueueDelivery<Item> {
        if Task.isCancelled { return .cancelled }
        switch take() {
        case .deliver(let delivery): return delivery
        case .suspend(let ticket): return await suspend(consumer: ticket)
        }
    }

    func next<C: Clock>(until deadline: C.Instant, clock: C) async -> QueueDelivery<Item> {
        if Task.isCancelled { return .cancelled }
        switch take() {
        case .deliver(let delivery): return delivery
        case .suspend(let ticket):
            return await ending(at: deadline, clock: clock) {
                self.withdraw(consumer: ticket, .expired)
            } wait: {
                await suspend(consumer: ticket)
            }
        }
    }

    @inlinable
    func take() -> Machine.NextAction {
        let (action, hasDeferredActions) = machine.withLock { ($0.next(), $0.hasDeferredActions) }
        if hasDeferredActions { performDeferredActions() }
        return action
    }

    @inlinable
    func suspend(consumer ticket: Machine.Consumers.Ticket) async -> QueueDelivery<Item> {
        await suspending { consumer in
            machine.withLock { $0.suspend(consumer: ticket, consumer) }
        } onCancel: {
            withdraw(consumer: ticket, .cancelled)
        }
    }

    @inlinable
    func withdraw(consumer ticket: Machine.Consumers.Ticket, _ outcome: QueueDelivery<Item>) {
        machine.withLock { $0.withdraw(consumer: ticket, outcome) }?.resume(returning: outcome)
    }

    @inlinable
    func tryDequeue() -> Item? {
        let (item, hasDeferredActions) = machine.withLock { ($0.tryNext(), $0.hasDeferredActions) }
        if hasDeferredActions { performDeferredActions() }
        return item
    }

    // MARK: Whole queue

    @inlinable
    func finish() {
        machine.withLock { $0.finish() }
        performDeferredActions()
    }

    @inlinable
    func abandon() {
        machine.withLock { $0.abandon() }
        performDeferredActions()
    }

    @usableFromInline
    func removeAll() -> [Buffer.Element] {
        let (removed, hasDeferredActions) = machine.withLock { ($0.removeAll(), $0.hasDeferredActions) }
        if hasDeferredActions { performDeferredActions() }
        return Buffer.elements(of: removed.items)
    }

    @usableFromInline
    func removeAll<Failure: Error>(
        where shouldBeRemoved: (Buffer.Element) throws(Failure) -> Bool
    ) throws(Failure) -> [Buffer.Element] {
        // The old buffer is returned too, so that its memory isn't freed under the lock.
        let (found, hasDeferredActions) = try machine.withLock { (machine) throws(Failure) in
            (try machine.removeAll(where: shouldBeRemoved), machine.hasDeferredActions)
        }
        if hasDeferredActions { performDeferredActions() }
        return Buffer.elements(of: found.removed)
    }

    @inlinable var count: Int { machine.withLock { $0.buffer.count } }

    @inlinable var waitingCount: Int { machine.withLock { $0.consumers.count + $0.producers.count } }

    @usableFromInline var snapshot: [Buffer.Element] {
        Buffer.elements(of: machine.withLock { $0.buffer }.items)
    }
}

extension QueueOutbox
where
    Consumer == UnsafeContinuation<QueueDelivery<Item>, Never>, Producer == UnsafeContinuation<SendOutcome, Never>,
    Observer == UnsafeContinuation<Bool, Never>
{
    /// The retired values are destroyed with the outbox.
    @inlinable
    func deliver() {
        for consumer in consumers { consumer.resume(returning: .finished) }
        for (producer, outcome) in producers { producer.resume(returning: outcome) }
        for observer in observers { observer.resume(returning: true) }
    }
}
