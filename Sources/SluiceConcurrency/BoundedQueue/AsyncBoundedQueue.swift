/// A queue with room for a number of elements, whose producers wait while it is full.
///
///     let pages = AsyncBoundedQueue<Page>(capacity: 4)
///     try await pages.send(page)                                    // waits while four are pending
///     for await page in pages.elements { show(await render(page)) } // in any number of tasks
///
/// **Order.** Elements leave in the order in which they came. Waiting consumers are served in the order in which they started to wait.
/// Waiting producers get places in the order in which they started to wait, and no later producer overtakes them.
///
/// **Full.** The ``Overflow`` policy says what a full queue does with one more element. With ``Overflow/suspend``, the default,
/// ``send(_:)`` waits for a place and ``trySend(_:)``, which cannot wait, returns the element. The other policies drop an element,
/// and return it too:
///
///     let frames = AsyncBoundedQueue<Frame>(capacity: 4, overflow: .dropOldest)
///     if case .enqueuedDropping(let oldest) = frames.trySend(frame) { pool.giveBack(oldest) }
///
/// **No room.** A queue with a capacity of 0 hands each element over: `send` returns when a consumer has it.
///
/// **Elements that aren't Sendable.** A producer gives its element away: the compiler refuses to use it afterwards. A consumer gets it
/// for itself. Members that copy elements, such as ``snapshot``, need `Sendable` elements.
///
/// **Cancellation.** A cancelled consumer stops waiting and takes no element with it: its element goes to another consumer. A cancelled
/// producer stops waiting too, and its element is never delivered.
///
/// **End.** After ``finish()`` consumers get the remaining elements, and then the end; producers that wait for a place get
/// ``QueueFinished``. Dropping the last reference to the queue does the same: ``elements`` doesn't keep the queue alive.
///
/// **Cost.** Adding and taking is O(1), amortised. No thread is blocked for longer than a few instructions, except during
/// ``removeAll(where:)``, which looks at all elements. After ``snapshot``, and while a task observes ``changes``, the next change may
/// copy all elements.
public final class AsyncBoundedQueue<Element>: Sendable {
    /// What became of an element that was sent.
    public typealias SendResult = SluiceConcurrency.SendResult<Element>
    /// The elements of a queue as they come; see ``AsyncBoundedQueue/elements``.
    public typealias Elements = AsyncQueue<Element>.Elements

    /// What happens to an element that comes while the queue is full.
    public enum Overflow: Hashable, Sendable {
        /// `send` waits for a place, and ``AsyncBoundedQueue/trySend(_:)`` refuses the element (``SendResult/full(_:)``). For work that
        /// must all be done.
        case suspend
        /// The oldest pending element is dropped (``SendResult/enqueuedDropping(_:)``), and the new one is added. `send` doesn't wait.
        /// For news, of which the latest count.
        case dropOldest
        /// The new element is dropped (``SendResult/dropped(_:)``). `send` doesn't wait. For samples, of which a few are enough.
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

    /// How many elements may be pending.
    public let capacity: Int
    @usableFromInline let storage: Storage

    /// Creates an empty queue with room for `capacity` pending elements.
    ///
    ///     let pages = AsyncBoundedQueue<Page>(capacity: 4)
    ///
    /// - Parameter capacity: How many elements may be pending, at least 0. A queue without room hands each element to a consumer that
    ///   waits for it. If no consumer waits, the overflow policy applies immediately; with ``Overflow/suspend`` that is a rendezvous.
    /// - Parameter overflow: What happens to an element that comes while the queue is full.
    public init(capacity: Int, overflow: Overflow = .suspend) {
        self.capacity = capacity
        storage = Storage(capacity: capacity, policy: overflow.policy)
    }

    /// Creates an empty queue with room for `capacity` pending elements, no two of which have equal keys.
    ///
    ///     let visible = AsyncBoundedQueue(capacity: 50, overflow: .dropOldest, unique: \Thumbnail.url)
    ///
    /// An element whose key is pending isn't added: no other element is dropped for it, and its producer doesn't wait. The element
    /// of a producer that waits for a place isn't pending: its key is looked up again when its turn comes.
    ///
    /// - Parameter capacity: How many elements may be pending; see ``init(capacity:overflow:)``.
    /// - Parameter overflow: What happens to an element that comes while the queue is full.
    /// - Parameter key: What two elements must not share; see ``AsyncQueue/init(unique:)``.
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

    /// Accepts no more elements; consumers get the remaining ones, and then the end.
    ///
    ///     pages.finish()
    ///
    /// Producers that wait for a place get ``QueueFinished``, and their elements aren't in the queue. Calling it again does
    /// nothing. O(number of waiting tasks); never suspends.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Taking

