import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// What is kept, without asking a server.
extension ResourceCache {
    /// Whether ``data(for:)`` would answer without asking a server, so far as the index knows.
    ///
    /// - Throws: An error of the index.
    public func contains(_ url: URL) async throws -> Bool {
        guard !url.holdsCredentials else { return false }
        let key = ResourceKey(url)
        if memory.value(for: key)?.head.isFresh(at: now(), configuration.policy) == true { return true }
        return try await disk.head(for: key, configuration.maximumHeuristicLifetime)?
            .isFresh(at: now(), configuration.policy) == true
    }

    /// Keeps bytes as if they had come from `url` just now, and says whether they are on disk.
    ///
    ///     try await cache.store(rendered, for: url, freshFor: .seconds(3600))
    ///
    /// They replace what is kept. A fetch that is under way replaces them in turn. What is larger than the limits of an
    /// entry is not kept.
    ///
    /// - Precondition: the URL holds no user name or password; what is kept is for whoever asks for the URL.
    /// - Throws: An error of the index, or a `FileError`; they may be in memory even so.
    @discardableResult
    public func store(
        _ data: Data, for url: URL, freshFor lifetime: Duration = .seconds(365 * 86_400)
    ) async throws -> Bool {
        precondition(!url.holdsCredentials, "ResourceCache: what a URL with credentials brings is not kept")
        try checkOpen(for: url)
        let now = now()
        let head = StoredResponse.Head(
            status: 200, fields: [.cacheControl: "max-age=\(max(0, lifetime.components.seconds))"], requested: now,
            received: now, maximumHeuristicLifetime: .zero)
        var response = StoredResponse(head: head, body: data)
        let key = ResourceKey(url)
        keepInMemory(response, for: key)
        let kept = try await disk.store(response, for: key)
        count { $0.evicted += kept.evicted }
        response.row = kept.row
        if kept.row != nil { keepInMemory(response, for: key) }
        return kept.row != nil
    }

    /// Removes what is kept for a URL. A fetch that is under way still stores what it brings.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func remove(_ url: URL) async throws {
        let key = ResourceKey(url)
        memory.remove(key)
        try await disk.remove(key)
        // A lookup that ran beside it may have brought it back.
        memory.remove(key)
    }

    /// Removes all that is kept. Fetches that are under way still store what they bring.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func removeAll() async throws {
        memory.removeAll()
        _ = try await disk.trim(toBytes: 0)
        memory.removeAll()
    }

    /// Removes files, those that were not used for longest first, until they take no more than `bytes`.
    ///
    /// - Throws: An error of the index, or a `FileError`.
    public func trim(toBytes bytes: Int) async throws {
        precondition(bytes >= 0, "ResourceCache: a cache cannot be trimmed to a negative size")
        let evicted = try await disk.trim(toBytes: bytes)
        count { $0.evicted += evicted }
    }
}
