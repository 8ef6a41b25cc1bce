import SluiceLock

/// An unbounded queue. Any number of tasks add elements, and each element goes to exactly one consumer.
///
///     let queue = AsyncQueue<Song.ID>()
///     queue.enqueue(id)                                             // synchronous, from anywhere
///     for await id in queue.elements { await download(id) }         // in any number of tasks
///
/// **Order.** First in, first out. Waiting consumers are served in the order in which they started to wait.
///
/// **Size.** The queue is never full: elements stay in memory until a consumer takes them. If producers can be faster than consumers, use
/// an ``AsyncBoundedQueue``, which makes producers wait.
///
/// **Unique elements.** A queue created with ``init(unique:)`` doesn't add an element while one with an equal key is pending.
///
/// **Elements that aren't Sendable.** A producer gives its element away: the compiler doesn't let the producer use it after
/// ``enqueue(_:)``. Members that copy elements, such as ``snapshot``, are available only for `Sendable` elements.
///
/// **Cancellation.** A cancelled consumer stops waiting, and no element is lost.
///
/// **End.** After ``finish()``, consumers receive the remaining elements and then the end. Releasing the last reference to the queue has
/// the same effect; ``elements`` and ``changes`` don't keep the queue alive.
///
/// **Cost.** Adding and removing an element is O(1), amortized. Operations hold the queue's lock for a few instructions. Only these hold it
/// longer: ``removeAll(where:)`` looks at all elements; ``finish()`` takes all waiting tasks out of their line; and if another task is
/// computing a ``snapshot`` or an element of ``changes``, a change copies all elements.
public final class AsyncQueue<Element>: Sendable {
    @usableFromInline typealias Storage = QueueStorage<FIFOBuffer<Transferred<Element>>>

    @usableFromInline let storage: Storage

    /// Creates an empty queue.
    public init() {
        storage = Storage()
    }

    /// Creates an empty queue that doesn't hold two pending elements with equal keys.
    ///
    ///     let queue = AsyncQueue(unique: \Song.id)
    ///     queue.enqueue(song)                                           // .enqueued
    ///     queue.enqueue(song)                                           // .alreadyPending
    ///
    /// An element is pending until a consumer takes it or it is removed. Then an equal element can be added again.
    ///
    /// - Parameter key: The value that two pending elements must not share. It is read, hashed and compared under the queue's lock. It
    ///   must be fast to compute, it must not change while the element is pending, and it must not use the queue: that traps. An element
    ///   whose key isn't equal to itself, such as a NaN, is always added.
    public init<Key: Hashable & Sendable>(unique key: @escaping @Sendable (Element) -> Key) {
        storage = Storage(unique: KeySet { key($0.element) })
    }

    @inlinable
    deinit {
        storage.abandon()
    }

    // MARK: Adding

    /// Adds an element at the end of the queue, or passes it to the consumer that has waited longest.
    ///
    /// - Returns: What happened to the element. It is added unless the queue is finished, or was created with `unique:` and an equal
    ///   element is pending. You can ignore the result if neither matters.
    @discardableResult @inlinable
    public func enqueue(_ element: sending Element) -> EnqueueResult {
        storage.enqueue(Transferred(element))
    }

    /// Finishes the queue: it accepts no more elements, and consumers receive the remaining ones and then the end.
    ///
    /// Finishing it again has no effect. O(n) in the number of waiting tasks.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Taking

    /// An asynchronous sequence that removes the elements from the queue, in order.
    ///
    /// It ends when the queue is finished and empty, or when the iterating task is cancelled. Several tasks can iterate concurrently, each
    /// with its own iterator; each element goes to one of them.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Removes and returns the first element, waiting for it if the queue is empty.
    ///
    ///     while let id = try await queue.dequeue() { await download(id) }
    ///
    /// - Returns: The first element, or `nil` if the queue is finished and empty.
    /// - Throws: `CancellationError` if the task is cancelled before it receives an element.
    @inlinable
    public func dequeue() async throws(CancellationError) -> sending Element? {
        try await storage.next().dequeued()?.release()
    }

