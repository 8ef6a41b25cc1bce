/// A queue that any number of tasks fill and any number of tasks empty; each element goes to exactly one of them.
///
///     let queue = AsyncQueue<Song.ID>()
///     queue.enqueue(id)                                             // synchronous, from anywhere
///     for await id in queue.elements { await download(id) }         // in as many tasks as one likes
///
/// **Order.** Elements leave in the order in which they came. Consumers that wait are served in the order in which they
/// started to wait, and so are producers that wait for a place.
///
/// **Size.** Unbounded, unless it is made with a capacity: elements that nobody takes stay in memory. A queue with a capacity
/// has an ``Overflow`` policy, which says what happens to an element that comes while the queue is full. With
/// ``Overflow/suspend``, `send` waits for a place, so that producers are held to the pace of the consumers:
///
///     let pages = AsyncQueue<Page>(capacity: 4, overflow: .suspend)
///     try await pages.send(page)                                    // waits while four are pending
///
/// **No duplicates.** A queue made with `unique:` does not take an element while one with an equal key is pending:
///
///     let queue = AsyncQueue(unique: \Song.id)
///     queue.enqueue(song)                                           // .enqueued
///     queue.enqueue(song)                                           // .alreadyPending
///
/// **Cancellation.** A cancelled consumer stops waiting, and takes no element with it: what it has not got stays in the
/// queue for the others. A cancelled producer stops waiting too: its element is then not in the queue, and never will be.
///
/// **End.** After ``finish()`` consumers get what is left, and then the end; producers that wait for a place get an error.
/// Dropping the last reference to the queue does the same, as nobody can add anything then: ``elements`` does not keep the
/// queue alive.
///
/// **Cost.** Adding and taking is O(1), amortised. No thread is ever blocked for longer than a few instructions, except
/// during ``removeAll(where:)``, which looks at all elements. After ``snapshot``, and while somebody looks at ``changes``,
/// the next change may copy all elements.
public final class AsyncQueue<Element: Sendable>: Sendable {
    /// What became of an element that was added.
    public typealias EnqueueResult = SluiceConcurrency.EnqueueResult<Element>

    /// What happens to an element that comes while the queue is full.
    public enum Overflow: Hashable, Sendable {
        /// `send` waits for a place; ``AsyncQueue/enqueue(_:)``, which cannot wait, refuses the element
        /// (``EnqueueResult/rejected``). For work that must all be done.
        case suspend
        /// The element that has been pending longest is dropped, and returned, and the new one is added. For news, of which
        /// the latest count.
        case dropOldest
        /// The new element is dropped (``EnqueueResult/dropped``), and `send` does not take that for a failure. For samples,
        /// of which a few are enough.
        case dropNewest
        /// The new element is refused (``EnqueueResult/rejected``), and `send` throws a ``QueueError``. For requests that are
        /// better answered with "too busy" than late.
        case reject

        var policy: OverflowPolicy {
            switch self {
            case .suspend: .suspend
            case .dropOldest: .evict
            case .dropNewest: .dropNew
            case .reject: .reject
            }
        }
    }

    @usableFromInline let storage: QueueStorage<FIFOBuffer<Element>>

    /// Creates an empty queue without a bound: what nobody takes stays in memory. Where producers can be faster than
    /// consumers, give it a capacity.
    public init() {
        storage = QueueStorage()
    }

    /// Creates an empty queue with room for at most `capacity` pending elements.
    ///
    ///     let pages = AsyncQueue<Page>(capacity: 4, overflow: .suspend)
    ///
    /// - Parameter capacity: How many elements may be pending, at least 0. A queue without room hands over: an element goes
    ///   to a consumer that waits for it, and otherwise the policy applies at once. With ``Overflow/suspend`` that is a
    ///   rendezvous: `send` returns when a consumer has the element.
    /// - Parameter overflow: What happens to an element that comes while the queue is full.
    public init(capacity: Int, overflow: Overflow) {
        storage = QueueStorage(capacity: capacity, policy: overflow.policy)
    }

    /// Creates an empty queue without a bound that has no two pending elements with equal keys.
    ///
    ///     let queue = AsyncQueue(unique: \Song.id)
    ///     let names = AsyncQueue<String>(unique: \.self)
    ///
    /// An element is pending until a consumer has it or it is removed; then an equal one may come again. Looking for it is
    /// O(1).
    ///
    /// - Parameter key: What two elements must not share. It is read, hashed and compared under the queue's lock: let it be
    ///   short, and do not use the queue in it, which traps. It must not change while the element is pending.
    public init<Key: Hashable & Sendable>(unique key: @escaping @Sendable (Element) -> Key) {
        storage = QueueStorage(unique: KeySet(key: key))
    }

