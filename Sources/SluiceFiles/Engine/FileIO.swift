internal import CSluiceFiles
internal import SluiceConcurrency
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// An engine that runs file operations without blocking a thread of Swift's cooperative pool.
///
///     let data = try await Data(asyncContentsOf: url)                        // FileIO.shared
///
///     let slowDisk = FileIO(configuration: .init(concurrency: 2))                // an engine for a slow disk
///     let more = try await Data(asyncContentsOf: other, using: slowDisk)
///
/// Each operation (open, read to the end, close) is one job on a bounded pool of threads that may block. Bytes that are already in
/// memory are read on the calling thread, which never waits: see ``Lane``.
///
/// - Cancellation: A queued call throws `CancellationError` immediately. A running job is awaited, because the kernel uses its buffer. Long
///   reads, listings, copies and removals stop between system calls. See <doc:CancelFileWork>.
/// - Exhaustion: Jobs wait for a free thread in order of arrival. Operations that wait for another process (a FIFO without a writer,
///   standard input) share one more thread. Opening a file when no descriptors are left throws ``FileError/Code/tooManyOpenFiles``.
/// - Teardown: When the last reference is released, the threads finish the submitted jobs and exit. ``shutdown()`` does the same and waits
///   for them.
public final class FileIO: Sendable {
    let system: SystemInterface
    let inline: InlineLane
    let configuration: Configuration
    private let changes = StatisticsChanges()
    let pool: WorkerPool
    let readiness: ReadinessLane

    @TaskLocal static var ignoresCancellation = false

    /// The default engine. It lives as long as the process; don't shut it down.
    public static let shared = FileIO()

    /// Creates an engine. No thread starts before the first operation.
    ///
    /// - Precondition: `configuration.concurrency` is at least 1.
    public convenience init(configuration: Configuration = .init()) {
        self.init(configuration: configuration, calls: .system)
    }

    /// Creates an engine with other system calls, to test how programs handle their errors.
    package init(configuration: Configuration = .init(), calls: SystemCalls) {
        system = SystemInterface(calls: calls)
        inline = InlineLane(isWanted: configuration.lanes.contains(.inline), calls)
        self.configuration = configuration
        let stackSize = max(configuration.stackSize, Configuration.minimumStackSize)
        pool = WorkerPool(
            threads: configuration.concurrency, stackSize: stackSize, changes, startingThreads: calls.startThread)
        readiness = ReadinessLane(system, stackSize: stackSize, changes)
    }

    /// Shuts the engine down. Submitted operations finish; later ones throw a ``FileError`` with code `.shutDown`.
    ///
    /// Returns when all threads have ended, even if the calling task is cancelled. Streams that are still open are closed when their
    /// owners close or drop them. Further calls have no effect.
    public func shutdown() async {
        inline.close()
        pool.close()
        readiness.close()
        await pool.waitUntilClosed()
        await readiness.waitUntilClosed()
    }

    // MARK: Lanes

    /// Runs one operation on the pool and waits for it. If `mustRun` is true, the operation runs even if the task is cancelled or the
    /// engine was shut down.
    func run<R: Sendable>(
        mustRun: Bool = false, _ body: @escaping @Sendable (borrowing Cancellation) throws -> R
    ) async throws -> R {
        let job = AwaitedJob(mustRun: mustRun)
        if mustRun || Self.ignoresCancellation {
            return try await withUnsafeThrowingContinuation { continuation in
                job.begin(continuation, body)
                pool.submit(job)
            }
        }
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                job.begin(continuation, body)
                pool.submit(job)
            }
        } onCancel: {
            job.isCancelled.store(true, ordering: .sequentiallyConsistent)
            pool.withdraw(job)
        }
    }

    /// Waits until a descriptor is ready for any of the given directions, without using a pool thread. See ``ReadinessLane``.
    ///
    ///     try await io.waitUntilReady(socket, [.reading, .writing], "socket")
    ///
    /// A protocol with buffers on both sides needs both directions: while neither side reads, neither can write. A wait also ends when the
    /// other side has hung up. Unless `watching` is true, the descriptor must stay open until this returns.
    package func waitUntilReady(
        _ descriptor: CInt, _ readiness: Readiness, _ path: String, watching: Bool = false
    ) async throws {
        try await self.readiness.wait(for: descriptor, readiness, watching: watching, path)
    }

    /// Runs a call that may block, such as one that looks up a name, on a thread of the pool.
    ///
    /// If the task is cancelled, a queued call doesn't start and throws `CancellationError`. A call that has started is awaited.
    package func runBlocking<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await run { _ in try body() }
    }

    /// Runs work that no task waits for and that must always run.
    func runDetached(_ body: @escaping @Sendable () -> Void) {
        pool.submit(DetachedJob(body))
    }
}

