import SluiceLock

final class SingleFlightStorage<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Outcome: Sendable {
        case finished(Result<Value, any Error>)
        /// If there is a task, the caller was the last one and waits for the task to end.
        case left(Task<Void, Never>?)
    }

    private typealias Waiter = UnsafeContinuation<Outcome, Never>
    private typealias Machine = SingleFlightStateMachine<Key, Waiter, Outcome, Task<Void, Never>>

    private let machine = Lock(Machine())

    var count: Int { machine.withLock { $0.count } }

    func isInFlight(_ key: Key) -> Bool { machine.withLock { $0.isInFlight(key) } }

    func run(_ key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let (ticket, starts) = machine.withLock { $0.join(key) }
        if starts { start(ticket, operation) }
        let outcome = await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            leave(ticket)
        }
        switch outcome {
        case .finished(let result): return try result.get()
        case .left(let task):
            await task?.value
            throw CancellationError()
        }
    }

    private func start(_ ticket: Machine.Ticket, _ operation: @escaping @Sendable () async throws -> Value) {
        let task = Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await operation())
            } catch {
                result = .failure(error)
            }
            let outcome = Outcome.finished(result)
            for waiter in self.machine.withLock({ $0.finished(ticket, outcome) }) { waiter.resume(returning: outcome) }
        }
        machine.withLock { $0.started(ticket, task) }
    }

    private func leave(_ ticket: Machine.Ticket) {
        guard let (waiter, outcome) = machine.withLock({ $0.leave(ticket) { .left($0) } }) else { return }
        if case .left(let task?) = outcome { task.cancel() }
        waiter?.resume(returning: outcome)
    }
}
