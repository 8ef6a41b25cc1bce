internal import Synchronization

/// The interface between an operation and the thread that runs its system calls.
///
/// A lane runs a job once, on a thread that may block, or refuses it if it is withdrawn before it begins. The lane holds none of its
/// locks while it delivers a result.
protocol FileLane: Sendable {
    /// Submits a job. Jobs begin in order of submission, as threads become free. Doesn't block.
    func submit(_ job: Job)

    /// Refuses a job that hasn't begun, immediately. Does nothing for a job that has begun or that was never submitted.
    func withdraw(_ job: Job)

    /// Accepts only jobs that must run from now on, finishes the submitted ones, and then ends the threads. Returns immediately.
    func close()

    func waitUntilClosed() async

    var statistics: LaneStatistics { get }
}

struct LaneStatistics: Sendable {
    var waiting = 0
    var running = 0
    var finished = 0
    var withdrawn = 0
    var threads = 0
}

// MARK: - Jobs

/// One operation with all its system calls, on its way through a lane. A lane calls either `perform` and then `deliver`, or only
/// `refuse`, once.
class Job: @unchecked Sendable {
    // No lock: only the atomic flag changes after init. Each subclass says what protects its fields.

    /// Identifies the job in queues. Never reused, unlike an address.
    let id = Job.lastID.wrappingAdd(1, ordering: .relaxed).newValue

    /// Whether the job runs even if its task is cancelled or the engine is shut down, such as a close or a removal.
    let mustRun: Bool

    let isCancelled = Atomic(false)

    private static let lastID = Atomic<UInt64>(0)

    init(mustRun: Bool) { self.mustRun = mustRun }

    func perform() {}

    /// Resumes the waiting task. The caller holds no lock.
    func deliver() {}

    /// Reports that the job won't run. The caller holds no lock.
    func refuse(_ error: any Error) {}
}

final class DetachedJob: Job, @unchecked Sendable {
    // No lock: immutable.
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        super.init(mustRun: true)
    }

    override func perform() { body() }
}

final class AwaitedJob<Value: Sendable>: Job, @unchecked Sendable {
    // No lock, but an order of events: `continuation` is set before `submit` and `result` before `deliver`, and the lane takes its
    // lock in between.
    private var body: (@Sendable (borrowing Cancellation) throws -> Value)?
    private var continuation: CheckedContinuation<Value, any Error>?
    private var result: Result<Value, any Error>?

    init(mustRun: Bool, _ body: @escaping @Sendable (borrowing Cancellation) throws -> Value) {
        self.body = body
        super.init(mustRun: mustRun)
    }

    func begin(_ continuation: CheckedContinuation<Value, any Error>) { self.continuation = continuation }

    override func perform() {
        guard let body = body.take() else { preconditionFailure("A lane may run a job only once.") }
        result = Result { try body(Cancellation(job: self)) }
    }

    override func deliver() {
        guard let result = result.take() else {
            preconditionFailure("A lane must run a job before it delivers the job.")
        }
        continuation.take()?.resume(with: consume result)
    }

    override func refuse(_ error: any Error) {
        body = nil
        continuation.take()?.resume(throwing: error)
    }
}

/// Tells a running job whether its task is cancelled. A system call can't be interrupted, because the kernel uses its buffer. Long
/// jobs check between two calls.
struct Cancellation: ~Copyable {
    let job: Job

    var isCancelled: Bool { !job.mustRun && job.isCancelled.load(ordering: .relaxed) }

    func check() throws(CancellationError) {
        if isCancelled { throw CancellationError() }
    }
}
