public import SluiceLock

/// A shared state with tasks that wait until the state satisfies a condition.
///
///     let pool = Monitor([Connection]())
///     pool.withState { $0.append(connection) }                                // resumes one waiting task
///     let next = await pool.wait(claiming: { $0.popLast() })
///
/// Each waiting task states its condition, so no signals are needed: a change of the state resumes exactly the tasks that it serves. This
/// is the monitor of Hoare and Brinch Hansen with explicit conditions.
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
/// **Lifetime.** A waiting task keeps the monitor alive, but if no other code has a reference to it, no change can end the wait. Give the
/// state a final value that predicates check, or wait with a deadline.
///
/// **Cost.** A predicate or claim is evaluated when its wait starts and in every call to ``withState(_:)``. After each claim that succeeds,
/// the conditions of all waiting tasks are evaluated again. This suits tens of waiting tasks, not thousands. The evaluations block the
/// thread that changes the state.
public final class Monitor<State: Sendable>: Sendable {
    @usableFromInline let storage: MonitorStorage<State>

    /// Creates a monitor with an initial state.
    @inlinable
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
    @inlinable
    public func withState<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withState(body)
    }

    /// The current state, which may change before the caller reads it. O(1).
    @inlinable
    public var state: State { storage.state }
}

// MARK: - Predicates

extension Monitor {
    /// Waits until a predicate of the state holds, even in a cancelled task.
    ///
    ///     await monitor.wait(where: { $0.isLoaded })
    ///
    /// If the predicate already holds, the method returns without suspending. The predicate may no longer hold when the caller continues;
    /// to take something from the state, use ``wait(claiming:)``.
    ///
    /// - Throws: The predicate's error, which ends the wait.
    @inlinable
    public func wait<Failure: Error>(
        where predicate: @escaping @Sendable (State) throws(Failure) -> Bool
    ) async throws(Failure) {
        try await storage.wait(MonitorAttempt(where: predicate)).get()
    }

    /// Waits until a predicate of the state holds, unless the task is cancelled.
    ///
    /// If the predicate already holds, the method returns, even in a cancelled task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    @inlinable
    public func waitUnlessCancelled(
        where predicate: @escaping @Sendable (State) -> Bool
    ) async throws(CancellationError) {
        guard case .completed = await storage.waitUnlessCancelled(MonitorAttempt(where: predicate)) else {
            throw CancellationError()
        }
    }

    /// Waits until a predicate of the state holds, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    public func wait(where predicate: @escaping @Sendable (State) -> Bool, timeout: Duration) async throws {
        try await wait(where: predicate, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until a predicate of the state holds or a deadline passes.
    ///
    /// If the predicate already holds, the method returns, even after the deadline and in a cancelled task.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    public func wait<C: Clock>(
        where predicate: @escaping @Sendable (State) -> Bool, until deadline: C.Instant, clock: C
    ) async throws {
        switch await storage.wait(MonitorAttempt(where: predicate), until: deadline, clock: clock) {
        case .completed: return
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }
}

// MARK: - Claims

extension Monitor {
    /// Waits until a claim succeeds, even in a cancelled task, and returns the claimed value.
    ///
    ///     let connection = await pool.wait(claiming: { $0.popLast() })
    ///
    /// The claim checks the state and takes something from it in one critical section, so each value goes to exactly one task. A claim that
    /// finds nothing to take returns `nil`. It must then leave the state unchanged, because no waiting task is notified of such a change.
    /// If the claim succeeds immediately, the method returns without suspending.
    ///
    /// - Throws: The claim's error, which ends the wait. Changes that the claim has made before it throws are kept.
    @inlinable
    public func wait<Claimed: Sendable, Failure: Error>(
        claiming claim: @escaping @Sendable (inout State) throws(Failure) -> Claimed?
    ) async throws(Failure) -> Claimed {
        try await storage.wait(MonitorAttempt(claiming: claim)).get()
    }

    /// Waits until a claim succeeds, unless the task is cancelled, and returns the claimed value.
    ///
    /// If the claim succeeds immediately, the method returns, even in a cancelled task. See also ``wait(claiming:)``.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first. Nothing was claimed then.
    @inlinable
    public func waitUnlessCancelled<Claimed: Sendable>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?
    ) async throws(CancellationError) -> Claimed {
        switch await storage.waitUnlessCancelled(MonitorAttempt(claiming: claim)) {
        case .completed(.success(let claimed)): return claimed
        case .cancelled, .expired: throw CancellationError()
        }
    }

