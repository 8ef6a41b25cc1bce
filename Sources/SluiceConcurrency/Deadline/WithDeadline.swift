/// Runs a body, and cancels it after a time.
///
///     let image = try await withDeadline(timeout: .seconds(30)) { try await network.download(url) }
///
/// The same as a deadline that much later than now on the continuous clock. Where several calls share a time limit, pass
/// one deadline to all.
///
/// - Throws: What the body throws; ``DeadlineExceeded``, with that error as its cause, if the time was over before.
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable>(
    timeout: Duration, body: () async throws -> Value
) async throws -> Value {
    try await withDeadline(until: .now + timeout, clock: .continuous, body: body)
}

/// Runs a body, and cancels it when the deadline comes.
///
///     let image = try await withDeadline(until: deadline, clock: clock) { try await network.download(url) }
///
/// The body runs where the caller runs, on its actor if it is on one; neither the body nor its result need be Sendable.
/// It is a child of the calling task, with its priority and its task-local values.
///
/// **The deadline** cancels the body. This function returns when the body has ended, and leaves nothing running, so the
/// body must respond to cancellation. If the body completes all the same, its result is returned. The cancellation comes
/// also while the body computes without suspending, so the body can check `Task.isCancelled`. With a deadline that has
/// already passed the body runs, cancelled from the start.
///
/// **Cancellation** of the calling task cancels the body; the body's error is then thrown unchanged.
///
/// - Throws: What the body throws; ``DeadlineExceeded``, with that error as its cause, if the deadline came before.
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
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

/// Runs a body that cannot throw, and cancels it after a time.
///
///     let found = await withDeadline(timeout: .seconds(1)) { await search.bestSoFar() }
///
/// The same as a deadline that much later than now on the continuous clock. What the body returns is returned.
///
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable>(timeout: Duration, body: () async -> Value) async -> Value {
    await withDeadline(until: .now + timeout, clock: .continuous, body: body)
}

/// Runs a body that cannot throw, and cancels it when the deadline comes.
///
///     let found = await withDeadline(until: deadline, clock: clock) { await search.bestSoFar() }
///
/// What the body returns is returned, also after the deadline: this form is for bodies that return what they have when
/// they are cancelled. Otherwise it is the same as the form for bodies that throw.
///
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable, C: Clock>(
    until deadline: C.Instant, clock: C, body: () async -> Value
) async -> Value {
    let work = DeadlineWork<Value, Never>()
    _ = await work.run(body, isolation: #isolation, until: deadline, clock: clock)
    return work.takeResult()
}
