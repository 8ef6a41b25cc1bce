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
        let heads = try await disk.find(ResourceKey(url), policy).ready.map(\.head).filter(\.isUsableAsData)
        return policy.selection(of: heads, for: TransportRequest(url), at: now())
            .map { policy.isFresh(heads[$0.0], at: now()) } ?? false
    }

    /// Stores bytes as if `url` had just returned them, and returns whether they are on disk.
    ///
    ///     try await cache.store(rendered, for: url, freshFor: .seconds(3600))
    ///
    /// The bytes replace a stored response. If a fetch of the URL is running, its response replaces the bytes. Bytes that are larger than
    /// the limit of a stage aren't stored in that stage.
    ///
    /// - Precondition: The URL contains no user name or password, because stored responses are for all callers.
    /// - Throws: An error of the index, or a `FileError`. The bytes may be in memory even after an error.
    @discardableResult
    public func store(
        _ data: Data, for url: URL, freshFor lifetime: Duration = .seconds(365 * 86_400)
    ) async throws -> Bool {
        precondition(
            !url.holdsCredentials,
            "The URL of stored bytes must not have a user name or password; it is '\(url.redactedForDisplay)'.")
        try checkOpen(for: url)
        let now = now()
        let head = StoredResponse.Head(
            status: 200, fields: [.cacheControl: "max-age=\(max(0, lifetime.components.seconds))"],
            length: Int64(data.count), requested: now, received: now, policy: policy)
        var response = StoredResponse(head: head, body: data)
        let key = ResourceKey(url)
        keepInMemory(response, for: key, of: 1)
        let kept = try await disk.store(response, for: key, replacing: .all)
        count { $0.evicted += kept.evicted }
        response.row = kept.row
        if kept.row != nil { keepInMemory(response, for: key, of: 1) }
        return kept.row != nil
    }

    /// Removes the stored response of a URL. A running fetch of the URL still stores its response.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func remove(_ url: URL) async throws {
        let key = ResourceKey(url)
        memory.remove(key)
        try await disk.remove(key)
        // A concurrent lookup may have copied it from the disk to memory again.
        memory.remove(key)
    }

    /// Removes all stored responses. Running fetches still store their responses.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func removeAll() async throws {
        memory.removeAll()
        _ = try await disk.trim(toBytes: 0)
        memory.removeAll()
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
