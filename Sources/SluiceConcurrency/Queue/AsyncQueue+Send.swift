extension AsyncQueue {
    /// Adds an element at the end, as soon as there is a place for it.
    ///
    ///     try await pages.send(page)
    ///
    /// In a queue with the policy ``Overflow/suspend`` it waits while the queue is full. With any other policy, and in a queue
    /// without capacity, it never waits, and does what ``enqueue(_:)`` does.
    ///
    /// **Order.** Producers that wait get places in the order in which they started to wait, and nobody overtakes them.
    ///
    /// **Cancellation.** If the task is cancelled before there is a place, or was already, this throws `CancellationError` and the element is
    /// never delivered. Once it is in the queue, this returns, even in a cancelled task. If both happen at the same time
    /// either may win, but never both and never neither.
    ///
    /// - Returns: What became of the element. Only a dropping policy or `unique:` can make that anything but
    ///   ``EnqueueResult/enqueued``.
    /// - Throws: `CancellationError`; or ``QueueError`` if the queue is finished, also while this waits, or if it is full and
    ///   its policy is ``Overflow/reject``. The element is then not in the queue.
    /// - Complexity: O(1), amortised. Suspends while the queue is full; never blocks a thread.
    @discardableResult @inlinable
    public func send(_ element: Element) async throws -> EnqueueResult {
        try await storage.send(element)
    }

    /// Adds an element at the end, as soon as there is a place for it, but waits no longer than until a deadline.
    ///
    ///     try await pages.send(page, until: .now + .seconds(5), clock: .continuous)
    ///
    /// If there is a place now, the deadline does not matter. All else is as in ``send(_:)``.
    ///
    /// - Returns: What became of the element.
    /// - Throws: ``QueueError`` with the code ``QueueError/Code/deadlineExceeded`` if the deadline comes first, and what
    ///   ``send(_:)`` throws. The element is then not in the queue.
    /// - Complexity: O(1), amortised, and a child task while it waits, which has ended when this returns.
    @discardableResult
    public func send<C: Clock>(_ element: Element, until deadline: C.Instant, clock: C) async throws -> EnqueueResult {
        try await storage.send(element, until: deadline, clock: clock)
    }

    /// Takes the first element, as soon as there is one, but waits no longer than until a deadline.
    ///
    ///     let id = try await queue.dequeue(until: .now + .seconds(5), clock: .continuous)
    ///
    /// If there is an element now, the deadline does not matter. All else is as in ``dequeue()``.
    ///
    /// - Returns: The element, or nil if the queue is finished and empty.
    /// - Throws: ``QueueError`` with the code ``QueueError/Code/deadlineExceeded`` if the deadline comes first, or
    ///   `CancellationError`. The next element then goes to another consumer.
    /// - Complexity: O(1), amortised, and a child task while it waits, which has ended when this returns.
    public func dequeue<C: Clock>(until deadline: C.Instant, clock: C) async throws -> Element? {
        try await storage.next(until: deadline, clock: clock).get()
    }
}
