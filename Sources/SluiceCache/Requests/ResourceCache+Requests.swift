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
    /// Concurrent requests for the URL share one exchange, including requests of ``response(for:mode:)`` without header fields. A URL with a user
    /// name or password is fetched for this caller only, as with ``data(for:headerFields:)``.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately. The fetch continues for other callers that wait for it.
    /// - Failure: A `TransferError`, also for a status other than 200 and 203, and for a body with a content coding.
    public func data(for url: URL) async throws -> Data {
        try checkOpen(for: url)
        if let response = freshInMemory(url) {
            noteMemoryHit(response)
            return response.body
        }
        if let body = freshInVerifiedRow(url) { return body }
        return try await dataAnswer(to: CacheRequest(TransportRequest(url))).data
    }

    /// Returns the bytes of a resource, requested with the given header fields and for this caller only.
    ///
    ///     let page = try await cache.data(for: url, headerFields: [.authorization: token])
    ///
    /// The cache doesn't look the response up, share it with concurrent callers or store it. The limits and retries apply. If the response
    /// may be stored as HTTP's rules allow, use ``response(for:mode:)``. With empty fields, the method is the same as ``data(for:)``.
    ///
    /// - Cancellation: The call throws `CancellationError` immediately, and the exchange ends.
    /// - Failure: A `TransferError`, as with ``data(for:)``.
    public func data(for url: URL, headerFields: HTTPFields) async throws -> Data {
        guard !headerFields.isEmpty else { return try await data(for: url) }
        try checkOpen(for: url)
        let request = CacheRequest(TransportRequest(url, headerFields: headerFields), isAlone: true)
        return try await data(of: attempts(request, memory.visit(ResourceKey(url))), url)
    }

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

    /// Returns the response to a request, with a body that the caller reads while it arrives.
    ///
    ///     let response = try await cache.bytes(for: TransportRequest(url))
    ///     for try await chunk in response.body { try await player.play(chunk) }
    ///
    /// The rules are the same as for ``response(for:mode:)``, but the memory that a body takes doesn't depend on its length, and
    /// ``Configuration/maximumResponseSize`` doesn't apply. Use it for responses that are larger than memory allows, or that are useful
    /// before they are complete.
    ///
    /// The body is stored on disk while it arrives, if it may be stored and is at most ``Configuration/maximumDiskEntrySize`` long. A large
    /// body comes from the disk in pieces, after its digest has been compared. Bodies that arrive reserve at most half of
    /// ``Configuration/maximumDiskSize``; a further one isn't stored.
    ///
    /// **Sharing.** Callers that request the same response while it arrives read the same exchange, each from the beginning. If the body is
    /// stored, each of them reads at its own speed. If it isn't stored, the slowest caller sets the speed, because only 1 MiB is held in
    /// memory. A caller that comes after the beginning has been dropped sends its own request.
    ///
    /// - Cancellation: The call, and the next chunk of the body, throw `CancellationError` immediately. The exchange ends with its last
    ///   reader, and what has arrived is removed. A response that has arrived completely is stored even then.
    /// - Failure: A `TransferError`. An exchange that fails before its body is tried again, as with ``response(for:mode:)``; an error of the
    ///   body is thrown after the chunks that arrived before it.
    public func bytes(for request: TransportRequest, mode: LookupMode = .useCache) async throws -> StreamedResponse {
        try checkOpen(for: request.url)
        return try await answer(to: CacheRequest(request, mode: mode, isStreamed: true)).streamed(for: request.url)
    }

    /// Fetches resources in advance that will probably be needed soon, such as the images below the visible part of a list.
    ///
    ///     let prefetch = Task { await cache.prefetch(urls) }
    ///     // When the list disappears:
    ///     prefetch.cancel()
    ///
    /// The fetches have the lowest priority, so requests of other callers overtake them. Returns when all resources are in the cache or
    /// have failed. A failure has no effect: a later request for the resource reports it.
    ///
    /// - Cancellation: Returns soon. A fetch that another caller waits for continues, and its resource is stored.
    /// - Parameter urls: The resources, in the order in which they will be needed.
    public func prefetch(_ urls: some Sequence<URL>) async {
        await prefetch(urls) { _ = try await self.data(for: $0) }
    }
}

// MARK: - Responses

