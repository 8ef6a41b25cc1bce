/// An unbounded queue whose most important element leaves first, filled and emptied by any number of tasks.
///
///     let queue = AsyncPriorityQueue(priority: \Request.rank)
///     queue.enqueue(prefetch)                                       // rank 1
///     queue.enqueue(tapped)                                         // rank 9: leaves before it
///     for await request in queue.elements { await serve(request) }
///
/// It works as ``AsyncQueue`` does, with these differences.
///
/// **Order.** The element with the highest priority leaves first; elements of equal priority leave in the order in which
/// they came. Elements don't age: as long as more important elements come, a less important one stays. Waiting consumers are
/// served in the order in which they started to wait.
///
/// **Priority.** It is read once, when the element comes, in the producer's task: what changes later doesn't move an
/// element. Priorities are compared under the queue's lock: that must be short, and using the queue in it traps.
///
/// **Cost.** Adding and taking is O(log n), a snapshot O(n log n). No thread is blocked for longer than that takes,
/// except during ``removeAll(where:)``, which looks at all elements.
public final class AsyncPriorityQueue<Element, Priority: Comparable & Sendable>: Sendable {
    @usableFromInline typealias Storage = QueueStorage<PriorityBuffer<Transferred<Element>, Priority>>

    @usableFromInline let storage: Storage
    @usableFromInline let priority: @Sendable (Element) -> Priority

    /// Creates an empty queue.
    ///
    ///     let queue = AsyncPriorityQueue(priority: \Request.rank)
    ///
    /// - Parameter priority: How important an element is; higher leaves first.
    public init(priority: @escaping @Sendable (Element) -> Priority) {
        self.priority = priority
        storage = Storage()
    }

    /// Creates an empty queue that has no two pending elements with equal keys.
    ///
    ///     let queue = AsyncPriorityQueue(unique: \Request.user, priority: \.rank)
    ///
    /// The pending element stays as it is, also if the new one is more important.
    ///
    /// - Parameter key: What two elements must not share; see ``AsyncQueue/init(unique:)``.
    /// - Parameter priority: How important an element is; higher leaves first.
    public init<Key: Hashable & Sendable>(
        unique key: @escaping @Sendable (Element) -> Key, priority: @escaping @Sendable (Element) -> Priority
    ) {
        self.priority = priority
        storage = Storage(unique: KeySet { key($0.element.element) })
    }

    @inlinable
    deinit {
        storage.abandon()
    }

    // MARK: Adding

    /// Adds an element.
    ///
    ///     queue.enqueue(request)
    ///
    /// If consumers wait, the one that has waited longest gets the element. It may be called from anywhere; the compiler refuses to use
    /// an element that isn't `Sendable` afterwards.
    ///
    /// - Returns: What became of the element. Only a finished queue doesn't take it, and a queue made with `unique:` while an equal
    ///   element is pending. So you may ignore the result.
    /// - Complexity: O(log n). Never suspends, and blocks for no longer than that takes.
    @discardableResult @inlinable
    public func enqueue(_ element: sending Element) -> EnqueueResult {
        let priority = priority(element)
        return storage.enqueue(PrioritizedElement(Transferred(element), priority: priority))
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

    /// The most important element each time that a task asks for one, until the queue is finished or the task that iterates is
    /// cancelled.
    ///
    ///     for await request in queue.elements { await serve(request) }
    ///
    /// Several tasks may iterate concurrently, each with an iterator of its own; each element goes to one of them. The sequence
    /// doesn't keep the queue alive, only its elements.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Takes the most important element, and waits for one if the queue is empty.
    ///
    ///     while let request = try await queue.dequeue() { await serve(request) }
    ///
    /// A task that waits here keeps the queue alive.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already. The element then goes to another
    ///   consumer. If both happen at the same time either may win.
    /// - Complexity: O(log n). Suspends if the queue is empty; never blocks a thread for longer than that takes.
    @inlinable
    public func dequeue() async throws(CancellationError) -> sending Element? {
        try await storage.next().dequeued()?.element.release()
    }

    /// Takes the most important element, and waits for one no longer than the timeout.
    ///
    ///     let request = try await queue.dequeue(timeout: .seconds(5))
    ///
    /// It does what ``dequeue(until:clock:)`` does with the continuous clock.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: ``DeadlineExceeded`` if the time is over first; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(log n), and a child task while it waits, which has ended when this returns.
    public func dequeue(timeout: Duration) async throws -> sending Element? {
        try await dequeue(until: .now + timeout, clock: .continuous)
    }

    /// Takes the most important element, and waits for one no longer than until the deadline.
    ///
    ///     let request = try await queue.dequeue(until: deadline, clock: clock)
    ///
    /// If there is an element now, the deadline doesn't matter. All else is as in ``dequeue()``.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first; `CancellationError` if the task is cancelled first. The next
    ///   element then goes to another consumer.
    /// - Complexity: O(log n), and a child task while it waits, which has ended when this returns.
    public func dequeue<C: Clock>(until deadline: C.Instant, clock: C) async throws -> sending Element? {
        try await storage.next(until: deadline, clock: clock).dequeuedInTime()?.element.release()
    }

    /// Takes the most important element if there is one; nil if the queue is empty now.
    ///
    ///     if let request = queue.tryDequeue() { show(request) }
    ///
    /// While a consumer waits the queue is empty, so this overtakes no consumer. O(log n); never suspends.
    @inlinable
    public func tryDequeue() -> sending Element? {
        storage.tryDequeue()?.element.release()
    }

    /// Removes and returns all pending elements, the most important first; consumers keep waiting for the next.
    ///
    ///     let dropped = queue.removeAll()
    ///
    /// O(n log n), mostly outside the lock; never suspends.
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

extension AsyncPriorityQueue where Element: Comparable, Priority == Element {
    /// Creates an empty queue of elements that are compared with each other; the greatest leaves first.
    ///
    ///     let numbers = AsyncPriorityQueue<Int, Int>()
    public convenience init() {
        self.init(priority: { $0 })
    }
}

extension AsyncPriorityQueue where Element: Sendable {
    /// Removes and returns the elements that satisfy a predicate, the most important first; the others keep their order.
    ///
    ///     queue.removeAll { $0.user == user }
    ///
    /// The predicate runs under the queue's lock, on the elements in any order: it must be short, and using the queue in it traps. If it
    /// throws, nothing is removed.
    ///
    /// - Returns: The removed elements, the most important first.
    /// - Throws: Only what the predicate throws.
    /// - Complexity: O(n), during which other users of the queue are held up; never suspends.
    @discardableResult @inlinable
    public func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> [Element] {
        try storage.removeAll(where: { (item) throws(Failure) in try shouldBeRemoved(item.element) }).map(\.element)
    }

    /// The pending elements, the most important first, as they are at one moment.
    ///
    ///     list.show(queue.snapshot)
    ///
    /// O(n log n), outside the lock.
    @inlinable
    public var snapshot: [Element] { storage.snapshot.map(\.element) }

    /// The pending elements, the most important first, now and each time that they change; see ``AsyncQueue/changes``.
    ///
    ///     for await pending in queue.changes { list.show(pending) }
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}
