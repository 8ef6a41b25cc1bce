/// A queue that any number of tasks fill and any number of tasks empty; each element goes to exactly one of them.
///
///     let queue = AsyncQueue<Song.ID>()
///     queue.enqueue(id)                                             // synchronous, from anywhere
///     for await id in queue.elements { await download(id) }         // in as many tasks as one likes
///
/// **Order.** Elements leave in the order in which they came. Consumers that wait are served in the order in which they
/// started to wait.
///
/// **Cancellation.** A cancelled consumer stops waiting, and takes no element with it: what it has not got stays in the
/// queue for the others.
///
/// **End.** After ``finish()`` consumers get what is left, and then the end. Dropping the last reference to the queue
/// does the same, as nobody can add anything then: ``elements`` does not keep the queue alive.
///
/// **Size.** Unbounded: elements that nobody takes stay in memory.
///
/// **Cost.** Adding and taking is O(1), amortised. No thread is ever blocked for longer than a few instructions, except
/// during ``removeAll(where:)``, which looks at all elements.
public final class AsyncQueue<Element: Sendable>: Sendable {
    /// What became of an element that was added.
    public enum EnqueueResult: Hashable, Sendable {
        /// It is in the queue, or went to a consumer that waited for it.
        case enqueued
        /// The queue is finished; the element was not added.
        case finished
    }

    @usableFromInline let storage = QueueStorage<Element>()

    /// Creates an empty queue.
    public init() {}

    @inlinable
    deinit {
        storage.finish()
    }

    // MARK: Adding

    /// Adds an element at the end.
    ///
    ///     queue.enqueue(id)
    ///
    /// If a consumer waits, the one that has waited longest gets the element.
    ///
    /// - Returns: Whether the element was added; it is not once the queue is finished.
    /// - Complexity: O(1), amortised. Never suspends, and blocks for no longer than a few instructions.
    @discardableResult @inlinable
    public func enqueue(_ element: Element) -> EnqueueResult {
        storage.enqueue(element)
    }

    /// Accepts no more elements; consumers get those that are left, and then the end.
    ///
    /// Calling it again does nothing. O(number of waiting consumers); never suspends.
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
    /// - Throws: `CancellationError` if the task is cancelled before it got an element; that element is then not lost
    ///   but goes to another consumer. If both happen at the same time either may win.
    /// - Complexity: O(1), amortised. Suspends if the queue is empty; never blocks a thread.
    @inlinable
    public func dequeue() async throws(CancellationError) -> Element? {
        switch await storage.next() {
        case .element(let element): return element
        case .finished: return nil
        case .cancelled: throw CancellationError()
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
    /// O(n), but for O(1) of that are others held up; never suspends.
    @discardableResult @inlinable
    public func removeAll() -> [Element] {
        storage.removeAll()
    }

    /// Removes and returns the elements that satisfy a predicate; the others keep their order.
    ///
    ///     queue.removeAll { $0.album == album }
    ///
    /// The predicate runs under the queue's lock: let it be short, and do not use the queue in it, which traps. If it
    /// throws, nothing is removed.
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

    /// The elements that nobody has taken yet, in order, as they are at one moment. O(n); others are held up for O(1).
    @inlinable
    public var snapshot: [Element] { storage.snapshot }
}
