import SluiceConcurrency
public import SluiceFiles
public import SluiceHTTP
import SluiceLock
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A cache of resources by URL, in memory and on disk, that fetches missing and stale ones from the network.
///
///     try await ResourceCache.withCache(directory: directory, configuration: .init(concurrency: 10)) { cache in
///         let image = try await cache.data(for: url)
///     }
///
/// Without a scope, call ``shutdown()``:
///
///     let cache = try await ResourceCache(directory: directory)
///     let image = try await cache.data(for: url)
///     try await cache.shutdown()
///
/// Concurrent requests for a URL share one fetch. By default, responses are stored as HTTP's rules for private caches allow (RFC 9111);
/// see ``Configuration/Policy``. ``data(for:)`` returns the body of a response with status 200 or 203, and throws other statuses as errors;
/// ``response(for:mode:)`` returns any response. The cache compares the length of each file that it reads, and
/// its SHA-256 at the first read (``Configuration/verification``), and fetches a damaged resource again. The article <doc:RequestPath> describes the stages of a request.
///
/// - Cancellation: A waiting caller gets `CancellationError` immediately. A fetch is cancelled when all callers that wait for it are
///   cancelled. A response that has arrived completely is stored even then. No partial file and no reserved space remain.
/// - Failure: A `TransferError`, which names the URL, the failure and a remedy. A full or broken disk doesn't fail a request that the
///   network can answer: the request returns the bytes, and the failure counts in ``ResourceCache/Statistics/diskFailures``.
/// - Processes: Several processes may use one directory. No process reads a file that another one is writing, or removes it. Each process
///   has its own memory stage and remembers small bodies of the disk stage, so it may return a fresh response that another process has
///   removed.
/// - Limits: ``Configuration/concurrency`` limits all requests together, and ``Configuration/concurrencyPerHost`` those to one host. The
///   hosts take turns.
/// - Priority: A fetch has the highest task priority of the callers that have waited for it. So a visible image that is requested by a task
///   of priority `high` overtakes images of its host that tasks of priority `low` have requested in advance.
public final class ResourceCache: Sendable {
    /// The configuration that the cache was created with.
    public let configuration: Configuration
    /// The directory of the files.
    public let directory: URL

    typealias Visit = ResourceMemory<ResponsesInMemory>.Visit

    let memory: ResourceMemory<ResponsesInMemory>
    let disk: DiskStore
    /// Keys whose rows are out of date and couldn't be removed.
    let unremoved = Lock<Set<ResourceKey>>([])
    let flights = SingleFlight<ResponseKey, Answer>()
    /// Validations of stale responses that callers already have (`stale-while-revalidate`).
    let validations = BackgroundWork<ResponseKey>()
    /// Decoders of the decoded caches, whose callers may have left.
    let decodings = BackgroundWork<UUID>()
    /// The exchanges whose bodies callers read while they arrive.
    let transfers = BackgroundWork<UUID>()
    /// Those of them that other callers may join.
    let running = RunningTransfers()
    let progress = ProgressObservers()
    let decodedCaches = DecodedCaches()
    #if canImport(Darwin)
    private let memoryPressure = Lock<MemoryPressureSource?>(nil)
    #endif
    /// The keys are hosts.
    let limiter: KeyedLimiter<String>
    let transport: any Transport
    let policy: CachePolicy
    let counters = Lock(ResourceCache.Statistics())
    let clock: any Clock<Duration>
    let now: @Sendable () -> HTTPDate

    private let isShutDown = Atomic(false)
    private let (ended, end) = Condition.makeCondition()

