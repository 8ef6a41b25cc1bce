import SluiceLock
import Synchronization

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

// MARK: - Wait times

final class LimiterWaitTimes: Sendable {
    private let now: @Sendable () -> Duration
    private let total = Atomic<UInt64>(0)
    private let longest = Atomic<UInt64>(0)

    convenience init(_ clock: any Clock<Duration>) {
        self.init(reading: clock)
    }

    private init<C: Clock<Duration>>(reading clock: C) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
    }

    func began() -> Duration { now() }

    /// Does nothing for a task that didn't wait.
    func ended(_ began: Duration?) {
        guard let began else { return }
        let waited = UInt64(clamping: (now() - began).attoseconds / 1_000_000_000)
        total.wrappingAdd(waited, ordering: .relaxed)
        longest.max(waited, ordering: .relaxed)
    }

    var values: (total: Duration, longest: Duration) {
        (
            .nanoseconds(Int64(clamping: total.load(ordering: .relaxed))),
            .nanoseconds(Int64(clamping: longest.load(ordering: .relaxed)))
        )
    }
}

// MARK: - Holders

/// The tasks that run bodies of a limiter, to detect a task that runs a body inside another one.
///
/// A task is identified by its address, which is unique while the task lives, and the task outlives its body.
final class LimiterHolders: Sendable {
    /// More than one only if the inner bodies didn't wait.
    private let tasks = Lock<[UInt: Int]>([:])

    /// Records that the calling task runs a body; traps if the task runs one already.
    ///
    /// Called before the task waits for a place, because a task that waits forever couldn't report it.
    func enter() {
        guard let task = Self.currentTask else { return }
        let isNew = tasks.withLock { tasks in
            if tasks[task] != nil { return false }
            tasks[task] = 1
            return true
        }
        precondition(
            isNew,
            "A limiter's body must not use the same limiter, because the tasks deadlock if every place is held this way. "
                + "Use one limiter per level, or do both parts in one body.")
    }

    /// Records that the calling task runs a body, or another body for which it didn't wait.
    func enterWithoutWaiting() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { $0[task, default: 0] += 1 }
    }

    func leave() {
        guard let task = Self.currentTask else { return }
        tasks.withLock { tasks in
            guard let bodies = tasks[task] else { return }
            tasks[task] = bodies == 1 ? nil : bodies - 1
        }
    }

    private static var currentTask: UInt? {
        withUnsafeCurrentTask { task in
            // `UnsafeCurrentTask` holds only a reference to the task. Only the address is used.
            task.map { unsafeBitCast($0, to: UInt.self) }
        }
    }
}
