public import HeapModule

/// An unbounded queue that returns the element with the highest priority first.
///
///     let queue = AsyncPriorityQueue(priority: \Request.rank)
///     queue.enqueue(prefetch)                                       // rank 1
///     queue.enqueue(tapped)                                         // rank 9: leaves before it
///     for await request in queue.elements { await serve(request) }
///
/// It works like ``AsyncQueue``, with these differences:
///
/// **Order.** The element with the highest priority leaves first. Elements of equal priority leave in the order in which they were added.
/// Elements don't age: an element stays in the queue as long as elements of higher priority arrive.
///
/// **Priority.** The priority is read once, in the producer's task, when the element is added. Later changes don't move the element.
/// Priorities are compared under the queue's lock: the comparison must be short, and it must not use the queue, which traps.
///
/// **Cost.** Adding and removing an element is O(log n), a snapshot O(n log n). Operations hold the queue's lock no longer than adding an
/// element takes. Only these hold it longer: ``removeAll(where:)`` looks at all elements; ``finish()`` takes all waiting tasks out of their
/// line; and if another task is computing a ``snapshot`` or an element of ``changes``, a change copies all elements.
public final class AsyncPriorityQueue<Element, Priority: Comparable & Sendable>: Sendable {
    @usableFromInline typealias Storage = QueueStorage<PriorityBuffer<Transferred<Element>, Priority>>

    @usableFromInline let storage: Storage
    @usableFromInline let priority: @Sendable (Element) -> Priority

    /// Creates an empty queue.
    ///
    /// - Parameter priority: The priority of an element. The element with the highest priority leaves first.
    public init(priority: @escaping @Sendable (Element) -> Priority) {
        self.priority = priority
        storage = Storage()
    }

    /// Creates an empty queue that doesn't hold two pending elements with equal keys.
    ///
    ///     let queue = AsyncPriorityQueue(unique: \Request.user, priority: \.rank)
    ///
    /// The pending element and its priority don't change, even if the refused element has a higher priority.
    ///
    /// - Parameters:
    ///   - key: The value that two pending elements must not share; see ``AsyncQueue/init(unique:)``.
    ///   - priority: The priority of an element. The element with the highest priority leaves first.
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

    /// Adds an element to the queue, or passes it to the consumer that has waited longest.
    ///
    /// - Returns: What happened to the element; see ``AsyncQueue/enqueue(_:)``.
    @discardableResult @inlinable
    public func enqueue(_ element: sending Element) -> EnqueueResult {
        let priority = priority(element)
        return storage.enqueue(PrioritizedElement(Transferred(element), priority: priority))
    }

    /// Finishes the queue: it accepts no more elements, and consumers receive the remaining ones and then the end.
    ///
    /// Finishing it again has no effect. O(n) in the number of waiting tasks.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Taking

    /// An asynchronous sequence that removes the elements from the queue, the highest priority first.
    ///
    /// It ends when the queue is finished and empty, or when the iterating task is cancelled. Several tasks can iterate concurrently, each
    /// with its own iterator; each element goes to one of them.
    @inlinable
    public var elements: Elements { Elements(storage: storage) }

    /// Removes and returns the element with the highest priority, waiting for one if the queue is empty.
    ///
    ///     while let request = try await queue.dequeue() { await serve(request) }
    ///
    /// - Returns: The element, or `nil` if the queue is finished and empty.
    /// - Throws: `CancellationError` if the task is cancelled before it receives an element.
    @inlinable
    public func dequeue() async throws(CancellationError) -> sending Element? {
        try await storage.next().dequeued()?.element.release()
    }

