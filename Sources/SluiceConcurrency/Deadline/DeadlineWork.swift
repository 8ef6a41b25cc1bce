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
final class DeadlineWork<Value: ~Copyable, Failure: Error>: @unchecked Sendable {
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
