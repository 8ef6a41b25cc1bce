public import HTTPTypes
import SluiceConcurrency
public import SluiceFiles
public import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Runs a queue of downloads with limits on concurrency, and shows the queue as it changes.
///
///     let downloads = DownloadCoordinator(
///         store: .sqlite(at: url), limits: .init(total: 8, perHost: 4, perUser: 1))
///     downloads.start()
///     try await downloads.enqueue(playlist.map { DownloadRequest($0.url, to: directory, user: me) }, batch: "playlist 7")
///     for try await snapshot in downloads.snapshots() {
///         render(snapshot)
///         if snapshot.openCount == 0 { break }
///     }
///
/// Downloads run while the queue runs: in the background after ``start()``, or in a task that calls ``run(until:onEvent:onWarning:)``,
/// ``withRun(_:)`` or ``download(_:onEvent:)``. All of them can be combined. Any task can enqueue, cancel and observe downloads, whether the
/// queue runs or not.
///
/// **Limits.** The ``Limits`` are exact. If several coordinators share a store, give them the same limits, which then hold for all of them
/// together. The host is the host of the request's URL; redirects aren't counted. A configuration can also limit
/// rates, sizes and times; without it, there is no limit on the size or duration of a download, but the transport gives up if the server
/// sends nothing.
///
/// **Durability.** With an SQLite store, a request is on the disk when ``enqueue(_:batch:keepsFinished:)-([DownloadRequest],_,_)`` returns.
/// A killed process loses no download and leaves no partial file under a final name. The next run continues, even in the middle of a file
/// if the server supports ranges (RFC 9110, section 14).
///
/// **Retries.** A download that fails for a temporary reason is retried with backoff (`RetryPolicy`) while other downloads run. If a server
/// asks for a delay (`Retry-After`, RFC 9110, section 10.2.3), no download from it starts until the delay is over. If connections to a host
/// fail, one download at a time tries it (``CircuitBreaker``). A failure of this worker, such as a full disk, ends its run and fails no
/// download; <doc:WhenSomethingFails> has the whole table.
public final class DownloadCoordinator: Sendable {
    /// The configuration of a coordinator.
    public struct Configuration: Sendable {
        /// How often, and after which delays, to retry after temporary failures.
        ///
        /// An attempt that has downloaded at least 1 MiB, which the next one continues, doesn't count, so a large file is downloaded over a
        /// network that fails often.
        ///
        /// A server may ask for a longer delay than `maximumRetryAfter`. In a queue, its downloads then wait for up to a day, without using
        /// up an attempt. In a list, they fail, because the caller is waiting.
        public var retries: RetryPolicy
        /// The circuit breaker for unreachable hosts; `nil` for none.
        public var circuitBreaker: CircuitBreaker?
        /// The base directory for relative requests (``DownloadRequest/init(_:below:name:headerFields:user:priority:)``), as a file
        /// URL; `nil` for the current directory of the process when a run begins.
        public var directory: URL?
        /// What happens if the target file already exists. A directory, a device, a FIFO or a socket in its place is always an error.
        public var existing: ExistingFile
        /// Remembers the completed files, so that a list that is downloaded again does nothing; `nil` by default. See ``DownloadRecords``.
        ///
        /// All completed downloads are remembered. ``DownloadCoordinator/download(_:onEvent:)`` uses the records.
        public var records: DownloadRecords?
        /// How completed files are protected against power loss.
        public var durability: Durability
        /// If this process stops responding, other processes may take over its downloads after this time. The process renews its leases
        /// three times as often.
        public var lease: Duration
        /// A function that returns additional header fields for a request, such as credentials. It is called before each attempt. If the
        /// attempt uses a mirror (``DownloadRequest/mirrors``), the request has the mirror's URL.
        ///
        /// The fields are never stored, and are sent only to the URL's origin. Check the host before you return a secret. Several attempts
        /// can call the function concurrently, and each counts toward the limits while it waits. If the function throws, the download fails
        /// without a retry; the stored message contains only the error's type.
        public var headerFields: (@Sendable (DownloadRequest) async throws -> HTTPFields)?
        /// A function that returns the cookies of a request, which its responses also change; `nil` for those of the transport. It is called
        /// before each attempt.
        ///
        ///     configuration.cookies = { request in await jars.jar(of: request.user) }
        ///
        /// Return a jar of its own for each user, so that no user gets another's cookies. If the function throws, the download fails without
        /// a retry.
        public var cookies: (@Sendable (DownloadRequest) async throws -> CookieJar?)?
        /// Whether servers may compress files, which are stored decoded. The default is `false`.
        ///
        /// Such a download can't be resumed: each attempt begins with the first byte, because a server may compress the same file to other
        /// bytes each time. Its length isn't known in advance. ``maximumSize`` limits the decoded bytes, and ``DownloadRequest/checksum``
        /// is that of the decoded bytes. The digests in a server's fields aren't verified if the body is encoded.
        public var decodesContent = false
        /// Whether a file gets the name that its server sends (`Content-Disposition`), instead of the one in its request. The default is
        /// `false`.
        ///
        /// A name that isn't safe is made safe (`SafeFileName`), and the directory stays. ``existing`` decides what happens if there is a file
        /// with that name, once it is known. If two downloads get the same name, the second finds the first one's file.
        /// ``DownloadEvent/named(download:file:)`` and ``DownloadSummary/results`` have the file. ``onlyIfNewer`` has no effect.
        ///
        /// A queue stores only the name in the request. So use this with a queue in memory, or know that a download that is enqueued again is
        /// downloaded again, and that a process that dies right after it published a file leaves a download that fails with `fileExists`.
        public var takesServerNames = false
        /// How large files are downloaded over several connections, or `nil` for one connection for each file.
        ///
        ///     configuration.segments = .init(count: 8)
        ///
        /// If a server limits the rate of a connection, several are faster. See ``DownloadCoordinator/Segments``.
        public var segments: Segments?
        /// The most bytes per second that all downloads together receive, or `nil` for no limit.
        ///
        /// While a download waits, the transport stops reading, which slows the server down. The bytes that the system and the transport
        /// buffer come on top of the limit, once for each connection. ``DownloadCoordinator/setMaximumRate(_:perHost:)`` changes it while
        /// downloads run. Each coordinator has its own limit, even if several share a queue.
        public var maximumRate: Int?
        /// The most bytes per second that the downloads from one host receive, or `nil` for no limit. The host is ``DownloadRequest/host``.
        public var maximumRatePerHost: Int?
        /// The most bytes of a file, or `nil` for no limit. A larger one fails with `TransferError.Code.tooLarge`, as soon as the server
        /// announces its length or too many bytes have arrived.
        public var maximumSize: Int64?
        /// The time limit of each attempt, or `nil` for none. An attempt that takes longer fails with `TransferError.Code.tookTooLong` and isn't
        /// retried. If the server supports that, the partial file stays, and the next download of the file continues it.
        public var maximumTime: Duration?
        /// The rate below which an attempt fails with `TransferError.Code.tooSlow` and is retried, or `nil` for no minimum.
        public var minimumRate: MinimumRate?
        /// Whether a file gets the modification time that the server sends (`Last-Modified`), if it sends one. By default, it has the time of
        /// the download.
        public var keepsServerTime = false
        /// Whether an existing file is replaced only if the server has a newer one. Then ``existing`` must be `.replace`.
        ///
        /// The file's modification time is sent with `If-Modified-Since` (RFC 9110, section 13.1.3). If the server answers 304, or has a file
        /// of the same size that isn't newer, the existing file counts as skipped. Set ``keepsServerTime`` too, so that later runs compare the
        /// server's times with each other, and not with the clock of this machine. A request with a checksum is compared with that instead.
        public var onlyIfNewer = false
        /// Whether a file's extended attributes get its URL (`user.xdg.origin.url`) and its checksum (`user.sluice.digest`), so that a
        /// ``DownloadVerifier`` can verify it later. The default is `false`.
        ///
        /// The URL has no user name, password, query or fragment. The checksum is the request's, or else the file's SHA-256, which is computed
        /// while the bytes arrive. File systems without extended attributes store nothing, which isn't an error. An existing file that is
        /// skipped gets no attributes.
        public var storesOrigins = false
        /// The maximum age of ended downloads in the queue. Runs remove older ones in the background, once a minute.
        public var maximumHistoryAge: Duration
        /// The number of ended downloads that the queue keeps. Beyond that, runs remove the oldest ones in the background, once a minute.
        /// In between, there can be more.
        public var maximumHistoryCount: Int

