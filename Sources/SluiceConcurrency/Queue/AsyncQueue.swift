/// An unbounded queue that any number of tasks fill and empty; each element goes to exactly one consumer.
///
///     let queue = AsyncQueue<Song.ID>()
///     queue.enqueue(id)                                             // synchronous, from anywhere
///     for await id in queue.elements { await download(id) }         // in any number of tasks
///
/// **Order.** Elements leave in the order in which they came. Waiting consumers are served in the order in which they started to
/// wait.
///
/// **Size.** The queue is never full: elements that no consumer takes stay in memory. If producers can be faster than consumers, use
/// an ``AsyncBoundedQueue``, which holds producers to the pace of the consumers.
///
/// **No duplicates.** A queue made with `unique:` doesn't take an element while one with an equal key is pending:
///
///     let queue = AsyncQueue(unique: \Song.id)
///     queue.enqueue(song)                                           // .enqueued
///     queue.enqueue(song)                                           // .alreadyPending
///
/// **Elements that aren't Sendable.** A producer gives its element away: the compiler refuses to use it after ``enqueue(_:)``. A consumer
/// gets it for itself. Members that copy elements, such as ``snapshot``, need `Sendable` elements.
///
/// **Cancellation.** A cancelled consumer stops waiting and takes no element with it: its element goes to another consumer.
///
/// **End.** After ``finish()`` consumers get the remaining elements, and then the end. Dropping the last reference to the queue does the
/// same: ``elements`` doesn't keep the queue alive.
///
/// **Cost.** Adding and taking is O(1), amortised. No thread is blocked for longer than a few instructions, except during
/// ``removeAll(where:)``, which looks at all elements. After ``snapshot``, and while a task observes ``changes``, the next change may
/// copy all elements.
public final class AsyncQueue<Element>: Sendable {
    @usableFromInline typealias Storage = QueueStorage<FIFOBuffer<Transferred<Element>>>

    @usableFromInline let storage: Storage

    /// Creates an empty queue.
    ///
    ///     let queue = AsyncQueue<Song.ID>()
    public init() {
        storage = Storage()
    }

    /// Creates an empty queue that has no two pending elements with equal keys.
    ///
    ///     let queue = AsyncQueue(unique: \Song.id)
    ///     let names = AsyncQueue<String>(unique: \.self)
    ///
    /// An element is pending until a consumer has it or it is removed; then an equal one may come again. Looking for it is
    /// O(1).
    ///
    /// - Parameter key: What two elements must not share. It is read, hashed and compared under the queue's lock: it must be
    ///   short, and using the queue in it traps. It must not change while the element is pending.
    public init<Key: Hashable & Sendable>(unique key: @escaping @Sendable (Element) -> Key) {
        storage = Storage(unique: KeySet { key($0.element) })
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
    /// If consumers wait, the one that has waited longest gets the element. It may be called from anywhere; the compiler refuses to use
    /// an element that isn't `Sendable` afterwards.
    ///
    /// - Returns: What became of the element. Only a finished queue doesn't take it, and a queue made with `unique:` while an equal
    ///   element is pending. So you may ignore the result.
    /// - Complexity: O(1), amortised. Never suspends, and blocks for no longer than a few instructions.
    @discardableResult @inlinable
    public func enqueue(_ element: sending Element) -> EnqueueResult {
        storage.enqueue(Transferred(element))
    }

    /// Accepts no more elements; consumers get the remaining ones, and then the end.
    ///
    ///     queue.finish()
    ///
    /// Calling it again does nothing. O(number of waiting tasks); never suspends.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Taking

    /// The elements as they come, until the queue is finished or the task that iterates is cancelled.
    ///
    ///     for await id in queue.elements { await download(id) }
    ///
    /// Several tasks may iterate concurrently, each with an iterator of its own; each element goes to one of them. Leaving the
    /// loop takes nothing away from the others. The sequence doesn't keep the queue alive, only its elements.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Takes the first element, and waits for it if the queue is empty.
    ///
    ///     while let id = try await queue.dequeue() { await download(id) }
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
    ///     let id = try await queue.dequeue(timeout: .seconds(5))
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
    ///     let id = try await queue.dequeue(until: deadline, clock: clock)
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
    ///     if let id = queue.tryDequeue() { start(id) }
    ///
    /// While a consumer waits the queue is empty, so this overtakes no consumer. O(1), amortised; never suspends.
    @inlinable
    public func tryDequeue() -> sending Element? {
        storage.tryDequeue()?.release()
    }

    /// Removes and returns all pending elements; consumers keep waiting for the next.
    ///
    ///     let dropped = queue.removeAll()
    ///
    /// O(n), mostly outside the lock; never suspends.
    @discardableResult @inlinable
    public func removeAll() -> sending [Element] {
        Transferred.release(storage.removeAll())
    }

    // MARK: Looking

    /// The number of pending elements, for display: it may have changed before the caller reads it. O(1).
    @inlinable
    public var count: Int { storage.count }

    /// The number of tasks that wait for an element, for display: it may have changed before the caller reads it. O(1).
    @inlinable
    public var waitingCount: Int { storage.waitingCount }
}

extension AsyncQueue where Element: Sendable {
    /// Removes and returns the elements that satisfy a predicate; the others keep their order.
    ///
    ///     songs.removeAll { $0.album == album }
    ///
    /// The predicate runs under the queue's lock: it must be short, and using the queue in it traps. If it throws, nothing is
    /// removed.
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
    ///     list.show(songs.snapshot)
    ///
    /// O(n), outside the lock; a change that comes meanwhile copies the elements.
    @inlinable
    public var snapshot: [Element] { storage.snapshot.map(\.element) }

    /// The pending elements, now and each time that they change: for a user interface that shows the queue.
    ///
    ///     for await pending in queue.changes { list.show(pending) }
    ///
    /// **Order.** The first element is the queue as it is now. After that only the newest counts: a slow or busy observer gets one
    /// snapshot for all that happened meanwhile. Any number of tasks may observe, each at its own pace.
    ///
    /// **Cancellation.** A loop that is left, by `break` or because its task is cancelled, leaves nothing behind.
    ///
    /// **End.** It ends when the queue is finished and the last element is taken, and also when the last reference to the
    /// queue is dropped: the sequence doesn't keep it alive.
    ///
    /// **Cost.** Nothing for a queue that no task observes; O(n) for each snapshot that is looked at.
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}
