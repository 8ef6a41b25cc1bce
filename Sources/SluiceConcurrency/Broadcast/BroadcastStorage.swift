public import SluiceLock

@usableFromInline
final class BroadcastStorage<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Machine = BroadcastStateMachine<Element, Failure, Waiter>
    @usableFromInline typealias Waiter = UnsafeContinuation<BroadcastWakeUp, Never>

    @usableFromInline let machine: Lock<Machine>

    @inlinable
    init(replay: Int) {
        machine = Lock(Machine(replay: replay))
    }

    @inlinable var subscriberCount: Int { machine.withLock { $0.subscriberCount } }

    @inlinable
    func send(_ element: Element) -> Bool {
        guard case .resume(let waiters, _) = machine.withLock({ $0.send(element) }) else { return false }
        for waiter in waiters { waiter.resume(returning: .lookAgain) }
        return true
    }

    @inlinable
    func finish(_ end: Machine.End) {
        for waiter in machine.withLock({ $0.finish(end) }) { waiter.resume(returning: .lookAgain) }
    }

    @inlinable
    func subscribe(_ buffering: Broadcast<Element, Failure>.Buffering) -> Int {
        machine.withLock { $0.subscribe(buffering) }
    }

    @inlinable
    func unsubscribe(_ place: Int) {
        _ = machine.withLock { $0.unsubscribe(place) }
    }

    @inlinable
    func next(_ place: Int) async throws(Failure) -> Broadcast<Element, Failure>.Delivery? {
        while !Task.isCancelled {
            switch machine.withLock({ $0.next(place) }) {
            case .deliver(let delivery, _): return delivery
            case .finished: return nil
            case .failed(let failure): throw failure
            case .suspend(let ticket): if await wait(ticket) == .cancelled { return nil }
            }
        }
        return nil
    }

    @inlinable
    func wait(_ ticket: Machine.Line.Ticket) async -> BroadcastWakeUp {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }
}

/// Releasing the last reference unsubscribes.
@usableFromInline
final class BroadcastRegistration<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline let storage: BroadcastStorage<Element, Failure>
    @usableFromInline let place: Int

    @inlinable
    init(storage: BroadcastStorage<Element, Failure>, buffering: Broadcast<Element, Failure>.Buffering) {
        self.storage = storage
        place = storage.subscribe(buffering)
    }

    @inlinable
    deinit {
        storage.unsubscribe(place)
    }

    @inlinable
    func next() async throws(Failure) -> Broadcast<Element, Failure>.Delivery? {
        try await storage.next(place)
    }
}
