/// A state that tasks share, and wait for to become as they need it.
///
///     let pool = Monitor([Connection]())
///     pool.withState { $0.append(connection) }                                // wakes one who waits for it
///     let next = await pool.wait(claiming: { $0.popLast() })
///
/// This is the monitor of Hoare and Brinch Hansen with conditions spelled out: who waits says for what, and whoever
/// changes the state wakes exactly those whose condition now holds. So none is woken in vain, and none has to be
/// signalled.
///
/// **Predicates and claims.** `wait(where:)` waits until a predicate holds. Before the caller looks, somebody may have
/// changed the state again: right for what stays as it is, like "loaded". `wait(claiming:)` takes what it waits for in
/// the same critical section in which it sees it, so that of many waiters exactly one gets each thing.
///
/// **Order.** After each change the first in line whose predicate or claim succeeds is served, then the first of those
/// that are left, as the claim has changed the state again, and so on until none in line can be served. Thus between
/// two changes nobody waits who could be served, and whoever comes then overtakes nobody who could. But one who waits
/// for three things is overtaken by those who wait for one, perhaps for ever; where that must not be, use a
/// ``ConcurrencyLimiter``.
///
/// **Under the lock.** Bodies, predicates and claims run under the monitor's lock, predicates and claims also on the
/// threads of those who change the state. Let them be short. They must not use the monitor, which traps, nor resume or
/// cancel tasks, which may deadlock; what they remove from the state is better returned than dropped there, as its
/// `deinit` would run under the lock, too.
///
/// **Cancellation.** `wait` waits even in a cancelled task; `waitUnlessCancelled` and the forms with a deadline do not.
/// Whoever leaves has claimed nothing, and whoever has claimed something gets it: never both, never neither.
///
/// **Lifetime.** Whoever waits keeps the monitor alive. If all others drop it, nobody can change the state any more:
/// give the state an end that predicates look at, or wait with a deadline.
///
/// **Cost.** A change costs a lock and an evaluation for each who waits, plus as many again for each claim that
/// succeeds, as the line is then searched from the front again. Fine for tens of waiters, not for thousands. No thread
/// is ever blocked for longer than that.
public final class Monitor<State: Sendable>: Sendable {
    let storage: MonitorStorage<State>

    /// Creates a monitor of a state that nobody waits for yet.
    public init(_ state: State) {
        storage = MonitorStorage(state)
    }

    /// Looks at the state or changes it, and wakes those whose predicate holds afterwards.
    ///
    ///     let wasEmpty = monitor.withState { state in
    ///         defer { state.pending.append(song) }
    ///         return state.pending.isEmpty
    ///     }
    ///
    /// The body runs under the lock: see ``Monitor``. If it throws, what it has changed until then stays changed, and
    /// wakes those who waited for it.
    ///
    /// - Returns: What the body returns.
    /// - Throws: Only what the body throws.
    /// - Complexity: O(number of waiting tasks), plus as many for each claim that succeeds. Never suspends, and blocks
    ///   others who use the monitor during that.
    public func withState<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withState(body)
    }

    /// The state as it is at this moment; it may have changed before the caller looks at it. O(1); never suspends.
    public var state: State { storage.state }
}
