public import SluiceHTTP

/// A transport whose responses come from a cache, for code that takes any `Transport`, such as a download queue.
///
///     let cache = ResourceCache(
///         directory: directory, configuration: .init(retries: RetryPolicy(maximumRetries: 0)))
///     let transport = CachingTransport(cache)
///     let response = try await transport.open(TransportRequest(url))
///
/// To download through the cache, use `DownloadCoordinator(transport: transport)`. The transport returns the same responses as
/// ``ResourceCache/bytes(for:mode:)``: `Range`, `If-Range` and conditional requests are answered from stored responses, and any status is a
/// response. With ``ResourceCache/LookupMode/cacheOnly``, the status is 504 if the cache can't answer. The transport doesn't shut the cache
/// down.
///
/// - Bodies: They stream as they arrive. A body larger than ``ResourceCache/Configuration/maximumDiskEntrySize`` isn't stored.
/// - Retries: The cache retries according to its ``ResourceCache/Configuration/retries``. A download queue retries, too, so the retries
///   would multiply. Turn them off in a queue's cache, as in the example.
/// - Redirects: A response has the URL of its request, even if the server redirected it.
/// - Cancellation: The call, and the next chunk of a body, throw `CancellationError` immediately. The exchange continues for its other
///   callers.
/// - Failure: A `TransferError`. If a body fails, the cache stores the part that arrived, provided that it can be completed later (it has a
///   strong validator). The next request for the resource then asks for the rest.
public struct CachingTransport: Transport {
    private let cache: ResourceCache
    private let mode: ResourceCache.LookupMode

    /// Creates a transport that uses a cache's stored responses according to `mode`.
    public init(_ cache: ResourceCache, mode: ResourceCache.LookupMode = .useCache) {
        self.cache = cache
        self.mode = mode
    }

    /// Returns the response to a request, from the cache or from its server.
    public func open(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await cache.bytes(for: request, mode: mode)
        return TransportResponse(
            status: response.status, headerFields: response.headerFields, url: request.url, body: response.body)
    }
}