/// The response of ``ResourceCache/response(for:mode:)``, from the cache or from its server.
public struct CachedResponse: Sendable {
    /// Where a response came from.
    public struct Source: Sendable, Hashable, CustomStringConvertible {
        /// The word for the source, such as `memory`.
        public let description: String

        /// A stored response in memory.
        public static let memory = Self(description: "memory")
        /// A stored response on disk.
        public static let disk = Self(description: "disk")
        /// A stored response that its server has just confirmed or completed.
        public static let validated = Self(description: "validated")
        /// The server.
        public static let network = Self(description: "network")
        /// The cache itself: no suitable response is stored, and the request doesn't allow to ask the server (504).
        public static let cache = Self(description: "cache")
    }

    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields. A stored response has its `Age`.
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

/// The response of ``ResourceCache/bytes(for:mode:)``, from the cache or from its server. Its body arrives while the caller reads it.
public struct StreamedResponse: Sendable {
    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields. A stored response has its `Age`.
    public var headerFields: HTTPFields
    /// The bytes of the body. Releasing the body, without having read all of it, ends the exchange if no other caller reads it.
    public var body: ResponseBody
    /// Where the response came from.
    public var source: CachedResponse.Source
}

// MARK: - The answer to a request

extension ResourceCache {
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
        let began = Began()
        do {
            // The work is cancelled when all callers that wait for it are cancelled. An error goes to all of them, because the work has
            // already tried again after transient errors. A caller that only waits holds no permit of the limiter.
            let answer = try await flights.run(for: key) {
                began.isSet.store(true, ordering: .releasing)
                return try await self.attempts(request, visit)
            }
            if !began.isSet.load(ordering: .acquiring) { count { $0.coalesced += 1 } }
            return answer.forOneCaller()
        } catch let error as TransferError where error.code == .responseTooLarge && request.isStreamed {
            // Another caller wanted the whole body.
            return try await attempts(request, visit)
        }
    }

    /// Answers a request, and tries again after transient errors. Holds a permit of the limiter during each exchange, but not between
    /// exchanges.
    private func attempts(_ request: CacheRequest, _ visit: Visit) async throws -> Answer {
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

/// Whether a caller began the work itself, or joined another one's.
private final class Began: Sendable {
    let isSet = Atomic(false)
}

// MARK: - Data

extension ResourceCache {
    /// Returns the fresh whole response to a request without header fields, if it is in memory. This is the usual case, which must be fast.
    func freshInMemory(_ url: URL) -> StoredResponse? {
        guard !url.holdsCredentials, let kept = memory.value(for: ResourceKey(url)), kept.responses.count == 1,
            kept.areAll,
            let response = kept.responses.first, response.head.isUsableAsData,
            response.head.variant.matches([:], policy: policy), policy.isFresh(response.head, at: now())
        else { return nil }
        return response
    }

    /// Returns the body of a fresh whole response on disk that this process has verified, if the system has its bytes in memory. Unlike a
    /// lookup in the index, this needs no other thread.
    private func freshInVerifiedRow(_ url: URL) -> Data? {
        guard !url.holdsCredentials else { return nil }
        let key = ResourceKey(url)
        // The visit begins first: an invalidation whose removal fails after the check ends it.
        let visit = memory.visit(key)
        guard !isOutOfDate(key) else { return nil }
        let found = disk.verifiedBody(for: key) {
            $0.head.isUsableAsData && policy.isFresh($0.head, at: now())
        }
        guard let (row, body) = found else { return nil }
        count { $0.diskHits += 1 }
        keepInMemory(StoredResponse(head: row.head, body: body, row: row.id), visit, of: 1)
        return body
    }

    /// Returns the answer to a request for data, and its whole body.
    ///
    /// A stored success without the resource, such as 204, isn't used, nor is one with a content coding, which another request has asked
    /// for. They would be errors for as long as they are fresh.
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

    /// Returns the whole body of a successful response, and throws others as errors.
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
    /// Calls `fetch` for each URL, in tasks of the lowest priority. Only as many run as exchanges can, so that the line of waiting fetches
    /// stays short.
    func prefetch(_ urls: some Sequence<URL>, _ fetch: @escaping @Sendable (URL) async throws -> Void) async {
        let waiting = AsyncQueue<URL>()
        for url in urls { waiting.enqueue(url) }
        waiting.finish()
        let (ended, end) = Condition.makeCondition()
        // An unstructured task: a task that waits for a task, or for a group, raises it to its own priority.
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
