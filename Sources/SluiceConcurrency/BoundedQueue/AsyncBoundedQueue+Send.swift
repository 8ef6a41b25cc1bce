extension AsyncBoundedQueue {
    /// Adds an element at the end of the queue, waiting for space if the queue is full.
    ///
    ///     try await pages.send(page)
    ///
    /// The method waits only in a queue with the policy ``Overflow/suspend``. With any other policy it adds or drops an element
    /// immediately.
    ///
    /// **Cancellation.** If the task is cancelled before the element is in the queue, the element is never delivered. Once the element is
    /// in the queue, the method returns normally, even if the task is cancelled.
    ///
    /// - Returns: What happened to the element. With the policy ``Overflow/suspend`` and without `unique:`, the result is always
    ///   ``SendResult/enqueued``, and you can ignore it.
    /// - Throws: `CancellationError` if the task is cancelled first; ``QueueFinished`` if the queue is finished before the element is
    ///   added.
    @discardableResult @inlinable
    public func send(_ element: sending Element) async throws -> sending SendResult {
        try await storage.send(Transferred(element)).released()
    }

    /// Adds an element at the end of the queue, waiting for space for up to `timeout` on the continuous clock; see ``send(_:)``.
    ///
    /// - Throws: ``DeadlineExceeded`` if there is no space in time; otherwise the same errors as ``send(_:)``.
    @discardableResult
    public func send(_ element: sending Element, timeout: Duration) async throws -> sending SendResult {
        try await send(element, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Adds an element at the end of the queue, waiting for space until a deadline; see ``send(_:)``.
    ///
    /// If there is space, the element is added even after the deadline.
    ///
    /// - Throws: ``DeadlineExceeded`` if there is no space in time; otherwise the same errors as ``send(_:)``.
    @discardableResult
    public func send<C: Clock>(
        _ element: sending Element, until deadline: C.Instant, clock: C
    ) async throws -> sending SendResult {
        try await storage.send(Transferred(element), until: deadline, clock: clock).released()
    }

    /// Adds an element at the end of the queue without waiting.
    ///
    ///     guard pages.trySend(page).isEnqueued else { throw Busy() }
    ///
    /// If consumers wait, the one that has waited longest gets the element. If the queue is full, its ``Overflow`` policy applies. The
    /// element doesn't overtake the elements of waiting producers.
    ///
    /// - Returns: What happened to the element. The result holds an element that was refused or dropped.
    @inlinable
    public func trySend(_ element: sending Element) -> sending SendResult {
        storage.trySend(Transferred(element)).released()
    }
}
