import SluiceLock

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
        guard let released = machine.withLock({ $0.complete(outcome) }) else { return false }
        released.first?.resume(returning: .completed(outcome))
        for waiter in released.others { waiter.resume(returning: .completed(outcome)) }
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
