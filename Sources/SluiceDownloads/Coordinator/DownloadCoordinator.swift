public import HTTPTypes
import SluiceConcurrency
public import SluiceFiles
public import SluiceHTTP
import SluiceLock

/// Downloads the files of a queue, under limits, and shows the queue as it changes.
///
///     let downloads = DownloadCoordinator(
///         store: .sqlite(at: url), limits: .init(total: 8, perHost: 4, perUser: 1))
///     try await downloads.enqueue(playlist.map { DownloadRequest($0.url, to: directory, user: me) }, batch: "playlist 7")
///     for try await snapshot in downloads.snapshots() { render(snapshot) }
///     try await downloads.cancel(.all)
///
/// Somebody has to run it: ``run(until:onEvent:)`` does the work in the task that calls it, until that is cancelled or the
/// queue is empty. Enqueuing, cancelling and looking are possible from anywhere, whether it runs or not.
///
/// **Limits** hold for all who share the store and give the same, exactly: what a user may have running is decided when a
/// job is handed out, in one step with the counting. The host is the URL's own; redirects are not counted. Size and duration
/// of a file are not bounded; a server that sends nothing is given up by the transport.
///
/// **Durable.** With an SQLite store a request is on the disk when ``enqueue(_:batch:keepsFinished:)`` returns. A process that is
/// killed at any moment loses no job and leaves no partial file under a final name; the next run goes on where it was,
/// within files, too, where the server can (RFC 9110, section 14).
///
/// **Retries.** Failures that pass are tried again with growing delays (`RetryPolicy`), meanwhile others have their turn.
public final class DownloadCoordinator: Sendable {
    /// How a coordinator works.
    public struct Configuration: Sendable {
        /// When to try again.
        public var retries: RetryPolicy
        /// What happens where a target exists already.
        public var existing: ExistingFile
        /// How safe a file is against a loss of power when its download is done.
        public var durability: Durability
        /// How long a job of this process stays its own if it shows no sign of life; renewed at a third of it.
        public var lease: Duration
        /// Asked for the fields of a request before each of its attempts, for credentials: they are never stored, and sent to
        /// the URL's origin only. Look at the host before giving a secret out. Called by several attempts at once, each of which
        /// holds its place under the limits meanwhile. What it throws is the job's failure, for good, and named by its type
        /// only.
        public var headerFields: (@Sendable (DownloadRequest) async throws -> HTTPFields)?
        /// How long ended downloads are remembered: older ones are forgotten when a run begins.
        public var maximumHistoryAge: Duration
        /// How many ended downloads are remembered: older ones are forgotten when a run begins.
        public var maximumHistoryCount: Int

        /// A configuration; by default existing files are left alone and are errors, and a file has its name only once
        /// its bytes are on the disk.
        public init(
            retries: RetryPolicy = RetryPolicy(), existing: ExistingFile = .fail, durability: Durability = .data,
            lease: Duration = .seconds(15), maximumHistoryAge: Duration = .seconds(30 * 86_400),
            maximumHistoryCount: Int = 10_000,
            headerFields: (@Sendable (DownloadRequest) async throws -> HTTPFields)? = nil
        ) {
            self.retries = retries
            self.existing = existing
            self.durability = durability
            self.lease = lease
            self.maximumHistoryAge = maximumHistoryAge
            self.maximumHistoryCount = maximumHistoryCount
            self.headerFields = headerFields
        }
    }

    let store: any QueueStore
    let transport: any Transport
    let limits: Limits
    let configuration: Configuration
    let files: FileIO
    let timing: CoordinatorTiming
    let observers = QueueObservers()
    let lookout = Lookout()
    /// Told at each step of each job; for tests that kill the process there.
    let onPhase: @Sendable (JobID, JobPhase) -> Void
    /// The run that is under way in this process.
    let current = Lock<CoordinatorRun?>(nil)

    /// Creates a coordinator of the queue in `store`, which downloads through `transport`: by default that of the process.
    ///
    /// Nothing happens until it is run. Several may share an SQLite file, in this process and in others. The transport is not
    /// closed with the coordinator.
    public convenience init(
        store: DownloadStore = .memory, transport: any Transport = HTTPTransport.shared, limits: Limits = .init(),
        configuration: Configuration = .init(), using files: FileIO = .shared
    ) {
        self.init(
            store: store.queue, transport: transport, limits: limits, configuration: configuration, files: files,
            timing: .system)
    }

