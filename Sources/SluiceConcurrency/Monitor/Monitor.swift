/// A state that tasks share, change, and wait for until it satisfies a condition.
///
///     let pool = Monitor([Connection]())
///     pool.withState { $0.append(connection) }                                // resumes one task that waits for it
///     let next = await pool.wait(claiming: { $0.popLast() })
///
/// This is the monitor of Hoare and Brinch Hansen with explicit conditions: a waiting task says what it waits for, and a change
/// of the state resumes exactly the tasks whose condition now holds. No task is resumed in vain, and none has to be
/// signalled.
///
/// **Predicates and claims.** `wait(where:)` waits until a predicate holds. Before the caller continues, another task may have
/// changed the state again: use it for conditions that stay true, like "loaded". `wait(claiming:)` takes what it waits for in
/// the same critical section in which it sees it, so that of many waiting tasks exactly one gets each thing.
///
/// **Order.** After each change the first task in line whose predicate or claim succeeds is served, then the first of those
/// that are left, because the claim has changed the state again, and so on until none in line can be served. So
/// between two changes no task waits that could be served, and a later task doesn't overtake one that could be. But a task that waits
/// for three things is overtaken by those that wait for one, perhaps forever; if that must not happen, use a
/// ``ConcurrencyLimiter``.
///
/// **Under the lock.** Bodies, predicates and claims run under the monitor's lock, predicates and claims also on the
/// threads of tasks that change the state. They must be short. Using the monitor in them traps, and resuming or
/// cancelling tasks in them may deadlock. Return what they remove from the state instead of dropping it there, because its
/// `deinit` would run under the lock, too.
///
/// **Cancellation.** `wait` waits even in a cancelled task; `waitUnlessCancelled` and the forms with a timeout or a deadline don't.
/// A task that stops waiting has claimed nothing, and a task that has claimed something gets it: never both, never neither.
///
/// **Lifetime.** A waiting task keeps the monitor alive. If all others drop it, no task can change the state any more:
/// give the state an end that predicates check, or wait with a deadline.
///
/// **Cost.** A change costs a lock and an evaluation for each waiting task, plus as many again for each claim that
/// succeeds, as the line is then searched from the front again. Fine for tens of waiting tasks, not for thousands. No thread
/// is blocked for longer than that.
public final class Monitor<State: Sendable>: Sendable {
    let storage: MonitorStorage<State>

    /// Creates a monitor of a state.
    ///
    ///     let pool = Monitor([Connection]())
    public init(_ state: State) {
        storage = MonitorStorage(state)
    }

    /// Reads or changes the state, and resumes the tasks whose predicate holds afterwards.
    ///
    ///     let wasEmpty = monitor.withState { state in
    ///         defer { state.pending.append(song) }
    ///         return state.pending.isEmpty
    ///     }
    ///
    /// The body runs under the lock: see ``Monitor``. If it throws, what it has changed until then stays changed, and
    /// resumes the tasks that waited for it.
    ///
    /// - Returns: What the body returns.
    /// - Throws: Only what the body throws.
    /// - Complexity: O(number of waiting tasks), plus as many for each claim that succeeds. Never suspends, and blocks
    ///   other users of the monitor during that.
    public func withState<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withState(body)
    }

    /// The state as it is at this moment; it may have changed before the caller reads it. O(1); never suspends.
    public var state: State { storage.state }
}
