import SluiceConcurrency
import SluiceFiles
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
/// ``ResourceCache/data(for:headerFields:)``, and are decoded once for all waiting callers. The bytes aren't kept in memory. The article
/// <doc:Images> describes images, which are decoded in the sizes that views need.
///
/// **Freshness.** A value is as fresh as the response that it was decoded from. A stale response is validated with its server. If the
/// server confirms it, the value stays and isn't decoded again. Anything that removes or replaces the response in the cache, such as a
/// `PUT` or ``ResourceCache/remove(_:)``, removes the value, too, in all sizes.
///
/// **Files.** A value can also be decoded from a `file:` URL. It stays in memory until it is evicted, and is fresh while the file's size,
/// modification time and inode number are the same. Nothing is stored on disk.
///
/// **Closures.** The bytes of ``value(for:data:)`` come from a closure. The value stays in memory until it is evicted or removed.
///
/// **Failure.** If a response can't be decoded, it is removed from the cache, and the next call fetches it again.
///
/// **Cancellation.** A cancelled caller throws immediately. Decoding is cancelled when its last caller is cancelled. A decoder that ignores
/// cancellation keeps running, and its value is dropped; shutting down the cache waits for it.
///
/// - Complexity: A hit takes three short locks and doesn't suspend, except for files.
public final class DecodedCache<Value: Sendable>: Sendable, DependentCache {
    /// The cache of the bytes.
    public let resources: ResourceCache

    private struct Decoded: Sendable {
        var values: SizedValues<Value>
        var origin: Origin
    }

    /// What the values were decoded from.
    private enum Origin: Sendable {
        /// The row is the version of the response on disk.
        case response(StoredResponse.Head, RowReference)
        case file(FileVersion)
        case closure

        var head: StoredResponse.Head? {
            if case .response(let head, _) = self { head } else { nil }
        }

        /// Whether values of the same resource were decoded from the same bytes. Responses that aren't on disk may differ.
        func hasSameBytes(as other: Self) -> Bool {
            switch (self, other) {
            case (.response(_, let location), .response(_, let other)):
                location === other || location.row != nil && location.row == other.row
            case (.file(let version), .file(let otherVersion)): version == otherVersion
            case (.closure, .closure): true
            default: false
            }
        }
    }

    private struct Loaded: Sendable {
        var value: Value
        var source: CachedResponse.Source
    }

    /// Callers with the same generation and size can share a decoding.
    private struct Flight: Hashable, Sendable {
        var key: ResourceKey
        var generation: UInt64
        var size: Int
    }

    private let memory: ResourceMemory<Decoded>
    private let flights = SingleFlight<Flight, Loaded>()
    private let decoder: ValueDecoder<Value>

    init(_ resources: ResourceCache, maximumMemorySize: Int, _ decoder: ValueDecoder<Value>) {
        self.resources = resources
        self.decoder = decoder
        memory = ResourceMemory(maximumCost: maximumMemorySize)
        resources.decodedCaches.insert(self)
    }

    // MARK: Values

    /// Returns the value of a resource, from memory, the disk or its server, or of a file.
    ///
    ///     let photo = try await images.value(for: URL(filePath: "photo.jpg"))
    ///
    /// A resource whose URL has a user name or password is fetched and decoded for this caller only. A file may have at most
    /// ``ResourceCache/Configuration/maximumResponseSize`` bytes.
    ///
    /// - Throws: `TransferError`; `FileError` for a `file:` URL; the error of the decoder; `CancellationError` if the calling task is
    ///   cancelled.
    public func value(for url: URL) async throws -> Value { try await value(for: url, size: decoder.size) }

    /// Returns the value if it is in memory and fresh, without waiting, for example for the first frame of a view.
    ///
    /// The value of a file may be out of date, because looking at the file would take time. ``value(for:)`` looks.
    public func valueInMemory(for url: URL) -> Value? { valueInMemory(for: url, size: decoder.size) }

    /// Returns the value that is decoded from the bytes of a closure, for example of a photo library.
    ///
    ///     let photo = try await images.value(for: asset.identifier) { try await library.data(of: asset) }
    ///
    /// The closure is called if the value isn't in memory, once for all waiting callers. The value isn't stored on disk.
    ///
    /// - Parameters:
    ///   - key: The name of the value in this cache. If the photo changes, use another key, or call ``removeValue(for:)``. Keys aren't URLs:
    ///     `value(for: "http://…")` fetches nothing.
    ///   - data: Returns the bytes. Its task is cancelled when all waiting callers are cancelled.
    /// - Throws: The error of the closure or the decoder; `TransferError` with the code `unexpectedContent` or `shutDown`;
    ///   `CancellationError` if the calling task is cancelled.
    public func value(for key: String, data: @escaping @Sendable () async throws -> Data) async throws -> Value {
        try await value(for: key, size: decoder.size, data)
    }

