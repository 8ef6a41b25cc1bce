internal import DequeModule
internal import Synchronization

/// A bounded number of threads that may block, started on demand.
///
/// A job waits while all threads are busy. Operations that depend on another process, such as reading a FIFO without a writer, aren't jobs:
/// see ``ReadinessLane``. The queue isn't bounded, because each waiting job belongs to a suspended task that exists anyway. The pool holds
/// no lock while it delivers a result.
final class WorkerPool: Sendable {
    private let limit: Int
    private let stackSize: Int
    private let start: @Sendable (Int, @escaping @Sendable () -> Void) -> CInt
    private let changes: StatisticsChanges
    private let storage = ConditionLock(State())

    private struct State {
        var queue = JobQueue<Job>()
        var statistics = Statistics()
        var idle = 0
        /// The number of idle threads that were signaled but aren't running yet.
        var woken = 0
        var isClosed = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    init(
        threads: Int, stackSize: Int, _ changes: StatisticsChanges,
        startingThreads start: @escaping @Sendable (Int, @escaping @Sendable () -> Void) -> CInt
    ) {
        precondition(threads > 0, "A FileIO's concurrency must be at least 1; it is \(threads).")
        limit = threads
        self.stackSize = stackSize
        self.changes = changes
        self.start = start
    }

    deinit { close() }

    struct Statistics: Sendable {
        var waiting = 0
        var running = 0
        var finished = 0
        var withdrawn = 0
        var threads = 0
    }

    var statistics: Statistics {
        storage.withLock { state in
            var statistics = state.statistics
            statistics.waiting = state.queue.count
            return statistics
        }
    }

    // MARK: Jobs

    /// Submits a job. Jobs begin in order of submission, as threads become free. Doesn't block.
    func submit(_ job: Job) {
        enum Next { case nothing, wake, start, refuse }
        let next: Next = storage.withLock { state in
            if state.isClosed && !job.mustRun { return .refuse }
            state.queue.append(job, id: job.id)
            if state.idle > state.woken {
                state.woken += 1
                return .wake
            }
            guard state.statistics.threads < limit else { return .nothing }
            state.statistics.threads += 1
            return .start
        }
        switch next {
        case .nothing: break
        case .wake: storage.wakeOne()
        case .start: startThread()
        case .refuse: job.refuse(FileError(code: .shutDown, operation: "begin", path: "file operations"))
        }
        changes.changed()
        // The task may have been cancelled before the job was in the queue.
        if job.isCancelled.load(ordering: .sequentiallyConsistent) { withdraw(job) }
    }

    /// Immediately refuses a job that hasn't started. Does nothing if the job has started or was never submitted.
    func withdraw(_ job: Job) {
        if job.mustRun { return }
        let removed = storage.withLock { state -> Job? in
            guard let removed = state.queue.remove(id: job.id) else { return nil }
            state.statistics.withdrawn += 1
            return removed
        }
        guard let removed else { return }
        changes.changed()
        removed.refuse(CancellationError())
    }

    // MARK: Threads

    private func startThread() {
        let result = start(stackSize) { [storage, changes] in Self.work(storage, changes) }
        if result != 0 { standIn(forThreadThatFailed: -result) }
    }

    /// Handles a thread that failed to start. If the pool has other threads, they drain the queue. Otherwise this thread, which submitted a
    /// job, drains it:
    ///
    /// ```text
    /// a job that must run    runs here. It may block a thread of the cooperative pool, but otherwise a descriptor or a partial
    ///                        file would remain forever.
    /// any other job          is refused with the error
    /// ```
    ///
    /// Until the queue is empty, this thread counts as a pool thread, so that `waitUntilClosed` waits for it. Threads that are being
    /// started count too: if they also fail, the last one drains the queue.
    private func standIn(forThreadThatFailed error: CInt) {
        enum Next { case job(Job), end([CheckedContinuation<Void, Never>]) }
        while true {
            let next: Next = storage.withLock { state in
                if state.statistics.threads == 1, let job = state.queue.removeFirst() {
                    if job.mustRun { state.statistics.running += 1 }
                    return .job(job)
                }
                return .end(Self.endThread(&state))
            }
            switch next {
            case .job(let job) where job.mustRun:
                Self.run(job, storage, changes)
            case .job(let job):
                job.refuse(DetachedThread.missing(for: "file operations", error))
            case .end(let waiting):
                changes.changed()
                for continuation in waiting { continuation.resume() }
                return
            }
        }
    }

    /// Records that a thread has ended. If it was the last one of a closed pool, returns the continuations to resume.
    private static func endThread(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        state.statistics.threads -= 1
        guard state.isClosed, state.statistics.threads == 0 else { return [] }
        defer { state.waitingForEnd = [] }
        return state.waitingForEnd
    }

