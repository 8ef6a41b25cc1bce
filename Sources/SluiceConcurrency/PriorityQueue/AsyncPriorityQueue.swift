/// A queue whose most important element leaves first, filled and emptied by any number of tasks.
///
///     let queue = AsyncPriorityQueue(priority: \Request.rank)
///     queue.enqueue(prefetch)                                       // rank 1
///     queue.enqueue(tapped)                                         // rank 9: leaves before it
///     for await request in queue.elements { await serve(request) }
///
/// It has the surface of ``AsyncQueue``, and what is said there holds here too, with these differences.
///
/// **Order.** The element with the highest priority leaves first; elements of equal priority leave in the order in which
/// they came. Nobody is aged: as long as more important elements come, a less important one stays. Consumers that wait are
/// served in the order in which they started to wait, and so are producers: `send` waits its turn, whatever the priority,
/// because the queue orders what is in it, and not those who wait for a place.
///
/// **Overflow.** What is dropped to make room is the least important element, not the oldest.
///
/// **Priority.** It is read once, when the element comes, in the producer's task: what changes later does not move an
/// element. Priorities are compared under the queue's lock: let that be short, and do not use the queue in it, which traps.
///
/// **Cost.** Adding and taking is O(log n), a snapshot O(n log n). No thread is ever blocked for longer than that takes,
/// except during ``removeAll(where:)``, which looks at all elements.
public final class AsyncPriorityQueue<Element: Sendable, Priority: Comparable & Sendable>: Sendable {
    /// What became of an element that was added.
    public typealias EnqueueResult = SluiceConcurrency.EnqueueResult<Element>

    /// What happens to an element that comes while the queue is full.
    public enum Overflow: Hashable, Sendable {
        /// `send` waits for a place; ``AsyncPriorityQueue/enqueue(_:)``, which cannot wait, refuses the element.
        case suspend
        /// The least important element is dropped, and of several the one that came last: that may be the new one, which is
        /// not important enough to push out another of equal priority.
        case dropLowest
        /// The new element is dropped, and `send` does not take that for a failure.
        case dropNewest
        /// The new element is refused, and `send` throws a ``QueueError``.
        case reject

        var policy: OverflowPolicy {
            switch self {
            case .suspend: .suspend
            case .dropLowest: .evict
            case .dropNewest: .dropNew
            case .reject: .reject
            }
        }
    }

    @usableFromInline typealias Buffer = PriorityBuffer<Element, Priority>

    @usableFromInline let storage: QueueStorage<Buffer>
    @usableFromInline let priority: @Sendable (Element) -> Priority

    /// Creates an empty queue that is never full.
    ///
    ///     let queue = AsyncPriorityQueue(priority: \Request.rank)
    ///
    /// - Parameter priority: How important an element is; higher leaves first.
    public init(priority: @escaping @Sendable (Element) -> Priority) {
        self.priority = priority
        storage = QueueStorage()
    }

    /// Creates an empty queue with room for so many pending elements.
    ///
    /// - Parameter capacity: How many elements may be pending, at least 0; see ``AsyncQueue/init(capacity:overflow:)``.
    /// - Parameter overflow: What happens to an element that comes while the queue is full.
    /// - Parameter priority: How important an element is; higher leaves first.
    public init(capacity: Int, overflow: Overflow, priority: @escaping @Sendable (Element) -> Priority) {
        self.priority = priority
        storage = QueueStorage(capacity: capacity, policy: overflow.policy)
    }

    /// Creates an empty queue that is never full, and has no two pending elements with equal keys.
    ///
    /// The element that is pending stays as it is, also if the new one is more important.
    ///
    /// - Parameter key: What two elements must not share; see ``AsyncQueue/init(unique:)``.
    /// - Parameter priority: How important an element is; higher leaves first.
    public init<Key: Hashable & Sendable>(
        unique key: @escaping @Sendable (Element) -> Key, priority: @escaping @Sendable (Element) -> Priority
    ) {
        self.priority = priority
        storage = QueueStorage(unique: KeySet { key($0.element) })
    }

