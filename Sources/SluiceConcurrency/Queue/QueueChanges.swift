import SluiceLock

/// A queue that can be observed, whatever its buffer.
protocol ObservableQueue<Element>: Sendable {
    associatedtype Element: Sendable

    /// The elements that are pending, once they are no longer the version that was seen; nil at the end, or if the task is
    /// cancelled.
    func change(after seen: UInt64?) async -> (elements: [Element], version: UInt64)?
}

/// The elements that are pending in a queue, each time that they change; see ``AsyncQueue/changes``.
///
///     for await pending in queue.changes { list.show(pending) }
public struct QueueChanges<Pending: Sendable>: AsyncSequence, Sendable {
    /// The pending elements at one moment, in order.
    public typealias Element = [Pending]
    /// Iterating cannot fail.
    public typealias Failure = Never

    private let queue: any ObservableQueue<Transferred<Pending>>

    init(of queue: any ObservableQueue<Transferred<Pending>>) {
        self.queue = queue
    }

    /// Makes an iterator; several may be in use concurrently, each in a task of its own, and each sees everything.
    public func makeAsyncIterator() -> Iterator {
        Iterator(queue: queue)
    }

    /// Looks at a queue for one observer.
    public struct Iterator: AsyncIteratorProtocol {
        private let queue: any ObservableQueue<Transferred<Pending>>
        private var seen: UInt64?

        init(queue: any ObservableQueue<Transferred<Pending>>) {
            self.queue = queue
        }

        /// The newest snapshot that this iterator has not returned; nil at the end, or if the task is cancelled.
        public mutating func next() async -> [Pending]? {
            guard let change = await queue.change(after: seen) else { return nil }
            seen = change.version
            return change.elements.map(\.element)
        }

        /// The newest snapshot that this iterator has not returned; nil at the end, or if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [Pending]? {
            guard let change = await queue.change(after: seen) else { return nil }
            seen = change.version
            return change.elements.map(\.element)
        }
    }
}

extension QueueStorage: ObservableQueue {
    func change(after seen: UInt64?) async -> (elements: [Buffer.Element], version: UInt64)? {
        while !Task.isCancelled {
            switch machine.withLock({ $0.look(after: seen) }) {
            case .see(let buffer, let version): return (Buffer.elements(of: buffer.items), version)
            case .end: return nil
            case .suspend(let ticket): guard await isChanged(ticket) else { return nil }
            }
        }
        return nil
    }

    /// Waits in line for a change; returns false if the task is cancelled first.
    private func isChanged(_ ticket: Machine.Observers.Ticket) async -> Bool {
        await suspending { observer in
            machine.withLock { $0.suspend(observer: ticket, observer) }
        } onCancel: {
            machine.withLock { $0.withdraw(observer: ticket) }?.resume(returning: false)
        }
    }
}
