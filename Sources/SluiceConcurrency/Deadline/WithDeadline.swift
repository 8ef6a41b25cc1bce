/// Runs a body, and cancels it if it takes longer than a timeout on the continuous clock.
///
///     let image = try await withDeadline(timeout: .seconds(30)) { try await network.download(url) }
///
/// If several calls share a time limit, pass one deadline to all of them with `withDeadline(until:clock:body:)`.
///
/// - Throws: The body's error; if the timeout passed first, ``DeadlineExceeded`` with that error as its cause.
public func withDeadline<Value: ~Copyable>(
    timeout: Duration, body: () async throws -> Value
) async throws -> Value {
    try await withDeadline(until: ContinuousClock().deadline(after: timeout), clock: .continuous, body: body)
}

/// Runs a body, and cancels it if it hasn't ended by a deadline.
///
///     let image = try await withDeadline(until: deadline, clock: clock) { try await network.download(url) }
///
/// The body runs in a child task, with the caller's isolation, priority and task-local values. Neither the body nor its result
/// needs to be `Sendable`.
///
/// **The deadline** cancels the body. The function returns after the body has ended and leaves nothing running, so the body must respond to
/// cancellation. If the body completes anyway, its result is returned. The body is also cancelled while it computes without suspending, so
/// it can check `Task.isCancelled`. If the deadline has already passed, the body runs, cancelled from the start.
///
/// **Cancellation** of the calling task cancels the body, and the body's error is thrown unchanged.
///
/// - Throws: The body's error; if the deadline passed first, ``DeadlineExceeded`` with that error as its cause.
/// - Complexity: Two child tasks, and a switch from the caller's actor and back.
public func withDeadline<Value: ~Copyable, C: Clock>(
    until deadline: C.Instant, clock: C, body: () async throws -> Value
) async throws -> Value {
    let work = DeadlineWork<Value, any Error>()
    let isExceeded = await work.run(body, isolation: #isolation, until: deadline, clock: clock)
    do {
        return try work.takeResult()
    } catch {
        throw isExceeded ? DeadlineExceeded(cause: error) : error
    }
}

/// Runs a body that cannot throw, and cancels it if it takes longer than a timeout on the continuous clock.
///
///     let found = await withDeadline(timeout: .seconds(1)) { await search.bestSoFar() }
///
/// - Returns: The result of the body, even if the timeout has passed.
public func withDeadline<Value: ~Copyable>(timeout: Duration, body: () async -> Value) async -> Value {
    await withDeadline(until: ContinuousClock().deadline(after: timeout), clock: .continuous, body: body)
}

/// Runs a body that cannot throw, and cancels it if it hasn't ended by a deadline.
///
/// Use it for bodies that return a partial result when they are cancelled. Otherwise it is like the overload for bodies that can throw.
///
/// - Returns: The result of the body, even if the deadline has passed.
public func withDeadline<Value: ~Copyable, C: Clock>(
    until deadline: C.Instant, clock: C, body: () async -> Value
) async -> Value {
    let work = DeadlineWork<Value, Never>()
    _ = await work.run(body, isolation: #isolation, until: deadline, clock: clock)
    return work.takeResult()
}