        /// Creates a configuration. By default, an existing file is an error, and a file gets its final name once its bytes are on the
        /// disk.
        public init(
            retries: RetryPolicy = RetryPolicy(), circuitBreaker: CircuitBreaker? = CircuitBreaker(),
            directory: URL? = nil, existing: ExistingFile = .fail, durability: Durability = .data,
            lease: Duration = .seconds(15), maximumHistoryAge: Duration = .seconds(30 * 86_400),
            maximumHistoryCount: Int = 10_000,
            headerFields: (@Sendable (DownloadRequest) async throws -> HTTPFields)? = nil
        ) {
            self.retries = retries
            self.circuitBreaker = circuitBreaker
            self.directory = directory
            self.existing = existing
            self.durability = durability
            self.lease = lease
            self.maximumHistoryAge = maximumHistoryAge
            self.maximumHistoryCount = maximumHistoryCount
            self.headerFields = headerFields
        }
    }

    package typealias Resolver = @Sendable (_ id: String, _ user: String?) async throws -> DownloadResolution

    let core: CoordinatorCore

    package var store: any QueueStore { core.store }
    var configuration: Configuration { core.configuration }
    var files: FileIO { core.files }
    var timing: CoordinatorTiming { core.timing }
    var observers: QueueObservers { core.observers }
    var directory: URL { core.directory }

