internal import CSluiceFiles
internal import Synchronization

/// The engine that runs file operations, so that no thread of Swift's cooperative pool ever blocks.
///
///     let data = try await Data(asyncContentsOf: url)                        // FileIO.shared
///
///     let slowDisk = FileIO(configuration: .init(concurrency: 2))                // one of its own for a slow disk
///     let more = try await Data(asyncContentsOf: other, using: slowDisk)
///
/// Each logical operation (open, read to the end, close) is one job on a bounded pool of threads that may block. What the
/// system has in memory already is read on the calling thread, which waits for nothing there: see ``Lane``.
///
/// - Cancellation: a job that has not begun leaves the queue immediately and throws `CancellationError`. One that has begun is
///   awaited, since the kernel owns its buffer; if it succeeds, its result counts and the cancellation does not. Closing,
///   discarding and removing temporary files run to their end in any case.
/// - Failure: a ``FileError`` with operation, path, cause and remedy.
/// - Exhaustion: jobs wait for a free thread in order of arrival. What lasts for as long as another process likes (a
///   FIFO without a writer, standard input) is waited for on one more thread, which all such descriptors share.
/// - Teardown: when the last reference goes, the threads finish what was submitted and end; nothing waits for them.
///   ``shutdown()`` is the same, but returns when they have ended.
public final class FileIO: Sendable {
    let kernel: Kernel
    let inline: InlineLane
    let configuration: Configuration
    private let changes = StatisticsChanges()
    private let pool: WorkerPool
    let readiness: ReadinessLane

    /// Whether operations of the current task go on to their end when it is cancelled: see ``uninterrupted(_:)``.
    @TaskLocal static var ignoresCancellation = false

    /// The engine that everything uses unless told otherwise. It lives as long as the process; do not shut it down.
    public static let shared = FileIO()

    /// Makes an engine. No thread starts before the first operation.
    public convenience init(configuration: Configuration = .init()) {
        self.init(configuration: configuration, calls: .system)
    }

    /// Makes an engine over other system calls, to test how programs behave when the kernel says no.
    package init(configuration: Configuration = .init(), calls: SystemCalls) {
        kernel = Kernel(calls: calls)
        inline = InlineLane(isWanted: configuration.lanes.contains(.inline), calls)
        self.configuration = configuration
        pool = WorkerPool(
            threads: configuration.concurrency, stackSize: configuration.stackSize, changes,
            startingThreads: calls.startThread)
        readiness = ReadinessLane(kernel, stackSize: configuration.stackSize, changes)
    }

    deinit {
        pool.close()
        readiness.close()
    }

    /// Ends the engine: what was submitted is finished, what comes later throws a ``FileError`` with code `.shutDown`.
    ///
    /// Streams that are still open are closed as ever, when their owners close or drop them. Returns when all threads have
    /// ended, also when the calling task is cancelled. Calling it again is allowed.
    public func shutdown() async {
        inline.close()
        pool.close()
        readiness.close()
        await pool.waitUntilClosed()
        await readiness.waitUntilClosed()
    }

    // MARK: Lanes

    /// The one place that chooses where work runs.
    private var lane: any FileLane { pool }

    /// Runs one operation on a lane and waits for it.
    ///
    /// - Parameter mustRun: Whether it begins even when the task is cancelled or the engine shut down.
    func run<R: Sendable>(
        mustRun: Bool = false, _ body: @escaping @Sendable (borrowing Cancellation) throws -> R
    ) async throws -> R {
        let job = AwaitedJob(mustRun: mustRun, body)
        let lane = lane
        if mustRun || Self.ignoresCancellation {
            return try await withCheckedThrowingContinuation { continuation in
                job.begin(continuation)
                lane.submit(job)
            }
        }
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                job.begin(continuation)
                lane.submit(job)
            }
        } onCancel: {
            job.isCancelled.store(true, ordering: .sequentiallyConsistent)
            lane.withdraw(job)
        }
    }

    /// Waits until a descriptor is ready, without a thread of the pool. See ``ReadinessLane``.
    ///
    ///     try await files.waitUntilReady(descriptor, .reading, "notifications")
    ///
    /// - Parameters:
    ///   - descriptor: A descriptor that is not closed before this returns.
    ///   - direction: Reading or writing.
    ///   - path: What errors call it.
    ///   - watching: Whether others may close it all the same.
    package func waitUntilReady(
        _ descriptor: CInt, _ direction: SystemCalls.Direction, _ path: String, watching: Bool = false
    ) async throws {
        try await readiness.wait(for: descriptor, direction, watching: watching, path)
    }

    /// Runs work that no task waits for and that must not be left out.
    func runDetached(_ body: @escaping @Sendable () -> Void) {
        lane.submit(DetachedJob(body))
    }

    /// Hands over a job of its own kind, which delivers its result itself.
    func submit(_ job: Job) { lane.submit(job) }

    /// Takes back a job that has not begun, which refuses itself then.
    func withdraw(_ job: Job) { lane.withdraw(job) }
}