    /// Removes and returns the element with the highest priority, waiting for one for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if no element arrives in time; otherwise the same errors as ``dequeue()``.
    public func dequeue(timeout: Duration) async throws -> sending Element? {
        try await dequeue(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Removes and returns the element with the highest priority, waiting for one until a deadline.
    ///
    /// If there is an element, it is returned even after the deadline.
    ///
    /// - Throws: ``DeadlineExceeded`` if no element arrives in time; otherwise the same errors as ``dequeue()``.
    public func dequeue<C: Clock>(until deadline: C.Instant, clock: C) async throws -> sending Element? {
        try await storage.next(until: deadline, clock: clock).dequeuedInTime()?.element.release()
    }

    /// Removes and returns the element with the highest priority, or returns `nil` if the queue is empty. O(log n).
    @inlinable
    public func tryDequeue() -> sending Element? {
        storage.tryDequeue()?.element.release()
    }

    /// Removes and returns all pending elements, the highest priority first. Waiting consumers continue to wait.
    ///
    /// O(n log n), mostly outside the lock.
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

extension AsyncPriorityQueue where Element: Comparable, Priority == Element {
    /// Creates an empty queue of comparable elements. The greatest element leaves first.
    ///
    ///     let numbers = AsyncPriorityQueue<Int, Int>()
    public convenience init() {
        self.init(priority: { $0 })
    }
}

extension AsyncPriorityQueue where Element: Sendable {
    /// Removes and returns the elements that satisfy a predicate. The others keep their order.
    ///
    ///     queue.removeAll { $0.user == user }
    ///
    /// The predicate runs under the queue's lock, on the elements in any order. It must be short, and it must not use the queue: that
    /// traps. O(n); other users of the queue are blocked for that time.
    ///
    /// - Returns: The removed elements, the highest priority first.
    /// - Throws: The predicate's error. No element is removed then.
    @discardableResult @inlinable
    public func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> [Element] {
        try storage.removeAll(where: { (item) throws(Failure) in try shouldBeRemoved(item.element) }).map(\.element)
    }

    /// The pending elements, the highest priority first.
    ///
    /// O(n log n), outside the lock.
    @inlinable
    public var snapshot: [Element] { storage.snapshot.map(\.element) }

    /// An asynchronous sequence of the pending elements, the highest priority first. See ``AsyncQueue/changes``.
    public var changes: QueueChanges<Element> { QueueChanges(of: storage) }
}

// MARK: - Elements

extension AsyncPriorityQueue {
    /// The type of ``AsyncPriorityQueue/elements``.
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
                await storage.next().item?.element.release()
            }

            /// Waits for the next element in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> sending Element? {
                await storage.next().item?.element.release()
            }
        }
    }
}

// MARK: - The buffer

@usableFromInline
struct PrioritizedElement<Element: Sendable, Priority: Comparable & Sendable>: Sendable {
    @usableFromInline let element: Element
    @usableFromInline let priority: Priority
    /// The position in the order of arrival. The buffer sets it, under the lock.
    @usableFromInline var number: UInt64 = 0

    @inlinable
    init(_ element: Element, priority: Priority) {
        self.element = element
        self.priority = priority
    }
}

extension PrioritizedElement: Comparable {
    @inlinable
    static func < (first: Self, second: Self) -> Bool {
        if first.priority < second.priority { return true }
        if second.priority < first.priority { return false }
        return first.number > second.number
    }

    @inlinable
    static func == (first: Self, second: Self) -> Bool { first.number == second.number }
}

@usableFromInline
struct PriorityBuffer<Element: Sendable, Priority: Comparable & Sendable>: QueueBuffer {
    @usableFromInline typealias Item = PrioritizedElement<Element, Priority>

    @usableFromInline var heap = Heap<Item>()
    @usableFromInline var numbers: UInt64 = 0

    @inlinable
    init() {}

    @inlinable var count: Int { heap.count }
    @inlinable var items: [Item] { heap.unordered }

    @inlinable
    mutating func append(_ item: Item) {
        numbers += 1
        var numbered = item
        numbered.number = numbers
        heap.insert(numbered)
    }

    @inlinable
    mutating func popFirst() -> Item? { heap.popMax() }

    @inlinable
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Item], old: Self) {
        var removed: [Item] = []
        var kept: [Item] = []
        for item in heap.unordered {
            if try shouldBeRemoved(item.element) { removed.append(item) } else { kept.append(item) }
        }
        let old = self
        heap = Heap(kept)
        return (removed, old)
    }

    @inlinable
    static func element(of item: Item) -> Element { item.element }

    @inlinable
    static func elements(of items: [Item]) -> [Element] {
        items.sorted(by: >).map(\.element)
    }
}
