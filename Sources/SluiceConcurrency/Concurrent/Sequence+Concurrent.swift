extension Sequence where Element: Sendable {
    /// Transforms the elements, `concurrency` of them at a time; the results come in the order of the elements.
    ///
    ///     let images = try await urls.concurrentMap(concurrency: 8) { try await network.download($0) }
    ///
    /// `concurrency` has no default: the right number depends on what runs out first, which is seldom the processor.
    ///
    /// **Isolation.** Each element is transformed in a child task, on no actor (write `{ @MainActor in … }` to choose one),
    /// with the caller's priority and task-local values. The sequence itself is iterated where the caller runs.
    ///
    /// **Failure.** The first error in time cancels what is under way, starts nothing more, and is thrown when all child tasks
    /// have ended.
    ///
    /// **Cancellation.** When the calling task is cancelled, so is what is under way, and nothing more is started. Unless the
    /// end of the sequence was reached before, that throws `CancellationError`, also where the transform cannot throw: there
    /// is no result for the elements that were left out. (So the error is not typed by the transform.)
    ///
    /// **Cost.** An element is taken from the sequence only when a child task can be started for it, so a sequence may be
    /// lazy, or very long. The results are all kept.
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
    ///     try await users.concurrentForEach(concurrency: 4) { try await mail.send(to: $0) }
    ///
    /// Bodies are started in the order of the elements and end in any. Otherwise the same as ``concurrentMap(concurrency:_:)``,
    /// but nothing is kept: memory is O(concurrency), however long the sequence is.
    public func concurrentForEach(
        concurrency: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        var iterator = makeIterator()
        try await runConcurrently(concurrency: concurrency, next: { iterator.next() }, body) { _, _ in }
    }
}

extension Array {
    /// Stores an output whose predecessors may not be there yet.
    mutating func place<Output>(_ output: Output, at index: Int) where Element == Output? {
        while count <= index { append(nil) }
        self[index] = output
    }
}