// MARK: - Configuration and statistics

extension FileIO {
    /// The settings of an engine.
    public struct Configuration: Sendable {
        /// The number of operations that may run concurrently, each on its own thread. By default ``defaultConcurrency``.
        public var concurrency: Int

        /// The stack size of each thread in bytes. Values below ``minimumStackSize`` are raised to it.
        public var stackSize: Int

        /// The lanes that operations may use. The pool and the readiness lane are always used.
        public var lanes: Set<Lane>

        /// Creates a configuration.
        ///
        /// - Precondition: `concurrency` is at least 1.
        public init(
            concurrency: Int = Configuration.defaultConcurrency, stackSize: Int = 512 << 10,
            lanes: Set<Lane> = Configuration.defaultLanes
        ) {
            precondition(concurrency > 0, "A FileIO's concurrency must be at least 1; it is \(concurrency).")
            self.concurrency = concurrency
            self.stackSize = stackSize
            self.lanes = lanes
        }

        /// The smallest stack that can run every operation, and closures of yours that need little stack: 256 KiB.
        public static var minimumStackSize: Int { 256 << 10 }

        /// The number of processors, but at least 4 and at most 16.
        public static var defaultConcurrency: Int {
            min(max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 4), 16)
        }
    }

    /// The counters of an engine: its current work, and its work since it was created.
    public struct Statistics: Sendable, Hashable {
        /// The number of descriptors that the engine has open, including up to two for its readiness thread.
        public var openCount: Int
        /// The number of operations that wait for a thread.
        public var waitingCount: Int
        /// The number of operations that are running.
        public var runningCount: Int
        /// The number of operations that have ended, with a result or an error.
        public var finishedCount: Int
        /// The number of operations that were cancelled before they began.
        public var withdrawnCount: Int
        /// The number of tasks that wait for a pipe, FIFO, terminal or socket. They don't use a thread each.
        public var readinessWaitingCount: Int
        /// The number of threads: the pool's, and one for the readiness lane.
        public var threadCount: Int
        /// The number of operations that ended on each lane.
        public var completions: Completions
    }

    /// The number of operations that ended on each lane since the engine was created.
    public struct Completions: Sendable, Hashable {
        /// Operations on the calling thread.
        public var inline = 0
        /// Operations that moved from the calling thread to another lane because some bytes weren't in memory.
        public var inlineMisses = 0
        /// Operations on the pool's threads.
        public var pool = 0
        /// Operations on pipes, FIFOs, terminals and sockets, whether they had to wait or not.
        public var readiness = 0
    }

    /// A snapshot of the counters. Reading it briefly takes a lock.
    public var statistics: Statistics {
        let jobs = pool.statistics
        return Statistics(
            openCount: system.openCount.load(ordering: .relaxed), waitingCount: jobs.waiting,
            runningCount: jobs.running, finishedCount: jobs.finished, withdrawnCount: jobs.withdrawn,
            readinessWaitingCount: readiness.waiting,
            threadCount: jobs.threads + readiness.threads,
            completions: Completions(
                inline: inline.completed.load(ordering: .relaxed), inlineMisses: inline.missed.load(ordering: .relaxed),
                pool: jobs.finished, readiness: readiness.completed.load(ordering: .relaxed)))
    }

    /// Waits until a snapshot of the counters meets a condition, or until the task is cancelled. For tests.
    ///
    /// The condition is checked when a job is submitted, is withdrawn, begins or ends, when a wait for a descriptor begins or ends,
    /// and when a thread ends. It may be called on any thread of the engine.
    package func waitForStatistics(where isMet: @escaping @Sendable (Statistics) -> Bool) async throws {
        try await changes.wait { isMet(self.statistics) }
    }
}

// MARK: - Cancellation

