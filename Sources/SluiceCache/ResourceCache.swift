import HTTPTypes
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
/// An app creates one cache and uses it until it ends. The directory is opened by the first request that needs it:
///
///     let cache = ResourceCache(directory: directory)
///     let image = try await cache.data(for: url)
///
/// To learn early whether the directory is usable, call ``open()``. To end running work and close the directory, call ``shutdown()``.
///
/// Concurrent requests for a URL share one fetch. By default, responses are stored as HTTP's rules for private caches allow (RFC 9111); see
/// ``Configuration/Policy``. ``data(for:headerFields:)`` returns the body of a response with status 200 or 203, and throws other statuses as errors;
/// ``response(for:mode:)`` returns any response. The cache checks the length of each file it reads, and its SHA-256 on the first read
/// (``Configuration/verification``), and fetches damaged resources again. The article <doc:RequestPath> describes the stages of a request.
///
/// - Cancellation: A waiting caller gets `CancellationError` immediately. A fetch is cancelled when all callers waiting for it are
///   cancelled. A response that has arrived completely is stored even then. No partial files or reserved space are left behind.
/// - Failure: A `TransferError`, which names the URL, the failure and a remedy. A full or broken disk doesn't fail a request that the
///   network can answer: the request returns the bytes, and ``ResourceCache/Statistics/diskFailures`` counts the failure. This includes a
///   directory that can't be opened. It is tried again by a request at least a second later.
/// - Storing: A response is stored on disk behind its caller, in the order of arrival. ``shutdown()`` waits for that. A killed process loses
///   the last responses. If the disk is slower than the network, callers wait.
/// - Processes: Several processes can share a directory. No process reads or removes a file that another one is writing. Each process has
///   its own memory stage and also keeps small bodies from the disk in memory, so it may return a fresh response that another process has
///   removed.
/// - Limits: ``Configuration/concurrency`` limits all requests together, and ``Configuration/concurrencyPerHost`` the requests to one host.
///   Hosts take turns.
/// - Priority: A fetch has the highest task priority of any caller that has waited for it. So if a `high` priority task requests a visible
///   image, the image overtakes others from the same host that `low` priority tasks have prefetched.
public final class ResourceCache: Sendable {
    /// The configuration that the cache was created with.
    public let configuration: Configuration
    /// The directory of the files.
    public let directory: URL

    typealias Visit = ResourceMemory<ResponsesInMemory>.Visit

    let memory: ResourceMemory<ResponsesInMemory>
    /// The disk stage, which opens when it is first needed.
    let stage: DiskStage
    /// The responses that are being stored.
    let backlog: StoreBacklog
    /// Keys whose out-of-date rows couldn't be removed from the index.
    let unremoved = Lock<Set<ResourceKey>>([])
    let flights = SingleFlight<ResponseKey, Answer>()
    /// Background validations of stale responses that callers have already received (`stale-while-revalidate`).
    let validations = BackgroundWork<ResponseKey>()
    /// The decoded caches' running decoders. Their callers may be gone already.
    let decodings = BackgroundWork<UUID>()
    /// The exchanges whose bodies are streaming.
    let transfers = BackgroundWork<UUID>()
    /// The streaming exchanges that other callers can join.
    let running = RunningTransfers()
    let progress = ProgressObservers()
    let decodedCaches = DecodedCaches()
    #if canImport(Darwin)
    private let memoryPressure = Lock<MemoryPressureSource?>(nil)
    #endif
    /// Keyed by host.
    let limiter: KeyedLimiter<String>
    let transport: any Transport
    let files: FileIO
    /// The rules, without the directory's salt.
    private let rules: CachePolicy
    let counters = Lock(ResourceCache.Statistics())
    let clock: any Clock<Duration>
    let now: @Sendable () -> HTTPDate

    private let isShutDown = Atomic(false)
    private let (ended, end) = Condition.makeCondition()