    /// Creates a coordinator for the queue in `store` that downloads through `transport`.
    ///
    /// Downloads start with ``start()``, ``run(until:onEvent:onWarning:)`` or ``download(_:onEvent:)``. The coordinator doesn't close the
    /// transport.
    ///
    /// - Parameters:
    ///   - store: Where the queue is stored.
    ///   - transport: The transport that sends the requests.
    ///   - limits: The limits on concurrent downloads.
    ///   - configuration: The other settings.
    ///   - files: The engine that writes the files.
    /// - Precondition: Each limit, each rate and the circuit breaker's `maximumFailures` are at least 1, and `configuration.directory` is
    ///   `nil` or a file URL.
    public convenience init(
        store: DownloadStore = .memory, transport: any Transport = HTTPTransport.shared, limits: Limits = .init(),
        configuration: Configuration = .init(), using files: FileIO = .shared
    ) {
        self.init(
            store: store.queue, transport: transport, limits: limits, configuration: configuration, resolve: nil,
            files: files, timing: .system)
    }

    /// Creates a coordinator for downloads that have identifiers, and get their URLs only when they start.
    ///
    ///     let downloads = DownloadCoordinator(store: .sqlite(at: file), resolve: { id, user in
    ///         let ticket = try await shop.ticket(for: id, user: user)
    ///         return DownloadResolution(url: ticket.url, headerFields: [.authorization: ticket.token])
    ///     })
    ///     downloads.start()
    ///     try await downloads.enqueue(DownloadRequest(resolving: song.id, to: music, user: me))
    ///
    /// `resolve` is called before each attempt of a request with an identifier
    /// (``DownloadRequest/init(resolving:host:to:name:user:priority:)``), with the identifier and the user that the download is charged to.
    /// If the URL is on a different host than the queue assumes, the download waits until that host's limit leaves room, and `resolve` is
    /// called again. If it throws a `TransferError`, the attempt fails as if the transport had thrown it; any other error fails the
    /// download without a retry.
    ///
    /// The coordinator keeps the closure. If the closure captures the coordinator's owner, that is a reference cycle: capture only what it
    /// needs, or `[weak self]`.
    ///
    /// A coordinator without `resolve` never starts such downloads, and leaves them to other coordinators that share the queue.
    ///
    /// - Precondition: Each limit, each rate and the circuit breaker's `maximumFailures` are at least 1, and `configuration.directory` is
    ///   `nil` or a file URL.
    public convenience init(
        store: DownloadStore = .memory, transport: any Transport = HTTPTransport.shared, limits: Limits = .init(),
        configuration: Configuration = .init(), using files: FileIO = .shared,
        resolve: @escaping @Sendable (_ id: String, _ user: String?) async throws -> DownloadResolution
    ) {
        self.init(
            store: store.queue, transport: transport, limits: limits, configuration: configuration, resolve: resolve,
            files: files, timing: .system)
    }

