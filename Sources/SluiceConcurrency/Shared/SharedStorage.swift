import SluiceLock

final class SharedStorage<Base: AsyncSequence & Sendable>: Sendable where Base.Element: Sendable {
    private typealias Waiter = UnsafeContinuation<SharedWakeUp, Never>
    private typealias Machine = SharedStateMachine<Base.Element, Base.Failure, Waiter, Task<Void, Never>>

    private let base: Base
    private let machine: Lock<Machine>

    init(_ base: Base, buffer: Int, replay: Int) {
        self.base = base
        machine = Lock(Machine(buffer: buffer, replay: replay))
    }

    var loopCount: Int { machine.withLock { $0.loopCount } }

    var elementCount: Int { machine.withLock { $0.elementCount } }

    // MARK: Loops

    func join() -> UInt64 {
        machine.withLock { $0.join() }
    }

    /// Ends a loop. If it was the last, cancels the producer's task and returns it.
    func leave(_ number: UInt64) -> Task<Void, Never>? {
        let action = machine.withLock { $0.leave(number) }
        action.work?.cancel()
        action.stop?.resume(returning: .stop)
        action.go?.resume(returning: .go)
        return action.work
    }

    func next(_ number: UInt64) async throws(Base.Failure) -> Base.Element? {
        while !Task.isCancelled {
            switch machine.withLock({ $0.next(number) }) {
            case .deliver(let element, _, let producer):
                producer?.resume(returning: .go)
                return element
            case .finished: return nil
            case .failed(let failure): throw failure
            case .suspend(let ticket, let starts, let producer):
                if starts { start() }
                producer?.resume(returning: .go)
                _ = await wait(ticket)
            }
        }
        // A cancelled loop must neither block the others nor leave the base running.
        await leave(number)?.value
        return nil
    }

    private func wait(_ ticket: Machine.Line.Ticket) async -> SharedWakeUp {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }

    // MARK: The producer

    private func start() {
        let task = Task { await self.produce() }
        if machine.withLock({ $0.started(task) }) { task.cancel() }
    }

    private func produce() async {
        var iterator = base.makeAsyncIterator()
        do throws(Base.Failure) {
            while await mayTake() {
                guard let element = try await iterator.next(isolation: #isolation) else { break }
                // The element removed from the log is returned too, so that it isn't destroyed under the lock.
                let (waiters, _) = machine.withLock { $0.deliver(element) }
                for waiter in waiters { waiter.resume(returning: .go) }
            }
            finish(.finished)
        } catch {
            finish(.failed(error))
        }
    }

    /// Returns `false` after the last loop has left.
    private func mayTake() async -> Bool {
        await withUnsafeContinuation { (waiter: Waiter) in
            if let known = machine.withLock({ $0.produce(waiter) }) { waiter.resume(returning: known) }
        } == .go
    }

    private func finish(_ end: Machine.End) {
        for waiter in machine.withLock({ $0.finish(end) }) { waiter.resume(returning: .go) }
    }
}