    /// Creates a cache in a directory. The first request that needs the directory opens it. If it is missing, it is created, accessible only
    /// to the current user.
    ///
    /// The directory must be on a local file system and must not contain other files. Its index, `index.db`, lists the cache's files. The
    /// cache doesn't shut down `transport`.
    ///
    /// - Precondition: The configuration's concurrencies are at least 1, and none of its sizes is negative.
    public convenience init(
        directory: URL, configuration: Configuration = .init(),
        transport: any Transport = HTTPTransport.shared, using files: FileIO = .shared
    ) {
        self.init(
            directory: directory, configuration: configuration, transport: transport, files: files,
            clock: ContinuousClock(), now: { HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) })
    }

    package init(
        directory: URL, configuration: Configuration, transport: any Transport, files: FileIO,
        clock: any Clock<Duration>, now: @escaping @Sendable () -> HTTPDate,
        largestInIndex: Int = DiskStore.largestInIndex
    ) {
        configuration.check()
        self.configuration = configuration
        self.directory = directory
        self.transport = transport
        self.files = files
        self.clock = clock
        self.now = now
        let rules = CachePolicy(
            maximumHeuristicLifetime: max(0, configuration.maximumHeuristicLifetime.wholeSeconds),
            isImmutable: configuration.policy == .immutable)
        self.rules = rules
        stage = DiskStage(now: now, whenClosed: Self.shutDown(directory)) {
            let store = try await DiskStore.open(
                in: directory, limit: configuration.maximumDiskSize, entryLimit: configuration.maximumDiskEntrySize,
                largestInIndex: largestInIndex, verification: configuration.verification, files: files)
            var policy = rules
            policy.salt = store.salt
            // Only a hint: errors show when the rows are needed.
            try? await store.readRecentRows(policy)
            return store
        }
        backlog = StoreBacklog { [stage] additions in
            do {
                return try await stage.store.store(additions)
            } catch {
                return additions.map { _ in .failure(error) }
            }
        }
        memory = ResourceMemory(maximumCost: configuration.maximumMemorySize)
        limiter = KeyedLimiter(
            perKey: configuration.concurrencyPerHost, total: configuration.concurrency, order: .priority)
        #if canImport(Darwin)
        let source = MemoryPressureSource { [weak self] in self?.trimMemory(toFraction: $0) }
        memoryPressure.withLock { $0 = source }
        #endif
    }

    /// The disk stage. The first task that needs it opens it.
    var disk: DiskStore { get async throws { try await stage.store } }

    /// The rules. Their salt is that of the directory, once it is open. Until then, responses are only in memory, without salt.
    var policy: CachePolicy {
        guard let disk = stage.storeIfOpen else { return rules }
        var policy = rules
        policy.salt = disk.salt
        return policy
    }

    /// Opens the directory now instead of when a request first needs it.
    ///
    ///     let cache = ResourceCache(directory: directory)
    ///     try await cache.open()
    ///
    /// Has no effect if the directory is open.
    ///
    /// - Throws: `TransferError` with the code `cacheUnusable` if the index can't be opened, or `shutDown` after ``shutdown()``;
    ///   `FileError` if the directory can't be created; `CancellationError`. A later call tries again.
    public func open() async throws {
        if hasShutDown { throw Self.shutDown(directory) }
        try await stage.open()
    }

    /// Shuts the cache down: ends running fetches, validations and decoders, waits until the responses that have arrived are on disk, and
    /// closes the index.
    ///
    /// Storing them takes milliseconds. If the disk is so slow that some still wait after five seconds, they are dropped, and will be
    /// fetched again when they are needed.
    ///
    /// Running and later requests throw `TransferError` with the code `shutDown`. The transport stays open. The shutdown completes even if
    /// the task is cancelled. Further calls have no effect.
    ///
    /// - Throws: An error from closing the index.
    public func shutdown() async throws {
        guard !isShutDown.exchange(true, ordering: .acquiringAndReleasing) else { return }
        end.signal()
        flights.cancelAll()
        await validations.end()
        await transfers.end()
        await decodings.end()
        await backlog.drain(within: Self.storingTime, clock: ContinuousClock())
        try await stage.close()
    }

    /// How long a shutdown waits for a slow disk. A program that was told to end must end soon.
    private static let storingTime: Duration = .seconds(5)

    /// Waits up to `limit` for background validations to end, and then cancels the rest.
    package func finishValidations(within limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.validations.finish() }
            group.addTask { try? await self.clock.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Runs `body`. If the cache is shut down first, cancels `body` and throws a `TransferError` for `url` with the code `shutDown`.
    ///
    /// - Parameter isOfCache: Whether the cache itself cancels the task when it is shut down.
    func whileOpen<R: Sendable>(
        for url: URL, _ isOfCache: Bool, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        if isOfCache { return try await body() }
        return try await withThrowingTaskGroup(of: R?.self) { group in
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

    /// The counts of hits, fetches and failures since the cache was created.
    public var statistics: ResourceCache.Statistics { counters.withLock { $0 } }

    func count(_ change: (inout ResourceCache.Statistics) -> Void) {
        counters.withLock { change(&$0) }
    }

    var hasShutDown: Bool { isShutDown.load(ordering: .acquiring) }

    static func shutDown(_ url: URL) -> TransferError {
        TransferError(.shutDown, url: url, message: "The cache has been shut down.", remedy: "Create a new cache.")
    }

    func checkOpen(for url: URL) throws {
        if hasShutDown { throw Self.shutDown(url) }
    }
}

extension ResourceCache {
    /// Calls `body` with a new cache, and shuts the cache down when `body` returns or throws.
    ///
    /// - Precondition: The configuration's concurrencies are at least 1, and none of its sizes is negative.
    /// - Throws: The error of `body`, or an error from ``ResourceCache/open()`` or ``ResourceCache/shutdown()``.
    public static func withCache<Result>(
        directory: URL, configuration: Configuration = .init(),
        transport: any Transport = HTTPTransport.shared, using files: FileIO = .shared,
        _ body: (ResourceCache) async throws -> Result
    ) async throws -> Result {
        let cache = ResourceCache(
            directory: directory, configuration: configuration, transport: transport, using: files)
        return try await scoped {
            try await cache.open()
            return try await body(cache)
        } finally: {
            try await cache.shutdown()
        }
    }
}

// MARK: - Stored responses, without requests

extension ResourceCache {
    /// Returns whether ``data(for:headerFields:)`` would return a stored response without a request. Checks the memory and the index, but not the file.
    ///
    /// - Throws: An error from the index.
    public func contains(_ url: URL) async throws -> Bool {
        guard !url.holdsCredentials else { return false }
        if freshInMemory(url) != nil { return true }
        let key = ResourceKey(url)
        for key in try await [key] + equivalents(of: key) {
            let heads = try await find(key).ready.map(\.head).filter(\.isUsableAsData)
            let selected = policy.selection(of: heads, for: TransportRequest(url), at: now())
            if let (index, _) = selected, policy.isFresh(heads[index], at: now()) { return true }
        }
        return false
    }

    /// Stores bytes as if `url` had just returned them, and returns whether they are on disk.
    ///
    ///     try await cache.store(rendered, for: url, freshFor: .seconds(3600))
    ///
    /// The bytes replace any stored response. A running fetch of the URL returns its response to its callers, but doesn't store it. Bytes
    /// that exceed the limit of a stage aren't stored in that stage. Nothing is stored for a URL with a user name or password, because
    /// stored responses are for all callers.
    ///
    /// - Throws: An error from the index, or a `FileError`. The bytes may be in memory even after an error.
    @discardableResult
    public func store(
        _ data: Data, for url: URL, freshFor lifetime: Duration = .seconds(365 * 86_400)
    ) async throws -> Bool {
        try checkOpen(for: url)
        guard !url.holdsCredentials else { return false }
        let now = now()
        let head = StoredResponse.Head(
            status: 200, fields: [.cacheControl: "max-age=\(max(0, lifetime.wholeSeconds))"],
            length: Int64(data.count), requested: now, received: now, policy: policy)
        let response = StoredResponse(head: head, body: data)
        let key = ResourceKey(url)
        forget(key)
        // One that is being stored is refused now, or replaced.
        await backlog.wait(for: key)
        let visit = memory.visit(key)
        keepInMemory(response, visit, of: 1)
        let change = memory.beginChange(visit)
        // Drop values that were decoded from the older response while this one was being stored.
        defer { for cache in decodedCaches.all { cache.invalidate(key) } }
        do {
            let stored = try await disk.store(response, for: key, replacing: .all) { _ in visit.isCurrent }
            count { $0.evicted += stored.evicted }
            if let row = stored.row {
                response.location.set(row)
                noteRemoval(of: key, hasFailed: false)
            }
        } catch {
            noteRemoval(of: key, hasFailed: true)
            end(change, keeping: response, of: 1)
            throw error
        }
        end(change, keeping: response, of: 1)
        return response.row != nil
    }

    /// Removes the stored responses of a URL, and the values that were decoded from them.
    ///
    /// A running fetch of the URL returns its response to its callers, but doesn't store it. Later requests don't join it.
    ///
    /// - Throws: An error from the index, or a `FileError`.
    public func remove(_ url: URL) async throws { try await invalidate(ResourceKey(url)) }

    /// Removes all stored responses, and the values that were decoded from them. For running fetches, see ``remove(_:)``.
    ///
    /// - Throws: An error from the index, or a `FileError`.
    public func removeAll() async throws {
        forgetAll()
        // Lookups that began after the first call may have read the rows.
        defer { forgetAll() }
        await backlog.drain()
        _ = try await disk.trim(toBytes: 0)
    }

    /// Removes the least recently used files until the rest take at most `bytes`.
    ///
    /// - Precondition: `bytes` isn't negative.
    /// - Throws: An error from the index, or a `FileError`.
    public func trim(toBytes bytes: Int64) async throws {
        precondition(bytes >= 0, "The size to which a cache is trimmed must not be negative; it is \(bytes).")
        await backlog.drain()
        let evicted = try await disk.trim(toBytes: bytes)
        count { $0.evicted += evicted }
    }

    /// Evicts responses, and values of this cache's decoded caches, from memory until the rest take at most `fraction` of each memory
    /// limit. Nothing is removed from disk.
    ///
    ///     cache.trimMemory(toFraction: 0)
    ///
    /// On Apple platforms, the cache calls this method itself when the system reports memory pressure: with 0.25 for a warning, and with 0
    /// at the critical level. Linux reports pressure per control group (`memory.pressure`; see the kernel's documentation of PSI), so call
    /// this method yourself there.
    ///
    /// - Precondition: The fraction is between 0 and 1.
    public func trimMemory(toFraction fraction: Double) {
        precondition((0...1).contains(fraction), "The fraction must be between 0 and 1; it is \(fraction).")
        memory.trim(toFraction: fraction)
        for cache in decodedCaches.all { cache.trimMemory(toFraction: fraction) }
    }
}

extension Duration {
    /// Unlike `components`, it doesn't trap for more than 2⁶³ seconds.
    fileprivate var wholeSeconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000_000) }
}