extension FileIO {
    /// Runs file operations to completion even if the task is cancelled.
    ///
    ///     do {
    ///         try await play(list)
    ///     } catch is CancellationError {
    ///         try await FileIO.uninterrupted { try await list.position.asyncWrite(to: url) }
    ///         throw CancellationError()
    ///     }
    ///
    /// In a cancelled task, every file operation throws `CancellationError` before it starts. Inside `body`, the operations of every engine
    /// start and run to completion: whole files, streams, random access, renames, removals, copies. Use it for work that must finish, such
    /// as saving state, and keep the work short, because nothing can stop it early.
    ///
    /// - Cancellation: `body` still sees it in `Task.isCancelled`. It still stops operations that may wait forever for another process:
    ///   reads and writes of pipes, FIFOs, terminals and sockets, waits for a lock, and waits for changes of a directory. It also ends
    ///   loops over chunks. To print a last message, use `print` or `FileHandle.write(contentsOf:)`.
    /// - Failure: An error from `body`. An engine that was shut down refuses these operations too.
    /// - Inheritance: Tasks that `body` creates with `Task { }`, `async let` or a group inherit this. A `Task.detached` doesn't.
    public static func uninterrupted<R>(_ body: () async throws -> R) async rethrows -> R {
        try await $ignoresCancellation.withValue(true, operation: body)
    }

    /// Throws if the task is cancelled, except inside ``uninterrupted(_:)``.
    static func checkCancellation() throws(CancellationError) {
        if Task.isCancelled, !ignoresCancellation { throw CancellationError() }
    }
}

// MARK: - The choice of lanes

extension FileIO {
    /// The threads that run an operation. The engine chooses a lane for each operation: see ``Statistics/completions``.
    public enum Lane: String, Sendable, Hashable, CaseIterable {
        /// The calling thread: reads of up to 1 MiB of bytes that are already in memory. See preadv2(2), RWF_NOWAIT.
        case inline
        /// A pool of the engine's threads, which may block. Always available.
        case pool
        /// One thread of the engine that waits for many descriptors: FIFOs, pipes, terminals, sockets. Always available, with poll(2)
        /// where there is no epoll(7).
        case readiness
    }

    /// The configured lanes that the system supports: all three on Linux 5.12 and later. See <doc:LanesAndStatistics>.
    public var lanes: Set<Lane> {
        var lanes = configuration.lanes.union([.pool, .readiness])
        if !inline.isUsed { lanes.remove(.inline) }
        return lanes
    }
}

extension FileIO.Configuration {
    /// All lanes, or the ones listed in the environment variable `SLUICE_FILES_LANES`, separated by commas. Unknown names are ignored: the
    /// pool and the readiness lane, which can't be turned off, do the work.
    public static var defaultLanes: Set<FileIO.Lane> {
        guard let names = ProcessInfo.processInfo.environment["SLUICE_FILES_LANES"], !names.isEmpty else {
            return Set(FileIO.Lane.allCases)
        }
        return Set(names.split(separator: ",").compactMap { name in FileIO.Lane(rawValue: name.filter { $0 != " " }) })
    }
}

// MARK: - Waiting for statistics

/// Wakes tasks that wait until an engine's counters meet a condition. A lane changes its counters under its own lock, unlocks, and then
/// calls ``changed()``:
///
/// ```text
/// a lane                                  a waiting task
/// changes a counter, unlocks              counts itself
/// changed(): does a task wait?            checks the counters, which takes the lane's lock
/// ```
///
/// The side that takes the lane's lock last sees what the other did before, so no change is missed. While no task waits, ``changed()``
/// is one load.
final class StatisticsChanges: Sendable {
    private let monitor = Monitor(())
    private let waitingCount = Atomic(0)

    /// Checks the conditions of the waiting tasks. The caller holds no lock of a lane.
    func changed() {
        if waitingCount.load(ordering: .sequentiallyConsistent) > 0 { monitor.withState { _ in } }
    }

    /// Waits until `isMet` returns true. `isMet` is called on any thread and may only read the lanes' counters.
    func wait(until isMet: @escaping @Sendable () -> Bool) async throws {
        waitingCount.add(1, ordering: .sequentiallyConsistent)
        defer { waitingCount.subtract(1, ordering: .sequentiallyConsistent) }
        try await monitor.waitUnlessCancelled(where: { _ in isMet() })
    }
}

// MARK: - Scopes

/// Runs `body` and then `end`, even if `body` throws, like a `defer` that can await. An error from `body` takes precedence over one from
/// `end`.
package func scoped<R>(_ body: () async throws -> R, finally end: () async throws -> Void) async throws -> R {
    let result: R
    do {
        result = try await body()
    } catch {
        try? await end()
        throw error
    }
    try await end()
    return result
}
