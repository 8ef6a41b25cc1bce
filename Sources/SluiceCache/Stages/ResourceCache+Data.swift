public import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// The stages of a request. Each stage has its own file:
//
//      data(for:)
//        1 memory     lookUpInMemory      ─ fresh ─▶ done
//        2 coalesce   alone or together   ─ one caller continues, the others wait for it
//        3 disk       lookUpOnDisk        ─ fresh ─▶ store in memory, done
//        4 fetch      fetch               ─ behind the limiter, with retries
//        5 keep       keep                ─ on disk, then in memory
extension ResourceCache {
    /// Returns the bytes of a resource, from the cache or from its server.
    ///
    /// A URL with a user name or password is fetched for this caller only, as with ``data(for:headerFields:)``.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately. The fetch continues for other callers that wait for it.
    /// - Failure: A `TransferError`.
    public func data(for url: URL) async throws -> Data {
        try checkOpen(for: url)
        guard !url.holdsCredentials else { return try await fetchAlone(url, [:]) }
        let key = ResourceKey(url)
        if let response = lookUpInMemory(key) { return response.body }
        return try await response(for: url, key, keepsInMemory: true).body
    }

    /// The stages after the first one.
    ///
    /// - Parameter keepsInMemory: Whether the response is stored in memory. A caller that waits for the same fetch may decide differently;
    ///   then the one that began it decides.
    func response(for url: URL, _ key: ResourceKey, keepsInMemory: Bool) async throws -> StoredResponse {
        try await together(flights, key) {
            // Another caller's work may have ended since the first lookup.
            if let response = self.lookUpInMemory(key) { return response }
            let kept =
                try await self.lookUpOnDisk(key, for: TransportRequest(url), keepsInMemory: keepsInMemory)
                ?? self.memory.value(for: key)
            if let kept, self.policy.isFresh(kept.head, at: self.now()) { return kept }
            do {
                let response = try await self.fetch(url, validating: kept)
                return await self.keep(response, for: key, inPlaceOf: kept, keepsInMemory: keepsInMemory)
            } catch let error as TransferError {
                guard let kept, self.mayAnswer(kept, after: error, url) else { throw error }
                return kept
            }
        }
    }

    /// Returns whether the stale response may be used because its server failed (`stale-if-error`).
    private func mayAnswer(_ kept: StoredResponse, after error: TransferError, _ url: URL) -> Bool {
        guard error.isTransient, error.status.map({ CachePolicy.failures.contains($0.code) }) ?? true else {
            return false
        }
        return policy.staleResponse(
            for: TransportRequest(url), stored: [kept.head], at: now(), isOffline: error.status == nil) != nil
    }

    /// Returns the bytes of a resource, requested with the given header fields and for this caller only.
    ///
    ///     let page = try await cache.data(for: url, headerFields: [.authorization: token])
    ///
    /// The response may depend on the fields, for example on the user or the language. So the cache doesn't look it up, share it with
    /// concurrent callers or store it. The limits and retries apply. With empty fields, the method is the same as ``data(for:)``.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately, and the exchange ends.
    /// - Failure: A `TransferError`.
    public func data(for url: URL, headerFields: HTTPFields) async throws -> Data {
        try checkOpen(for: url)
        return headerFields.isEmpty ? try await data(for: url) : try await fetchAlone(url, headerFields)
    }

    private func fetchAlone(_ url: URL, _ headerFields: HTTPFields) async throws -> Data {
        try await fetch(url, headerFields).body
    }
}
