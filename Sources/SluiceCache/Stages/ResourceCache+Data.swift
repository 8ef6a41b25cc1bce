public import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// The way of a request, from top to bottom. Each stage has a file of its own:
//
//      data(for:)
//        1 memory     lookUpInMemory      ─ fresh ─▶ done
//        2 coalesce   alone or together   ─ one goes on, the others wait for it
//        3 disk       lookUpOnDisk        ─ fresh ─▶ keep in memory, done
//        4 fetch      fetch               ─ behind the limiter, again if that may help
//        5 keep       keep                ─ on disk, then in memory
extension ResourceCache {
    /// The bytes of a resource.
    ///
    ///     let image = try await cache.data(for: url)
    ///
    /// A URL with a user name or password is fetched for this caller alone, as with ``data(for:headerFields:)``.
    ///
    /// - Cancellation: returns at once; the fetch goes on for others that wait for it, and is cancelled with the last.
    /// - Throws: `TransferError`; `CancellationError`.
    public func data(for url: URL) async throws -> Data {
        try checkOpen(for: url)
        guard !url.holdsCredentials else { return try await fetchAlone(url, [:]) }
        let key = ResourceKey(url)
        if let data = lookUpInMemory(key) { return data }
        return try await together(key) {
            // Another flight may have landed since the first look.
            if let data = self.lookUpInMemory(key) { return data }
            let kept = try await self.lookUpOnDisk(key) ?? self.memory.value(for: key)
            if let kept, kept.head.isFresh(at: self.now(), self.configuration.policy) { return kept.body }
            let response = try await self.fetch(url, validating: kept)
            return await self.keep(response, for: key, inPlaceOf: kept).body
        }
    }

    /// The bytes of a resource, asked for with fields of the caller's own, for this caller alone.
    ///
    ///     let page = try await cache.data(for: url, headerFields: [.authorization: token])
    ///
    /// A response to such a request may be for one user, or one language, only. So it is neither looked up, nor shared with
    /// those who ask at the same time, nor kept; the limits hold, and failures are retried. Without fields this is the same
    /// as ``data(for:)``.
    ///
    /// - Cancellation: ends the exchange.
    /// - Throws: `TransferError`; `CancellationError`.
    public func data(for url: URL, headerFields: HTTPFields) async throws -> Data {
        try checkOpen(for: url)
        return headerFields.isEmpty ? try await data(for: url) : try await fetchAlone(url, headerFields)
    }

    private func fetchAlone(_ url: URL, _ headerFields: HTTPFields) async throws -> Data {
        try await fetch(url, headerFields).body
    }
}
