extension Sequence where Element: Sendable {
    /// Transforms the elements, at most `limit` at once; the results come in the order of the elements.
    ///
    ///     let pictures = try await urls.concurrentMap(limit: 8) { try await network.download($0) }
    ///
    /// There is no default for the limit: what is right depends on what runs out first, and that is seldom the processor.
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
    /// - Precondition: `limit` is at least 1.
    public func concurrentMap<Output: Sendable>(
        limit: Int, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        var iterator = makeIterator()
        var outputs: [Output?] = []
        try await runConcurrently(limit: limit, next: { iterator.next() }, transform) { outputs.place($1, at: $0) }
        return outputs.compactMap(\.self)
    }

    /// Transforms the elements, at most `limit` at once, and leaves out those that become nil.
    ///
    ///     let found = try await names.concurrentCompactMap(limit: 8) { try await store.song(named: $0) }
    ///
    /// Otherwise the same as ``concurrentMap(limit:_:)``.
    public func concurrentCompactMap<Output: Sendable>(
        limit: Int, _ transform: @escaping @Sendable (Element) async throws -> Output?
    ) async throws -> [Output] {
        try await concurrentMap(limit: limit, transform).compactMap(\.self)
    }

    /// Runs a body for each element, at most `limit` at once.
    ///
    ///     try await users.concurrentForEach(limit: 4) { try await mail.send(to: $0) }
    ///
    /// Bodies are started in the order of the elements and end in any. Otherwise the same as ``concurrentMap(limit:_:)``,
    /// but nothing is kept: memory is O(limit), however long the sequence is.
    public func concurrentForEach(
        limit: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        var iterator = makeIterator()
        try await runConcurrently(limit: limit, next: { iterator.next() }, body) { _, _ in }
    }
}

extension Array {
    /// Stores an output whose predecessors may not be there yet.
    mutating func place<Output>(_ output: Output, at index: Int) where Element == Output? {
        while count <= index { append(nil) }
        self[index] = output
    }
}
