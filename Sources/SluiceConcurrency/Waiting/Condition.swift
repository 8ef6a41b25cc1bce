import SluiceLock

/// An event that happens once and that any number of tasks can wait for.
///
///     let (condition, signal) = Condition.makeCondition()
///     await condition.wait()      // in any number of tasks
///     signal.signal()             // from anywhere
///
/// Code that waits has the `Condition`; code that signals has the ``Signal``. A condition stays signalled: later waits return immediately.
/// Tasks are resumed in the order in which they started to wait.
///
/// **Abandonment.** If ``Signal/abandon()`` is called, or the last reference to the signal goes away before it's used, no signal can come.
/// Waiting tasks are then resumed with ``Outcome/abandoned``. Without this outcome, they would wait forever if the producer failed:
///
///     if await condition.wait() == .abandoned { throw ProducerFailed() }
///
/// **Cancellation.** ``wait()`` continues to wait in a cancelled task; ``waitUnlessCancelled()`` and the forms with a timeout or a deadline
/// don't. If the condition is already signalled or abandoned, every form returns, even in a cancelled task or after the deadline.
///
/// **Cost.** O(1) for each wait.
public struct Condition: Sendable {
    /// Why a wait ended.
    public enum Outcome: Hashable, Sendable {
        /// ``Signal/signal()`` was called.
        case signalled
        /// ``Signal/abandon()`` was called, or the last reference to the signal went away.
        case abandoned
    }

    private let storage: ConditionStorage<Outcome>

    /// Creates a condition and its signal.
    ///
    /// The condition doesn't keep the signal alive.
    public static func makeCondition() -> (condition: Condition, signal: Signal) {
        let storage = ConditionStorage<Outcome>()
        return (Condition(storage: storage), Signal(storage: storage))
    }

    /// Waits until the condition is signalled or abandoned, even in a cancelled task.
    @discardableResult
    public func wait() async -> Outcome {
        await storage.wait()
    }

    /// Waits until the condition is signalled or abandoned, unless the task is cancelled.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    @discardableResult
    public func waitUnlessCancelled() async throws(CancellationError) -> Outcome {
        guard case .completed(let outcome) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return outcome
    }

