extension AsyncPriorityQueue where Element: Comparable, Priority == Element {
    /// Creates an empty queue of elements that are compared with each other; the greatest leaves first.
    ///
    ///     let deadlines = AsyncPriorityQueue<Int, Int>()
    public convenience init() {
        self.init(priority: { $0 })
    }
}

extension AsyncPriorityQueue {
    /// Adds an element, as soon as there is a place for it.
    ///
    ///     try await queue.send(request)
    ///
    /// It waits, is cancelled and fails as ``AsyncQueue/send(_:)`` does. Producers that wait get places in the order in which
    /// they started to wait, whatever the priority of their elements.
    ///
    /// - Returns: What became of the element.
    /// - Throws: `CancellationError`, or ``QueueError``. The element is then not in the queue.
    /// - Complexity: O(log n). Suspends while the queue is full; never blocks a thread for longer than that takes.
    @discardableResult @inlinable
    public func send(_ element: Element) async throws -> EnqueueResult {
        try await storage.send(item(element)).map(\.element)
    }

    /// Adds an element, as soon as there is a place for it, but waits no longer than until a deadline.
    ///
    ///     try await queue.send(request, until: .now + .seconds(5), clock: .continuous)
    ///
    /// - Returns: What became of the element.
    /// - Throws: ``QueueError`` with the code ``QueueError/Code/deadlineExceeded`` if the deadline comes first, and what
    ///   ``send(_:)`` throws. The element is then not in the queue.
    /// - Complexity: O(log n), and a child task while it waits, which has ended when this returns.
    @discardableResult
    public func send<C: Clock>(_ element: Element, until deadline: C.Instant, clock: C) async throws -> EnqueueResult {
        try await storage.send(item(element), until: deadline, clock: clock).map(\.element)
    }

    /// Takes the most important element, as soon as there is one, but waits no longer than until a deadline.
    ///
    ///     let request = try await queue.dequeue(until: .now + .seconds(5), clock: .continuous)
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: ``QueueError`` with the code ``QueueError/Code/deadlineExceeded`` if the deadline comes first, or
    ///   `CancellationError`. The next element then goes to another consumer.
    /// - Complexity: O(log n), and a child task while it waits, which has ended when this returns.
    public func dequeue<C: Clock>(until deadline: C.Instant, clock: C) async throws -> Element? {
        try await storage.next(until: deadline, clock: clock).get()?.element
    }
}