    /// Creates an empty queue with room for at most `capacity` pending elements, no two of which have equal keys.
    ///
    ///     let visible = AsyncQueue(capacity: 50, overflow: .dropOldest, unique: \Thumbnail.url)
    ///
    /// An element whose key is pending is not added, so it makes no other drop, and its producer does not wait. The element
    /// of a producer that waits for a place is not pending: whether its key is, is looked at again when its turn comes.
    ///
    /// - Parameter capacity: How many elements may be pending; see ``init(capacity:overflow:)``.
    /// - Parameter overflow: What happens to an element that comes while the queue is full.
    /// - Parameter key: What two elements must not share; see ``init(unique:)``.
    public init<Key: Hashable & Sendable>(
        capacity: Int, overflow: Overflow, unique key: @escaping @Sendable (Element) -> Key
    ) {
        storage = QueueStorage(capacity: capacity, policy: overflow.policy, unique: KeySet(key: key))
    }

    @inlinable
    deinit {
        storage.abandon()
    }

    // MARK: Adding

    /// Adds an element at the end.
    ///
    ///     queue.enqueue(id)
    ///
    /// If a consumer waits, the one that has waited longest gets the element. **On a full queue this never waits**: the
    /// ``Overflow`` policy applies, and with ``Overflow/suspend`` the element is *refused*. Use ``send(_:)`` there, or
    /// `guard queue.enqueue(id).isEnqueued else { … }`.
    ///
    /// - Returns: What became of the element. In a queue without capacity and without `unique:` it is added, unless the
    ///   queue is finished.
    /// - Complexity: O(1), amortised. Never suspends, and blocks for no longer than a few instructions.
    @discardableResult @inlinable
    public func enqueue(_ element: Element) -> EnqueueResult {
        storage.enqueue(element)
    }

    /// Accepts no more elements; consumers get those that are left, and then the end.
    ///
    /// Producers that wait for a place get a ``QueueError``; their elements are not in the queue. Calling it again does
    /// nothing. O(number of those who wait); never suspends.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Taking

    /// The elements as they come, until the queue is finished or the task that iterates is cancelled.
    ///
    ///     for await id in queue.elements { await download(id) }
    ///
    /// Several tasks may iterate at once, each with an iterator of its own; each element goes to one of them. Leaving the
    /// loop takes nothing away from the others. The sequence does not keep the queue alive, only what is in it.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Takes the first element, as soon as there is one.
    ///
    ///     while let id = try await queue.dequeue() { await download(id) }
    ///
    /// A task that waits here keeps the queue alive.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already; that element is then not lost
    ///   but goes to another consumer. If both happen at the same time either may win.
    /// - Complexity: O(1), amortised. Suspends if the queue is empty; never blocks a thread.
    @inlinable
    public func dequeue() async throws(CancellationError) -> Element? {
        switch await storage.next() {
        case .element(let element): return element
        case .finished: return nil
        case .cancelled, .expired: throw CancellationError()
        }
    }

    /// Takes the first element if there is one; nil if there is none now, or the queue is finished and empty.
    ///
    ///     if let id = queue.tryDequeue() { start(id) }
    ///
    /// While a consumer waits there is none, so this overtakes nobody. O(1), amortised; never suspends.
    @inlinable
    public func tryDequeue() -> Element? {
        storage.tryDequeue()
    }

    /// Removes and returns all elements that nobody has taken yet; consumers keep waiting for the next.
    ///
    ///     let dropped = queue.removeAll()
    ///
    /// The elements of producers that wait for a place are not in the queue, so they stay; the first of them get the places.
    /// To be rid of them too, cancel their producers.
    ///
    /// O(n), but others are held up only for as long as it takes to let producers in; never suspends.
    @discardableResult @inlinable
    public func removeAll() -> [Element] {
        storage.removeAll()
    }

    /// Removes and returns the elements that satisfy a predicate; the others keep their order.
    ///
    ///     songs.removeAll { $0.album == album }
    ///
    /// The predicate runs under the queue's lock: let it be short, and do not use the queue in it, which traps. If it
    /// throws, nothing is removed. Places that become free go to the producers that have waited longest for one.
    ///
    /// - Complexity: O(n), during which others who use the queue are held up; never suspends.
    @discardableResult @inlinable
    public func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> [Element] {
        try storage.removeAll(where: shouldBeRemoved)
    }

    // MARK: Looking

    /// How many elements nobody has taken yet, for display: it may have changed before the caller looks at it. O(1).
    ///
    /// It is never more than the capacity: the elements of producers that wait for a place are not in the queue.
    @inlinable
    public var count: Int { storage.count }

    /// The elements that nobody has taken yet, in order, as they are at one moment.
    ///
    /// O(n), outside the lock; a change that comes meanwhile copies the elements.
    @inlinable
    public var snapshot: [Element] { storage.snapshot }

    /// What is pending, now and each time that it changes: for a user interface that shows the queue.
    ///
    ///     for await pending in queue.changes { list.show(pending) }
    ///
    /// **Order.** The first element is the queue as it is now. After that the newest counts: an observer that is slow, or
    /// busy, gets one snapshot for all that happened meanwhile. Any number of tasks may observe, each at its own pace.
    ///
    /// **Cancellation.** A loop that is left, by `break` or because its task is cancelled, leaves nothing behind.
    ///
    /// **End.** It ends when the queue is finished and the last element is taken, and also when the last reference to the
    /// queue is dropped: the sequence does not keep it alive.
    ///
    /// **Cost.** Nothing for a queue that nobody observes; O(n) for each snapshot that is looked at.
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}
