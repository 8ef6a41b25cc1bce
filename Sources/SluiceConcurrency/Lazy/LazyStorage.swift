import SluiceLock

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
