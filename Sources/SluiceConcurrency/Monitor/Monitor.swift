/// A shared state with tasks that wait until the state satisfies a condition.
///
///     let pool = Monitor([Connection]())
///     pool.withState { $0.append(connection) }                                // resumes one waiting task
///     let next = await pool.wait(claiming: { $0.popLast() })
///
/// A waiting task states its condition, and a change of the state resumes exactly the tasks that it serves, without a signal. This is the
/// monitor of Hoare and Brinch Hansen with explicit conditions.
///
/// **Predicates and claims.** `wait(where:)` waits until a predicate holds. Another task can change the state again before the
/// caller continues, so use it for conditions that stay true, such as "loaded". `wait(claiming:)` checks the state and takes
/// something from it in one critical section, so each value goes to exactly one waiting task.
///
/// **Order.** After each change, the first task in line with a successful predicate or claim is served. A claim changes the state
/// again, so the search then restarts at the front, until no task in line can be served. So a task that could be served
/// doesn't keep waiting, and no later task overtakes it. But a task that needs three values is overtaken by tasks that need one,
/// perhaps forever. If that must not happen, use a ``ConcurrencyLimiter``.
///
/// **Under the lock.** Bodies, predicates and claims run under the monitor's lock; predicates and claims also run on the threads
/// of tasks that change the state. They must be short. Using the monitor in them traps. Resuming or cancelling tasks in them can
/// deadlock. Return what they remove from the state, because a value dropped in them runs its `deinit` under the lock.
///
/// **Cancellation.** `wait` continues to wait in a cancelled task; `waitUnlessCancelled` and the forms with a timeout or a deadline
/// don't. A task that claims something always gets it, and a task that stops waiting has claimed nothing.
///
/// **Lifetime.** A waiting task keeps the monitor alive, but if no other code has the monitor, no change can end the wait. Give the state a
/// final value that predicates check, or wait with a deadline.
///
/// **Cost.** A wait evaluates its predicate or claim when it starts and in every call of ``withState(_:)``. Each claim that succeeds
/// evaluates those of all waiting tasks again. This suits tens of waiting tasks, not thousands. The evaluations block the thread that
/// changes the state.
public final class Monitor<State: Sendable>: Sendable {
    let storage: MonitorStorage<State>

    /// Creates a monitor with an initial state.
    public init(_ state: State) {
        storage = MonitorStorage(state)
    }

    /// Reads or changes the state, and resumes the waiting tasks that the new state serves.
    ///
    ///     let wasEmpty = monitor.withState { state in
    ///         defer { state.pending.append(song) }
    ///         return state.pending.isEmpty
    ///     }
    ///
    /// The body runs under the lock; see ``Monitor``. Changes that the body has made before it throws are kept, and resume the tasks that
    /// waited for them.
    ///
    /// - Throws: Only the body's error.
    /// - Complexity: O(n) in the number of waiting tasks, and again for each claim that succeeds.
    public func withState<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withState(body)
    }

    /// The current state, which may change before the caller reads it. O(1).
    public var state: State { storage.state }
}
