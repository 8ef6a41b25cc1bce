#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
public import SluiceHTTP
import SluiceLock

/// A transport whose responses come from a cache, for code that takes any `Transport`, such as a download queue.
///
///     let cache = try await ResourceCache(
///         directory: directory, configuration: .init(retries: RetryPolicy(maximumRetries: 0)))
///     let transport = CachingTransport(cache)
///     let response = try await transport.open(TransportRequest(url))
///
/// `DownloadCoordinator(transport: transport)` downloads with it. A response is the one of ``ResourceCache/response(for:mode:)``: `Range`,
/// `If-Range` and conditional requests are answered from stored responses, and any status is a response. A response that can't be had from
/// the cache with ``ResourceCache/LookupMode/cacheOnly`` has the status 504. The transport doesn't shut the cache down.
///
/// - Large bodies: A body is in memory until it is read. A body that is larger than ``ResourceCache/Configuration/maximumResponseSize``
///   isn't stored: the request is sent again, with the transport of the cache, and its body streams. The limits on concurrent exchanges
///   don't count that second exchange.
/// - Retries: The cache tries again as its ``ResourceCache/Configuration/retries`` say. A download queue has retries, too, which would
///   multiply them. So give the cache of a queue none, as in the example.
/// - Redirects: The URL of a response is the URL of its request, even if the server has redirected it.
/// - Cancellation: The call throws `CancellationError` immediately, and the exchange continues for other callers that wait for it. The last
///   of the callers ends the exchange and waits for its end.
/// - Failure: A `TransferError` if no response has arrived, or only a part of its body. The cache keeps that part, and the next request
///   for the resource asks for the rest.
public struct CachingTransport: Transport {
    private let cache: ResourceCache
    private let mode: ResourceCache.LookupMode

    /// Creates a transport that uses the stored responses of a cache as `mode` says.
    public init(_ cache: ResourceCache, mode: ResourceCache.LookupMode = .useCache) {
        self.cache = cache
        self.mode = mode
    }

    /// Returns the response to a request, from the cache or from its server.
    public func open(_ request: TransportRequest) async throws -> TransportResponse {
        do {
            let response = try await cache.response(for: request, mode: mode)
            return TransportResponse(
                status: response.status, headerFields: response.headerFields, url: request.url,
                body: ResponseBody(WholeBody(response.body)))
        } catch let error as TransferError where error.code == .responseTooLarge && request.method == .get {
            // Only a request with a safe method may be sent twice.
            return try await cache.transport.open(request)
        }
    }
}

/// A body that has arrived.
private final class WholeBody: ResponseBodySource {
    private let rest: Lock<Data?>

    init(_ body: Data) { rest = Lock(body.isEmpty ? nil : body) }

    func nextBatch() async throws -> [Data]? {
        try Task.checkCancellation()
        return rest.withLock { $0.take() }.map { [$0] }
    }
}