    /// Creates a coordinator for downloads that have identifiers, with a closure that returns only their URLs.
    ///
    ///     let downloads = DownloadCoordinator(
    ///         store: .sqlite(at: file), resolve: { id, user in try await shop.url(of: id, for: user) })
    ///
    /// See ``init(store:transport:limits:configuration:using:resolve:)-(_,_,_,_,_,(String,String?)->DownloadResolution)``.
    ///
    /// - Precondition: Each limit, each rate and the circuit breaker's `maximumFailures` are at least 1, and `configuration.directory` is
    ///   `nil` or a file URL.
    public convenience init(
        store: DownloadStore = .memory, transport: any Transport = HTTPTransport.shared, limits: Limits = .init(),
        configuration: Configuration = .init(), using files: FileIO = .shared,
        resolve: @escaping @Sendable (_ id: String, _ user: String?) async throws -> URL
    ) {
        self.init(
            store: store, transport: transport, limits: limits, configuration: configuration, using: files
        ) { id, user -> DownloadResolution in
            DownloadResolution(url: try await resolve(id, user))
        }
    }

    package convenience init(
        store: any QueueStore, transport: any Transport, limits: Limits, configuration: Configuration,
        onPhase: @escaping @Sendable (JobID, JobPhase) -> Void
    ) {
        self.init(
            store: store, transport: transport, limits: limits, configuration: configuration, resolve: nil,
            files: .shared, timing: .system, onPhase: onPhase)
    }

    init(
        store: any QueueStore, transport: any Transport, limits: Limits, configuration: Configuration,
        resolve: Resolver? = nil, files: FileIO, timing: CoordinatorTiming,
        onPhase: @escaping @Sendable (JobID, JobPhase) -> Void = { _, _ in }
    ) {
        limits.check()
        configuration.circuitBreaker?.check()
        var configuration = configuration
        // Records know files by the names in their requests.
        if configuration.takesServerNames { configuration.records = nil }
        configuration.minimumRate?.check()
        configuration.segments?.check()
        MaximumRates(total: configuration.maximumRate, perHost: configuration.maximumRatePerHost).check()
        if let directory = configuration.directory {
            precondition(directory.isFileURL, "A coordinator's directory must be a file URL; it is '\(directory)'.")
        }
        core = CoordinatorCore(
            store: store, transport: transport, limits: limits, configuration: configuration, resolve: resolve,
            files: files, timing: timing, onPhase: onPhase)
    }

    deinit { core.abandon() }

    /// Changes ``Configuration/maximumRate`` and ``Configuration/maximumRatePerHost`` while downloads run, for example at night. The
    /// queue's own limits (``setQueueRates(_:)``) apply, too.
    ///
    ///     downloads.setMaximumRate(2_000_000)             // 2 MB/s in total, no limit per host
    ///     downloads.setMaximumRate(nil)                   // no limit
    ///
    /// - Parameters:
    ///   - rate: The most bytes per second that all downloads together receive, or `nil` for no limit.
    ///   - perHost: The most bytes per second from one host, or `nil` for no limit.
    /// - Precondition: The rates are at least 1.
    public func setMaximumRate(_ rate: Int?, perHost: Int? = nil) {
        let rates = MaximumRates(total: rate, perHost: perHost)
        rates.check()
        core.bandwidth.set(rates)
    }

    /// Opens the queue now instead of when an operation first needs it.
    ///
    /// - Throws: ``QueueStoreError``, for example if the database is unusable.
    public func open() async throws {
        _ = try await store.jobs([])
    }

    /// Stops all downloads, waits until they have stopped, and closes the queue. Later operations throw a ``QueueStoreError``.
    ///
    /// Downloads keep their partial files and go back to waiting. Every ``run(until:onEvent:onWarning:)`` returns, and the summary of a
    /// ``download(_:onEvent:)`` has unfinished requests. If you don't close the queue, no download is lost.
    /// The method completes even in a cancelled task.
    ///
    /// - Throws: ``QueueStoreError``.
    public func close() async throws {
        try await core.close()
    }

    // MARK: Running in the background

