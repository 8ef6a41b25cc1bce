internal import DequeModule

/// What a queue and its consumers share: a lock, the machine, and consumers that really suspend.
final class QueueStorage<Element: Sendable>: Sendable {
    private typealias Consumer = UnsafeContinuation<QueueDelivery<Element>, Never>
    private typealias Machine = QueueStateMachine<Element, Consumer>

    private let machine = Lock(Machine())

    func enqueue(_ element: Element) -> AsyncQueue<Element>.EnqueueResult {
        switch machine.withLock({ $0.enqueue(element) }) {
        case .stored: break
        case .resume(let consumer): consumer.resume(returning: .element(element))
        case .refused: return .finished
        }
        return .enqueued
    }

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

    func tryDequeue() -> Element? {
        machine.withLock { $0.tryNext() }
    }

    func finish() {
        for consumer in machine.withLock({ $0.finish() }) { consumer.resume(returning: .finished) }
    }

    func removeAll() -> [Element] {
        Array(machine.withLock { $0.removeAll() })
    }

    func removeAll<Failure: Error>(where shouldBeRemoved: (Element) throws(Failure) -> Bool) throws(Failure)
        -> [Element]
    {
        // The old elements come along so that none is destroyed under the lock.
        try machine.withLock { (machine) throws(Failure) in try machine.removeAll(where: shouldBeRemoved) }.removed
    }

    var count: Int { machine.withLock { $0.elements.count } }

    var snapshot: [Element] { Array(machine.withLock { $0.elements }) }
}