// MARK: - Configuration and lookup modes

extension ResourceCache {
    /// The settings of a cache. Sizes are in bytes.
    public struct Configuration: Sendable {
        /// The rule for how long a stored response may be used.
        public enum Policy: Sendable, Hashable {
            /// The server decides (RFC 9111). A stale response is validated with `If-None-Match` or `If-Modified-Since`.
            case http
            /// A stored response may be used forever. Use this for URLs whose content never changes. Responses that must not be stored
            /// (`no-store`) still aren't.
            case immutable
        }

        /// When to verify the digest of a body on disk. The length is checked on each read.
        public enum Verification: Sendable, Hashable {
            /// The first time the process reads the body. Later damage that doesn't change the length isn't detected.
            case firstRead
            /// On each read. Reads then take many times as long: reading 1 MiB takes a tenth of a millisecond, and its SHA-256 more than
            /// half a millisecond.
            case always
        }

        /// The maximum number of concurrent exchanges with servers.
        public var concurrency: Int
        /// The maximum number of concurrent exchanges with one host, to go easy on servers.
        public var concurrencyPerHost: Int
        /// The limit on the total size of the responses in memory. A URL whose responses take more than a tenth of it isn't stored in
        /// memory. In addition, the disk stage keeps up to 4 MiB of index rows in memory, with bodies of up to 2 KiB.
        public var maximumMemorySize: Int
        /// The limit on the total size of the files, including files that are being written. A response counts as the size of its body plus
        /// its URL and header fields, or plus 512 bytes if those are shorter. The rest of the index, a few hundred bytes per entry, doesn't
        /// count.
        public var maximumDiskSize: Int64
        /// The limit on the body of one response on disk. The cache returns larger responses without storing them on disk. A streaming body
        /// is stored only if it takes at most half of ``maximumDiskSize``.
        public var maximumDiskEntrySize: Int64
        /// The limit on the body of one response. A larger one fails with `TransferError.Code.responseTooLarge`.
        public var maximumResponseSize: Int
        /// The rule for how long a stored response may be used.
        public var policy: Policy
        /// When to verify the digest of a body on disk.
        public var verification: Verification
        /// The longest lifetime of a response that doesn't specify one. Such a response is fresh for a tenth of the time since its last
        /// modification, up to this limit.
        public var maximumHeuristicLifetime: Duration
        /// The policy for retries after transient errors.
        public var retries: RetryPolicy

