/// A limiter's word and its locked machine: how the path without the lock and the path with it make one limiter.
///
/// Everything here is what ships; what differs between the limiter and the explorer of interleavings is only how the
/// word and the lock are reached. Nothing here resumes a task: what is returned is resumed by the caller, when the lock
/// has been let go.
protocol LimiterSite: LimiterWordCell, ~Copyable {
    associatedtype Waiter: Sendable

    // `Failure` is always `Interruption`; spelled like that, the compiler crashes (6.3) where the latter is `Never`.
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value
}

extension LimiterSite where Self: ~Copyable {
    typealias Machine = LimiterStateMachine<Waiter>

    /// Enters, or joins the line: then the caller must call `suspend`.
    func enter(_ request: LimiterRequest) throws(Interruption) -> Machine.EnterAction {
        if try enterAtOnce(weight: request.weight) { return .run }
        return try withMachine { (machine) throws(Interruption) in try machine.enter(self, request) }
    }

    /// Enters if there is a place and no task waits.
    func tryEnter(weight: UInt64) throws(Interruption) -> Bool {
        if try enterAtOnce(weight: weight) { return true }
        return try withMachine { (machine) throws(Interruption) in
            let request = LimiterRequest(weight: weight)
            if case .run = try machine.enter(self, request, joins: false) { return true } else { return false }
        }
    }

    /// Enters and returns true, or stores the waiter, which is resumed when it has a place.
    func enter(_ request: LimiterRequest, suspended waiter: Waiter) throws(Interruption) -> Bool {
        try withMachine { (machine) throws(Interruption) in
            if case .run = try machine.enter(self, request, suspended: waiter) { true } else { false }
        }
    }

    /// Stores the waiter of a task in line, or returns how its wait has ended.
    func suspend(_ ticket: Machine.Ticket, _ waiter: Waiter) throws(Interruption) -> LimiterOutcome? {
        try withMachine { (machine) throws(Interruption) in machine.suspend(ticket, waiter) }
    }

    /// Gives a place back.
    func leave(weight: UInt64) throws(Interruption) -> Machine.Wakeups {
        if try leaveAtOnce(weight: weight) { return Machine.Wakeups() }
        return try withMachine { (machine) throws(Interruption) in try machine.leave(self, weight: weight) }
    }

    /// Takes a waiter out of the line if it still is there.
    func end(_ ticket: Machine.Ticket, _ outcome: LimiterOutcome) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.end(ticket, outcome, self) }
    }

    /// Takes all out of the line that may be interrupted.
    func cancelWaiting() throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.cancelWaiting(self) }
    }

    /// Changes the limit.
    func resize(to limit: UInt64) throws(Interruption) -> Machine.Wakeups {
        try withMachine { (machine) throws(Interruption) in try machine.resize(to: limit, self) }
    }

    /// Returns true if the limiter is idle, or stores the watcher, which is resumed when it is.
    func watch(_ watcher: Waiter) throws(Interruption) -> Bool {
        try withMachine { (machine) throws(Interruption) in try machine.watch(self, watcher) }
    }
}
