public import HTTPTypes
import SluiceConcurrency
public import SluiceHTTP
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ResourceCache {
    /// Returns the bytes of a resource, from the cache or from its server.
    ///
    ///     let logo = try await cache.data(for: url)
    ///     let profile = try await cache.data(for: url, headerFields: [.authorization: token])
    ///
    /// The header fields are part of the request, as in ``response(for:mode:)``: a stored response is used only for requests to which the
    /// server would give the same response (`Vary`), and one to a request with `Authorization` only for requests with the same credentials.
    /// To keep a response out of the cache, send `Cache-Control: no-store`.
    ///
    /// Concurrent requests with the same URL and fields share one exchange, including those of ``response(for:mode:)``. A URL with a user
    /// name or password is fetched for this caller only, and its response isn't stored.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately. The fetch continues for other callers that wait for it.
    /// - Failure: A `TransferError`, including for a status other than 200 and 203, and for a body with a content coding.
    public func data(for url: URL, headerFields: HTTPFields = [:]) async throws -> Data {
        try checkOpen(for: url)
        if headerFields.isEmpty, !url.holdsCredentials {
            let key = ResourceKey(url)
            if let response = freshInMemory(key) {
                noteMemoryHit(response)
                return response.body
            }
            if let body = freshInVerifiedRow(key) { return body }
        }
        return try await dataAnswer(to: CacheRequest(TransportRequest(url, headerFields: headerFields))).data
    }

    /// Returns the response to a request, from the cache or from its server.
    ///
    ///     var request = TransportRequest(url, headerFields: [.acceptLanguage: "de"])
    ///     let page = try await cache.response(for: request)
    ///     print(page.status, page.headerFields[.age] ?? "new", page.source)
    ///     print(page.headerFields[.init("Cache-Status")!] ?? "")      // Sluice; hit; ttl=376
    ///
    /// Any status is a response, not an error. The method, the header fields and their `Cache-Control` have their usual meaning in HTTP
    /// (RFC 9111): a successful `POST`, `PUT` or `DELETE` removes the stored responses of its URL, `HEAD` and `Range` are answered from a
    /// stored response to `GET`, and responses that depend on header fields (`Vary`) are stored side by side.
    ///
    /// Concurrent `GET` requests with the same URL, header fields and mode share one exchange, unless a `PUT` or another change of the
    /// resource comes between them. Requests with a safe method are retried after transient errors. Responses to a URL with a user name or
    /// password aren't stored, and neither are responses to a `GET` or `HEAD` with a body: HTTP gives such a body no meaning, but a server
    /// may (RFC 9110, section 9.3.1).
    ///
    /// If the server allows it (`stale-while-revalidate`), a stale response is returned immediately. The cache validates it in the
    /// background, until ``shutdown()``.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately. The exchange continues for other callers that wait for it.
    /// - Failure: A `TransferError` if no response arrives, or only part of its body.
    public func response(
        for request: TransportRequest, mode: LookupMode = .useCache
    ) async throws -> CachedResponse {
        try checkOpen(for: request.url)
        let answer = try await answer(to: CacheRequest(request, mode: mode))
        var response = try await answer.whole(of: request.url, upTo: configuration.maximumResponseSize)
        response.headerFields.append(answer.cacheStatus)
        return response
    }

    /// Returns the response to a request, with a body that the caller reads as it arrives.
    ///
    ///     let response = try await cache.bytes(for: TransportRequest(url))
    ///     for try await chunk in response.body { try await player.play(chunk) }
    ///
    /// The rules are the same as for ``response(for:mode:)``, but a body takes the same amount of memory whatever its length, and
    /// ``Configuration/maximumResponseSize`` doesn't apply. Use it for responses that are too large for memory, or that are useful before
    /// they are complete.
    ///
    /// The body is stored on disk as it arrives, if it may be stored and is at most ``Configuration/maximumDiskEntrySize`` long. A large
    /// body is read from disk in pieces, after its digest has been verified. Streaming bodies reserve at most half of
    /// ``Configuration/maximumDiskSize``; beyond that, bodies aren't stored.
    ///
    /// **Sharing.** Callers that request the same response while it arrives share one exchange, and each reads it from the beginning. If
    /// the body is stored, each of them reads at its own speed. If it isn't, the slowest caller sets the pace, because only 1 MiB is held
    /// in memory. A caller that comes after the beginning has been dropped sends its own request.
    ///
    /// - Cancellation: The call, and the next chunk of the body, throw `CancellationError` immediately. The exchange ends with its last
    ///   reader, and the bytes so far are removed. A response that has arrived completely is stored even then.
    /// - Failure: A `TransferError`. An exchange that fails before its body is retried, as with ``response(for:mode:)``. If the body fails,
    ///   the error is thrown after the chunks that arrived before it.
    public func bytes(for request: TransportRequest, mode: LookupMode = .useCache) async throws -> StreamedResponse {
        try checkOpen(for: request.url)
        return try await answer(to: CacheRequest(request, mode: mode, isStreamed: true)).streamed(for: request.url)
    }

    /// Prefetches resources that will probably be needed soon, such as the images below the visible part of a list.
    ///
    ///     let prefetch = Task { await cache.prefetch(urls) }
    ///     // When the list disappears:
    ///     prefetch.cancel()
    ///
    /// The fetches have the lowest priority, so requests of other callers overtake them. Returns when all resources are in the cache or
    /// have failed. Failures are ignored; a later request for the resource reports them.
    ///
    /// - Cancellation: Returns soon. A fetch that another caller is waiting for continues, and its resource is stored.
    /// - Parameter urls: The resources, in the order in which they will be needed.
    public func prefetch(_ urls: some Sequence<URL>) async {
        await prefetch(urls) { _ = try await self.data(for: $0) }
    }
}

