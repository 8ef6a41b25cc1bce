extension Sequence where Element: Sendable {
    /// Transforms the elements concurrently, and returns the results in the order of the elements.
    ///
    ///     let images = try await urls.concurrentMap(concurrency: 8) { try await network.download($0) }
    ///
    /// Choose `concurrency` by the limiting resource, which is seldom the processor.
    ///
    /// **Isolation.** A child task transforms each element, outside any actor, with the caller's priority and task-local values. Write
    /// `{ @MainActor in … }` to choose an actor. The sequence is iterated in the caller's isolation.
    ///
    /// **Errors.** The first error cancels the running transforms, and no more are started. The error is thrown when all child tasks have
    /// ended.
    ///
    /// **Cancellation.** Cancelling the calling task cancels the running transforms, and no more are started. If elements remain, the
    /// method then throws `CancellationError`, even if the transform doesn't throw, because their results are missing. It takes one more
    /// element from the sequence to know.
    ///
    /// **Cost.** The next element is taken when a child task can start for it, so the sequence can be lazy or very long. All results are
    /// kept.
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func concurrentMap<Output: Sendable>(
        concurrency: Int, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        var iterator = makeIterator()
        var outputs: [Output?] = []
        try await runConcurrently(concurrency: concurrency, next: { iterator.next() }, transform) {
            outputs.place($1, at: $0)
        }
        return outputs.compactMap(\.self)
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
    ///     try await users.concurrentForEach(concurrency: 4) { try await mail.send(to: $0) }
    ///
    /// The calls start in the order of the elements and end in any order. No results are kept: memory use is O(concurrency), regardless of
    /// the length of the sequence. See also ``concurrentMap(concurrency:_:)``.
    public func concurrentForEach(
        concurrency: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        var iterator = makeIterator()
        try await runConcurrently(concurrency: concurrency, next: { iterator.next() }, body) { _, _ in }
    }
}

extension Array {
    /// Outputs before the index may still be missing.
    mutating func place<Output>(_ output: Output, at index: Int) where Element == Output? {
        while count <= index { append(nil) }
        self[index] = output
    }
}