    /// Returns the value that was decoded from a closure's bytes, if it is in memory.
    public func valueInMemory(for key: String) -> Value? { inMemory(ResourceKey(ofClosure: key), decoder.size) }

    /// Removes the value of a closure's key from memory, in all sizes. Running decodings return their values, but don't keep them.
    public func removeValue(for key: String) { memory.invalidate(ResourceKey(ofClosure: key)) }

    /// Fetches and decodes resources that will probably be needed soon, at the lowest priority. See ``ResourceCache/prefetch(_:)``.
    public func prefetch(_ urls: some Sequence<URL>) async {
        await resources.prefetch(urls) { _ = try await self.value(for: $0) }
    }

    // MARK: Removal

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

    // MARK: Lookup

    /// Returns the value of a size, or the smallest larger one if there is none.
    func valueInMemory(for url: URL, size: Int?, orLarger: Bool = false) -> Value? {
        url.holdsCredentials ? nil : inMemory(ResourceKey(url), size ?? decoder.size, orLarger: orLarger)
    }

    private func inMemory(_ key: ResourceKey, _ size: Int, orLarger: Bool = false) -> Value? {
        guard let decoded = memory.value(for: key),
            let value = decoded.values.value(ofSize: size)
                ?? (orLarger ? decoded.values.value(largerThan: size) : nil)
        else { return nil }
        if case .response(let head, let location) = decoded.origin {
            guard resources.policy.isFresh(head, at: resources.now()) else { return nil }
            if let row = location.row { resources.stage.storeIfOpen?.uses.note(row) }
        }
        return value
    }

    func value(for url: URL, size: Int) async throws -> Value {
        try resources.checkOpen(for: url)
        if !url.isFileURL, let value = valueInMemory(for: url, size: size) { return value }
        return try await loaded(url, size).0
    }

    func value(
        for key: String, size: Int, _ data: @escaping @Sendable () async throws -> Data
    ) async throws -> Value {
        let source = ValueSource.closure(key: key)
        guard !resources.hasShutDown else { throw source.shutDown }
        let key = ResourceKey(ofClosure: key)
        if let value = inMemory(key, size) { return value }
        return try await shared(key, size) { [self] visit in
            // Another caller's work may have finished since the first lookup.
            if let value = inMemory(key, size) { return Loaded(value: value, source: .memory) }
            let value = try await decoded(data(), of: source, size)
            if visit.isCurrent { keep(value, size, .closure, memory.visit(key)) }
            return Loaded(value: value, source: .disk)
        }.value
    }

    /// Returns the value, and where its bytes came from.
    func loaded(_ url: URL, _ size: Int? = nil) async throws -> (Value, CachedResponse.Source) {
        let size = size ?? decoder.size
        try resources.checkOpen(for: url)
        guard url.isFileURL || !url.holdsCredentials else {
            return (try await decoded(resources.data(for: url), of: .resource(url), size), .network)
        }
        let loaded = try await shared(ResourceKey(url), size) { [self] visit in
            if url.isFileURL { return try await loadedFile(url, size, visit) }
            if let value = inMemory(visit.key, size) { return Loaded(value: value, source: .memory) }
            return try await loadedAgain(url, size, visit)
        }
        return (loaded.value, loaded.source)
    }

    private func shared(
        _ key: ResourceKey, _ size: Int,
        _ load: @escaping @Sendable (ResourceMemory<Decoded>.Visit) async throws -> Loaded
    ) async throws -> Loaded {
        let visit = memory.visit(key)
        // Keep the generation from being reused while a caller waits.
        defer { withExtendedLifetime(visit) {} }
        return try await flights.run(for: Flight(key: key, generation: visit.generation, size: size)) {
            try await load(visit)
        }
    }

    /// Returns a function that decodes the beginnings of a response, or `nil` if the values have none.
    func partDecoder(_ size: Int?) -> (@Sendable (Data) -> Value?)? { decoder.partDecoder?(size ?? decoder.size) }

    // MARK: Loading

