/// A queue with a limited capacity that makes producers wait while it is full.
///
///     let pages = AsyncBoundedQueue<Page>(capacity: 4)
///     try await pages.send(page)                                    // waits while four are pending
///     for await page in pages.elements { show(await render(page)) } // in any number of tasks
///
/// Like a bounded channel in Go or tokio, it connects any number of producers and consumers, and each element goes to exactly one consumer.
///
/// **Order.** First in, first out. Waiting consumers are served, and waiting producers admitted, in the order in which they started to
/// wait. A later producer doesn't overtake waiting producers.
///
/// **Overflow.** The ``Overflow`` policy determines what happens to an element that is sent while the queue is full. With
/// ``Overflow/suspend``, the default, ``send(_:)`` waits for space, and ``trySend(_:)``, which can't wait, returns the element. The other
/// policies drop an element and return it:
///
///     let frames = AsyncBoundedQueue<Frame>(capacity: 4, overflow: .dropOldest)
///     if case .enqueuedDropping(let oldest) = frames.trySend(frame) { pool.giveBack(oldest) }
///
/// **Rendezvous.** With a capacity of 0, `send` waits until a consumer has received the element.
///
/// **Elements that aren't Sendable.** A producer gives its element away: the compiler doesn't let the producer use it afterward. Members
/// that copy elements, such as ``snapshot``, are available only for `Sendable` elements.
///
/// **Cancellation.** A cancelled consumer stops waiting, and no element is lost. A cancelled producer stops waiting, and its element is
/// never delivered.
///
/// **End.** After ``finish()``, consumers receive the remaining elements and then the end. Producers that wait for space throw
/// ``QueueFinished``. Releasing the last reference to the queue has the same effect; ``elements`` and ``changes`` don't keep it alive.
///
/// **Cost.** Adding and removing an element is O(1), amortized. Operations hold the queue's lock for a few instructions. Only these hold it
/// longer: ``removeAll()`` and ``removeAll(where:)`` admit producers to the free space, and the latter also looks at all elements;
/// ``finish()`` takes all waiting tasks out of their line; and if another task is computing a ``snapshot`` or an element of ``changes``, a
/// change copies all elements.
public final class AsyncBoundedQueue<Element>: Sendable {
    /// The result of sending an element to this queue.
    public typealias SendResult = SluiceConcurrency.SendResult<Element>
    /// The type of ``AsyncBoundedQueue/elements``.
    public typealias Elements = AsyncQueue<Element>.Elements

    /// What happens to an element that is sent while the queue is full.
    public enum Overflow: Hashable, Sendable {
        /// `send` waits for space, and ``AsyncBoundedQueue/trySend(_:)`` refuses the element (``SendResult/full(_:)``). Choose this
        /// policy if every element must be processed.
        case suspend
        /// The oldest pending element is dropped (``SendResult/enqueuedDropping(_:)``) and the new one is added. `send` doesn't wait.
        /// Choose this policy if only the newest elements matter, such as positions.
        case dropOldest
        /// The new element is dropped (``SendResult/dropped(_:)``). `send` doesn't wait. Choose this policy if some of many elements are
        /// enough, such as samples.
        case dropNewest

        var policy: OverflowPolicy {
            switch self {
            case .suspend: .suspend
            case .dropOldest: .dropOldest
            case .dropNewest: .dropNewest
            }
        }
    }

    @usableFromInline typealias Storage = AsyncQueue<Element>.Storage

    /// The maximum number of pending elements.
    public let capacity: Int
    @usableFromInline let storage: Storage

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of pending elements. With 0, the queue hands each element to a waiting consumer; if no consumer
    ///     waits, the overflow policy applies.
    ///   - overflow: What happens to an element that is sent while the queue is full.
    /// - Precondition: `capacity` isn't negative.
    public init(capacity: Int, overflow: Overflow = .suspend) {
        self.capacity = capacity
        storage = Storage(capacity: capacity, policy: overflow.policy)
    }

