import SluiceLock

/// The shipped ``KeyedLimiter`` without its public face: a lock, the machine, and tasks that really suspend.
///
/// Keys that the machine forgets are carried out of the lock: what a key does when it is destroyed may use the limiter.
final class KeyedLimiterStorage<Key: Hashable & Sendable>: Sendable {
    typealias Waiter = UnsafeContinuation<KeyedLimiterOutcome, Never>
    typealias Machine = KeyedLimiterStateMachine<Key, Waiter>

    let machine: Lock<Machine>

    init(perKey: Int, total: Int) {
        machine = Lock(Machine(perKey: perKey, total: total))
    }

    /// Takes a place if there is one.
    func enterAtOnce(_ key: Key) -> Bool {
        machine.withLock { $0.enterAtOnce(key) }
    }

    /// Waits for a place.
    func enter(_ key: Key) async -> KeyedLimiterOutcome {
        if Task.isCancelled { return .cancelled }
        guard case .wait(let ticket) = machine.withLock({ $0.enter(key) }) else { return .granted }
        return await wait(ticket)
    }

    /// Waits for a place until the deadline.
    func enter<C: Clock>(_ key: Key, until deadline: C.Instant, clock: C) async -> KeyedLimiterOutcome {
        if Task.isCancelled { return .cancelled }
        guard case .wait(let ticket) = machine.withLock({ $0.enter(key) }) else { return .granted }
        return await ending(at: deadline, clock: clock) {
            self.settle(ticket, .expired)
        } wait: {
            await wait(ticket)
        }
    }

    /// Waits for a place, even in a cancelled task.
    func enterUninterrupted(_ key: Key) async {
        _ = await withUnsafeContinuation { (waiter: Waiter) in
            let action = machine.withLock { $0.enter(key, uninterrupted: waiter) }
            if case .run = action { waiter.resume(returning: .granted) }
        }
    }

    /// Gives a place back.
    func leave(_ key: Key) {
        let action = machine.withLock { $0.leave(key) }
        action.next?.resume(returning: .granted)
        for watcher in action.watchers { watcher.resume(returning: .granted) }
    }

    func cancelWaiting(_ key: Key?) {
        let (waiters, _) = machine.withLock { $0.settleInterruptible(key, .cancelled) }
        for waiter in waiters { waiter.resume(returning: .cancelled) }
    }

    func waitUntilIdle() async {
        _ = await withUnsafeContinuation { (watcher: Waiter) in
            let isIdle = machine.withLock { $0.watch(watcher) }
            if isIdle { watcher.resume(returning: .granted) }
        }
    }

    // MARK: Machinery

    private func wait(_ ticket: Machine.Ticket) async -> KeyedLimiterOutcome {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }.outcome
        } onCancel: {
            settle(ticket, .cancelled)
        }
    }

    private func settle(_ ticket: Machine.Ticket, _ outcome: KeyedLimiterOutcome) {
        let settled = machine.withLock { $0.settle(ticket, outcome) }
        settled.waiter?.resume(returning: outcome)
    }
}