    /// Runs the queue in the background, until ``stop()`` or ``close()`` is called or the coordinator is released.
    ///
    ///     let downloads = DownloadCoordinator(store: .sqlite(at: file), limits: .init(total: 4))
    ///     downloads.start()
    ///     let handle = try await downloads.enqueue(DownloadRequest(url, to: music))
    ///
    /// If the queue can't run, because the disk is full or the database is gone, it retries after a pause, which grows from a second to a
    /// minute. Until then, ``failure`` holds the error, and no download is lost. A second call does nothing. After ``stop()``, a call
    /// starts the queue again; after ``close()``, it only sets ``failure``.
    ///
    /// Handles, lists and sequences of the coordinator keep it alive. When the last reference goes away, the downloads are stopped, but
    /// nothing waits until they have; to wait, call ``stop()`` first. Another coordinator with the same store waits for files that are
    /// still being written, and fails no download.
    public func start() { core.start() }

    /// Stops running the queue in the background, and waits until the downloads have stopped. They keep their partial files and go back to
    /// waiting.
    ///
    /// Callers of ``run(until:onEvent:onWarning:)`` and ``download(_:onEvent:)`` aren't affected: the queue continues for them. The method
    /// completes even in a cancelled task.
    public func stop() async { await core.stop() }

    /// Why the queue that ``start()`` runs can't work right now; `nil` if it works or isn't running.
    ///
    /// It is a ``QueueStoreError``, or a `TransferError` if this process can't write its files. It is cleared when the store responds
    /// again, when a download succeeds, or when nothing is left to do. ``DownloadList/failure`` shows it in a view.
    public var failure: (any Error)? { core.failure }

    // MARK: Running in a task

    /// The condition that ends a run. Later versions may add cases.
    public enum RunEnd: Sendable, Hashable {
        /// The run ends when its task is cancelled: for a service.
        case whenCancelled
        /// The run ends when no download is waiting or running, in this process or any other.
        case whenEmpty
        /// The run works only on this batch, and ends when none of its downloads is waiting or running.
        case whenBatchIsEmpty(String)
    }

    /// Runs the queue in the calling task.
    ///
    ///     try await withThrowingTaskGroup { group in
    ///         group.addTask { try await downloads.run() }
    ///         try await downloads.enqueue(songs)
    ///     }
    ///
    /// **Several callers.** The queue may already be running: callers share one engine, and the limits hold for all of them together. The
    /// engine works on what any of them wants: one batch, or the whole queue. Batches that callers are waiting for come first. When a
    /// caller leaves, only the downloads that no other caller wants are stopped. `onEvent` gets the events of the caller's batch. An error
    /// that ends the engine is thrown to every caller.
    ///
    /// **Cancellation.** If the task is cancelled, the run starts no more downloads and stops the current ones. They keep their partial
    /// files and go back to waiting. Then this method returns without throwing, because cancellation is the usual end of a service.
    ///
    /// **Outages.** While the store can't be reached, or another process holds it for too long, the run continues, and retries with
    /// backoff, at least every five seconds. Downloads continue, and their outcomes are recorded later. If a lease couldn't be renewed for
    /// two thirds of its duration, its download is stopped before another worker can claim it. If the store can't be reached when the run
    /// begins or ends, this method throws.
    ///
    /// - Parameters:
    ///   - end: The condition that ends the run.
    ///   - onEvent: A function that is called at each step of each download. Several tasks call it concurrently. It must be quick and must
    ///     not block.
    ///   - onWarning: A function that is called with an error that doesn't end the run: once for each outage, and if the run falls back to
    ///     polling every second for the changes of other machines. It must be quick and must not block.
    /// - Throws: ``QueueStoreError`` if the store fails; `TransferError` if this worker can't work, for example because the disk is full or
    ///   its directory can't be written, so that the other downloads would fail too (<doc:WhenSomethingFails>). All downloads are stopped
    ///   first, and go back to waiting. You can then run the queue again.
    @concurrent public func run(
        until end: RunEnd = .whenCancelled, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in },
        onWarning: @escaping @Sendable (QueueStoreError) -> Void = { _ in }
    ) async throws {
        try await core.run(RunCaller(until: end, onEvent: onEvent, onWarning: onWarning))
    }

    /// Runs the queue while `body` runs, and then stops it.
    ///
    ///     try await downloads.withRun { downloads in
    ///         try await downloads.enqueue(songs)
    ///         for try await snapshot in downloads.snapshots() { … }
    ///     }
    ///
    /// The body runs in a child task, so that a failed run can cancel it. If it uses the main actor's state, write
    /// `{ @MainActor downloads in … }`.
    ///
    /// **Cancellation** of the calling task cancels `body` and stops the run as in ``run(until:onEvent:onWarning:)``. If `body` returns
    /// anyway, for example because its loop over snapshots ends, this method returns its result. To throw in that case, call
    /// `Task.checkCancellation()`.
    ///
    /// - Throws: The error of `body`, or the error of the run, after `body` has been cancelled and has returned.
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