    /// The elements as they come, until the queue is finished or the task that iterates is cancelled.
    ///
    ///     for await page in pages.elements { show(await render(page)) }
    ///
    /// Several tasks may iterate concurrently, each with an iterator of its own; each element goes to one of them. Leaving the
    /// loop takes nothing away from the others. The sequence doesn't keep the queue alive, only its elements.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Takes the first element, and waits for it if the queue is empty.
    ///
    ///     while let page = try await pages.dequeue() { show(await render(page)) }
    ///
    /// A task that waits here keeps the queue alive.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already. The element then goes to another
    ///   consumer. If both happen at the same time either may win.
    /// - Complexity: O(1), amortised. Suspends if the queue is empty; never blocks a thread.
    @inlinable
    public func dequeue() async throws(CancellationError) -> sending Element? {
        try await storage.next().dequeued()?.release()
    }

    /// Takes the first element, and waits for it no longer than the timeout.
    ///
    ///     let page = try await pages.dequeue(timeout: .seconds(5))
    ///
    /// It does what ``dequeue(until:clock:)`` does with the continuous clock.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: ``DeadlineExceeded`` if the time is over first; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1), amortised, and a child task while it waits, which has ended when this returns.
    public func dequeue(timeout: Duration) async throws -> sending Element? {
        try await dequeue(until: .now + timeout, clock: .continuous)
    }

    /// Takes the first element, and waits for it no longer than until the deadline.
    ///
    ///     let page = try await pages.dequeue(until: deadline, clock: clock)
    ///
    /// If there is an element now, the deadline doesn't matter. All else is as in ``dequeue()``.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first; `CancellationError` if the task is cancelled first. The next
    ///   element then goes to another consumer.
    /// - Complexity: O(1), amortised, and a child task while it waits, which has ended when this returns.
    public func dequeue<C: Clock>(until deadline: C.Instant, clock: C) async throws -> sending Element? {
        try await storage.next(until: deadline, clock: clock).dequeuedInTime()?.release()
    }

    /// Takes the first element if there is one; nil if the queue is empty now.
    ///
    ///     if let page = pages.tryDequeue() { show(page) }
    ///
    /// While a consumer waits the queue is empty, so this overtakes no consumer. O(1), amortised; never suspends.
    @inlinable
    public func tryDequeue() -> sending Element? {
        storage.tryDequeue()?.release()
    }

    /// Removes and returns all pending elements; consumers keep waiting for the next.
    ///
    ///     let dropped = pages.removeAll()
    ///
    /// The elements of producers that wait for a place aren't in the queue. They stay, and the first of them get the places.
    /// To get rid of them too, cancel their producers.
    ///
    /// O(n), but others are held up only for as long as it takes to let producers in; never suspends.
    @discardableResult @inlinable
    public func removeAll() -> sending [Element] {
        Transferred.release(storage.removeAll())
    }

    // MARK: Looking

    /// The number of pending elements, for display: it may have changed before the caller reads it. O(1).
    ///
    /// It never exceeds ``capacity``: the elements of producers that wait for a place aren't in the queue.
    @inlinable
    public var count: Int { storage.count }

    /// The number of waiting tasks, for display: it may have changed before the caller reads it. O(1).
    ///
    /// They are consumers while the queue is empty, and producers while it is full.
    @inlinable
    public var waitingCount: Int { storage.waitingCount }
}

extension AsyncBoundedQueue where Element: Sendable {
    /// Removes and returns the elements that satisfy a predicate; the others keep their order.
    ///
    ///     pages.removeAll { $0.isHidden }
    ///
    /// The predicate runs under the queue's lock: it must be short, and using the queue in it traps. If it throws, nothing is
    /// removed. Producers that wait get the free places.
    ///
    /// - Returns: The removed elements, in order.
    /// - Throws: Only what the predicate throws.
    /// - Complexity: O(n), during which other users of the queue are held up; never suspends.
    @discardableResult @inlinable
    public func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> [Element] {
        try storage.removeAll(where: { (item) throws(Failure) in try shouldBeRemoved(item.element) }).map(\.element)
    }

    /// The pending elements, in order, as they are at one moment.
    ///
    ///     list.show(pages.snapshot)
    ///
    /// O(n), outside the lock; a change that comes meanwhile copies the elements.
    @inlinable
    public var snapshot: [Element] { storage.snapshot.map(\.element) }

    /// The pending elements, now and each time that they change; see ``AsyncQueue/changes``.
    ///
    ///     for await pending in pages.changes { list.show(pending) }
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}
