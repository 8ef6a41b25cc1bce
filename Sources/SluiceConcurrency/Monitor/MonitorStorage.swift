import SluiceLock

final class MonitorStorage<State: Sendable>: Sendable {
    private typealias Waiter = UnsafeContinuation<WaitEnd<Void>, Never>
    private typealias Machine = MonitorStateMachine<State, Waiter>

    private let machine: Lock<Machine>

    init(_ state: State) {
        machine = Lock(Machine(state))
    }

    var state: State { machine.withLock(\.state) }

    func withState<Value: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var result: Result<Value, Failure>?
        let served = machine.withLock { machine in
            machine.change { state in
                do throws(Failure) {
                    result = .success(try body(&state))
                } catch {
                    result = .failure(error)
                }
            }
        }
        resume(served)
        guard let result = result.take() else { preconditionFailure("The body of withState didn't run.") }
        return try result.get()
    }

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
    private func enter<Claimed, Failure>(_ attempt: MonitorAttempt<State, Claimed, Failure>) -> Machine.Line.Ticket? {
        let wish = Machine.Attempt(changesState: attempt.changesState, succeeds: { attempt.succeeds(&$0) })
        let entry = machine.withLock { $0.enter(wish) }
        resume(entry.served)
        return entry.ticket
    }

    private func suspend(_ ticket: Machine.Line.Ticket, _ waiter: Waiter) -> WaitEnd<Void>? {
        machine.withLock { $0.suspend(ticket, waiter) }
    }

    private func suspendUnlessCancelled(_ ticket: Machine.Line.Ticket) async -> WaitEnd<Void> {
        await suspending { waiter in
            suspend(ticket, waiter)
        } onCancel: {
            leave(ticket, .cancelled)
        }
    }

    private func leave(_ ticket: Machine.Line.Ticket, _ end: WaitEnd<Void>) {
        let departure = machine.withLock { $0.leave(ticket, end) }
        departure?.waiter?.resume(returning: end)
    }

    private func resume(_ served: [Machine.Departure]) {
        for departure in served { departure.waiter?.resume(returning: .completed(())) }
    }
}

extension MonitorAttempt {
    fileprivate var outcome: Result<Claimed, Failure> {
        guard let result else { preconditionFailure("A wait ended before its attempt succeeded.") }
        return result
    }

    fileprivate func end(_ end: WaitEnd<Void>) -> WaitEnd<Result<Claimed, Failure>> {
        switch end {
        case .completed: .completed(outcome)
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }
}
