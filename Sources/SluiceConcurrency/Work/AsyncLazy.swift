import SluiceLock

/// A value that asynchronous work creates when it is first needed, and that is kept from then on.
///
///     let database = AsyncLazy { try await Database.open(url) }
///
///     let songs = try await database.value.songs()        // in any number of tasks
///
/// The first caller of ``value`` runs the work in its own task and isolation. Other callers wait for it. All of them get the value, and
/// later calls return it without waiting.
///
/// | | the value is created by | kept |
/// |---|---|---|
/// | `AsyncLazy` | the first caller's task | the value, as long as the `AsyncLazy` exists |
/// | ``SingleFlight`` | one task for each key, which its callers share | nothing |
/// | ``Promise`` | other code, with the promise's resolver | the value or the error |
///
/// **Errors.** An error is thrown only to the caller that ran the work. The task that has waited longest then runs the work again. So each
/// caller runs the work at most once, and errors aren't kept.
///
/// **Cancellation.** Cancelling the caller that runs the work cancels the work. If the work fails because of that, the next waiting task
/// runs it. A waiting task that is cancelled throws `CancellationError`; other tasks aren't affected. In a task that is already
/// cancelled, ``value`` returns the value if there is one, and doesn't run the work.
///
/// **Deadlocks.** Work that waits for its own value deadlocks.
///
/// **Order.** Waiting tasks run the work in the order in which they started to wait. A waiting task of higher priority doesn't raise the
/// priority of the task that runs the work.
///
/// **Cost.** O(1) for each caller. No task is created. The work and its captured values are released when there is a value.
public final class AsyncLazy<Value: Sendable>: Sendable {
    private let storage: LazyStorage<Value>

    /// Creates a lazy value. The work doesn't run until ``value`` is first read.
    public init(_ work: @escaping @Sendable () async throws -> Value) {
        storage = LazyStorage(work)
    }

    /// The value. The first caller creates it, and other callers wait for it.
    ///
    /// - Throws: The work's error, if this caller runs it; `CancellationError` if there is no value and the task is cancelled.
    public var value: Value {
        get async throws { try await storage.value() }
    }

    /// The value if it has been created; otherwise `nil`. Doesn't run the work. O(1).
    public var valueIfLoaded: Value? { storage.valueIfLoaded }
}

// MARK: - The state machine

/// The state of a lazy value, and the callers that wait for it.
///
/// It resumes no task.
///
/// ```text
/// enter ──▶ loaded                          succeeded ──▶ all waiting callers get the value
///     ├───▶ work: the caller runs the work ─┤
///     └───▶ wait                            failed ─────▶ the first waiting caller runs the work; without one, idle
/// ```
struct LazyStateMachine<Value: Sendable, Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, LazyOutcome<Value>>

    enum EnterAction: Sendable {
        case loaded(Value)
        case work
        case wait(Line.Ticket)
        case cancelled
    }

    private var isWorking = false
    private(set) var value: Value?
    private(set) var line = Line()

    mutating func enter(isCancelled: Bool = false) -> EnterAction {
        if let value { return .loaded(value) }
        if isCancelled { return .cancelled }
        if isWorking { return .wait(line.join()) }
        isWorking = true
        return .work
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> LazyOutcome<Value>? {
        line.suspend(ticket, waiter)
    }

    mutating func succeeded(_ value: Value) -> [Waiter] {
        isWorking = false
        self.value = value
        return line.settleAll(.loaded(value))
    }

    /// Returns the caller to resume with `.work`, unless it hasn't suspended yet.
    mutating func failed() -> Waiter? {
        isWorking = !line.isEmpty
        return isWorking ? line.settleFirst(.work) : nil
    }

    /// Returns the continuation of a cancelled caller, which is resumed with `.cancelled`.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }
}

enum LazyOutcome<Value: Sendable>: Sendable {
    case loaded(Value)
    /// The work failed in another task, and this caller runs it next.
    case work
    case cancelled
}

// MARK: - The storage

final class LazyStorage<Value: Sendable>: Sendable {
    typealias Work = @Sendable () async throws -> Value

    private typealias Waiter = UnsafeContinuation<LazyOutcome<Value>, Never>
    private typealias Machine = LazyStateMachine<Value, Waiter>

    private struct State: Sendable {
        var machine = Machine()
        /// `nil` if there is a value.
        var work: Work?
    }

    private let state: Lock<State>

    init(_ work: @escaping Work) {
        state = Lock(State(work: work))
    }

    var valueIfLoaded: Value? { state.withLock { $0.machine.value } }

    func value() async throws -> Value {
        let isCancelled = Task.isCancelled
        switch state.withLock({ $0.machine.enter(isCancelled: isCancelled) }) {
        case .loaded(let value): return value
        case .work: return try await work()
        case .wait(let ticket): return try await wait(ticket)
        case .cancelled: throw CancellationError()
        }
    }

    // MARK: Machinery

    private func wait(_ ticket: Machine.Line.Ticket) async throws -> Value {
        let outcome = await suspending { waiter in
            state.withLock { $0.machine.suspend(ticket, waiter) }
        } onCancel: {
            state.withLock { $0.machine.cancel(ticket) }?.resume(returning: .cancelled)
        }
        switch outcome {
        case .loaded(let value): return value
        case .work: return try await work()
        case .cancelled: throw CancellationError()
        }
    }

    private func work() async throws -> Value {
        do {
            // The task may have been cancelled after it was chosen to run the work.
            try Task.checkCancellation()
            guard let work = state.withLock({ $0.work }) else {
                preconditionFailure("The work may create a value only once.")
            }
            let value = try await work()
            // The work is returned too, so that its captured values aren't destroyed under the lock.
            let (waiters, _) = state.withLock { ($0.machine.succeeded(value), $0.work.take()) }
            for waiter in waiters { waiter.resume(returning: .loaded(value)) }
            return value
        } catch {
            state.withLock { $0.machine.failed() }?.resume(returning: .work)
            throw error
        }
    }
}
