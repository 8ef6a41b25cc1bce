import SluiceLock

/// Runs a body for each element, at most `concurrency` of them concurrently, each in a child task; hands over what comes out as it comes.
///
/// The next element is asked for when there is a place for its child task, and not before.
func runConcurrently<Element: Sendable, Output: Sendable>(
    concurrency: Int, next: () async throws -> Element?, _ body: @escaping @Sendable (Element) async throws -> Output,
    collect: (Int, Output) -> Void
) async throws {
    precondition(concurrency >= 1, "Concurrent work needs a concurrency of at least 1, not \(concurrency).")
    try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var (started, ended) = (0, 0)
        while true {
            // The group cancels the others when this throws, and waits for them.
            if started - ended == concurrency, let (index, output) = try await group.next() {
                ended += 1
                collect(index, output)
            }
            try Task.checkCancellation()
            guard let element = try await next() else { break }
            // It is late, but better than starting what is no longer wanted.
            try Task.checkCancellation()
            let index = started
            started += 1
            group.addTask { (index, try await body(element)) }
        }
        for try await (index, output) in group { collect(index, output) }
    }
}

/// Runs work that calls a body in child tasks, and cancels the work when the body first fails; throws that first error.
///
/// The work waits for other things than the body's outcome, too: so it runs in a child task, and this waits for the first
/// failure or the work's end, whichever comes first.
func runInterruptibly<Element: Sendable, Output: Sendable, Result: Sendable>(
    _ body: @escaping @Sendable (Element) async throws -> Output,
    work: @escaping @Sendable (@escaping @Sendable (Element) async throws -> Output) async throws -> Result
) async throws -> Result {
    let (isOver, over) = Condition.makeCondition()
    let failure = FirstError()
    return try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask {
            defer { over.signal() }
            return try await work { element in
                do {
                    return try await body(element)
                } catch {
                    failure.note(error)
                    over.signal()
                    throw error
                }
            }
        }
        await isOver.wait()
        group.cancelAll()
        do {
            guard let result = try await group.next() else { preconditionFailure("The group has one task.") }
            return result
        } catch {
            throw failure.noted ?? error
        }
    }
}

/// The error that came first.
private final class FirstError: Sendable {
    private let error = Lock<(any Error)?>(nil)

    var noted: (any Error)? { error.withLock { $0 } }

    func note(_ error: any Error) {
        self.error.withLock { if $0 == nil { $0 = error } }
    }
}
