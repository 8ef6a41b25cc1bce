/// Carries a body into a child task and its result out of it, though neither is Sendable.
///
/// ```text
/// calling task      suspended ───────────────────────────────────────────────► takes the result
/// the race            off the actor: cancels the body when the deadline comes ─┘
/// child: body           on the caller's actor: takes the body, runs it, puts the result
/// child: clock          sleeps, is cancelled when the body has ended
/// ```
///
/// Cancelling the calling task can't be undone, so the body needs a task of its own. The task that cancels it must not
/// need the caller's actor, which the body may keep busy.
///
/// The calling task waits while the child runs, on the same actor or on none, so their common state is never used by two
/// tasks at the same time.
final class DeadlineWork<Value: ~Copyable, Failure: Error>: @unchecked Sendable {
    // No lock protects `body` and `result`: they belong to the calling task before and after the race, and in it to the
    // body's task alone; starting and ending a child task puts their uses in order.
    private var body: (() async throws(Failure) -> Value)?
    private var result: Result<Value, Failure>?

    /// Runs the body; returns whether the deadline came before it ended.
    func run<C: Clock>(
        _ body: () async throws(Failure) -> Value, isolation: isolated (any Actor)?, until deadline: C.Instant, clock: C
    ) async -> Bool {
        await withoutActuallyEscaping(body) { body in
            _ = isolation
            // Only the body's task uses it, and only until the race is over.
            nonisolated(unsafe) let body = body
            self.body = body
            return await race(isolation: isolation, until: deadline, clock: clock)
        }
    }

    /// What the body returned or threw; only once.
    func takeResult() throws(Failure) -> Value {
        guard let result = result.take() else { preconditionFailure("The body did not run.") }
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
            // A task that was cancelled before was not cancelled by the deadline.
            var isExceeded = deadline <= clock.now && !Task.isCancelled
            if isExceeded {
                group.cancelAll()
            } else {
                group.addTask {
                    (try? await clock.sleep(until: deadline, tolerance: nil)) == nil ? .sleepEnded : .deadlineCame
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
        guard let body = body.take() else { preconditionFailure("The body ran before.") }
        do throws(Failure) {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
    }
}
