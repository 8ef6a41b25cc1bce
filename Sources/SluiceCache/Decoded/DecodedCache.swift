import SluiceConcurrency
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A cache of values that are decoded from resources, such as images. It keeps the values in memory instead of the bytes.
///
///     let cache = ResourceCache(directory: directory)
///     let thumbnails = cache.decoded(cost: \.byteCount) { data in try Thumbnail(data) }      // DecodedCache<Thumbnail>
///     let thumbnail = try await thumbnails.value(for: url)
///
/// A value is looked up in memory first. If it isn't there, its bytes come from the disk or the network, as described in
/// ``ResourceCache/data(for:headerFields:)``, and are decoded once for all waiting callers. The bytes aren't kept in memory. For images,
/// see ``ImageCache``.
///
/// **Freshness.** A value is as fresh as the response that it was decoded from. A stale response is validated with its server. If the
/// server confirms it, the value stays and isn't decoded again. Anything that removes or replaces the response in the cache, such as a
/// `PUT` or ``ResourceCache/remove(_:)``, removes the value, too.
///
/// **Failure.** If a response can't be decoded, it is removed from the cache, and the next call fetches it again.
///
/// **Cancellation.** A cancelled caller throws immediately. Decoding is cancelled when its last caller is cancelled. A decoder that ignores
/// cancellation keeps running, and its value is dropped; shutting down the cache waits for it.
///
/// - Complexity: A hit takes three short locks and doesn't suspend.
public final class DecodedCache<Value: Sendable>: Sendable, DependentCache {
    /// The cache of the bytes.
    public let resources: ResourceCache

    private struct Decoded: Sendable {
        var value: Value
        var head: StoredResponse.Head
        /// The version of the response on disk; `nil` if it isn't on disk.
        var row: Int64?
    }

    private struct Loaded: Sendable {
        var value: Value
        var source: CachedResponse.Source
    }

    /// Callers with the same generation can share a decoding.
    private struct Flight: Hashable, Sendable {
        var key: ResourceKey
        var generation: UInt64
    }

    private let memory: ResourceMemory<Decoded>
    private let flights = SingleFlight<Flight, Loaded>()
    private let cost: @Sendable (Value) -> Int
    private let decode: @Sendable (URL, Data) async throws -> Value

    init(
        _ resources: ResourceCache, maximumMemorySize: Int, cost: @escaping @Sendable (Value) -> Int,
        decode: @escaping @Sendable (URL, Data) async throws -> Value
    ) {
        self.resources = resources
        self.cost = cost
        self.decode = decode
        memory = ResourceMemory(maximumCost: maximumMemorySize)
        resources.decodedCaches.insert(self)
    }

    /// Returns the value of a resource, from memory, the disk or its server.
    ///
    /// A resource whose URL has a user name or password is fetched and decoded for this caller only.
    ///
    /// - Throws: `TransferError`; the error of the decoder; `CancellationError` if the calling task is cancelled.
    public func value(for url: URL) async throws -> Value {
        try resources.checkOpen(for: url)
        if let value = valueInMemory(for: url) { return value }
        return try await loaded(url).0
    }

    /// Returns the value, and where its bytes came from.
    func loaded(_ url: URL) async throws -> (Value, CachedResponse.Source) {
        try resources.checkOpen(for: url)
        guard !url.holdsCredentials else {
            return (try await decoded(resources.data(for: url), of: url), .network)
        }
        let key = ResourceKey(url)
        let visit = memory.visit(key)
        // Keep the generation from being reused while a caller waits.
        defer { withExtendedLifetime(visit) {} }
        let loaded = try await flights.run(for: Flight(key: key, generation: visit.generation)) { [self] in
            // Another caller's work may have finished since the first lookup.
            if let value = fresh(key) { return Loaded(value: value, source: .memory) }
            return try await loadedAgain(url, visit)
        }
        return (loaded.value, loaded.source)
    }

    /// Returns the value if it is in memory and fresh, without waiting, for example for the first frame of a view.
    public func valueInMemory(for url: URL) -> Value? {
        url.holdsCredentials ? nil : fresh(ResourceKey(url))
    }

    /// Fetches and decodes resources that will probably be needed soon, at the lowest priority. See ``ResourceCache/prefetch(_:)``.
    public func prefetch(_ urls: some Sequence<URL>) async {
        await resources.prefetch(urls) { _ = try await self.value(for: $0) }
    }

    /// Evicts values until their total cost is at most `cost`. Call it when memory is low.
    ///
    /// - Precondition: The cost isn't negative.
    public func trim(toCost cost: Int) { memory.trim(toCost: cost) }

    func trimMemory(toFraction fraction: Double) { memory.trim(toFraction: fraction) }

    func invalidate(_ key: ResourceKey) { memory.invalidate(key) }

    func invalidateAll() { memory.invalidateAll() }

    func remove(_ key: ResourceKey) { memory.supersede(key) }

    /// Removes all values from memory. The bytes stay on disk.
    public func removeAll() { memory.removeAll() }

