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

    func priority(_ key: Key) -> TaskPriority? { machine.withLock { $0.priority(key) } }

    func isInFlight(_ key: Key) -> Bool { machine.withLock { $0.isInFlight(key) } }

    func run(_ key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let priority = Task.currentPriority
        let (ticket, starts) = machine.withLock { $0.join(key, priority: priority) }
        if starts { start(ticket, priority, operation) } else { raise(ticket, to: priority) }
        let outcome = await withEscalations(from: priority) {
            await suspending { waiter in
                machine.withLock { $0.suspend(ticket, waiter) }
            } onCancel: {
                leave(ticket)
            }
        } raised: { priority in
            self.raise(ticket, to: priority)
        }
        switch outcome {
        case .finished(let result): return try result.get()
        case .left(let task):
            await task?.value
            throw CancellationError()
        }
    }

    private func start(
        _ ticket: Machine.Ticket, _ priority: TaskPriority, _ operation: @escaping @Sendable () async throws -> Value
    ) {
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
        // Callers may have joined meanwhile.
        let wanted = machine.withLock { $0.started(ticket, task) }
        if let wanted, wanted > priority { Self.escalate(task, to: wanted) }
    }

    private func raise(_ ticket: Machine.Ticket, to priority: TaskPriority) {
        guard let task = machine.withLock({ $0.raise(ticket, to: priority) }) else { return }
        Self.escalate(task, to: priority)
    }

    private static func escalate(_ task: Task<Void, Never>, to priority: TaskPriority) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { task.escalatePriority(to: priority) }
    }

    private func leave(_ ticket: Machine.Ticket) {
        guard let (waiter, outcome) = machine.withLock({ $0.leave(ticket) { .left($0) } }) else { return }
        if case .left(let task?) = outcome { task.cancel() }
        waiter?.resume(returning: outcome)
    }
}