    /// Creates an empty queue that doesn't hold two pending elements with equal keys.
    ///
    ///     let visible = AsyncBoundedQueue(capacity: 50, overflow: .dropOldest, unique: \Thumbnail.url)
    ///
    /// If an element with an equal key is pending, the new element isn't added: its producer doesn't wait, and no other element is
    /// dropped. The element of a producer that waits for space isn't pending, so its key is looked up again when the producer is
    /// admitted.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of pending elements; see ``init(capacity:overflow:)``.
    ///   - overflow: What happens to an element that is sent while the queue is full.
    ///   - key: The value that two pending elements must not share; see ``AsyncQueue/init(unique:)``.
    /// - Precondition: `capacity` isn't negative.
    public init<Key: Hashable & Sendable>(
        capacity: Int, overflow: Overflow = .suspend, unique key: @escaping @Sendable (Element) -> Key
    ) {
        self.capacity = capacity
        storage = Storage(capacity: capacity, policy: overflow.policy, unique: KeySet { key($0.element) })
    }

    @inlinable
    deinit {
        storage.abandon()
    }

    // MARK: Sending

    /// Adds an element at the end of the queue, waiting for space if the queue is full.
    ///
    ///     try await pages.send(page)
    ///
    /// The method waits only in a queue with the policy ``Overflow/suspend``. With any other policy it adds or drops an element
    /// immediately.
    ///
    /// **Cancellation.** If the task is cancelled before the element is in the queue, the element is never delivered. Once the element is
    /// in the queue, the method returns normally, even if the task is cancelled.
    ///
    /// - Returns: What happened to the element. With the policy ``Overflow/suspend`` and without `unique:`, the result is always
    ///   ``SendResult/enqueued``, and you can ignore it.
    /// - Throws: `CancellationError` if the task is cancelled first; ``QueueFinished`` if the queue is finished before the element is
    ///   added.
    @discardableResult @inlinable
    public func send(_ element: sending Element) async throws -> sending SendResult {
        try await storage.send(Transferred(element)).released()
    }

