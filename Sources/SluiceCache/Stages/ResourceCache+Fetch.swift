import HTTPTypes
import SluiceConcurrency
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct FetchedResponse: Sendable {
    var head: StoredResponse.Head
    var body: Data
    /// Whether the server confirmed the stored response (304). The body is then the stored body.
    var isConfirmation = false
    /// Whether the rules for caches allow to store the response.
    var mayBeStored: Bool
    var wasRedirected = false
}

// Stage 4: the network, behind the limiter.
extension ResourceCache {
    /// Fetches the resource, or validates the stored response if it has a validator.
    func fetch(_ url: URL, validating kept: StoredResponse?) async throws -> FetchedResponse {
        guard let kept, let conditions = policy.validation(of: TransportRequest(url), with: kept.head) else {
            return try await fetch(url, [:])
        }
        do {
            return try await fetch(url, conditions, confirming: kept)
        } catch is MistakenConfirmation {
            return try await fetch(url, [:])
        }
    }

    /// Fetches the resource, and tries again after transient errors. Holds a place of the limiter during each exchange, but not between
    /// exchanges.
    func fetch(
        _ url: URL, _ headerFields: HTTPFields, confirming kept: StoredResponse? = nil
    ) async throws -> FetchedResponse {
        try await whileOpen(for: url) { try await self.fetchWithRetries(url, headerFields, confirming: kept) }
    }

    private func fetchWithRetries(
        _ url: URL, _ headerFields: HTTPFields, confirming kept: StoredResponse?
    ) async throws -> FetchedResponse {
        var random = SystemRandomNumberGenerator()
        var attempt = 1
        while true {
            do {
                return try await limiter.run(for: url.host()?.lowercased() ?? "") {
                    try await exchange(url, headerFields, confirming: kept)
                }
            } catch var error as TransferError {
                error.attempts = attempt
                let delay =
                    error.isTransient && !Task.isCancelled
                    ? configuration.retries.delay(beforeRetry: attempt, retryAfter: error.retryAfter, using: &random)
                    : nil
                guard let delay else { throw error }
                try await clock.sleep(for: delay)
                count { $0.retries += 1 }
                attempt += 1
            }
        }
    }

    private func exchange(
        _ url: URL, _ headerFields: HTTPFields, confirming kept: StoredResponse?
    ) async throws -> FetchedResponse {
        let requested = now()
        do {
            let response = try await transport.open(TransportRequest(url, headerFields: headerFields))
            if let kept, response.status.code == 304 {
                return try confirmed(kept, by: response, of: url, sent: headerFields, requested: requested)
            }
            return try await whole(response, of: url, requested: requested)
        } catch let known where known is CancellationError || known is TransferError || known is MistakenConfirmation {
            throw known
        } catch {
            // A transport of the application may throw any error.
            throw TransferError(.connectionFailed, url: url, detail: "\(error)", cause: error)
        }
    }

    private func whole(
        _ response: TransportResponse, of url: URL, requested: HTTPDate
    ) async throws -> FetchedResponse {
        guard response.status.code == 200 || response.status.code == 203 else {
            var error = TransferError(status: response.status, url: url)
            error.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: now())
            throw error
        }
        if let coding = response.headerFields[.contentEncoding], coding.lowercased() != "identity" {
            throw TransferError(.unexpectedCoding, url: url, detail: coding)
        }
        let limit = configuration.maximumResponseSize
        let announced = response.contentLength
        if let announced, announced > limit { throw tooLarge(url) }
        let received = now()
        let body: Data
        do {
            body = try await response.body.collect(upTo: limit)
        } catch is ResponseBody.TooLong {
            throw tooLarge(url)
        }
        if let announced, announced != Int64(body.count) {
            throw TransferError.length(announced: announced, received: Int64(body.count), url: url)
        }
        count { $0.fetched += 1 }
        let head = StoredResponse.Head(
            status: response.status.code, fields: response.headerFields, length: Int64(body.count),
            variant: Variant(of: response.headerFields, for: [:], policy: policy) ?? .any, requested: requested,
            received: received, policy: policy)
        return FetchedResponse(
            head: head, body: body, mayBeStored: policy.mayStore(head, for: TransportRequest(url)),
            wasRedirected: response.redirectCount > 0)
    }

    func tooLarge(_ url: URL) -> TransferError {
        TransferError(.responseTooLarge, url: url, detail: "more than \(configuration.maximumResponseSize) bytes")
    }

    private func confirmed(
        _ kept: StoredResponse, by response: TransportResponse, of url: URL, sent: HTTPFields, requested: HTTPDate
    ) throws -> FetchedResponse {
        let exchange = CachePolicy.Exchange(
            request: TransportRequest(url), sent: sent,
            response: HTTPResponse(status: response.status, headerFields: response.headerFields), bodyLength: 0,
            requested: requested, received: now())
        let outcome = policy.outcome(of: exchange, stored: [kept.head])
        // After a redirect, the 304 may confirm another resource with the same entity tag.
        guard response.redirectCount == 0, case .stored = outcome.answer else { throw MistakenConfirmation() }
        count { $0.revalidated += 1 }
        let head = outcome.updates[0]
        return FetchedResponse(
            head: head ?? kept.head, body: kept.body, isConfirmation: true, mayBeStored: head != nil)
    }
}

/// A 304 confirmed another response than the stored one.
private struct MistakenConfirmation: Error {}