// MARK: - Configuration and statistics

extension FileIO {
    /// How an engine is made.
    public struct Configuration: Sendable {
        /// The number of operations that run concurrently, each on a thread of its own.
        ///
        /// By default the number of processors, at least 4, at most 16.
        public var concurrency: Int

        /// The stack of each thread in bytes.
        public var stackSize: Int

        /// Where operations may run. There are always the pool and the readiness lane.
        public var lanes: Set<Lane>

        /// Makes a configuration.
        public init(
            concurrency: Int = Configuration.defaultConcurrency, stackSize: Int = 512 << 10,
            lanes: Set<Lane> = Configuration.defaultLanes
        ) {
            precondition(concurrency > 0, "A FileIO runs at least one operation; concurrency is \(concurrency).")
            self.concurrency = concurrency
            self.stackSize = stackSize
            self.lanes = lanes
        }

        /// The number of processors, at least 4, at most 16.
        public static var defaultConcurrency: Int {
            min(max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 4), 16)
        }
    }

    /// What an engine is doing, and what it has done since it was made.
    public struct Statistics: Sendable, Hashable {
        /// The descriptors that it opened and has not closed, the two of the thread that waits for others among them.
        public var openCount: Int
        /// The operations that wait for a thread.
        public var waitingCount: Int
        /// The operations that are running.
        public var runningCount: Int
        /// The operations that have ended, well or not.
        public var finishedCount: Int
        /// The operations that were cancelled before they began.
        public var withdrawnCount: Int
        /// The tasks that wait for a pipe, FIFO, terminal or socket, which takes no thread.
        public var readinessWaitingCount: Int
        /// The threads that exist now: those of the pool, and one that waits for all descriptors.
        public var threadCount: Int
        /// The operations that each lane ended.
        public var completions: Completions
    }

    /// How many operations each lane ended, since the engine was made.
    public struct Completions: Sendable, Hashable {
        /// On the calling thread.
        public var inline = 0
        /// Begun on the calling thread, and handed on since a byte was not in memory.
        public var inlineMisses = 0
        /// On the pool's threads.
        public var pool = 0
        /// By waiting for descriptors.
        public var readiness = 0
    }

    /// A snapshot of the counters. Never blocks for longer than a lock takes.
    public var statistics: Statistics {
        let lane = pool.statistics
        return Statistics(
            openCount: kernel.openCount.load(ordering: .relaxed), waitingCount: lane.waiting,
            runningCount: lane.running,
            finishedCount: lane.finished, withdrawnCount: lane.withdrawn, readinessWaitingCount: readiness.waiting,
            threadCount: lane.threads + readiness.threads,
            completions: Completions(
                inline: inline.completed.load(ordering: .relaxed), inlineMisses: inline.missed.load(ordering: .relaxed),
                pool: lane.finished, readiness: readiness.completed.load(ordering: .relaxed)))
    }

    /// Waits until a snapshot of the counters meets a condition: how a test waits for what the engine does.
    ///
    ///     let read = Task { try await files.readToEnd(descriptor: descriptor, name: "pipe") }
    ///     try await files.waitForStatistics { $0.readinessWaitingCount == 1 }      // the task waits for the pipe now
    ///
    /// The condition is looked at when a job is submitted, withdrawn, begins or ends, when a wait for a descriptor begins or ends,
    /// and when a thread ends. It may run on any thread of the engine.
    ///
    /// - Cancellation: ends the wait immediately with `CancellationError`.
    package func waitForStatistics(where isMet: @escaping @Sendable (Statistics) -> Bool) async throws {
        try await changes.wait { isMet(self.statistics) }
    }
}
