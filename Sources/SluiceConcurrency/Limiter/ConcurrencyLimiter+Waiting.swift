// How a task waits for its place: what the run forms and `acquire` have in common.

extension ConcurrencyLimiter {
    /// Waits for a place unless the task is cancelled; returns how that ended.
    func enterSlowly(weight: UInt64 = 1) async -> LimiterOutcome {
        await wait(for: request(weight: weight)) { ticket in
            await self.suspendUnlessCancelled(ticket)
        }
    }

    /// Waits for a place unless the task is cancelled or the deadline comes; returns how that ended.
    func enterSlowly<C: Clock>(weight: UInt64, until deadline: C.Instant, clock: C) async -> LimiterOutcome {
        await wait(for: request(weight: weight)) { ticket in
            await ending(at: deadline, clock: clock) {
                self.storage.end(ticket, .expired).resume()
            } wait: {
                await self.suspendUnlessCancelled(ticket)
            }
        }
    }

    /// Waits for a place, even in a cancelled task.
    func enterSlowlyUninterrupted() async {
        var request = request(weight: 1)
        request.isInterruptible = false
        guard order == .fifo else {
            _ = await wait(for: request) { ticket in await self.suspend(ticket) }
            return
        }
        let began = waitTimes?.began()
        _ = await withUnsafeContinuation { waiter in
            if storage.enter(request, suspended: waiter) { waiter.resume(returning: .granted) }
        }
        waitTimes?.ended(began)
    }

    // MARK: Machinery

    private func request(weight: UInt64) -> LimiterRequest {
        LimiterRequest(weight: weight, priority: order == .fifo ? 0 : Task.currentPriority.rawValue)
    }

    private func wait(
        for request: LimiterRequest, _ suspended: (LimiterStorage.Machine.Ticket) async -> LimiterOutcome
    ) async -> LimiterOutcome {
        var request = request
        var began: Duration?
        while true {
            let ticket: LimiterStorage.Machine.Ticket
            switch storage.enter(request) {
            case .run:
                waitTimes?.ended(began)
                return .granted
            case .refuse: return .tooHeavy
            case .wait(let joined): ticket = joined
            }
            if began == nil { began = waitTimes?.began() }
            let outcome = await withEscalation(of: ticket) { await suspended(ticket) }
            guard outcome == .raised else {
                waitTimes?.ended(began)
                return outcome
            }
            request.priority = max(request.priority, Task.currentPriority.rawValue)
        }
    }

    private func suspend(_ ticket: LimiterStorage.Machine.Ticket) async -> LimiterOutcome {
        await withUnsafeContinuation { waiter in
            if let outcome = storage.suspend(ticket, waiter) { waiter.resume(returning: outcome) }
        }
    }

    private func suspendUnlessCancelled(_ ticket: LimiterStorage.Machine.Ticket) async -> LimiterOutcome {
        await withTaskCancellationHandler {
            await suspend(ticket)
        } onCancel: {
            storage.end(ticket, .cancelled).resume()
        }
    }

    /// Lets a waiter whose task becomes more urgent join again among its new equals.
    private func withEscalation(
        of ticket: LimiterStorage.Machine.Ticket, _ suspended: () async -> LimiterOutcome
    ) async -> LimiterOutcome {
        if order == .priority, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            await withTaskPriorityEscalationHandler {
                await suspended()
            } onPriorityEscalated: { _, _ in
                self.storage.end(ticket, .raised).resume()
            }
        } else {
            await suspended()
        }
    }
}