    /// Adds an element at the end of the queue, waiting for space for up to `timeout` on the continuous clock; see ``send(_:)``.
    ///
    /// - Throws: ``DeadlineExceeded`` if there is no space in time; otherwise the same errors as ``send(_:)``.
    @discardableResult
    public func send(_ element: sending Element, timeout: Duration) async throws -> sending SendResult {
        try await send(element, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Adds an element at the end of the queue, waiting for space until a deadline; see ``send(_:)``.
    ///
    /// If there is space, the element is added even after the deadline.
    ///
    /// - Throws: ``DeadlineExceeded`` if there is no space in time; otherwise the same errors as ``send(_:)``.
    @discardableResult
    public func send<C: Clock>(
        _ element: sending Element, until deadline: C.Instant, clock: C
    ) async throws -> sending SendResult {
        try await storage.send(Transferred(element), until: deadline, clock: clock).released()
    }

    /// Adds an element at the end of the queue without waiting.
    ///
    ///     guard pages.trySend(page).isEnqueued else { throw Busy() }
    ///
    /// If consumers wait, the one that has waited longest gets the element. If the queue is full, its ``Overflow`` policy applies. The
    /// element doesn't overtake the elements of waiting producers.
    ///
    /// - Returns: What happened to the element. The result holds an element that was refused or dropped.
    @inlinable
    public func trySend(_ element: sending Element) -> sending SendResult {
        storage.trySend(Transferred(element)).released()
    }

    /// Finishes the queue: it accepts no more elements, and consumers receive the remaining ones and then the end.
    ///
    /// Producers that wait for space throw ``QueueFinished``, and their elements aren't delivered. Finishing the queue again has no effect.
    /// O(n) in the number of waiting tasks.
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
    ///     while let page = try await pages.dequeue() { show(await render(page)) }
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

    /// Removes and returns all pending elements. Waiting consumers continue to wait. O(n), mostly outside the lock.
    ///
    /// The elements of waiting producers aren't in the queue and aren't removed. The first of these producers are admitted to the free
    /// space. To remove their elements too, cancel the producers first.
    @discardableResult @inlinable
    public func removeAll() -> sending [Element] {
        Transferred.release(storage.removeAll())
    }

    // MARK: Looking

    /// The number of pending elements, for display: it may change before the caller reads it. O(1).
    ///
    /// It never exceeds ``capacity``: the elements of producers that wait for space aren't in the queue.
    @inlinable
    public var count: Int { storage.count }

    /// The number of waiting tasks, for display: it may change before the caller reads it. O(1).
    ///
    /// The waiting tasks are consumers while the queue is empty, and producers while it is full.
    @inlinable
    public var waitingCount: Int { storage.waitingCount }
}

extension AsyncBoundedQueue where Element: Sendable {
    /// Removes and returns the elements that satisfy a predicate. The others keep their order.
    ///
    ///     pages.removeAll { $0.isHidden }
    ///
    /// The predicate runs under the queue's lock. It must be short, and it must not use the queue: that traps. O(n); other users of the
    /// queue are blocked for that time. Waiting producers are admitted to the free space.
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

    /// An asynchronous sequence of the pending elements: as they are now, and after each change. See ``AsyncQueue/changes``.
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}

// MARK: - The result

/// The result of sending an element to an ``AsyncBoundedQueue``.
///
///     switch frames.trySend(frame) {
///     case .enqueued, .alreadyPending: break
///     case .enqueuedDropping(let unused), .dropped(let unused), .full(let unused), .finished(let unused): pool.giveBack(unused)
///     }
///
/// The result holds the element that isn't in the queue: the new one if it was refused, or the old one that was dropped for it.
/// ``alreadyPending`` is the exception: the new element is destroyed.
public enum SendResult<Element> {
    /// The element is in the queue, or a waiting consumer received it.
    case enqueued
    /// The element is in the queue. The queue was full and dropped its oldest element, which is the associated value.
    case enqueuedDropping(Element)
    /// The queue is full and its overflow policy dropped the new element, which is the associated value.
    case dropped(Element)
    /// The queue is full and its overflow policy doesn't drop elements. The associated value is the new element, which wasn't added.
    case full(Element)
    /// An element with an equal key is pending in a queue created with `unique:`. The new element was destroyed.
    case alreadyPending
    /// The queue is finished. The associated value is the new element, which wasn't added.
    case finished(Element)

    /// Whether the new element is in the queue or was received by a consumer.
    public var isEnqueued: Bool {
        switch self {
        case .enqueued, .enqueuedDropping: true
        case .dropped, .full, .alreadyPending, .finished: false
        }
    }

    /// The element itself now belongs to the caller.
    @inlinable
    func released<Released>() -> sending SendResult<Released> where Element == Transferred<Released> {
        switch self {
        case .enqueued: .enqueued
        case .enqueuedDropping(let item): .enqueuedDropping(item.release())
        case .dropped(let item): .dropped(item.release())
        case .full(let item): .full(item.release())
        case .alreadyPending: .alreadyPending
        case .finished(let item): .finished(item.release())
        }
    }
}

extension SendResult: Sendable where Element: Sendable {}
extension SendResult: Equatable where Element: Equatable {}
extension SendResult: Hashable where Element: Hashable {}

// MARK: - The error

/// An error thrown to a producer if its queue is finished before the element is added. The element isn't delivered.
///
///     do {
///         try await pages.send(page)
///     } catch is QueueFinished {
///         return
///     }
public struct QueueFinished: Error, Hashable, Sendable, CustomStringConvertible {
    /// Creates an error for a finished queue.
    public init() {}

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The queue is finished and takes no more elements. Stop producing, or call finish() only after every producer has ended."
    }
}