// MARK: - Limits and the circuit breaker

extension DownloadCoordinator {
    /// Limits on the number of downloads that run concurrently.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of running downloads. One process runs at most 10,000, even if the number is larger, such as `Int.max`.
        public var total: Int
        /// The maximum number of running downloads from one host and port; `nil` for no limit. With ``Configuration/segments``, it limits their
        /// connections.
        public var perHost: Int?
        /// The maximum number of running downloads for one user; `nil` for no limit. Requests without a user aren't counted. If a user
        /// leaves a download that others have also requested, it counts for one of them, who can then be over the limit for a while.
        public var perUser: Int?

        /// Creates limits.
        ///
        /// - Precondition: Each limit is at least 1.
        public init(total: Int = 8, perHost: Int? = 6, perUser: Int? = nil) {
            self.total = total
            self.perHost = perHost
            self.perUser = perUser
            check()
        }

        /// The properties may have changed since `init`.
        fileprivate func check() {
            precondition(
                total >= 1 && perHost ?? 1 >= 1 && perUser ?? 1 >= 1,
                "Each limit of a coordinator must be at least 1; total is \(total), perHost \(perHost.map(String.init) ?? "nil"), "
                    + "perUser \(perUser.map(String.init) ?? "nil")."
            )
        }
    }

    /// How a large file is divided into segments that are downloaded concurrently.
    ///
    /// The file must have a strong validator and at least two segments of ``minimumSize``, and its server must accept range requests. Every
    /// request names the validator, so bytes of two versions of a file are never mixed. A connection that has finished its segment takes
    /// over the second half of the largest one. If one of the further connections fails, the others download its segment. An
    /// interrupted download continues all its segments. ``DownloadRequest/mirrors`` whose files have the same validator and length are
    /// used, too.
    ///
    /// ``Limits/perHost`` limits the connections to a host. The segments of a file use only those that other downloads leave free, and give
    /// them back when another download begins. In a store that other processes share, they can't know that, so each running download
    /// counts as ``count`` connections: with a `perHost` of 8 and 4 segments, two downloads of a host run.
    ///
    /// The space for the file is reserved first. If the file system can't do that, the file is downloaded over one connection. A checksum is
    /// computed when all segments have arrived.
    public struct Segments: Sendable, Hashable {
        /// The most connections for one file. More than ``Limits/perHost`` has no effect.
        public var count: Int
        /// The size in bytes below which a segment isn't worth a connection of its own. The default is 4 MiB.
        public var minimumSize: Int64
        /// Whether further connections also use the other servers that the first response names (`Link` fields with `rel=duplicate`, RFC 6249),
        /// at most 16. They get no header fields, and must be https if the response came with https. The default is `false`, because a
        /// server could name any address, including one in your network.
        public var usesDuplicates = false

        /// Creates the limits.
        ///
        /// - Precondition: `count` and `minimumSize` are at least 1.
        public init(count: Int, minimumSize: Int64 = 4 << 20) {
            self.count = count
            self.minimumSize = minimumSize
            check()
        }

        /// The properties may have changed since `init`.
        func check() {
            precondition(
                count >= 1 && minimumSize >= 1,
                "The count and the minimum size of segments must be at least 1; they are \(count) and \(minimumSize).")
        }
    }

    /// A rate that an attempt must not fall below.
    ///
    ///     configuration.minimumRate = .init(bytesPerSecond: 10_000, over: .seconds(30))
    ///
    /// An attempt fails with `TransferError.Code.tooSlow` if, once the server has responded, fewer bytes than that arrive in a period of this
    /// length, measured each quarter of it. Time for which the download waits because of ``Configuration/maximumRate`` doesn't count. The
    /// download is retried as after other temporary failures, and continues its partial file.
    public struct MinimumRate: Sendable, Hashable {
        /// The number of bytes per second.
        public var bytesPerSecond: Int
        /// The length of the period. One of more than four days counts as four days.
        public var period: Duration

        /// Creates a rate.
        ///
        /// - Precondition: `bytesPerSecond` is at least 1, and `period` at least a millisecond.
        public init(bytesPerSecond: Int, over period: Duration) {
            self.bytesPerSecond = bytesPerSecond
            self.period = period
            check()
        }

        fileprivate func check() {
            precondition(
                bytesPerSecond >= 1 && period >= .milliseconds(1),
                "A minimum rate must be at least 1 byte per second over at least 1 ms; it is \(bytesPerSecond) over \(period)."
            )
        }
    }

    /// The rule for a host that can't be reached, for example during a network outage.
    ///
    ///     DownloadCoordinator.Configuration(circuitBreaker: .init(maximumFailures: 10, pause: .seconds(60)))
    ///
    /// After ``maximumFailures`` failed connections in a row, no download from the host starts for the duration of ``pause``. Then one
    /// download is tried. If it reaches the host, the others follow. Otherwise there is another pause, and the download that was tried
    /// waits with the others, without using up an attempt. So an outage costs a few downloads an attempt, and the others wait it out.
    /// ``QueueSnapshot/hosts`` shows these hosts.
    ///
    /// If a host couldn't be reached for the duration of ``patience``, the run gives up on it: all its downloads fail, without further
    /// connections. After another pause, one download is tried.
    ///
    /// The store counts the failures of all processes together. Each run measures the patience from its own first failure, and gives up on
    /// a host only if no other process reaches it.
    public struct CircuitBreaker: Sendable, Hashable {
        /// The number of failed connections in a row that opens the circuit.
        public var maximumFailures: Int
        /// How long to wait before the next attempt.
        public var pause: Duration
        /// How long the host's downloads keep waiting, after the first failed connection, before they fail.
        public var patience: Duration

        /// Creates a rule.
        ///
        /// - Precondition: `maximumFailures` is at least 1.
        public init(
            maximumFailures: Int = 5, pause: Duration = .seconds(30), patience: Duration = .seconds(3600)
        ) {
            self.maximumFailures = maximumFailures
            self.pause = pause
            self.patience = patience
            check()
        }

        fileprivate func check() {
            precondition(
                maximumFailures >= 1,
                "A circuit breaker's maximumFailures must be at least 1; it is \(maximumFailures).")
        }
    }
}

