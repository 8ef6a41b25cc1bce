extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Transforms the elements, `concurrency` of them at a time; the results come in the order of the elements.
    ///
    ///     let images = try await lines.concurrentMap(concurrency: 8) { try await network.download($0) }
    ///
    /// `concurrency` has no default: the right number depends on what runs out first, which is seldom the processor.
    ///
    /// **Isolation.** Each element is transformed in a child task, on no actor (write `{ @MainActor in … }` to choose one),
    /// with the caller's priority and task-local values. The sequence is iterated in a child task too, so that an error need
    /// not wait until it has its next element; therefore it must be `Sendable`.
    ///
    /// **Failure.** The first error in time, of the transform or of the sequence, cancels what is under way, also the wait
    /// for the next element, starts nothing more, and is thrown when all child tasks have ended.
    ///
    /// **Cancellation.** When the calling task is cancelled, so is what is under way, and nothing more is started. Unless the
    /// end of the sequence was reached before, that throws `CancellationError`, also where the transform cannot throw, and
    /// where the sequence simply ends, as `AsyncStream` does: results for a part of it would look like all.
    ///
    /// **Cost.** An element is taken from the sequence only when a child task can be started for it, so the
    /// producer is not drained ahead of the work. All results are kept, so the sequence must end; for one that does not, use
    /// ``concurrentForEach(concurrency:_:)``.
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func concurrentMap<Output: Sendable>(
        concurrency: Int, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        try await runInterruptibly(transform) { transform in
            var iterator = makeAsyncIterator()
            var outputs: [Output?] = []
            try await runConcurrently(
                concurrency: concurrency, next: { try await iterator.nextUnlessCancelled() }, transform
            ) {
                outputs.place($1, at: $0)
            }
            return outputs.compactMap(\.self)
        }
    }

    /// Transforms the elements, `concurrency` of them at a time, and leaves out those that become nil.
    ///
    ///     let found = try await names.concurrentCompactMap(concurrency: 8) { try await store.song(named: $0) }
    ///
    /// Otherwise the same as ``concurrentMap(concurrency:_:)``.
    public func concurrentCompactMap<Output: Sendable>(
        concurrency: Int, _ transform: @escaping @Sendable (Element) async throws -> Output?
    ) async throws -> [Output] {
        try await concurrentMap(concurrency: concurrency, transform).compactMap(\.self)
    }

    /// Runs a body for each element, `concurrency` of them at a time.
    ///
    ///     try await queue.elements.concurrentForEach(concurrency: 4) { try await mail.send($0) }
    ///
    /// Bodies are started in the order of the elements and end in any. Otherwise the same as ``concurrentMap(concurrency:_:)``,
    /// but nothing is kept: memory is O(concurrency), however long the sequence is.
    public func concurrentForEach(
        concurrency: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await runInterruptibly(body) { body in
            var iterator = makeAsyncIterator()
            try await runConcurrently(
                concurrency: concurrency, next: { try await iterator.nextUnlessCancelled() }, body
            ) { _, _ in
            }
        }
    }
}

extension AsyncIteratorProtocol {
    /// The next element. An end that comes with cancellation is none: the iterator may only have been told to stop.
    fileprivate mutating func nextUnlessCancelled() async throws -> Element? {
        let element = try await next(isolation: #isolation)
        if element == nil { try Task.checkCancellation() }
        return element
    }
}
