// Waiting for a place, as used by the `run` methods and `acquire`.

// The short path, for limiters without priorities, holders or a clock: fewer asynchronous functions lie between the caller and
// its continuation. Each of them takes memory of the task while it waits; one too many takes another block of 1,024 bytes.
extension ConcurrencyLimiter {
    var isPlain: Bool { order == .fifo && holders == nil && waitTimes == nil }

    @inline(__always)
    func enterPlainly(weight: UInt64 = 1) async -> LimiterOutcome {
        switch storage.enter(LimiterRequest(weight: weight)) {
        case .run: .granted
        case .refuse: .tooHeavy
        case .wait(let ticket): await suspendUnlessCancelled(ticket)
        }
    }

    @inline(__always)
    func enterPlainlyUninterrupted() async {
        _ = await withUnsafeContinuation { waiter in
            let request = LimiterRequest(isInterruptible: false)
            if storage.enter(request, suspended: waiter) { waiter.resume(returning: .granted) }
        }
    }

    @inline(__always)
    private func suspendUnlessCancelled(_ ticket: LimiterStorage.Machine.Ticket) async -> LimiterOutcome {
        await suspending { waiter in
            storage.suspend(ticket, waiter)
        } onCancel: {
            storage.end(ticket, .cancelled).resume()
        }
    }
}

// The general path, for all limiters.
extension ConcurrencyLimiter {
    func enterSlowly(weight: UInt64 = 1) async -> LimiterOutcome {
        if isPlain { return await enterPlainly(weight: weight) }
        return await wait(for: request(weight: weight)) { ticket in
            await self.suspendUnlessCancelled(ticket)
        }
    }

    func enterSlowly<C: Clock>(weight: UInt64, until deadline: C.Instant, clock: C) async -> LimiterOutcome {
        await wait(for: request(weight: weight)) { ticket in
            await ending(at: deadline, clock: clock) {
                self.storage.end(ticket, .expired).resume()
            } wait: {
                await self.suspendUnlessCancelled(ticket)
            }
        }
    }

    func enterSlowlyUninterrupted() async {
        var request = request(weight: 1)
        request.isInterruptible = false
        _ = await wait(for: request) { ticket in
            await withUnsafeContinuation { waiter in
                if let outcome = self.storage.suspend(ticket, waiter) { waiter.resume(returning: outcome) }
            }
        }
    }

    // MARK: Machinery

    private func request(weight: UInt64) -> LimiterRequest {
        LimiterRequest(weight: weight, priority: order == .fifo ? 0 : Task.currentPriority.rawValue)
    }

    private func wait(
        for request: LimiterRequest, _ suspended: (LimiterStorage.Machine.Ticket) async -> LimiterOutcome
    ) async -> LimiterOutcome {
        switch storage.enter(request) {
        case .run(let wakeups):
            wakeups.resume()
            return .granted
        case .refuse: return .tooHeavy
        case .wait(let ticket):
            let began = waitTimes?.began()
            let outcome = await raising(ticket, from: request.priority) { await suspended(ticket) }
            waitTimes?.ended(began)
            return outcome
        }
    }

    /// Moves a waiting task to the line of its new priority whenever its priority is raised.
    private func raising(
        _ ticket: LimiterStorage.Machine.Ticket, from priority: UInt8, _ suspended: () async -> LimiterOutcome
    ) async -> LimiterOutcome {
        guard order == .priority else { return await suspended() }
        return await withEscalations(from: TaskPriority(rawValue: priority)) {
            await suspended()
        } raised: { priority in
            self.storage.raise(ticket, to: priority.rawValue).resume()
        }
    }
}
