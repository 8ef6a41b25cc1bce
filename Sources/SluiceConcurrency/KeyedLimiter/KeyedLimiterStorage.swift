import SluiceLock

/// The lock, the state machine and the suspending operations of a ``KeyedLimiter``.
///
/// Keys that the machine forgets leave the critical section before they are destroyed: the `deinit` of a key may use the limiter.
final class KeyedLimiterStorage<Key: Hashable & Sendable>: Sendable {
    typealias Waiter = UnsafeContinuation<LimiterOutcome, Never>
    typealias Machine = KeyedLimiterStateMachine<Key, Waiter>

    let order: ConcurrencyLimiter.Order
    let machine: Lock<Machine>

    init(perKey: Int, total: Int, order: ConcurrencyLimiter.Order) {
        self.order = order
        machine = Lock(Machine(perKey: perKey, total: total))
    }

    func enterImmediately(_ key: Key) -> Bool {
        machine.withLock { $0.enterImmediately(key) }
    }

    func enter(_ key: Key) async -> LimiterOutcome {
        if Task.isCancelled { return .cancelled }
        if order == .priority { return await enterInLine(key) { await self.wait($0) } }
        guard case .wait(let ticket) = machine.withLock({ $0.enter(key) }) else { return .granted }
        return await wait(ticket)
    }

    func enter<C: Clock>(_ key: Key, until deadline: C.Instant, clock: C) async -> LimiterOutcome {
        if Task.isCancelled { return .cancelled }
        return await enterInLine(key) { ticket in
            await ending(at: deadline, clock: clock) {
                self.settle(ticket, .expired)
            } wait: {
                await self.wait(ticket)
            }
        }
    }

    func enterUninterrupted(_ key: Key) async {
        if order == .priority { return await enterInLineUninterrupted(key) }
        _ = await withUnsafeContinuation { (waiter: Waiter) in
            let action = machine.withLock { $0.enter(key, uninterrupted: waiter) }
            if case .run = action { waiter.resume(returning: .granted) }
        }
    }

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
            let ticket = machine.withLock { $0.watch(watcher) }
            if ticket == nil { watcher.resume(returning: .granted) }
        }
    }

    func waitUntilIdle<C: Clock>(until deadline: C.Instant, clock: C) async throws {
        guard let ticket = machine.withLock({ $0.watch() }) else { return }
        let outcome = await ending(at: deadline, clock: clock) {
            self.machine.withLock { $0.endWatch(ticket, .expired) }?.resume(returning: .expired)
        } wait: {
            await suspending { watcher in
                machine.withLock { $0.suspendWatcher(ticket, watcher) }
            } onCancel: {
                machine.withLock { $0.endWatch(ticket, .cancelled) }?.resume(returning: .cancelled)
            }
        }
        try outcome.checkIdle()
    }

    // MARK: Machinery

    private func wait(_ ticket: Machine.Ticket) async -> LimiterOutcome {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }.outcome
        } onCancel: {
            settle(ticket, .cancelled)
        }
    }

    private func settle(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) {
        let settled = machine.withLock { $0.settle(ticket, outcome) }
        settled.waiter?.resume(returning: outcome)
    }

    // MARK: Priorities

    private func enterInLineUninterrupted(_ key: Key) async {
        _ = await enterInLine(key, isInterruptible: false) { ticket in
            await withUnsafeContinuation { (waiter: Waiter) in
                let known = self.machine.withLock { $0.suspend(ticket, waiter) }.outcome
                if let known { waiter.resume(returning: known) }
            }
        }
    }

    /// Waits with `suspended`. Whenever the task's priority is raised, it moves to the end of the line of its new priority.
    private func enterInLine(
        _ key: Key, isInterruptible: Bool = true, _ suspended: (Machine.Ticket) async -> LimiterOutcome
    ) async -> LimiterOutcome {
        let priority = Task.currentPriority
        let request = LimiterRequest(
            priority: order == .priority ? priority.rawValue : 0, isInterruptible: isInterruptible)
        guard case .wait(let ticket) = machine.withLock({ $0.enter(key, request) }) else { return .granted }
        guard order == .priority else { return await suspended(ticket) }
        return await withEscalations(from: priority) {
            await suspended(ticket)
        } raised: { priority in
            self.machine.withLock { $0.raise(ticket, to: priority.rawValue) }
        }
    }
}
