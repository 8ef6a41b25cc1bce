import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// Operations on stored responses that send no request.
extension ResourceCache {
    /// Returns whether ``data(for:)`` would return a stored response without a request. Checks the memory and the index, but not the file.
    ///
    /// - Throws: An error of the index.
    public func contains(_ url: URL) async throws -> Bool {
        guard !url.holdsCredentials else { return false }
        if freshInMemory(url) != nil { return true }
        let key = ResourceKey(url)
        try await removeOutOfDateRows(key)
        let heads = try await disk.find(key, policy).ready.map(\.head).filter(\.isUsableAsData)
        return policy.selection(of: heads, for: TransportRequest(url), at: now())
            .map { policy.isFresh(heads[$0.0], at: now()) } ?? false
    }

    /// Stores bytes as if `url` had just returned them, and returns whether they are on disk.
    ///
    ///     try await cache.store(rendered, for: url, freshFor: .seconds(3600))
    ///
    /// The bytes replace a stored response. A fetch of the URL that is running returns its response to its callers, and doesn't store it.
    /// Bytes that are larger than the limit of a stage aren't stored in that stage. Nothing is stored for a URL with a user name or password,
    /// because stored responses are for all callers.
    ///
    /// - Throws: An error of the index, or a `FileError`. The bytes may be in memory even after an error.
    @discardableResult
    public func store(
        _ data: Data, for url: URL, freshFor lifetime: Duration = .seconds(365 * 86_400)
    ) async throws -> Bool {
        try checkOpen(for: url)
        guard !url.holdsCredentials else { return false }
        let now = now()
        let head = StoredResponse.Head(
            status: 200, fields: [.cacheControl: "max-age=\(max(0, lifetime.components.seconds))"],
            length: Int64(data.count), requested: now, received: now, policy: policy)
        let response = StoredResponse(head: head, body: data)
        let key = ResourceKey(url)
        forget(key)
        let visit = memory.visit(key)
        keepInMemory(response, visit, of: 1)
        var kept = response
        let change = memory.beginChange(visit)
        // Values that were decoded from the older response while this one was being stored
        defer { for cache in decodedCaches.all { cache.invalidate(key) } }
        do {
            let stored = try await disk.store(response, for: key, replacing: .all) { _ in visit.isCurrent }
            count { $0.evicted += stored.evicted }
            kept.row = stored.row
            if stored.row != nil { noteRemoval(of: key, hasFailed: false) }
        } catch {
            noteRemoval(of: key, hasFailed: true)
            end(change, keeping: response, of: 1)
            throw error
        }
        end(change, keeping: kept, of: 1)
        return kept.row != nil
    }

    /// Removes the stored responses of a URL, and the values that were decoded from them.
    ///
    /// A fetch of the URL that is running returns its response to its callers, and doesn't store it. Later requests don't join it.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func remove(_ url: URL) async throws { try await invalidate(ResourceKey(url)) }

    /// Removes all stored responses, and the values that were decoded from them. For running fetches, see ``remove(_:)``.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func removeAll() async throws {
        forgetAll()
        // What began after the first call may have read the rows.
        defer { forgetAll() }
        _ = try await disk.trim(toBytes: 0)
    }

    /// Removes the least recently used files until the remaining ones take at most `bytes`.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func trim(toBytes bytes: Int64) async throws {
        precondition(bytes >= 0, "The size to which a cache is trimmed must not be negative; it is \(bytes).")
        let evicted = try await disk.trim(toBytes: bytes)
        count { $0.evicted += evicted }
    }
}