    /// Opens the cache in a directory. A missing directory is created, with access for the current user only.
    ///
    /// The directory must be on a local file system and must not contain other files. Its index, `index.db`, lists the cache's files.
    /// The cache doesn't shut `transport` down.
    ///
    /// - Throws: `TransferError` with the code `cacheUnusable` if the index can't be opened; `FileError` if the directory can't be
    ///   created.
    public convenience init(
        directory: URL, configuration: Configuration = .init(),
        transport: any Transport = HTTPTransport.shared, using files: FileIO = .shared
    ) async throws {
        try await self.init(
            directory: directory, configuration: configuration, transport: transport, files: files,
            clock: ContinuousClock(), now: { HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) })
    }

    package convenience init(
        directory: URL, configuration: Configuration, transport: any Transport, files: FileIO,
        clock: any Clock<Duration>, now: @escaping @Sendable () -> HTTPDate,
        largestInIndex: Int? = nil
    ) async throws {
        let disk = try await DiskStore.open(
            in: directory, limit: configuration.maximumDiskSize, entryLimit: configuration.maximumDiskEntrySize,
            largestInIndex: largestInIndex ?? DiskStore.largestInIndex, verification: configuration.verification,
            files: files)
        self.init(
            directory: directory, configuration: configuration, transport: transport, disk: disk, clock: clock, now: now
        )
    }

    /// This doesn't throw: Swift 6.3 crashes when it optimizes the destruction of a partly initialized object with an atomic value.
    private init(
        directory: URL, configuration: Configuration, transport: any Transport, disk: DiskStore,
        clock: any Clock<Duration>, now: @escaping @Sendable () -> HTTPDate
    ) {
        self.configuration = configuration
        self.directory = directory
        self.disk = disk
        self.transport = transport
        self.clock = clock
        self.now = now
        memory = ResourceMemory(maximumCost: configuration.maximumMemorySize)
        limiter = KeyedLimiter(
            perKey: configuration.concurrencyPerHost, total: configuration.concurrency, order: .priority)
        policy = CachePolicy(
            maximumHeuristicLifetime: max(0, configuration.maximumHeuristicLifetime.components.seconds),
            isImmutable: configuration.policy == .immutable, salt: disk.salt)
        #if canImport(Darwin)
        let source = MemoryPressureSource { [weak self] in self?.trimMemory(toFraction: $0) }
        memoryPressure.withLock { $0 = source }
        #endif
    }

    /// Shuts the cache down: ends running fetches, validations and decoders, waits until running writes are complete, and closes the index.
    ///
    /// Running and later requests throw `TransferError` with the code `shutDown`. The transport stays open. The shutdown completes even
    /// if the task is cancelled. Further calls have no effect.
    ///
    /// - Throws: An error of closing the index.
    public func shutdown() async throws {
        guard !isShutDown.exchange(true, ordering: .acquiringAndReleasing) else { return }
        end.signal()
        await validations.end()
        await transfers.end()
        await decodings.end()
        try await disk.close()
    }

    /// Waits until the validations that run in the background have ended, or cancels them after this time.
    package func finishValidations(within limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.validations.finish() }
            group.addTask { try? await self.clock.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Runs `body`, and cancels it when the cache is shut down. Then it throws `TransferError` with the code `shutDown` for `url`.
    func whileOpen<R: Sendable>(for url: URL, _ body: @escaping @Sendable () async throws -> R) async throws -> R {
        try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask { try await body() }
            group.addTask { [ended] in
                try await ended.waitUnlessCancelled()
                return nil
            }
            defer { group.cancelAll() }
            guard let result = try await group.next(), let result else { throw Self.shutDown(url) }
            return result
        }
    }

    /// The counts of hits, fetches and failures since the cache was opened.
    public var statistics: ResourceCache.Statistics { counters.withLock { $0 } }

    func count(_ change: (inout ResourceCache.Statistics) -> Void) {
        counters.withLock { change(&$0) }
    }

    var hasShutDown: Bool { isShutDown.load(ordering: .acquiring) }

    static func shutDown(_ url: URL) -> TransferError {
        TransferError(.shutDown, url: url, message: "The cache has been shut down.", remedy: "Open a new cache.")
    }

    func checkOpen(for url: URL) throws {
        if hasShutDown { throw Self.shutDown(url) }
    }
}

extension ResourceCache {
    /// Calls `body` with a new cache, and shuts the cache down when `body` returns or throws.
    ///
    /// - Throws: The error of `body`, or an error of opening the cache or of ``ResourceCache/shutdown()``.
    public static func withCache<Result>(
        directory: URL, configuration: Configuration = .init(),
        transport: any Transport = HTTPTransport.shared, using files: FileIO = .shared,
        _ body: (ResourceCache) async throws -> Result
    ) async throws -> Result {
        let cache = try await ResourceCache(
            directory: directory, configuration: configuration, transport: transport, using: files)
        return try await cache.shutDown(after: body)
    }

    func shutDown<R>(after body: (ResourceCache) async throws -> R) async throws -> R {
        let result: R
        do {
            result = try await body(self)
        } catch {
            try? await shutdown()
            throw error
        }
        try await shutdown()
        return result
    }
}
