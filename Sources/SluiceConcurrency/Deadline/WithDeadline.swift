/// Runs a body, and cancels it when the deadline comes.
///
///     let image = try await withDeadline(deadline, clock: clock) { try await network.download(url) }
///
/// The body runs where the caller runs, on its actor if it is on one; neither the body nor its result need be Sendable.
/// It is a child of the calling task, with its priority and its task-local values.
///
/// **The deadline** cancels the body, which ends when it heeds that: this returns no earlier, and nothing is left
/// running. If the body completes in spite of it, its result is returned: it is there, after all. The cancellation
/// comes also while the body computes without a pause, on an actor or not, so that it may look at `Task.isCancelled`. A
/// body whose deadline has passed already runs, cancelled from the start: what it has without waiting it can return
/// even so.
///
/// **Cancellation** of the calling task cancels the body; its error is then thrown as it is.
///
/// - Throws: What the body throws, as it is; but ``DeadlineExceeded``, with that error in it, if the deadline came
///   before.
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable, C: Clock>(
    _ deadline: C.Instant, clock: C, body: () async throws -> Value
) async throws -> Value {
    let work = DeadlineWork<Value, any Error>()
    let isExceeded = await work.run(body, isolation: #isolation, until: deadline, clock: clock)
    do {
        return try work.takeResult()
    } catch {
        throw isExceeded ? DeadlineExceeded(cause: error) : error
    }
}

/// Runs a body that cannot throw, and cancels it when the deadline comes.
///
///     let found = await withDeadline(deadline, clock: clock) { await search.bestSoFar() }
///
/// As there is no way to say that it is late, whatever the body returns is returned: for bodies that make do with what
/// they have when they are cancelled. In all else this is the form for bodies that throw.
///
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable, C: Clock>(
    _ deadline: C.Instant, clock: C, body: () async -> Value
) async -> Value {
    let work = DeadlineWork<Value, Never>()
    _ = await work.run(body, isolation: #isolation, until: deadline, clock: clock)
    return work.takeResult()
}

/// Runs a body, and cancels it after so much time.
///
///     let image = try await withDeadline(in: .seconds(30), clock: clock) { try await network.download(url) }
///
/// The same as a deadline that is so much later than now. Where several calls share a time limit, pass one deadline to
/// all.
///
/// - Throws: What the body throws, as it is; but ``DeadlineExceeded``, with that error in it, if the deadline came
///   before.
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable, C: Clock>(
    in duration: C.Duration, clock: C, body: () async throws -> Value
) async throws -> Value {
    try await withDeadline(clock.now.advanced(by: duration), clock: clock, body: body)
}

/// Runs a body that cannot throw, and cancels it after so much time.
///
///     let found = await withDeadline(in: .seconds(1), clock: clock) { await search.bestSoFar() }
///
/// The same as a deadline that is so much later than now; whatever the body returns is returned.
///
/// - Complexity: Two child tasks, and a hop off the caller's actor and back. Never blocks a thread.
public func withDeadline<Value: ~Copyable, C: Clock>(
    in duration: C.Duration, clock: C, body: () async -> Value
) async -> Value {
    await withDeadline(clock.now.advanced(by: duration), clock: clock, body: body)
}
