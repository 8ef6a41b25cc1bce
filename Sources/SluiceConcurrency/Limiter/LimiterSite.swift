/// A limiter's word and its locked machine, combined: each operation tries the path without the lock first.
///
/// The limiter and the explorer of interleavings share all of this code. They differ only in how the word and the lock are
/// reached. No method here resumes a task: the caller resumes the returned tasks after the lock is released.
protocol LimiterSite: LimiterWordCell, ~Copyable {
    associatedtype Waiter: Sendable

    // `Failure` is always `Interruption`. If it's declared like that, the compiler (6.3) crashes where `Interruption` is `Never`.
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value
}

extension LimiterSite where Self: ~Copyable {
    typealias Machine = LimiterStateMachine<Waiter>

    /// Enters, or joins the line. In the second case the caller must call `suspend`.
    func enter(_ request: LimiterRequest) throws(Interruption) -> Machine.EnterAction {
        if try enterImmediately(weight: request.weight) { return .run(Machine.Wakeups()) }
        return try withMachine { (machine) throws(Interruption) in try machine.enter(self, request) }
    }

    func tryEnter(weight: UInt64) throws(Interruption) -> Bool {
        if try enterImmediately(weight: weight) { return true }
        return try withMachine { (machine) throws(Interruption) in
            let request = LimiterRequest(weight: weight)
            if case .run = try machine.enter(self, request, joins: false) { return true } else { return false }
        }
    }

    /// Enters and returns `true`, or stores the waiter, which is resumed when it's admitted.
    func enter(_ request: LimiterRequest, suspended waiter: Waiter) throws(Interruption) -> Bool {
        try withMachine { (machine) throws(Interruption) in
            if case .run = try machine.enter(self, request, suspended: waiter) { true } else { false }
        }
    }

    func suspend(_ ticket: Machine.Ticket, _ waiter: Waiter) throws(Interruption) -> LimiterOutcome? {
        try withMachine { (machine) throws(Interruption) in machine.suspend(ticket, waiter) }
    }

    func leave(weight: UInt64) throws(Interruption) -> Machine.Wakeups {
        if try leaveImmediately(weight: weight) { return Machine.Wakeups() }
        return try withMachine { (machine) throws(Interruption) in try machine.leave(self, weight: weight) }
    }

    func end(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.end(ticket, outcome, self) }
    }

    func raise(_ ticket: Machine.Ticket, to priority: UInt8) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.raise(ticket, to: priority, self) }
    }

    func cancelWaiting() throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.cancelWaiting(self) }
    }

    func resize(to limit: UInt64) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.resize(to: limit, self) }
    }

    /// Returns `nil` if the limiter is idle, or the ticket of a task that is resumed when it becomes idle.
    func watch(_ watcher: Waiter? = nil) throws(Interruption) -> Machine.Watch? {
        try withMachine { (machine) throws(Interruption) in try machine.watch(self, watcher) }
    }

    /// Stores the waiter of a task that watches, or returns how its wait has ended.
    func suspendWatcher(
        _ ticket: Machine.Watch, _ watcher: Waiter
    ) throws(Interruption) -> LimiterOutcome? {
        try withMachine { (machine) throws(Interruption) in machine.suspendWatcher(ticket, watcher) }
    }

    func endWatch(
        _ ticket: Machine.Watch, _ outcome: LimiterOutcome
    ) throws(Interruption) -> Waiter? {
        try withMachine { (machine) throws(Interruption) in machine.endWatch(ticket, outcome) }
    }
}
