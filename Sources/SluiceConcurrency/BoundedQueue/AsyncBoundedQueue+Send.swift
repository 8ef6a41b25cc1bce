extension AsyncBoundedQueue {
    /// Adds an element at the end, and waits for a place if the queue is full.
    ///
    ///     try await pages.send(page)
    ///
    /// It waits only in a queue with the policy ``Overflow/suspend``. With any other policy it does what ``trySend(_:)`` does.
    ///
    /// **Order.** Waiting producers get places in the order in which they started to wait, and no later producer overtakes them.
    ///
    /// **Cancellation.** If the task is cancelled before there is a place, or was already, this throws `CancellationError` and the element
    /// is never delivered. Once the element is in the queue, this returns, even in a cancelled task. If both happen at the same time
    /// either may win, but never both and never neither.
    ///
    /// - Returns: What became of the element. With the policy ``Overflow/suspend`` and without `unique:` it is always
    ///   ``SendResult/enqueued``, so you may ignore the result there.
    /// - Throws: `CancellationError`; ``QueueFinished`` if the queue is finished, also while this waits. The element is then not in
    ///   the queue: it was destroyed, or the caller's copy is the only one.
    /// - Complexity: O(1), amortised. Suspends while the queue is full; never blocks a thread.
    @discardableResult @inlinable
    public func send(_ element: sending Element) async throws -> sending SendResult {
        try await storage.send(Transferred(element)).released()
    }

    /// Adds an element at the end, and waits for a place no longer than the timeout.
    ///
    ///     try await pages.send(page, timeout: .seconds(5))
    ///
    /// It does what ``send(_:until:clock:)`` does with the continuous clock.
    ///
    /// - Returns: What became of the element.
    /// - Throws: ``DeadlineExceeded`` if the time is over first, and what ``send(_:)`` throws. The element is then not in the queue.
    /// - Complexity: O(1), amortised, and a child task while it waits, which has ended when this returns.
    @discardableResult
    public func send(_ element: sending Element, timeout: Duration) async throws -> sending SendResult {
        try await send(element, until: .now + timeout, clock: .continuous)
    }

    /// Adds an element at the end, and waits for a place no longer than until the deadline.
    ///
    ///     try await pages.send(page, until: deadline, clock: clock)
    ///
    /// If there is a place now, the deadline doesn't matter. All else is as in ``send(_:)``.
    ///
    /// - Returns: What became of the element.
    /// - Throws: ``DeadlineExceeded`` if the deadline comes first, and what ``send(_:)`` throws. The element is then not in the queue.
    /// - Complexity: O(1), amortised, and a child task while it waits, which has ended when this returns.
    @discardableResult
    public func send<C: Clock>(
        _ element: sending Element, until deadline: C.Instant, clock: C
    ) async throws -> sending SendResult {
        try await storage.send(Transferred(element), until: deadline, clock: clock).released()
    }

    /// Adds an element at the end without waiting, and returns what became of it.
    ///
    ///     guard pages.trySend(page).isEnqueued else { throw Busy() }
    ///
    /// If consumers wait, the one that has waited longest gets the element. If the queue is full, its ``Overflow`` policy applies.
    /// It overtakes no producer that waits for a place.
    ///
    /// - Returns: What became of the element. An element that isn't in the queue comes back in the result, so that you can use it
    ///   elsewhere.
    /// - Complexity: O(1), amortised. Never suspends, and blocks for no longer than a few instructions.
    @inlinable
    public func trySend(_ element: sending Element) -> sending SendResult {
        storage.trySend(Transferred(element)).released()
    }
}
