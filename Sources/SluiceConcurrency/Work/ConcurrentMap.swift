import SluiceLock

// MARK: - Sequences

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
    /// method then throws `CancellationError`, even if the transform doesn't throw, because their results are missing. To find out, it
    /// takes one more element from the sequence.
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
            outputs.store($1, at: $0)
        }
        return outputs.compactMap(\.self)
    }

    /// Transforms the elements concurrently, and returns the non-nil results in the order of the elements.
    ///
    ///     let found = try await names.concurrentCompactMap(concurrency: 8) { try await store.song(named: $0) }
    ///
    /// See ``concurrentMap(concurrency:_:)``.
    ///
    /// - Precondition: `concurrency` is at least 1.
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
    ///
    /// - Precondition: `concurrency` is at least 1.
    public func concurrentForEach(
        concurrency: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        var iterator = makeIterator()
        try await runConcurrently(concurrency: concurrency, next: { iterator.next() }, body) { _, _ in }
    }
}

// MARK: - Asynchronous sequences

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Calls a closure for each element, concurrently.
    ///
    ///     try await queue.elements.concurrentForEach(concurrency: 4) { try await mail.send($0) }
    ///
    /// The calls start in the order of the elements and end in any order. No results are kept: memory use is O(concurrency), regardless of
    /// the length of the sequence. For results, use `concurrentMap(concurrency:ordered:_:)`.
    ///
    /// **Isolation.** A child task makes each call, outside any actor, with the caller's priority and task-local values. Write
    /// `{ @MainActor in … }` to choose an actor. Another child task iterates the sequence, so the sequence must be `Sendable`.
    ///
    /// **Errors.** The first error, of the closure or of the sequence, cancels the running calls and the wait for the next element, and no
    /// more calls are started. The error is thrown when all child tasks have ended.
    ///
    /// **Cancellation.** Cancelling the calling task cancels the running calls, and no more are started. If the end of the sequence hasn't
    /// been reached, the method then throws `CancellationError`, even if the closure doesn't throw or the cancelled sequence simply ends,
    /// as `AsyncStream` does. Otherwise incomplete work would look complete.
    ///
    /// **Cost.** The next element is taken when a child task can start for it, so elements don't accumulate.
    ///
    /// - Precondition: `concurrency` is at least 1.
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
    /// Returns the next element, and records an error of the sequence. Throws if the task is cancelled before the sequence ends: the
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

// MARK: - The child tasks

/// Calls a body for each element, with at most `concurrency` calls at a time, each in a child task, and collects the outputs as they
/// arrive.
///
/// The next element is requested when a child task can start for it.
private func runConcurrently<Element: Sendable, Output: Sendable>(
    concurrency: Int, next: () async throws -> Element?, _ body: @escaping @Sendable (Element) async throws -> Output,
    collect: (Int, Output) -> Void
) async throws {
    precondition(concurrency >= 1, "The concurrency must be at least 1; it is \(concurrency).")
    try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var (started, ended) = (0, 0)
        while true {
            // If this throws, the group cancels the other child tasks and waits for them.
            if started - ended == concurrency, let (index, output) = try await group.next() {
                ended += 1
                collect(index, output)
            }
            guard let element = try await next() else { break }
            try Task.checkCancellation()
            let index = started
            started += 1
            group.addTask { (index, try await body(element)) }
        }
        for try await (index, output) in group { collect(index, output) }
    }
}

/// Runs work that calls a body in child tasks, cancels the work when the body first fails, and throws the first error.
///
/// The work may be waiting for something other than the body, so it runs in a child task. This function waits for the first failure of
/// the body or the end of the work, whichever comes first. If an error of its own ends the work early, the work records the error in
/// `failure`, because the running bodies are then cancelled and fail too.
private func runInterruptibly<Element: Sendable>(
    _ body: @escaping @Sendable (Element) async throws -> Void,
    work:
        @escaping @Sendable (
            _ body: @escaping @Sendable (Element) async throws -> Void, _ failure: FirstError
        ) async throws -> Void
) async throws {
    let (isOver, over) = Condition.makeCondition()
    let failure = FirstError()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { over.signal() }
            let noting: @Sendable (Element) async throws -> Void = { element in
                do {
                    try await body(element)
                } catch {
                    failure.note(error)
                    over.signal()
                    throw error
                }
            }
            try await work(noting, failure)
        }
        await isOver.wait()
        group.cancelAll()
        do {
            try await group.waitForAll()
        } catch {
            throw failure.noted ?? error
        }
    }
}

extension Array {
    /// Outputs before the index may still be missing.
    fileprivate mutating func store<Output>(_ output: Output, at index: Int) where Element == Output? {
        while count <= index { append(nil) }
        self[index] = output
    }
}

private final class FirstError: Sendable {
    private let error = Lock<(any Error)?>(nil)

    var noted: (any Error)? { error.withLock { $0 } }

    func note(_ error: any Error) {
        self.error.withLock { if $0 == nil { $0 = error } }
    }
}