    /// Creates an empty queue with room for so many pending elements, no two of which have equal keys.
    ///
    /// - Parameter capacity: How many elements may be pending, at least 0; see ``AsyncQueue/init(capacity:overflow:)``.
    /// - Parameter overflow: What happens to an element that comes while the queue is full.
    /// - Parameter key: What two elements must not share; see ``AsyncQueue/init(unique:)``.
    /// - Parameter priority: How important an element is; higher leaves first.
    public init<Key: Hashable & Sendable>(
        capacity: Int, overflow: Overflow, unique key: @escaping @Sendable (Element) -> Key,
        priority: @escaping @Sendable (Element) -> Priority
    ) {
        self.priority = priority
        storage = QueueStorage(capacity: capacity, policy: overflow.policy, unique: KeySet { key($0.element) })
    }

    @inlinable
    deinit {
        storage.abandon()
    }

    @inlinable
    func item(_ element: Element) -> PrioritizedElement<Element, Priority> {
        PrioritizedElement(element, priority: priority(element))
    }

    // MARK: Adding

    /// Adds an element.
    ///
    ///     queue.enqueue(request)
    ///
    /// If a consumer waits, the one that has waited longest gets the element. If the queue is full, its ``Overflow`` policy
    /// applies; with ``Overflow/suspend`` the element is refused, because this cannot wait.
    ///
    /// - Returns: What became of the element.
    /// - Complexity: O(log n). Never suspends, and blocks for no longer than that takes.
    @discardableResult @inlinable
    public func enqueue(_ element: Element) -> EnqueueResult {
        storage.enqueue(item(element)).map(\.element)
    }

    /// Accepts no more elements; consumers get those that are left, and then the end; see ``AsyncQueue/finish()``.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Taking

    /// The most important element each time that one is asked for, until the queue is finished or the task that iterates is
    /// cancelled.
    ///
    ///     for await request in queue.elements { await serve(request) }
    ///
    /// Several tasks may iterate at once, each with an iterator of its own; each element goes to one of them. The sequence
    /// does not keep the queue alive, only what is in it.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Takes the most important element, as soon as there is one.
    ///
    ///     while let request = try await queue.dequeue() { await serve(request) }
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: `CancellationError` if the task is cancelled while it waits or was already; that element is then not lost
    ///   but goes to another consumer. If both happen at the same time either may win.
    /// - Complexity: O(log n). Suspends if the queue is empty; never blocks a thread for longer than that takes.
    @inlinable
    public func dequeue() async throws(CancellationError) -> Element? {
        switch await storage.next() {
        case .element(let item): return item.element
        case .finished: return nil
        case .cancelled, .expired: throw CancellationError()
        }
    }

    /// Takes the most important element if there is one; nil if there is none now, or the queue is finished and empty.
    ///
    /// While a consumer waits there is none, so this overtakes nobody. O(log n); never suspends.
    @inlinable
    public func tryDequeue() -> Element? {
        storage.tryDequeue()?.element
    }

    /// Removes and returns all elements that nobody has taken yet, the most important first; see ``AsyncQueue/removeAll()``.
    ///
    /// O(n log n), but others are held up only for as long as it takes to let producers in; never suspends.
    @discardableResult @inlinable
    public func removeAll() -> [Element] {
        storage.removeAll()
    }

    /// Removes and returns the elements that satisfy a predicate, the most important first; the others keep their order.
    ///
    ///     queue.removeAll { $0.user == user }
    ///
    /// The predicate runs under the queue's lock, on the elements in any order; see ``AsyncQueue/removeAll(where:)``.
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
    @inlinable
    public var count: Int { storage.count }

    /// The elements that nobody has taken yet, the most important first, as they are at one moment. O(n log n), outside the
    /// lock.
    @inlinable
    public var snapshot: [Element] { storage.snapshot }

    /// What is pending, the most important first, now and each time that it changes; see ``AsyncQueue/changes``.
    ///
    ///     for await pending in queue.changes { list.show(pending) }
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}