// MARK: - Directories

extension DownloadCoordinator {
    /// The requests with absolute targets, as this process resolves them.
    func resolved(_ requests: [DownloadRequest]) -> [DownloadRequest] {
        guard requests.contains(where: \.isRelative) else { return requests }
        let directory = directory
        return requests.map { $0.resolved(in: directory) }
    }

    /// Creates the missing directories of the requests, and checks that a file can be created in each.
    ///
    /// Call this method before you download a long list, so that an unusable directory causes one error instead of one for each file.
    ///
    /// - Throws: `FileError` for the first directory that can't be created or written; `CancellationError`.
    public func prepareDirectories(of requests: [DownloadRequest]) async throws {
        for directory in Set(resolved(requests).map(\.directory)) {
            try await files.createDirectory(at: directory)
            try await core.checkWriting(in: directory)
        }
    }
}

// MARK: - What a configuration adds to a request

extension DownloadCoordinator.Configuration {
    /// Returns the additional header fields of a request. An error of the app's function is a `TransferError`.
    func headerFields(of request: DownloadRequest) async throws -> HTTPFields {
        guard let headerFields else { return [:] }
        do {
            return try await headerFields(request)
        } catch let error where !(error is CancellationError && Task.isCancelled) {
            throw TransferError.headerFieldsFailed(error, of: request)
        }
    }

    /// Returns the cookies of a request. An error of the app's function is a `TransferError`.
    func cookies(of request: DownloadRequest) async throws -> CookieJar? {
        guard let cookies else { return nil }
        do {
            return try await cookies(request)
        } catch let error as FileError {
            throw TransferError.file(error, of: request)
        } catch let error where !(error is CancellationError && Task.isCancelled) {
            throw TransferError.headerFieldsFailed(error, of: request)
        }
    }
}