// MARK: - Responses

/// A response from ``ResourceCache/response(for:mode:)``, from the cache or from its server.
public struct CachedResponse: Sendable {
    /// Where a response came from.
    public struct Source: Sendable, Hashable, CustomStringConvertible {
        /// The word for the source, such as `memory`.
        public let description: String

        /// A stored response in memory.
        public static let memory = Self(description: "memory")
        /// A stored response on disk.
        public static let disk = Self(description: "disk")
        /// A stored response that its server just confirmed or completed.
        public static let validated = Self(description: "validated")
        /// The server.
        public static let network = Self(description: "network")
        /// The cache itself, because no suitable response is stored and the request doesn't allow contacting the server (504).
        public static let cache = Self(description: "cache")
    }

    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields. A stored response has its `Age`, and each response a `Cache-Status`, which says how the cache handled the request
    /// (RFC 9211).
    public var headerFields: HTTPFields
    /// The bytes of the body.
    public var body: Data
    /// Where the response came from.
    public var source: Source

    init(_ status: Int, _ headerFields: HTTPFields, _ body: Data, _ source: Source) {
        self.status = HTTPResponse.Status(code: status)
        self.headerFields = headerFields
        self.body = body
        self.source = source
    }
}

/// A response from ``ResourceCache/bytes(for:mode:)``, from the cache or from its server. Its body streams as the caller reads it.
public struct StreamedResponse: Sendable {
    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields. A stored response has its `Age`, and each response a `Cache-Status`, which says how the cache handled the request
    /// (RFC 9211).
    public var headerFields: HTTPFields
    /// The bytes of the body. Releasing the body before you have read all of it ends the exchange, unless another caller is reading it.
    public var body: ResponseBody
    /// Where the response came from.
    public var source: CachedResponse.Source
}

// MARK: - The answer to a request

extension ResourceCache {
    /// Returns the answer to a request, alone or together with other callers.
    ///
    /// If an exchange's callers differ in ``CacheRequest/keepsInMemory`` or ``CacheRequest/isStreamed``, the caller that started it
    /// decides.
    func answer(to request: CacheRequest) async throws -> Answer {
        let visit = memory.visit(request.resource)
        // Keep the generation from being reused while a caller waits.
        defer { withExtendedLifetime(visit) {} }
        guard request.isShared else { return try await attempts(request, visit, isOfCache: false) }
        let attempt = CacheAttempt(cache: self, request: request, visit: visit, isLast: true, isOfCache: false)
        if let answer = attempt.withoutWaiting() { return answer }
        let key = request.key.of(visit)
        if let (transfer, reader) = running.makeReader(for: key) {
            count { $0.coalesced += 1 }
            return Answer(transfer, reader).collapsed()
        }
        let began = Began()
        do {
            // The work is cancelled when all callers waiting for it are cancelled. An error goes to all of them, because the work has
            // already been retried after transient errors. A caller that only waits holds no permit from the limiter.
            let answer = try await flights.run(for: key) {
                began.isSet.store(true, ordering: .releasing)
                return try await self.attempts(request, visit, isOfCache: true)
            }
            if began.isSet.load(ordering: .acquiring) { return answer.forOneCaller() }
            count { $0.coalesced += 1 }
            return answer.forOneCaller().collapsed()
        } catch is CancellationError where !Task.isCancelled && hasShutDown {
            throw Self.shutDown(request.url)
        } catch let error as TransferError where error.code == .responseTooLarge && request.isStreamed {
            // Another caller wanted the whole body.
            return try await attempts(request, visit, isOfCache: false)
        }
    }