    private func loadedAgain(_ url: URL, _ size: Int, _ visit: ResourceMemory<Decoded>.Visit) async throws -> Loaded {
        let key = visit.key
        if let value = try await storedCopy(
            size, visit,
            where: { [resources] in
                resources.policy.isFresh($0.head, at: resources.now())
            })
        {
            resources.count { $0.diskHits += 1 }
            return Loaded(value: value, source: .disk)
        }
        let request = CacheRequest(TransportRequest(url), keepsInMemory: false)
        let (answer, data) = try await resources.dataAnswer(to: request)
        // The request itself may have stored the answer. Any change from now on means there is a newer one.
        let found = memory.visit(key)
        let stored = answer.stored
        if let stored, let value = confirmed(key, size, stored) {
            if visit.isCurrent { keep(value, size, .response(stored.head, stored.location), found) }
            return Loaded(value: value, source: answer.response.source)
        }
        // The original was stale and has been confirmed.
        if let row = stored?.row, answer.response.source != .network,
            let value = try await storedCopy(size, visit, where: { $0.row == row })
        {
            return Loaded(value: value, source: answer.response.source)
        }
        do {
            let value = try await decoded(data, of: .resource(url), size)
            if let stored {
                if visit.isCurrent { keep(value, size, .response(stored.head, stored.location), found) }
                storeCopy(of: value, size, from: data, stored.location, key)
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

    /// Returns the value of a stored copy, without reading the original, and keeps it in memory.
    private func storedCopy(
        _ size: Int, _ visit: ResourceMemory<Decoded>.Visit, where isUsable: @Sendable (Answer.Stored) -> Bool
    ) async throws -> Value? {
        guard decoder.copies != nil else { return nil }
        let found = memory.visit(visit.key)
        guard let copy = try await resources.copy(of: visit.key, size: size, where: isUsable) else { return nil }
        // The bytes are the ones that were stored, so a copy that can't be decoded was made by another version of the program.
        guard let value = try? await decoded(copy.data, of: .closure(key: visit.key.text), size) else {
            try Task.checkCancellation()
            return nil
        }
        let original = copy.original
        if visit.isCurrent { keep(value, size, .response(original.head, original.location), found) }
        return value
    }

    /// Stores a copy after the caller has its value.
    private func storeCopy(
        of value: Value, _ size: Int, from data: Data, _ location: RowReference, _ key: ResourceKey
    ) {
        guard let copies = decoder.copies, copies.areWorthStoring(value, data) else { return }
        resources.decodings.start(UUID(), priority: Task.currentPriority) { [resources] in
            guard let copy = await copies.encode(value) else { return }
            // The original may still be in the backlog.
            await resources.backlog.wait(for: key)
            guard let row = location.row else { return }
            await resources.storeCopy(copy, size: size, of: row, key)
        }
    }

    /// Returns a value in memory that was decoded from a stored response, which the server may just have confirmed.
    private func confirmed(_ key: ResourceKey, _ size: Int, _ stored: Answer.Stored) -> Value? {
        guard let decoded = memory.value(for: key), case .response(_, let location) = decoded.origin,
            let row = location.row, row == stored.row
        else { return nil }
        return decoded.values.value(ofSize: size)
    }

    private func loadedFile(_ url: URL, _ size: Int, _ visit: ResourceMemory<Decoded>.Visit) async throws -> Loaded {
        let version = try await FileVersion(of: url, using: resources.files)
        if let decoded = memory.value(for: visit.key), case .file(version) = decoded.origin,
            let value = decoded.values.value(ofSize: size)
        {
            return Loaded(value: value, source: .memory)
        }
        let found = memory.visit(visit.key)
        let data = try await Data(
            asyncContentsOf: url, maximumSize: resources.configuration.maximumResponseSize, using: resources.files)
        // A file that was written meanwhile may have had old and new bytes.
        let isSame = try await FileVersion(of: url, using: resources.files) == version
        let value = try await decoded(data, of: .file(url), size)
        if isSame, visit.isCurrent { keep(value, size, .file(version), found) }
        return Loaded(value: value, source: .disk)
    }

    /// Decodes in a task that the cache owns, off the caller's actor, because decoding takes milliseconds and a decoder may ignore
    /// cancellation.
    private func decoded(_ data: Data, of source: ValueSource, _ size: Int) async throws -> Value {
        let (promise, resolver) = Promise<Value, any Error>.makePromise()
        let task = resources.decodings.start(UUID(), priority: Task.currentPriority) { [decoder] in
            do {
                resolver.succeed(try await decoder.decode(source, data, size))
            } catch {
                resolver.fail(error)
            }
        }
        guard let task else { throw source.shutDown }
        do {
            return try await task.value(of: promise)
        } catch is CancellationError where !Task.isCancelled && resources.hasShutDown {
            throw source.shutDown
        }
    }

    /// Keeps a value beside the other sizes of the same bytes, and instead of older ones.
    private func keep(_ value: Value, _ size: Int, _ origin: Origin, _ visit: ResourceMemory<Decoded>.Visit) {
        let texts = visit.key.text.utf8.count + (origin.head?.memoryCost ?? 0)
        let (extent, cost) = (decoder.extent(value), decoder.cost(value))
        memory.keep(visit) { kept in
            var candidates: [Decoded] = [Decoded(values: SizedValues(), origin: origin)]
            if let kept, kept.origin.hasSameBytes(as: origin) {
                candidates.insert(Decoded(values: kept.values, origin: origin), at: 0)
            }
            return candidates.map { candidate in
                var decoded = candidate
                decoded.values.insert(value, size: size, extent: extent, cost: cost)
                let (sum, overflows) = decoded.values.cost
                    .addingReportingOverflow(max(ResourceCache.memoryOverhead, texts))
                return (decoded, overflows ? .max : sum)
            }
        }
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
        DecodedCache(
            self, maximumMemorySize: maximumMemorySize,
            ValueDecoder(cost: cost) { _, data, _ in try await decode(data) })
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