    /// Waits until the condition is signalled or abandoned, for up to `timeout` on the continuous clock.
    ///
    /// - Throws: ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if the task is cancelled first.
    @discardableResult
    public func wait(timeout: Duration) async throws -> Outcome {
        try await wait(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits until the condition is signalled or abandoned, or a deadline passes. Stops waiting when the task is cancelled.
    ///
    /// - Throws: ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if the task is cancelled first.
    @discardableResult
    public func wait<C: Clock>(until deadline: C.Instant, clock: C) async throws -> Outcome {
        switch await storage.wait(until: deadline, clock: clock) {
        case .completed(let outcome): return outcome
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }

    private init(storage: ConditionStorage<Outcome>) {
        self.storage = storage
    }
}

// MARK: - The signal

/// Signals the ``Condition`` that it was created with.
///
/// Several tasks can share a signal, and can use it from any thread. When its last reference goes away unused, waiting tasks are resumed
/// with ``Condition/Outcome/abandoned``. A variable in scope is a reference: if a producer fails while other code still has the signal,
/// call ``abandon()``.
public final class Signal: Sendable {
    private let storage: ConditionStorage<Condition.Outcome>

    init(storage: ConditionStorage<Condition.Outcome>) {
        self.storage = storage
    }

    deinit {
        storage.complete(.abandoned)
    }

    /// Resumes all tasks that wait for the condition; later waits return immediately.
    ///
    /// After a call to this method or ``abandon()``, further calls do nothing. O(n) in the number of waiting tasks.
    public func signal() {
        storage.complete(.signalled)
    }

    /// Resumes all waiting tasks with ``Condition/Outcome/abandoned``, because no signal will come.
    ///
    ///     do { try await openDatabase() } catch { signal.abandon(); throw error }
    ///
    /// After a call to this method or ``signal()``, further calls do nothing. O(n) in the number of waiting tasks.
    public func abandon() {
        storage.complete(.abandoned)
    }
}

// MARK: - The state machine

@usableFromInline
enum WaitEnd<Outcome> {
    case completed(Outcome)
    case cancelled
    case expired
}

/// The tasks that wait for an event that happens once, and its outcome.
///
/// A ``Condition`` uses it with the outcome signalled or abandoned, and a ``Promise`` with a result. It resumes no task itself.
struct ConditionStateMachine<Outcome: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, WaitEnd<Outcome>>

    enum WaitAction: Sendable {
        case end(Outcome)
        case suspend(Line.Ticket)
    }

    /// The waiting tasks to resume with the outcome, in order.
    struct Released: Sendable {
        let first: Waiter?
        let others: [Waiter]
    }

    private(set) var outcome: Outcome?
    /// The first waiting task, if its wait can't be cancelled. It isn't in line, so most conditions allocate no line.
    private(set) var first: Waiter?
    private(set) var line = Line()

    /// Returns the outcome, or adds a task to the line that can be cancelled before it suspends.
    mutating func wait() -> WaitAction {
        if let outcome { .end(outcome) } else { .suspend(line.join()) }
    }

    /// Returns the outcome, or stores the waiter of a suspended task. Its wait can't be cancelled.
    mutating func wait(uninterrupted waiter: Waiter) -> Outcome? {
        if let outcome { return outcome }
        if first == nil, line.isEmpty { first = waiter } else { _ = line.join(waiter) }
        return nil
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> WaitEnd<Outcome>? {
        line.suspend(ticket, waiter)
    }

    mutating func leave(_ ticket: Line.Ticket, _ end: WaitEnd<Outcome>) -> Waiter? {
        line.settle(ticket, end)
    }

    /// Sets the outcome; returns the tasks to resume, or `nil` if there was an outcome already.
    mutating func complete(_ outcome: Outcome) -> Released? {
        guard self.outcome == nil else { return nil }
        self.outcome = outcome
        defer { first = nil }
        return Released(first: first, others: line.isEmpty ? [] : line.settleAll(.completed(outcome)))
    }
}

extension WaitEnd: Sendable where Outcome: Sendable {}
extension WaitEnd: Hashable, Equatable where Outcome: Hashable {}

// MARK: - The storage

final class ConditionStorage<Outcome: Sendable>: Sendable {
    private typealias Waiter = UnsafeContinuation<WaitEnd<Outcome>, Never>
    private typealias Machine = ConditionStateMachine<Outcome, Waiter>

    private let machine = Lock(Machine())

    func wait() async -> Outcome {
        if let outcome = machine.withLock(\.outcome) { return outcome }
        let end = await withUnsafeContinuation { (waiter: Waiter) in
            let known = machine.withLock { $0.wait(uninterrupted: waiter) }
            if let known { waiter.resume(returning: .completed(known)) }
        }
        guard case .completed(let outcome) = end else { preconditionFailure("A wait ended before its event happened.") }
        return outcome
    }

    func waitUnlessCancelled() async -> WaitEnd<Outcome> {
        switch machine.withLock({ $0.wait() }) {
        case .end(let outcome): .completed(outcome)
        case .suspend(let ticket): await suspend(ticket)
        }
    }

    func wait<C: Clock>(until deadline: C.Instant, clock: C) async -> WaitEnd<Outcome> {
        if let outcome = machine.withLock(\.outcome) { return .completed(outcome) }
        // If the wait can't succeed, no child task is needed.
        if Task.isCancelled { return .cancelled }
        if deadline <= clock.now { return .expired }
        switch machine.withLock({ $0.wait() }) {
        case .end(let outcome): return .completed(outcome)
        case .suspend(let ticket):
            return await ending(at: deadline, clock: clock) {
                self.leave(ticket, .expired)
            } wait: {
                await suspend(ticket)
            }
        }
    }

    /// Returns whether this was the first call.
    @discardableResult
    func complete(_ outcome: Outcome) -> Bool {
        guard let wakeups = machine.withLock({ $0.complete(outcome) }) else { return false }
        wakeups.first?.resume(returning: .completed(outcome))
        for waiter in wakeups.others { waiter.resume(returning: .completed(outcome)) }
        return true
    }

    private func suspend(_ ticket: Machine.Line.Ticket) async -> WaitEnd<Outcome> {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            leave(ticket, .cancelled)
        }
    }

    private func leave(_ ticket: Machine.Line.Ticket, _ end: WaitEnd<Outcome>) {
        machine.withLock { $0.leave(ticket, end) }?.resume(returning: end)
    }
}