    /// Answers a request, with retries after transient errors. Holds a permit from the limiter during each exchange, but not between
    /// exchanges.
    private func attempts(_ request: CacheRequest, _ visit: Visit, isOfCache: Bool) async throws -> Answer {
        var random = SystemRandomNumberGenerator()
        var number = 1
        while true {
            let attempt = CacheAttempt(
                cache: self, request: request, visit: visit, isLast: number > configuration.retries.maximumRetries,
                isOfCache: isOfCache)
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
                try await whileOpen(for: request.url, isOfCache) { [clock] in try await clock.sleep(for: delay) }
                count { $0.retries += 1 }
                number += 1
            }
        }
    }
}

/// Whether a caller started the work itself or joined another caller's.
private final class Began: Sendable {
    let isSet = Atomic(false)
}

// MARK: - Data

extension ResourceCache {
    /// Returns the fresh, whole response to a request without header fields, if it is in memory. This is the common case, and must be fast.
    func freshInMemory(_ url: URL) -> StoredResponse? {
        url.holdsCredentials ? nil : freshInMemory(ResourceKey(url))
    }

    private func freshInMemory(_ key: ResourceKey) -> StoredResponse? {
        guard let kept = memory.value(for: key), kept.responses.count == 1, kept.areAll,
            let response = kept.responses.first, response.head.isUsableAsData,
            response.head.variant.matches([:], policy: policy), policy.isFresh(response.head, at: now())
        else { return nil }
        return response
    }

    /// Returns the body of a fresh, whole response on disk that this process has verified, if its bytes are in the page cache. Unlike an
    /// index lookup, this needs no thread hop.
    private func freshInVerifiedRow(_ key: ResourceKey) -> Data? {
        // Begin the visit first, so that an invalidation whose removal fails after the check ends it.
        let visit = memory.visit(key)
        guard !isOutOfDate(key) else { return nil }
        let found = stage.storeIfOpen?.verifiedBody(for: key) {
            $0.head.isUsableAsData && policy.isFresh($0.head, at: now())
        }
        guard let (row, body) = found else { return nil }
        count { $0.diskHits += 1 }
        keepInMemory(StoredResponse(head: row.head, body: body, row: row.id), visit, of: 1)
        return body
    }

    /// Returns the answer to a request for data, and its whole body.
    ///
    /// A stored success without the resource, such as a 204, isn't used, and neither is one with a content coding that another request
    /// asked for. They would cause errors for as long as they are fresh.
    func dataAnswer(to request: CacheRequest) async throws -> (answer: Answer, data: Data) {
        var answer = try await answer(to: request)
        let response = answer.response
        let isResource = [200, 203].contains(response.status.code) && response.headerFields.contentCoding == nil
        if response.source != .network, response.status.kind == .successful, !isResource {
            var reload = request
            reload.mode = .reload
            answer = try await self.answer(to: reload)
        }
        return (answer, try await data(of: answer, request.url))
    }

    /// Returns the whole body of a successful response, and throws other responses as errors.
    private func data(of answer: Answer, _ url: URL) async throws -> Data {
        let status = answer.response.status
        guard status.code == 200 || status.code == 203 else {
            var error = TransferError(status: status, url: url)
            error.retryAfter = RetryPolicy.retryAfter(in: answer.response.headerFields, now: now())
            error.attempts = answer.attempts
            throw error
        }
        if let coding = answer.response.headerFields.contentCoding {
            throw TransferError(.unexpectedCoding, url: url, detail: coding)
        }
        return try await answer.whole(of: url, upTo: configuration.maximumResponseSize).body
    }
}

// MARK: - Prefetching

extension ResourceCache {
    /// Calls `fetch` for each URL, in lowest-priority tasks. Runs no more of them than there can be exchanges, so the line of waiting
    /// fetches stays short.
    func prefetch(_ urls: some Sequence<URL>, _ fetch: @escaping @Sendable (URL) async throws -> Void) async {
        let waiting = AsyncQueue<URL>()
        for url in urls { waiting.enqueue(url) }
        waiting.finish()
        let (ended, end) = Condition.makeCondition()
        // An unstructured task, because a task that awaits another task or a group raises it to its own priority.
        let work = Task(priority: .background) {
            await withDiscardingTaskGroup { group in
                for _ in 0..<configuration.concurrency {
                    group.addTask {
                        while !Task.isCancelled, let url = waiting.tryDequeue() { try? await fetch(url) }
                    }
                }
            }
            end.signal()
        }
        await withTaskCancellationHandler {
            _ = await ended.wait()
        } onCancel: {
            work.cancel()
        }
    }
}
