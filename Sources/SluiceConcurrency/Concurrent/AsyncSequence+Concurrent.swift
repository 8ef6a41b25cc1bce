extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Transforms the elements concurrently, and returns the results in the order of the elements.
    ///
    ///     let images = try await lines.concurrentMap(concurrency: 8) { try await network.download($0) }
    ///
    /// Choose `concurrency` by the limiting resource, which is seldom the processor.
    ///
    /// **Isolation.** A child task transforms each element, outside any actor, with the caller's priority and task-local values. Write
    /// `{ @MainActor in … }` to choose an actor. Another child task iterates the sequence, so the sequence must be `Sendable`.
    ///
    /// **Errors.** The first error, of the transform or of the sequence, cancels the running transforms and the wait for the next element,
    /// and no more transforms are started. The error is thrown when all child tasks have ended.
    ///
    /// **Cancellation.** Cancelling the calling task cancels the running transforms, and no more are started. If the end of the sequence
    /// hasn't been reached, the method then throws `CancellationError`, even if the transform doesn't throw or the cancelled sequence
    /// simply ends, as `AsyncStream` does. Otherwise incomplete results would look complete.
    ///
    /// **Cost.** The next element is taken when a child task can start for it, so elements don't accumulate. All results are kept, so the
    /// sequence must end. For an endless sequence use ``concurrentForEach(concurrency:_:)``.
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func concurrentMap<Output: Sendable>(
        concurrency: Int, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        try await runInterruptibly(transform) { transform, failure in
            var iterator = makeAsyncIterator()
            var outputs: [Output?] = []
            try await runConcurrently(
                concurrency: concurrency, next: { try await iterator.nextUnlessCancelled(failure) }, transform
            ) {
                outputs.place($1, at: $0)
            }
            return outputs.compactMap(\.self)
        }
    }

    /// Transforms the elements concurrently, and returns the non-nil results in the order of the elements.
    ///
    ///     let found = try await names.concurrentCompactMap(concurrency: 8) { try await store.song(named: $0) }
    ///
    /// See ``concurrentMap(concurrency:_:)``.
    public func concurrentCompactMap<Output: Sendable>(
        concurrency: Int, _ transform: @escaping @Sendable (Element) async throws -> Output?
    ) async throws -> [Output] {
        try await concurrentMap(concurrency: concurrency, transform).compactMap(\.self)
    }

    /// Calls a closure for each element, concurrently.
    ///
    ///     try await queue.elements.concurrentForEach(concurrency: 4) { try await mail.send($0) }
    ///
    /// The calls start in the order of the elements and end in any order. No results are kept: memory use is O(concurrency), regardless of
    /// the length of the sequence. See also ``concurrentMap(concurrency:_:)``.
    public func concurrentForEach(
        concurrency: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await runInterruptibly(body) { body, failure in
            var iterator = makeAsyncIterator()
            try await runConcurrently(
                concurrency: concurrency, next: { try await iterator.nextUnlessCancelled(failure) }, body
            ) { _, _ in
            }
        }
    }
}

extension AsyncIteratorProtocol {
    /// Returns the next element, and notes an error of the sequence. Throws if the task is cancelled before the sequence ends: the
    /// cancellation may have ended it early.
    fileprivate mutating func nextUnlessCancelled(_ failure: FirstError) async throws -> Element? {
        try Task.checkCancellation()
        let element: Element?
        do {
            element = try await next(isolation: #isolation)
        } catch {
            failure.note(error)
            throw error
        }
        if element == nil { try Task.checkCancellation() }
        return element
    }
}
