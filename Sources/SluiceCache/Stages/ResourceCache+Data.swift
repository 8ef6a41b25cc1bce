public import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ResourceCache {
    /// Returns the bytes of a resource, from the cache or from its server.
    ///
    /// Concurrent requests for the URL, also those of ``response(for:mode:)`` without header fields, share one exchange. A URL with a user
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