        /// Creates a configuration. The defaults suit the images of an app. The default of `maximumDiskEntrySize` is a tenth of
        /// `maximumDiskSize`.
        ///
        /// - Precondition: `concurrency` and `concurrencyPerHost` are at least 1, and no size is negative.
        public init(
            concurrency: Int = 10, concurrencyPerHost: Int = 6, maximumMemorySize: Int = 64 << 20,
            maximumDiskSize: Int64 = 512 << 20,
            maximumDiskEntrySize: Int64? = nil, maximumResponseSize: Int = 64 << 20, policy: Policy = .http,
            verification: Verification = .firstRead, maximumHeuristicLifetime: Duration = .seconds(86_400),
            retries: RetryPolicy = RetryPolicy(
                maximumRetries: 2, baseDelay: .milliseconds(250), maximumRetryAfter: .seconds(10))
        ) {
            self.concurrency = concurrency
            self.concurrencyPerHost = concurrencyPerHost
            self.maximumMemorySize = maximumMemorySize
            self.maximumDiskSize = maximumDiskSize
            self.maximumDiskEntrySize = maximumDiskEntrySize ?? maximumDiskSize / 10
            self.maximumResponseSize = maximumResponseSize
            self.policy = policy
            self.verification = verification
            self.maximumHeuristicLifetime = maximumHeuristicLifetime
            self.retries = retries
            check()
        }

