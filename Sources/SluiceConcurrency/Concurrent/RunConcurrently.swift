import SluiceLock

/// Calls a body for each element, with at most `concurrency` calls at a time, each in a child task, and collects the outputs as they
/// arrive.
///
/// The next element is requested when a child task can start for it.
func runConcurrently<Element: Sendable, Output: Sendable>(
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
/// the body or the end of the work, whichever comes first. An error of its own that ends the work early is passed to `failure`, because
/// it makes the running bodies fail too.
func runInterruptibly<Element: Sendable, Output: Sendable, Result: Sendable>(
    _ body: @escaping @Sendable (Element) async throws -> Output,
    work:
        @escaping @Sendable (
            _ body: @escaping @Sendable (Element) async throws -> Output, _ failure: FirstError
        ) async throws -> Result
) async throws -> Result {
    let (isOver, over) = Condition.makeCondition()
    let failure = FirstError()
    return try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask {
            defer { over.signal() }
            let noting: @Sendable (Element) async throws -> Output = { element in
                do {
                    return try await body(element)
                } catch {
                    failure.note(error)
                    over.signal()
                    throw error
                }
            }
            return try await work(noting, failure)
        }
        await isOver.wait()
        group.cancelAll()
        do {
            guard let result = try await group.next() else { preconditionFailure("A group of one task has no result.") }
            return result
        } catch {
            throw failure.noted ?? error
        }
    }
}

final class FirstError: Sendable {
    private let error = Lock<(any Error)?>(nil)

    var noted: (any Error)? { error.withLock { $0 } }

    func note(_ error: any Error) {
        self.error.withLock { if $0 == nil { $0 = error } }
    }
}
