public import SluiceLock

@usableFromInline
final class CurrentValueStorage<Value: Sendable>: Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<CurrentValueWakeUp, Never>
    @usableFromInline typealias Machine = CurrentValueStateMachine<Value, Waiter>

    @usableFromInline let machine: Lock<Machine>

    @inlinable
    init(_ value: Value) {
        machine = Lock(Machine(value))
    }

    @inlinable var value: Value { machine.withLock { $0.value } }

    @inlinable
    func replace(with new: Value) {
        // The old value is returned too, so that it isn't destroyed under the lock.
        let (_, waiters) = machine.withLock { $0.replace(with: new) }
        for waiter in waiters { waiter.resume(returning: .lookAgain) }
    }

    @inlinable
    func update<Outcome, Failure: Error>(_ body: (inout Value) throws(Failure) -> Outcome) throws(Failure) -> Outcome {
        var outcome: Result<Outcome, Failure>?
        // The unused value is returned too, so that it isn't destroyed under the lock: the old one, or the changed one if the
        // body throws.
        let (_, waiters) = machine.withLock { machine -> (Value, [Waiter]) in
            var changed = machine.value
            do throws(Failure) {
                outcome = .success(try body(&changed))
            } catch {
                outcome = .failure(error)
                return (changed, [])
            }
            return machine.replace(with: changed)
        }
        for waiter in waiters { waiter.resume(returning: .lookAgain) }
        guard let outcome else { preconditionFailure("An update must have an outcome.") }
        return try outcome.get()
    }

    @inlinable
    func finish() {
        for waiter in machine.withLock({ $0.finish() }) { waiter.resume(returning: .lookAgain) }
    }

    /// Sets `seen` to the number of the returned change.
    @inlinable
    func next(after seen: inout UInt64) async -> Value? {
        while !Task.isCancelled {
            let known = seen
            switch machine.withLock({ $0.next(after: known) }) {
            case .deliver(let value, let version):
                seen = version
                return value
            case .finished: return nil
            case .suspend(let ticket): if await wait(ticket) == .cancelled { return nil }
            }
        }
        return nil
    }

    @inlinable
    func wait(_ ticket: Machine.Line.Ticket) async -> CurrentValueWakeUp {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }
}
