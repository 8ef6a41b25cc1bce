import SluiceLock

protocol ObservableQueue<Element>: Sendable {
    associatedtype Element: Sendable

    /// Waits until the pending elements differ from the version that was seen; returns `nil` at the end or if the task is cancelled.
    func change(after seen: UInt64?) async -> (elements: [Element], version: UInt64)?
}

/// An asynchronous sequence of the pending elements of a queue, after each change. See ``AsyncQueue/changes``.
public struct QueueChanges<Pending: Sendable>: AsyncSequence, Sendable {
    /// The pending elements at one moment, in order.
    public typealias Element = [Pending]
    /// The sequence doesn't throw.
    public typealias Failure = Never

    private let queue: any ObservableQueue<Transferred<Pending>>

    init(of queue: any ObservableQueue<Transferred<Pending>>) {
        self.queue = queue
    }

    /// Creates an iterator. Several tasks can iterate concurrently, each with its own iterator; each of them sees all changes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(queue: queue)
    }

    /// An iterator for one observer of a queue.
    public struct Iterator: AsyncIteratorProtocol {
        private let queue: any ObservableQueue<Transferred<Pending>>
        private var seen: UInt64?

        init(queue: any ObservableQueue<Transferred<Pending>>) {
            self.queue = queue
        }

        /// Waits for a snapshot newer than the last one, and returns it; returns `nil` at the end or if the task is cancelled.
        public mutating func next() async -> [Pending]? {
            guard let change = await queue.change(after: seen) else { return nil }
            seen = change.version
            return change.elements.map(\.element)
        }

        /// Waits for a newer snapshot in the isolation of `actor`; otherwise like `next()`.
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

    private func isChanged(_ ticket: Machine.Observers.Ticket) async -> Bool {
        await suspending { observer in
            machine.withLock { $0.suspend(observer: ticket, observer) }
        } onCancel: {
            machine.withLock { $0.withdraw(observer: ticket) }?.resume(returning: false)
        }
    }
}