    private func fresh(_ key: ResourceKey) -> Value? {
        guard let decoded = memory.value(for: key),
            resources.policy.isFresh(decoded.head, at: resources.now())
        else { return nil }
        if let row = decoded.row { resources.stage.storeIfOpen?.uses.note(row) }
        return decoded.value
    }

    private func loadedAgain(_ url: URL, _ visit: ResourceMemory<Decoded>.Visit) async throws -> Loaded {
        let key = visit.key
        let request = CacheRequest(TransportRequest(url), keepsInMemory: false)
        let (answer, data) = try await resources.dataAnswer(to: request)
        // The request itself may have stored the answer. Any change from now on means there is a newer one.
        let found = memory.visit(key)
        func keep(_ decoded: Decoded) {
            if visit.isCurrent { self.keep(decoded, found) }
        }
        if let old = memory.value(for: key), let stored = answer.stored, let row = old.row, row == stored.row {
            // The version is the same; the server may have confirmed it.
            keep(Decoded(value: old.value, head: stored.head, row: row))
            return Loaded(value: old.value, source: answer.response.source)
        }
        do {
            let value = try await decoded(data, of: url)
            if let stored = answer.stored {
                keep(Decoded(value: value, head: stored.head, row: stored.row))
            } else {
                memory.remove(key)
            }
            return Loaded(value: value, source: answer.response.source)
        } catch let error where !(error is CancellationError) && !resources.hasShutDown {
            if visit.isCurrent, found.isUnchanged {
                memory.remove(key)
                try? await resources.remove(url)
            }
            throw error
        }
    }

    /// Decodes in a task that the cache owns, off the caller's actor, because decoding takes milliseconds and a decoder may ignore
    /// cancellation.
    private func decoded(_ data: Data, of url: URL) async throws -> Value {
        let (promise, resolver) = Promise<Value, any Error>.makePromise()
        let task = resources.decodings.start(UUID(), priority: Task.currentPriority) { [decode] in
            do {
                resolver.succeed(try await decode(url, data))
            } catch {
                resolver.fail(error)
            }
        }
        guard let task else { throw ResourceCache.shutDown(url) }
        do {
            return try await task.value(of: promise)
        } catch is CancellationError where !Task.isCancelled && resources.hasShutDown {
            throw ResourceCache.shutDown(url)
        }
    }

    private func keep(_ decoded: Decoded, _ visit: ResourceMemory<Decoded>.Visit) {
        let texts = decoded.head.memoryCost + visit.key.text.utf8.count
        let (sum, overflows) = cost(decoded.value).addingReportingOverflow(max(ResourceCache.memoryOverhead, texts))
        memory.keep(visit) { _ in [(decoded, overflows ? .max : sum)] }
    }
}

extension ResourceCache {
    /// Returns a cache of values that are decoded from the resources of this cache.
    ///
    ///     let thumbnails = cache.decoded(cost: \.byteCount) { data in try Thumbnail(data) }
    ///
    /// Each call returns a separate cache, so call this once for each kind of value and keep the result.
    ///
    /// - Parameters:
    ///   - maximumMemorySize: The limit on the sum of the costs, usually in bytes. A value that costs more than a tenth of it isn't kept.
    ///   - cost: The cost of a value. It must not change.
    ///   - decode: A function that decodes a resource's bytes. It runs off the caller's actor, concurrently for several resources.
    /// - Precondition: Neither `maximumMemorySize` nor any cost is negative.
    public func decoded<Value: Sendable>(
        maximumMemorySize: Int = 64 << 20, cost: @escaping @Sendable (Value) -> Int,
        decode: @escaping @Sendable (Data) async throws -> Value
    ) -> DecodedCache<Value> {
        decoded(maximumMemorySize: maximumMemorySize, cost: cost) { _, data in try await decode(data) }
    }

    func decoded<Value: Sendable>(
        maximumMemorySize: Int, cost: @escaping @Sendable (Value) -> Int,
        decode: @escaping @Sendable (URL, Data) async throws -> Value
    ) -> DecodedCache<Value> {
        DecodedCache(self, maximumMemorySize: maximumMemorySize, cost: cost, decode: decode)
    }
}

// MARK: - The decoded caches of a cache

/// An in-memory cache of values made from a ``ResourceCache``'s responses. The resource cache tells it when they change.
protocol DependentCache: AnyObject, Sendable {
    func trimMemory(toFraction fraction: Double)
    /// The resource is out of date, and so is anything that is being made from it.
    func invalidate(_ key: ResourceKey)
    func invalidateAll()
    /// The resource has a newer response.
    func remove(_ key: ResourceKey)
}

/// The decoded caches of a cache, held weakly.
final class DecodedCaches: Sendable {
    private struct Entry {
        weak var cache: (any DependentCache)?
    }

    private let entries = Lock<[Entry]>([])

    func insert(_ cache: any DependentCache) {
        let others = entries.withLock { entries in
            let others = entries.compactMap(\.cache)
            entries = (others + [cache]).map { Entry(cache: $0) }
            return others
        }
        // These may be the last references, which must not be released under the lock.
        _ = others
    }

    var all: [any DependentCache] { entries.withLock { $0.compactMap(\.cache) } }
}
