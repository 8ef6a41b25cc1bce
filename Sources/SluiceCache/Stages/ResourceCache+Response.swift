import HTTPTypes
public import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ResourceCache {
    /// Returns the response to a request, from the cache or from its server.
    ///
    ///     var request = TransportRequest(url, headerFields: [.acceptLanguage: "de"])
    ///     let page = try await cache.response(for: request)
    ///     print(page.status, page.headerFields[.age] ?? "new", page.source)
    ///
    /// Any status is a response and not an error. The method, the header fields and their `Cache-Control` have the meaning that HTTP gives
    /// them (RFC 9111): a successful `POST`, `PUT` or `DELETE` removes the stored responses of its URL, `HEAD` and `Range` are answered
    /// from a stored response to `GET`, and responses that depend on header fields (`Vary`) are stored side by side.
    ///
    /// Concurrent `GET` requests with the same URL, header fields and mode share one exchange, unless a `PUT` or another change of the
    /// resource comes between them. Requests with a safe method are sent again after transient errors. Responses to a URL with a user name
    /// or password aren't stored, nor are those to a `GET` or `HEAD` with a body: HTTP gives such a body no meaning, but a server may (RFC
    /// 9110, section 9.3.1).
    ///
    /// A stale response whose server allows that (`stale-while-revalidate`) is returned immediately. The cache validates it in the
    /// background, until ``shutdown()``.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately. The exchange continues for other callers that wait for it.
    /// - Failure: A `TransferError` if no response has arrived, or only a part of its body.
    public func response(
        for request: TransportRequest, mode: LookupMode = .useCache
    ) async throws -> CachedResponse {
        try checkOpen(for: request.url)
        return try await answer(to: CacheRequest(request, mode: mode))
            .whole(of: request.url, upTo: configuration.maximumResponseSize)
    }

    /// Returns the answer to a request, alone or together with other callers.
    ///
    /// If the callers of one exchange differ in ``CacheRequest/keepsInMemory`` or ``CacheRequest/isStreamed``, the one that began it
    /// decides.
    func answer(to request: CacheRequest) async throws -> Answer {
        let visit = memory.visit(ResourceKey(request.url))
        // While a caller waits, the generation isn't used again.
        defer { withExtendedLifetime(visit) {} }
        guard request.isShared else { return try await attempts(request, visit) }
        let key = request.key.of(visit)
        if let (transfer, reader) = running.makeReader(for: key) {
            count { $0.coalesced += 1 }
            return Answer(transfer, reader)
        }
        do {
            return try await together(key) { try await self.attempts(request, visit) }.forOneCaller()
        } catch let error as TransferError where error.code == .responseTooLarge && request.isStreamed {
            // Another caller wanted the whole body.
            return try await attempts(request, visit)
        }
    }

    /// Answers a request, and tries again after transient errors. Holds a place of the limiter during each exchange, but not between
    /// exchanges.
    func attempts(_ request: CacheRequest, _ visit: Visit) async throws -> Answer {
        var random = SystemRandomNumberGenerator()
        var number = 1
        while true {
            let attempt = CacheAttempt(
                cache: self, request: request, visit: visit, isLast: number > configuration.retries.maximumRetries)
            do {
                var answer = try await attempt.answer()
                answer.attempts = number
                return answer
            } catch var error as TransferError {
                error.attempts = number
                let delay =
                    request.isSafe && error.isTransient && !Task.isCancelled
                    ? configuration.retries.delay(beforeRetry: number, retryAfter: error.retryAfter, using: &random)
                    : nil
                guard let delay else { return try await attempt.stale(after: error) }
                try await whileOpen(for: request.url) { [clock] in try await clock.sleep(for: delay) }
                count { $0.retries += 1 }
                number += 1
            }
        }
    }
}

/// A request to the cache.
struct CacheRequest: Sendable {
    var transport: TransportRequest
    var mode: ResourceCache.LookupMode
    /// Whether a response is stored in memory.
    var keepsInMemory: Bool
    /// Whether the response is for one caller: it isn't looked up or stored. That is the case for a URL with credentials, and for a `GET`
    /// with a body, which isn't part of the key.
    var isAlone: Bool
    /// Whether the caller reads the body while it arrives.
    var isStreamed: Bool

    init(
        _ transport: TransportRequest, mode: ResourceCache.LookupMode = .useCache, keepsInMemory: Bool = true,
        isAlone: Bool = false, isStreamed: Bool = false
    ) {
        self.transport = transport
        self.mode = mode
        self.keepsInMemory = keepsInMemory
        let hasBody = transport.body != nil && (transport.method == .get || transport.method == .head)
        self.isAlone = isAlone || transport.url.holdsCredentials || hasBody
        self.isStreamed = isStreamed
    }

    var url: URL { transport.url }
    var headerFields: HTTPFields { transport.headerFields }
    var host: String { url.canonicalHost }
    var isShared: Bool { transport.method == .get && transport.body == nil && !isAlone }
    var arrives: Bool { isStreamed && transport.method == .get }
    var isSafe: Bool { CachePolicy.safeMethods.contains(transport.method) }
    var key: ResponseKey { ResponseKey(transport, mode) }
}

/// The result of a request to the cache.
struct Answer: Sendable {
    /// The response. Its body is empty if it is in `stream`.
    var response: CachedResponse
    var stream: Stream?
    /// The stored response that the answer is, or that it was just stored as.
    var stored: Stored?
    /// The number of attempts.
    var attempts = 1

    struct Stored: Sendable {
        var head: StoredResponse.Head
        /// The version of the response on disk; `nil` if it isn't on disk.
        var row: Int64?
    }
}

/// Requests with equal keys have the same response.
struct ResponseKey: Hashable, Sendable {
    var resource: ResourceKey
    var fields: HTTPFields
    var mode: ResourceCache.LookupMode
    /// The state of the resource: a request that follows a `PUT` has another one than a request that came before it.
    var generation: UInt64 = 0

    func of(_ visit: ResourceCache.Visit) -> Self {
        var key = self
        key.generation = visit.generation
        return key
    }

    init(_ request: TransportRequest, _ mode: ResourceCache.LookupMode = .useCache) {
        resource = ResourceKey(request.url)
        fields = request.headerFields
        self.mode = mode
    }
}