    /// Removes and returns the first element, waiting for it for up to `timeout` on the continuous clock; see ``dequeue()``.
    ///
    /// - Throws: ``DeadlineExceeded`` if no element arrives in time; `CancellationError` if the task is cancelled first.
    public func dequeue(timeout: Duration) async throws -> sending Element? {
        try await dequeue(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Removes and returns the first element, waiting for it until a deadline; see ``dequeue()``.
    ///
    /// If there is an element, it is returned even after the deadline.
    ///
    /// - Throws: ``DeadlineExceeded`` if no element arrives in time; `CancellationError` if the task is cancelled first.
    public func dequeue<C: Clock>(until deadline: C.Instant, clock: C) async throws -> sending Element? {
        try await storage.next(until: deadline, clock: clock).dequeuedInTime()?.release()
    }

    /// Removes and returns the first element, or returns `nil` if the queue is empty.
    ///
    /// It doesn't overtake waiting consumers: while a consumer waits, the queue is empty. O(1), amortized.
    @inlinable
    public func tryDequeue() -> sending Element? {
        storage.tryDequeue()?.release()
    }

    /// Removes and returns all pending elements. Waiting consumers continue to wait.
    ///
    /// O(n), mostly outside the lock.
    @discardableResult @inlinable
    public func removeAll() -> sending [Element] {
        Transferred.release(storage.removeAll())
    }

    // MARK: Looking

    /// The number of pending elements, for display: it may change before the caller reads it. O(1).
    @inlinable
    public var count: Int { storage.count }

    /// The number of tasks that wait for an element, for display: it may change before the caller reads it. O(1).
    @inlinable
    public var waitingCount: Int { storage.waitingCount }
}

extension AsyncQueue where Element: Sendable {
    /// Removes and returns the elements that satisfy a predicate. The others keep their order.
    ///
    ///     songs.removeAll { $0.album == album }
    ///
    /// The predicate runs under the queue's lock. It must be short, and it must not use the queue: that traps. O(n); other users of the
    /// queue are blocked for that time.
    ///
    /// - Returns: The removed elements, in order.
    /// - Throws: The predicate's error. No element is removed then.
    @discardableResult @inlinable
    public func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> [Element] {
        try storage.removeAll(where: { (item) throws(Failure) in try shouldBeRemoved(item.element) }).map(\.element)
    }

    /// The pending elements, in order.
    ///
    /// O(n), outside the lock. If the queue changes in the meantime, the change copies the elements under the lock.
    @inlinable
    public var snapshot: [Element] { storage.snapshot.map(\.element) }

    /// An asynchronous sequence of the pending elements: as they are now, and after each change.
    ///
    ///     for await pending in queue.changes { list.show(pending) }
    ///
    /// Use it for a user interface that shows the queue. The sequence yields only the newest state: a slow observer gets one snapshot for
    /// all changes since the last one. Any number of tasks can observe the queue, each at its own pace.
    ///
    /// The sequence ends when the queue is finished and empty, when the last reference to the queue is released, or when the iterating task
    /// is cancelled. A queue without observers pays nothing. Each snapshot is O(n).
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}

// MARK: - The result

/// The result of adding an element to an ``AsyncQueue`` or an ``AsyncPriorityQueue``.
///
///     if queue.enqueue(id) == .finished { log("The queue is closed.") }
///
/// These queues are unbounded. A queue that isn't finished and was created without `unique:` always returns ``enqueued``.
public enum EnqueueResult: Hashable, Sendable {
    /// The element is in the queue, or a waiting consumer received it.
    case enqueued
    /// An element with an equal key is pending in a queue created with `unique:`. The new element was destroyed.
    case alreadyPending
    /// The queue is finished. The element was destroyed.
    case finished

    /// Whether the element is in the queue or was received by a consumer.
    public var isEnqueued: Bool { self == .enqueued }
}

// MARK: - Elements

extension AsyncQueue {
    /// The type of ``AsyncQueue/elements``.
    public struct Elements: AsyncSequence, Sendable {
        /// The sequence doesn't throw.
        public typealias Failure = Never

        @usableFromInline let storage: Storage

        @inlinable
        init(storage: Storage) {
            self.storage = storage
        }

        /// Creates an iterator. Several tasks can iterate concurrently, each with its own iterator.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// An iterator that removes elements from the queue.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: Storage

            @inlinable
            init(storage: Storage) {
                self.storage = storage
            }

            /// Removes and returns the next element, or returns `nil` if the queue is finished and empty or the task is cancelled.
            ///
            /// A cancelled task gets `nil` even if the queue has elements. They remain for the other consumers.
            @inlinable
            public mutating func next() async -> sending Element? {
                await storage.next().item?.release()
            }

            /// Waits for the next element in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> sending Element? {
                await storage.next().item?.release()
            }
        }
    }
}

// MARK: - Changes

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

protocol ObservableQueue<Element>: Sendable {
    associatedtype Element: Sendable

    /// Waits until the pending elements differ from the version that was seen; returns `nil` at the end or if the task is cancelled.
    func change(after seen: UInt64?) async -> (elements: [Element], version: UInt64)?
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
