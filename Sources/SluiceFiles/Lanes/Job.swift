internal import Synchronization

/// One logical operation, system calls and all, on its way through a lane.
///
/// A lane calls either `perform` and then `deliver`, or `refuse`, once.
class Job: @unchecked Sendable {
    // No lock: nothing here changes after init but the atomic flag. Subclasses say what protects theirs.

    /// Names the job in queues; never reused, as an address would be.
    let id = Job.lastID.wrappingAdd(1, ordering: .relaxed).newValue

    /// A job that runs whatever happens: a close or a removal that must not be left out.
    let mustRun: Bool

    /// Set when the task that waits for this job was cancelled.
    let isCancelled = Atomic(false)

    private static let lastID = Atomic<UInt64>(0)

    init(mustRun: Bool) { self.mustRun = mustRun }

    /// Makes the system calls and keeps the result, on a lane's thread.
    func perform() {}

    /// Hands the result to whoever waits. No lock is held.
    func deliver() {}

    /// Says that the job never began. No lock is held.
    func refuse(_ error: any Error) {}
}

/// A job that nobody waits for, such as the close of a stream that was dropped.
final class DetachedJob: Job, @unchecked Sendable {
    // Immutable.
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        super.init(mustRun: true)
    }

    override func perform() { body() }
}

/// A job that a task waits for.
final class AwaitedJob<Value: Sendable>: Job, @unchecked Sendable {
    // Protected by the order of events: `continuation` is set before `submit`, `result` before `deliver`, and the lane's
    // lock lies between these.
    private var body: (@Sendable (borrowing Cancellation) throws -> Value)?
    private var continuation: CheckedContinuation<Value, any Error>?
    private var result: Result<Value, any Error>?

    init(mustRun: Bool, _ body: @escaping @Sendable (borrowing Cancellation) throws -> Value) {
        self.body = body
        super.init(mustRun: mustRun)
    }

    func begin(_ continuation: CheckedContinuation<Value, any Error>) { self.continuation = continuation }

    override func perform() {
        guard let body = body.take() else { preconditionFailure("A lane ran a job twice.") }
        result = Result { try body(Cancellation(job: self)) }
    }

    override func deliver() {
        guard let result = result.take() else { preconditionFailure("A lane delivered a job that it did not run.") }
        continuation.take()?.resume(with: consume result)
    }

    override func refuse(_ error: any Error) {
        body = nil
        continuation.take()?.resume(throwing: error)
    }
}

/// What a running job knows about the task that waits for it.
///
/// A system call is never interrupted, since the kernel owns its buffer. Long jobs look between two calls.
struct Cancellation: ~Copyable {
    let job: Job

    var isCancelled: Bool { !job.mustRun && job.isCancelled.load(ordering: .relaxed) }

    func check() throws(CancellationError) {
        if isCancelled { throw CancellationError() }
    }
}
