/// Runs a body, and cancels it if it takes longer than a timeout on the continuous clock.
///
///     let image = try await withDeadline(timeout: .seconds(30)) { try await network.download(url) }
///
/// If several calls share a time limit, pass one deadline to all of them with `withDeadline(until:clock:body:)`.
///
/// SE-0526 proposes functions of this name for the standard library. Their labels differ (`in:`), so both can be called in one file, and
/// their error differs: they throw the body's error, so a caller can't tell a timeout from a failure that cancellation causes.
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

// MARK: - The error

/// An error thrown if a deadline or a timeout passes before a wait or a body ends.
///
///     do {
///         try await limiter.run(timeout: .seconds(2)) { try await network.download(url) }
///     } catch is DeadlineExceeded {
///         showBusy()
///     }
///
/// Waits throw it without a cause: nothing was taken, and no body ran. `withDeadline` throws it with the error of the body
/// that it cancelled, and `URL.withFileLock` of SluiceFiles with the `FileError` that names the locked file.
///
/// All values are equal: the ``cause`` isn't compared.
public struct DeadlineExceeded: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error of the body that the deadline cancelled, often a `CancellationError`, or of the last attempt; `nil` if only a
    /// wait ended.
    public var cause: (any Error)?

    /// Creates an error, with the error of the cancelled body if there is one.
    public init(cause: (any Error)? = nil) {
        self.cause = cause
    }

    /// What happened, and what to do about it or the body's error.
    public var description: String {
        guard let cause else {
            return "The deadline passed before the wait ended. Allow more time, or try again later."
        }
        return "The deadline passed before the work was done. The work ended with this error: \(cause)"
    }

    /// Returns `true`: all values are equal.
    public static func == (left: DeadlineExceeded, right: DeadlineExceeded) -> Bool { true }

    /// Adds nothing to the hasher, because all values are equal.
    public func hash(into hasher: inout Hasher) {}
}

// MARK: - The work

/// Carries a body into a child task and its result out of it, although neither is Sendable.
///
/// ```text
/// calling task      suspended ───────────────────────────────────────────────► takes the result
/// the race            off the actor: cancels the body when the deadline passes ┘
/// child: body           on the caller's actor: takes the body, runs it, stores the result
/// child: clock          sleeps; is cancelled when the body has ended
/// ```
///
/// The body needs a task that can be cancelled without cancelling the caller, because cancellation can't be undone. The task that
/// cancels the body must not need the caller's actor, because the body can keep it busy.
///
/// The calling task waits while the child task runs, on the same actor or on none, so two tasks never use their shared state
/// at the same time.
private final class DeadlineWork<Value: ~Copyable, Failure: Error>: @unchecked Sendable {
    // No lock protects `body` and `result`. Before and after the race only the calling task uses them; during the race, only the
    // body's task. Starting and awaiting a child task orders these uses.
    private var body: (() async throws(Failure) -> Value)?
    private var result: Result<Value, Failure>?

    /// Runs the body; returns whether the deadline passed before it ended.
    func run<C: Clock>(
        _ body: () async throws(Failure) -> Value, isolation: isolated (any Actor)?, until deadline: C.Instant, clock: C
    ) async -> Bool {
        await withoutActuallyEscaping(body) { body in
            _ = isolation
            // Only the body's task uses it, and only during the race.
            nonisolated(unsafe) let body = body
            self.body = body
            return await race(isolation: isolation, until: deadline, clock: clock)
        }
    }

    /// Can be called only once.
    func takeResult() throws(Failure) -> Value {
        guard let result = result.take() else { preconditionFailure("The body of withDeadline didn't run.") }
        return try result.get()
    }

    private enum Event {
        case bodyEnded
        case deadlineCame
        /// The sleep was cancelled, or the clock failed.
        case sleepEnded
    }

    @concurrent
    private func race<C: Clock>(isolation: (any Actor)?, until deadline: C.Instant, clock: C) async -> Bool {
        await withTaskGroup(of: Event.self) { group in
            // If the task was cancelled before, the deadline isn't the reason.
            var isExceeded = deadline <= clock.now && !Task.isCancelled
            if isExceeded {
                group.cancelAll()
            } else {
                group.addTask {
                    (try? await clock.sleepInSteps(until: deadline)) == nil ? .sleepEnded : .deadlineCame
                }
            }
            group.addTask {
                await self.runBody(isolation: isolation)
                return .bodyEnded
            }
            var hasEnded = false
            for await event in group {
                switch event {
                case .bodyEnded: hasEnded = true
                case .deadlineCame: isExceeded = isExceeded || !hasEnded
                case .sleepEnded: continue
                }
                group.cancelAll()
            }
            return isExceeded
        }
    }

    private func runBody(isolation: isolated (any Actor)?) async {
        guard let body = body.take() else { preconditionFailure("The body of withDeadline may run only once.") }
        do throws(Failure) {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
    }
}