    /// Waits until a claim succeeds, for up to `timeout` on the continuous clock, and returns the claimed value.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first. Nothing was claimed
    ///   then.
    public func wait<Claimed: Sendable>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?, timeout: Duration
    ) async throws -> Claimed {
        try await wait(claiming: claim, until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until a claim succeeds or a deadline passes, and returns the claimed value.
    ///
    /// If the claim succeeds immediately, the method returns, even after the deadline and in a cancelled task.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first. Nothing was claimed
    ///   then.
    public func wait<Claimed: Sendable, C: Clock>(
        claiming claim: @escaping @Sendable (inout State) -> Claimed?, until deadline: C.Instant, clock: C
    ) async throws -> Claimed {
        switch await storage.wait(MonitorAttempt(claiming: claim), until: deadline, clock: clock) {
        case .completed(.success(let claimed)): return claimed
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }
}

// MARK: - Attempts

/// The predicate or claim of one waiting task, and its result.
///
/// Tried when the wait starts, and at each change of the state until it succeeds.
@usableFromInline
final class MonitorAttempt<State: Sendable, Claimed: Sendable, Failure: Error>: @unchecked Sendable {
    // The lock of `MonitorStorage` protects `result` until the attempt has succeeded; then only the waiting task reads it. The
    // other properties never change.

    /// Whether a success changes the state, so that other waiting tasks may be served.
    @usableFromInline let changesState: Bool
    @usableFromInline let claim: @Sendable (inout State) throws(Failure) -> Claimed?
    @usableFromInline var result: Result<Claimed, Failure>?

    @inlinable
    init(claiming claim: @escaping @Sendable (inout State) throws(Failure) -> Claimed?) {
        changesState = true
        self.claim = claim
    }

    @inlinable
    init(where predicate: @escaping @Sendable (State) throws(Failure) -> Bool) where Claimed == Void {
        changesState = false
        claim = { (state: inout State) throws(Failure) in try predicate(state) ? () : nil }
    }

    /// Returns whether the wait is over, because the claim has succeeded or thrown.
    @inlinable
    func succeeds(_ state: inout State) -> Bool {
        do throws(Failure) {
            result = try claim(&state).map { .success($0) }
        } catch {
            result = .failure(error)
        }
        return result != nil
    }
}

// MARK: - The state machine

/// A state, and the tasks that wait until it satisfies a condition.
///
/// After each event, no attempt in line would succeed. The machine resumes no task itself. It returns the attempts that it takes out of
/// the line, because an attempt contains a user's closure, which must not be destroyed under the lock.
@usableFromInline
struct MonitorStateMachine<State: Sendable, Waiter: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Waiter, WaitEnd<Void>>

    @usableFromInline
    struct Attempt: Sendable {
        /// Whether a success changes the state, so that other waiting tasks may be served.
        @usableFromInline let changesState: Bool
        @usableFromInline let succeeds: @Sendable (inout State) -> Bool

        @inlinable
        init(changesState: Bool, succeeds: @escaping @Sendable (inout State) -> Bool) {
            self.changesState = changesState
            self.succeeds = succeeds
        }
    }

    /// A task that leaves the line. It is resumed unless it hasn't suspended yet.
    @usableFromInline
    struct Wakeup: Sendable {
        @usableFromInline let waiter: Waiter?
        @usableFromInline let attempt: Attempt

        @inlinable
        init(waiter: Waiter?, attempt: Attempt) {
            self.waiter = waiter
            self.attempt = attempt
        }
    }

    @usableFromInline
    struct Entry: Sendable {
        /// The ticket with which the task suspends; `nil` if its attempt succeeded.
        @usableFromInline let ticket: Line.Ticket?
        /// The tasks that are served after the attempt has changed the state.
        @usableFromInline let wakeups: [Wakeup]

        @inlinable
        init(ticket: Line.Ticket?, wakeups: [Wakeup]) {
            self.ticket = ticket
            self.wakeups = wakeups
        }
    }

    @usableFromInline var state: State
    @usableFromInline var line = Line()
    /// The attempts of the tasks in line, indexed by the slots of the line.
    @usableFromInline var attempts: [Attempt?] = []

    @inlinable
    init(_ state: State) {
        self.state = state
    }

    /// Lets `body` change the state; returns the tasks that the new state serves, in order.
    @inlinable
    mutating func change(_ body: (inout State) -> Void) -> [Wakeup] {
        body(&state)
        return serve()
    }

    @inlinable
    mutating func enter(_ attempt: Attempt) -> Entry {
        if attempt.succeeds(&state) { return Entry(ticket: nil, wakeups: attempt.changesState ? serve() : []) }
        let ticket = line.join()
        while attempts.count <= ticket.slot { attempts.append(nil) }
        attempts[ticket.slot] = attempt
        return Entry(ticket: ticket, wakeups: [])
    }

    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> WaitEnd<Void>? {
        line.suspend(ticket, waiter)
    }

    /// Returns `nil` if the task was served before.
    @inlinable
    mutating func leave(_ ticket: Line.Ticket, _ end: WaitEnd<Void>) -> Wakeup? {
        line.contains(ticket) ? depart(ticket, end) : nil
    }

    /// Takes the tasks with successful attempts out of the line, from the front.
    ///
    /// After a claim has succeeded, the search restarts at the front, because an attempt that failed before may succeed now. It
    /// ends, because a task leaves the line each time.
    @inlinable
    mutating func serve() -> [Wakeup] {
        var wakeups: [Wakeup] = []
        var next = line.firstTicket
        while let ticket = next {
            next = line.ticket(after: ticket)
            guard let attempt = attempts[ticket.slot] else { preconditionFailure("A task in line has no attempt.") }
            guard attempt.succeeds(&state) else { continue }
            wakeups.append(depart(ticket, .completed(())))
            if attempt.changesState { next = line.firstTicket }
        }
        return wakeups
    }

    @inlinable
    mutating func depart(_ ticket: Line.Ticket, _ end: WaitEnd<Void>) -> Wakeup {
        guard let attempt = attempts[ticket.slot] else { preconditionFailure("A task in line has no attempt.") }
        let waiter = line.settle(ticket, end)
        attempts[ticket.slot] = nil
        if line.isEmpty { attempts.removeAll(keepingCapacity: attempts.count <= Line.slotsKept) }
        return Wakeup(waiter: waiter, attempt: attempt)
    }
}

// MARK: - The storage

@usableFromInline
final class MonitorStorage<State: Sendable>: Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<WaitEnd<Void>, Never>
    @usableFromInline typealias Machine = MonitorStateMachine<State, Waiter>

    @usableFromInline let machine: Lock<Machine>

    @inlinable
    init(_ state: State) {
        machine = Lock(Machine(state))
    }

    @inlinable
    var state: State { machine.withLock(\.state) }

    @inlinable
    func withState<Value: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var result: Result<Value, Failure>?
        let wakeups = machine.withLock { machine in
            machine.change { state in
                do throws(Failure) {
                    result = .success(try body(&state))
                } catch {
                    result = .failure(error)
                }
            }
        }
        resume(wakeups)
        guard let result = result.take() else { preconditionFailure("The body of withState didn't run.") }
        return try result.get()
    }

    @inlinable
    func wait<Claimed, Failure>(
        _ attempt: MonitorAttempt<State, Claimed, Failure>
    ) async -> Result<Claimed, Failure> {
        if let ticket = enter(attempt) {
            _ = await withUnsafeContinuation { waiter in
                if let known = suspend(ticket, waiter) { waiter.resume(returning: known) }
            }
        }
        return attempt.outcome
    }

    @inlinable
    func waitUnlessCancelled<Claimed, Failure>(
        _ attempt: MonitorAttempt<State, Claimed, Failure>
    ) async -> WaitEnd<Result<Claimed, Failure>> {
        guard let ticket = enter(attempt) else { return .completed(attempt.outcome) }
        return attempt.end(await suspendUnlessCancelled(ticket))
    }

    func wait<Claimed, Failure, C: Clock>(
        _ attempt: MonitorAttempt<State, Claimed, Failure>, until deadline: C.Instant, clock: C
    ) async -> WaitEnd<Result<Claimed, Failure>> {
        guard let ticket = enter(attempt) else { return .completed(attempt.outcome) }
        let end = await ending(at: deadline, clock: clock) {
            self.leave(ticket, .expired)
        } wait: {
            await suspendUnlessCancelled(ticket)
        }
        return attempt.end(end)
    }

    // MARK: The line

    /// Returns `nil` if the attempt succeeded and the task needn't wait.
    @inlinable
    func enter<Claimed, Failure>(_ attempt: MonitorAttempt<State, Claimed, Failure>) -> Machine.Line.Ticket? {
        let wish = Machine.Attempt(changesState: attempt.changesState, succeeds: { attempt.succeeds(&$0) })
        let entry = machine.withLock { $0.enter(wish) }
        resume(entry.wakeups)
        return entry.ticket
    }

    @inlinable
    func suspend(_ ticket: Machine.Line.Ticket, _ waiter: Waiter) -> WaitEnd<Void>? {
        machine.withLock { $0.suspend(ticket, waiter) }
    }

    @inlinable
    func suspendUnlessCancelled(_ ticket: Machine.Line.Ticket) async -> WaitEnd<Void> {
        await suspending { waiter in
            suspend(ticket, waiter)
        } onCancel: {
            leave(ticket, .cancelled)
        }
    }

    @inlinable
    func leave(_ ticket: Machine.Line.Ticket, _ end: WaitEnd<Void>) {
        let wakeup = machine.withLock { $0.leave(ticket, end) }
        wakeup?.waiter?.resume(returning: end)
    }

    @inlinable
    func resume(_ wakeups: [Machine.Wakeup]) {
        for wakeup in wakeups { wakeup.waiter?.resume(returning: .completed(())) }
    }
}

extension MonitorAttempt {
    @inlinable
    var outcome: Result<Claimed, Failure> {
        guard let result else { preconditionFailure("A wait ended before its attempt succeeded.") }
        return result
    }

    @inlinable
    func end(_ end: WaitEnd<Void>) -> WaitEnd<Result<Claimed, Failure>> {
        switch end {
        case .completed: .completed(outcome)
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }
}
