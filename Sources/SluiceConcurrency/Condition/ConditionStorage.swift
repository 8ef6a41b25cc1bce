/// What a condition and its signal share: a lock, the machine, and tasks that really suspend.
final class ConditionStorage: Sendable {
    private typealias Waiter = UnsafeContinuation<Condition.Outcome?, Never>

    private let machine = Lock(ConditionStateMachine<Waiter>())

    func wait() async -> Condition.Outcome {
        if let outcome = machine.withLock(\.outcome) { return outcome }
        let outcome = await withUnsafeContinuation { (waiter: Waiter) in
            let known = machine.withLock { $0.wait(uninterrupted: waiter) }
            if let known { waiter.resume(returning: known) }
        }
        guard let outcome else { preconditionFailure("A wait that cannot be cancelled was.") }
        return outcome
    }

    /// Returns nil if the task was cancelled first.
    func waitUnlessCancelled() async -> Condition.Outcome? {
        let ticket: ConditionStateMachine<Waiter>.Line.Ticket
        switch machine.withLock({ $0.wait() }) {
        case .end(let outcome): return outcome
        case .suspend(let joined): ticket = joined
        }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                let known = machine.withLock { $0.suspend(ticket, waiter) }
                if let known { waiter.resume(returning: known) }
            }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: nil)
        }
    }

    func fire(_ outcome: Condition.Outcome) {
        for waiter in machine.withLock({ $0.fire(outcome) }) { waiter.resume(returning: outcome) }
    }
}
