/// A limiter's word and its locked machine: how the path without the lock and the path with it make one limiter.
///
/// Everything here is what ships; what differs between the limiter and the explorer of interleavings is only how the
/// word and the lock are reached. Nothing here resumes anybody: what is returned is resumed by the caller, when the lock
/// has been let go.
protocol LimiterSite: LimiterWordCell, ~Copyable {
    associatedtype Waiter: Sendable

    var limit: UInt64 { get }

    // `Failure` is always `Interruption`; spelled like that, the compiler crashes (6.3) where the latter is `Never`.
    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout LimiterStateMachine<Waiter>) throws(Failure) -> Value
    ) throws(Failure) -> Value
}

extension LimiterSite where Self: ~Copyable {
    typealias Machine = LimiterStateMachine<Waiter>

    /// Enters, or joins the line: then the caller must call `suspend`.
    func enter() throws(Interruption) -> Machine.EnterAction {
        if try enterAtOnce(limit: limit) { return .run }
        return try withMachine { (machine) throws(Interruption) in try machine.enter(self) }
    }

    /// Enters and returns true, or stores the waiter, which is resumed when it has a place.
    func enter(uninterrupted waiter: Waiter) throws(Interruption) -> Bool {
        try withMachine { (machine) throws(Interruption) in
            if case .run = try machine.enter(self, uninterrupted: waiter) { true } else { false }
        }
    }

    /// Stores the waiter of a task in line, or returns whether it got a place.
    func suspend(_ ticket: Machine.Ticket, _ waiter: Waiter) throws(Interruption) -> Bool? {
        try withMachine { (machine) throws(Interruption) in machine.suspend(ticket, waiter) }
    }

    /// Gives a place back; returns who is to be resumed.
    func leave() throws(Interruption) -> Machine.LeaveAction {
        if try leaveAtOnce() { return .none }
        return try withMachine { (machine) throws(Interruption) in try machine.leave(self) }
    }

    /// Takes a waiter out of the line if it still is there; returns it, to be resumed with false.
    func cancel(_ ticket: Machine.Ticket) throws(Interruption) -> Waiter? {
        try withMachine { (machine) throws(Interruption) in try machine.cancel(ticket, self) }
    }

    /// Takes all out of the line that may be interrupted; returns those to be resumed with false.
    func cancelWaiting() throws(Interruption) -> [Waiter] {
        try withMachine { (machine) throws(Interruption) in try machine.cancelWaiting(self) }
    }

    /// Returns true if the limiter is idle, or stores the watcher, which is resumed when it is.
    func watch(_ watcher: Waiter) throws(Interruption) -> Bool {
        try withMachine { (machine) throws(Interruption) in try machine.watch(self, watcher) }
    }
}