    package convenience init(
        store: any QueueStore, transport: any Transport, limits: Limits, configuration: Configuration,
        onPhase: @escaping @Sendable (JobID, JobPhase) -> Void
    ) {
        self.init(
            store: store, transport: transport, limits: limits, configuration: configuration, files: .shared,
            timing: .system, onPhase: onPhase)
    }

    init(
        store: any QueueStore, transport: any Transport, limits: Limits, configuration: Configuration,
        files: FileIO, timing: CoordinatorTiming, onPhase: @escaping @Sendable (JobID, JobPhase) -> Void = { _, _ in }
    ) {
        self.onPhase = onPhase
        self.store = store
        self.transport = transport
        self.limits = limits
        self.configuration = configuration
        self.files = files
        self.timing = timing
    }

    /// Opens the queue now, instead of with the first operation that needs it.
    ///
    ///     try await downloads.open()                      // what is wrong with the database is told here
    ///
    /// - Throws: ``QueueStoreError``.
    public func open() async throws {
        _ = try await store.jobs([])
    }

    /// Closes the queue: later operations throw a ``QueueStoreError``.
    ///
    ///     try await downloads.close()
    ///
    /// Close it after the run has ended. A queue that isn't closed loses nothing: its file is closed with the last reference to
    /// the coordinator.
    public func close() async throws {
        try await store.close()
    }

    /// When a run ends.
    public enum RunEnd: Sendable, Hashable {
        /// When its task is cancelled: for a service.
        case whenCancelled
        /// When no job waits or runs any more. Jobs of other processes are waited for.
        case whenEmpty
        /// The same for a batch, and only its jobs are worked on.
        case whenBatchIsEmpty(String)
    }

    /// Works on the queue in the calling task.
    ///
    ///     try await withThrowingTaskGroup { group in
    ///         group.addTask { try await downloads.run() }
    ///         try await downloads.enqueue(songs)
    ///     }
    ///
    /// One run at a time for each coordinator; a second one stops the program. `onEvent` is called at each step, from the
    /// task that takes it; it must be quick and must not block.
    ///
    /// - Cancellation: stops claiming, stops the transfers, each of which keeps what it has, gives the jobs back, and returns
    ///   without throwing: being cancelled is how a service ends.
    /// - Throws: ``QueueStoreError`` where the store fails; a `TransferError` where the disk is full, which another job
    ///   would meet as well: that job waits again, as the others do. Transfers are stopped before that. It may be run again.
    @concurrent public func run(
        until end: RunEnd = .whenCancelled, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws {
        let run = CoordinatorRun(coordinator: self, end: end, onEvent: onEvent)
        current.withLock { current in
            precondition(current == nil, "DownloadCoordinator: it runs already; share it, or make another on its store")
            current = run
        }
        let result = await Result { try await work(run) }
        current.withLock { $0 = nil }
        observers.noteChange()
        try result.get()
    }

    private func work(_ run: CoordinatorRun) async throws {
        let worker = try await store.attach()
        let result = await Result {
            try await store.prune(
                olderThan: configuration.maximumHistoryAge, keeping: configuration.maximumHistoryCount)
            try await run.work(as: worker)
        }
        let detached = await Result { try await store.detach(worker) }
        // What ended the run is more telling than what follows from it.
        try result.get()
        try detached.get()
    }

    /// Runs the queue while `body` runs, and stops it then.
    ///
    ///     try await downloads.withRun { downloads in
    ///         try await downloads.enqueue(songs)
    ///         for try await snapshot in downloads.snapshots() { … }
    ///     }
    ///
    /// The body is a child task, so that a run that fails can cancel it. For one that uses the main actor's state, write
    /// `{ @MainActor downloads in … }`.
    ///
    /// - Throws: What `body` throws; what the run throws, after `body` has been cancelled and has returned.
    public func withRun<R: Sendable>(
        _ body: @escaping @Sendable (DownloadCoordinator) async throws -> R
    ) async throws -> R {
        try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask {
                try await self.run()
                return nil
            }
            group.addTask { try await body(self) }
            var result: R?
            while let next = try await group.next() {
                guard let next else { continue }
                result = next
                group.cancelAll()
            }
            guard let result else { throw CancellationError() }
            return result
        }
    }
}
