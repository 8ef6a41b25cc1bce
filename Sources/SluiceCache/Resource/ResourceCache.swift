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

/// Gets resources by URL: from memory, else from disk, else from the network behind a limit.
///
///     try await withResourceCache(directory: folder, configuration: .init(concurrency: 10)) { cache in
///         let image = try await cache.data(for: url)
///     }
///
/// or, where no scope fits:
///
///     let cache = try await ResourceCache(directory: folder)
///     let image = try await cache.data(for: url)
///     try await cache.shutdown()
///
/// However many ask for a URL at once, it is fetched once. What may be kept and for how long is HTTP's to say (RFC 9111,
/// for a cache of one user), or nobody's: see ``Configuration/Policy``. Only whole responses with status 200 or 203 are
/// kept, and what is read back from the disk has the length and the SHA-256 that it had when it arrived, or is fetched again.
/// The article <doc:RequestPath> tells the way of a request, stage by stage.
///
/// **Cancellation.** A caller that is cancelled gets `CancellationError` at once. A fetch is cancelled when the last caller
/// that waits for it leaves; what has arrived whole is stored all the same. Nothing is left behind: no partial file, no
/// room that stays reserved.
///
/// **Failure.** `TransferError` names the URL, what failed, and what to do. A disk that is full or broken fails no request
/// that the network can answer: it is counted (``ResourceCache/Statistics/diskFailures``), and the bytes are returned.
///
/// **Several processes** may use one folder. None reads what another has half written, or removes what it writes. Each has
/// a memory stage of its own: what one removes, another may still have in memory.
///
/// **Limits.** `concurrency` limits all requests together. There is no limit for each host.
public final class ResourceCache: Sendable {
    /// The configuration it was made with.
    public let configuration: Configuration
    /// Where the files are.
    public let directory: URL

    let memory: MemoryCache<ResourceKey, StoredResponse>
    let disk: DiskStore
    let flights = SingleFlight<ResourceKey, Data>()
    let limiter: ConcurrencyLimiter
    let transport: any Transport
    let counters = Lock(ResourceCache.Statistics())
    let clock: any Clock<Duration>
    /// This machine's clock, in seconds.
    let now: @Sendable () -> HTTPDate

    private let isShutDown = Atomic(false)
    private let (ended, end) = Condition.makeCondition()

    /// Opens the cache in a folder, which is made, for this user only, if it is missing.
    ///
    /// The folder is the cache's alone. It is not searched: what is in it is known from its index, `index.db`.
    ///
    /// - Parameters:
    ///   - directory: A directory on a local file system.
    ///   - configuration: Limits, policy, retries.
    ///   - transport: What carries requests. The cache doesn't shut it down.
    ///   - files: The engine for files.
    /// - Throws: `TransferError` with the code `cacheUnusable` if the index cannot be opened; `FileError` if the
    ///   directory cannot be made.
    public convenience init(
        directory: URL, configuration: Configuration = .init(),
        transport: any Transport = HTTPTransport.shared, using files: FileIO = .shared
    ) async throws {
        try await self.init(
            directory: directory, configuration: configuration, transport: transport, files: files,
            clock: ContinuousClock(), now: { HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) })
    }

    /// Opens it with clocks that a test holds.
    package init(
        directory: URL, configuration: Configuration, transport: any Transport, files: FileIO,
        clock: any Clock<Duration>, now: @escaping @Sendable () -> HTTPDate
    ) async throws {
        self.configuration = configuration
        self.directory = directory
        self.clock = clock
        self.now = now
        memory = MemoryCache(maximumCost: configuration.maximumMemorySize, maximumCount: .max)
        limiter = ConcurrencyLimiter(concurrency: configuration.concurrency)
        disk = try await DiskStore.open(
            in: directory, limit: configuration.maximumDiskSize, entryLimit: configuration.maximumDiskEntrySize,
            files: files)
        self.transport = transport
    }

    /// Ends the cache: fetches under way fail, what is being stored is stored, the index is closed.
    ///
    /// The transport is left alone. Completes also when the task is cancelled; a second call does nothing.
    /// Later requests throw `TransferError` with the code `shutDown`.
    public func shutdown() async throws {
        guard !isShutDown.exchange(true, ordering: .acquiringAndReleasing) else { return }
        end.signal()
        try await disk.close()
    }

    /// Carries out `body`, which is about `url`, until the cache is shut down.
    ///
    /// - Throws: What `body` throws; `TransferError` with the code `shutDown` after `body` has been cancelled and has returned.
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

    /// What has happened since the cache was made.
    public var statistics: ResourceCache.Statistics { counters.withLock { $0 } }

    func count(_ change: (inout ResourceCache.Statistics) -> Void) {
        counters.withLock { change(&$0) }
    }

    private static func shutDown(_ url: URL) -> TransferError {
        TransferError(.shutDown, url: url, message: "The cache has been shut down.", remedy: "Open a new cache.")
    }

    func checkOpen(for url: URL) throws {
        if isShutDown.load(ordering: .acquiring) { throw Self.shutDown(url) }
    }
}

/// Gives `body` a cache, and shuts it down when `body` has ended in whichever way.
///
///     try await withResourceCache(directory: folder) { cache in
///         show(try await cache.data(for: url))
///     }
///
/// - Throws: What opening the cache, `body` or ``ResourceCache/shutdown()`` throws.
public func withResourceCache<Result>(
    directory: URL, configuration: ResourceCache.Configuration = .init(),
    transport: any Transport = HTTPTransport.shared, using files: FileIO = .shared,
    _ body: (ResourceCache) async throws -> Result
) async throws -> Result {
    let cache = try await ResourceCache(
        directory: directory, configuration: configuration, transport: transport, using: files)
    return try await cache.shutDown(after: body)
}

extension ResourceCache {
    /// Shuts down when `body` has ended in whichever way. What `body` throws is more telling than what follows from it.
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
