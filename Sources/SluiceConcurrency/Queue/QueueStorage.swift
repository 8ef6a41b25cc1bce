public import DequeModule

/// What a queue and its consumers share: a lock, the machine, and consumers that really suspend.
@usableFromInline
final class QueueStorage<Element: Sendable>: Sendable {
    @usableFromInline typealias Consumer = UnsafeContinuation<QueueDelivery<Element>, Never>
    @usableFromInline typealias Machine = QueueStateMachine<Element, Consumer>

    @usableFromInline let machine = Lock(Machine())

    @inlinable
    init() {}

    @inlinable
    func enqueue(_ element: Element) -> AsyncQueue<Element>.EnqueueResult {
        switch machine.withLock({ $0.enqueue(element) }) {
        case .stored: break
        case .resume(let consumer): consumer.resume(returning: .element(element))
        case .refused: return .finished
        }
        return .enqueued
    }

    @inlinable
    func next() async -> QueueDelivery<Element> {
        if Task.isCancelled { return .cancelled }
        let ticket: Machine.Line.Ticket
        switch machine.withLock({ $0.next() }) {
        case .deliver(let delivery): return delivery
        case .suspend(let joined): ticket = joined
        }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { consumer in
                let known = machine.withLock { $0.suspend(ticket, consumer) }
                if let known { consumer.resume(returning: known) }
            }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }

    @inlinable
    func tryDequeue() -> Element? {
        machine.withLock { $0.tryNext() }
    }

    @inlinable
    func finish() {
        for consumer in machine.withLock({ $0.finish() }) { consumer.resume(returning: .finished) }
    }

    @inlinable
    func removeAll() -> [Element] {
        Array(machine.withLock { $0.removeAll() })
    }

    @inlinable
    func removeAll<Failure: Error>(where shouldBeRemoved: (Element) throws(Failure) -> Bool) throws(Failure)
        -> [Element]
    {
        // The old elements come along so that none is destroyed under the lock.
        try machine.withLock { (machine) throws(Failure) in try machine.removeAll(where: shouldBeRemoved) }.removed
    }

    @inlinable var count: Int { machine.withLock { $0.elements.count } }

    @inlinable var snapshot: [Element] { Array(machine.withLock { $0.elements }) }
}