    private static func run(_ job: Job, _ storage: ConditionLock<State>, _ changes: StatisticsChanges) {
        job.perform()
        storage.withLock { state in
            state.statistics.running -= 1
            state.statistics.finished += 1
        }
        changes.changed()
        job.deliver()
    }

    private static func work(_ storage: ConditionLock<State>, _ changes: StatisticsChanges) {
        while let job = next(storage, changes) {
            run(job, storage, changes)
        }
    }

    /// Returns the next job, or `nil` if the pool is closed and empty. The thread then counts as ended.
    private static func next(_ storage: ConditionLock<State>, _ changes: StatisticsChanges) -> Job? {
        enum Next { case job(Job), end([CheckedContinuation<Void, Never>]) }
        var isIdle = false
        let next: Next = storage.wait { state in
            if isIdle {
                isIdle = false
                state.idle -= 1
                state.woken = max(0, state.woken - 1)
            }
            if let job = state.queue.removeFirst() {
                state.statistics.running += 1
                return .job(job)
            }
            if state.isClosed {
                return .end(endThread(&state))
            }
            isIdle = true
            state.idle += 1
            return nil
        }
        changes.changed()
        switch next {
        case .job(let job): return job
        case .end(let waiting):
            for continuation in waiting { continuation.resume() }
            return nil
        }
    }

    // MARK: The end

    /// From now on, accepts only jobs that must run. Finishes the submitted ones, and then ends the threads. Returns immediately.
    func close() {
        storage.withLock { $0.isClosed = true }
        storage.wakeAll()
    }

    func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let isOver = storage.withLock { state in
                if state.statistics.threads == 0 && state.queue.isEmpty { return true }
                state.waitingForEnd.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}

// MARK: - Jobs

/// One operation with all its system calls. The pool calls either `perform` and then `deliver`, or only `refuse`, once.
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

/// A job whose result a task awaits.
///
/// The class isn't generic. The methods of a generic class aren't specialized, so each job would look up its own types several times.
final class AwaitedJob: Job, @unchecked Sendable {
    // No lock, but a fixed order of events: `begin` comes before `submit` and `perform` before `deliver`, and the pool takes its lock in
    // between.
    /// Runs the operation. Returns the closure that resumes the task.
    private var operation: ((borrowing Cancellation) -> () -> Void)?
    private var resumption: (() -> Void)?
    private var refusal: ((any Error) -> Void)?

    /// Sets the operation, and the continuation of the task that awaits it.
    func begin<Value: Sendable>(
        _ continuation: UnsafeContinuation<Value, any Error>,
        _ body: @escaping @Sendable (borrowing Cancellation) throws -> Value
    ) {
        operation = { cancellation in
            let result = Result { try body(cancellation) }
            return { continuation.resume(with: result) }
        }
        refusal = { continuation.resume(throwing: $0) }
    }

    override func perform() {
        guard let operation = operation.take() else { preconditionFailure("A pool may run a job only once.") }
        resumption = operation(Cancellation(job: self))
    }

    override func deliver() {
        guard let resumption = resumption.take() else {
            preconditionFailure("A pool must run a job before it delivers the job.")
        }
        refusal = nil
        resumption()
    }

    override func refuse(_ error: any Error) {
        operation = nil
        refusal.take()?(error)
    }
}

/// Tells a running job whether its task is cancelled. A system call can't be interrupted, because the kernel uses its buffer. Long jobs
/// check between calls.
struct Cancellation: ~Copyable {
    let job: Job

    var isCancelled: Bool { !job.mustRun && job.isCancelled.load(ordering: .relaxed) }

    func check() throws(CancellationError) {
        if isCancelled { throw CancellationError() }
    }
}

// MARK: - The queue

/// A first-in, first-out queue of waiting jobs, from which any job can be removed. A pure value.
///
/// A removed job is released immediately. Its number stays until it reaches the front, or until more than half of the numbers belong to
/// removed jobs. All operations are amortized O(1).
package struct JobQueue<Element> {
    private var order = Deque<UInt64>()
    private var elements: [UInt64: Element] = [:]

    package var count: Int { elements.count }
    package var isEmpty: Bool { elements.isEmpty }

    package init() {}

    /// The number of stored numbers, including those of removed jobs. For tests.
    package var storedNumbers: Int { order.count }

    package mutating func append(_ element: Element, id: UInt64) {
        order.append(id)
        let old = elements.updateValue(element, forKey: id)
        precondition(old == nil, "A job may be submitted only once.")
    }

    package mutating func removeFirst() -> Element? {
        while let id = order.popFirst() {
            if let element = elements.removeValue(forKey: id) { return element }
        }
        return nil
    }

    package mutating func remove(id: UInt64) -> Element? {
        guard let element = elements.removeValue(forKey: id) else { return nil }
        if order.count > 2 * elements.count + 16 {
            order.removeAll { elements[$0] == nil }
        }
        return element
    }
}