        /// Traps on invalid values, which may also have been set after the initializer.
        fileprivate func check() {
            precondition(concurrency >= 1, "A cache's concurrency must be at least 1; it is \(concurrency).")
            precondition(
                concurrencyPerHost >= 1, "A cache's concurrencyPerHost must be at least 1; it is \(concurrencyPerHost)."
            )
            Self.check(maximumMemorySize, "maximumMemorySize")
            Self.check(maximumDiskSize, "maximumDiskSize")
            Self.check(maximumDiskEntrySize, "maximumDiskEntrySize")
            Self.check(maximumResponseSize, "maximumResponseSize")
        }

        private static func check(_ size: some BinaryInteger, _ name: StaticString) {
            precondition(size >= 0, "A cache's \(name) must not be negative; it is \(size).")
        }
    }

    /// How a request uses stored responses, in addition to its `Cache-Control` field.
    public struct LookupMode: Sendable, Hashable {
        private enum Value: Sendable { case useCache, reload, cacheOnly, staleIfOffline }
        private let value: Value

        /// As HTTP's rules allow.
        public static let useCache = Self(value: .useCache)
        /// Don't use them. The new response is stored.
        public static let reload = Self(value: .reload)
        /// Only use stored responses. A stale response is used unless its server forbids that. If no response is suitable, the status is
        /// 504.
        public static let cacheOnly = Self(value: .cacheOnly)
        /// As HTTP's rules allow. If the server can't be reached, a stale response is used unless its server forbids that.
        public static let staleIfOffline = Self(value: .staleIfOffline)
    }
}

// MARK: - Errors

extension TransferError.Code {
    /// The index of a cache couldn't be opened.
    public static let cacheUnusable = Self(
        "cacheUnusable", "The cache can't be opened", "Repair or remove the file, or choose another directory.")
    /// The body has more bytes than ``ResourceCache/Configuration/maximumResponseSize``.
    public static let responseTooLarge = Self(
        "responseTooLarge", "The response is too large",
        "Raise the cache's maximumResponseSize if the resource may be that large.")
    /// The body isn't what was requested, for example an HTML page instead of an image.
    public static let unexpectedContent = Self(
        "unexpectedContent", "The response isn't what was asked for", "Open the URL in a browser to see what it is.")
}

extension TransferError {
    static func tooLarge(_ url: URL, limit: Int) -> TransferError {
        TransferError(.responseTooLarge, url: url, detail: "more than \(limit) bytes")
    }
}

// MARK: - Statistics

extension ResourceCache {
    /// The counts of a ``ResourceCache`` since its creation.
    public struct Statistics: Sendable, Hashable {
        /// Requests answered from memory.
        public internal(set) var memoryHits = 0
        /// Lookups answered from disk. If several callers wait for the same lookup, it counts once here, and the other callers count as
        /// ``coalesced``.
        public internal(set) var diskHits = 0
        /// Bodies received from the network.
        public internal(set) var fetched = 0
        /// Callers that waited for a lookup or a fetch that another caller had started.
        public internal(set) var coalesced = 0
        /// Stored responses that their server confirmed (304).
        public internal(set) var revalidated = 0
        /// Retries after failed attempts.
        public internal(set) var retries = 0
        /// Damaged entries on disk, which were removed.
        public internal(set) var damaged = 0
        /// Entries on disk that were evicted.
        public internal(set) var evicted = 0
        /// Disk operations that failed. The requests continued without the disk.
        public internal(set) var diskFailures = 0
        /// The description of the most recent error that ``diskFailures`` counts.
        public internal(set) var lastDiskFailure: String?
    }
}
