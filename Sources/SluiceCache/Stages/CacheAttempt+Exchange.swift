import HTTPTypes
import SluiceConcurrency
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The exchange with the server, behind the limiter.
extension CacheAttempt {
    struct Received: Sendable {
        var exchange: CachePolicy.Exchange
        var body: Data
        var wasRedirected: Bool
        /// The visit in which the response may be stored.
        var visit: ResourceCache.Visit
        /// The error that ended the body.
        var failure: TransferError?
    }

    /// Sends a request, and returns the response with its whole body.
    func exchange(_ sent: HTTPFields) async throws -> Received {
        try await cache.limiter.run(for: request.host) {
            let requested = cache.now()
            return try await receive(openExchange(sent), sent, requested: requested)
        }
    }

    /// Opens an exchange, which needs a place of the limiter.
    func openExchange(_ sent: HTTPFields) async throws -> TransportResponse {
        var outgoing = request.transport
        outgoing.headerFields = sent
        do {
            return try await cache.transport.open(outgoing)
        } catch {
            throw known(error)
        }
    }

    /// A transport of the application may throw any error.
    func known(_ error: any Error) -> any Error {
        if error is CancellationError || error is TransferError { return error }
        let detail = Redaction(of: request.transport).redacted("\(error)")
        return TransferError(.connectionFailed, url: request.url, detail: detail, cause: error)
    }

    func exchange(
        of response: TransportResponse, _ sent: HTTPFields, requested: HTTPDate
    ) -> CachePolicy.Exchange {
        CachePolicy.Exchange(
            request: request.transport, mode: request.mode, sent: sent,
            response: HTTPResponse(status: response.status, headerFields: response.headerFields), bodyLength: 0,
            requested: requested, received: cache.now())
    }

    /// Receives a body, and returns it with its response. Throws a transient status as an error if another attempt follows.
    func receive(_ response: TransportResponse, _ sent: HTTPFields, requested: HTTPDate) async throws -> Received {
        var exchange = exchange(of: response, sent, requested: requested)
        let visit = await invalidating(by: exchange)
        let (body, failure) = try await collect(response)
        exchange.bodyLength = Int64(body.count)
        exchange.isComplete = failure == nil
        if !isLast, request.isSafe, RetryPolicy.isTransient(response.status) {
            var error = TransferError(status: response.status, url: request.url)
            error.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: cache.now())
            // If no attempt follows, the response is the answer.
            if error.retryAfter ?? .zero <= cache.configuration.retries.maximumRetryAfter { throw error }
        }
        if failure == nil, response.status.code != 304 { cache.count { $0.fetched += 1 } }
        return Received(
            exchange: exchange, body: body, wasRedirected: response.redirectCount > 0, visit: visit, failure: failure)
    }

    /// Removes what the head of a response to `PUT` and the like invalidates, even if its body doesn't arrive. Returns the visit in which the
    /// response itself may be stored.
    private func invalidating(by exchange: CachePolicy.Exchange) async -> ResourceCache.Visit {
        let keys = policy.invalidations(by: exchange)
        guard !keys.isEmpty else { return visit }
        for key in keys {
            do {
                try await cache.invalidate(key)
            } catch {
                cache.noteDiskFailure(error)
            }
        }
        return cache.memory.visit(key)
    }

    /// The length that a response announces for its body. In the response to `HEAD` and in a 304, the field is about another one (RFC 9110,
    /// section 8.6).
    func announcedLength(of response: TransportResponse) -> Int64? {
        request.transport.method == .head || response.status.code == 304 ? nil : response.contentLength
    }

    /// Reports the progress of a `GET` to those that observe the resource.
    func report(received: Int64, of announced: Int64?) {
        guard request.transport.method == .get, request.transport.body == nil else { return }
        cache.progress.report(request.key, received: received, of: announced)
    }

    /// Returns what arrives of a body, and the error that ended it.
    private func collect(_ response: TransportResponse) async throws -> (Data, TransferError?) {
        let limit = cache.configuration.maximumResponseSize
        let tooLarge = TransferError.tooLarge(request.url, limit: limit)
        let announced = announcedLength(of: response)
        if let announced, announced > limit { throw tooLarge }
        var body = Data()
        var batches = response.body.makeAsyncIterator()
        do {
            while let batch = try await batches.nextBatch() {
                for chunk in batch {
                    guard chunk.count <= limit - body.count else { throw tooLarge }
                    body.append(chunk)
                }
                report(received: Int64(body.count), of: announced)
            }
        } catch let error as TransferError where error.code != .responseTooLarge {
            return (body, error)
        } catch {
            throw known(error)
        }
        if let announced, announced != Int64(body.count) {
            return (body, .length(announced: announced, received: Int64(body.count), url: request.url))
        }
        return (body, nil)
    }
}

extension TransferError {
    static func tooLarge(_ url: URL, limit: Int) -> TransferError {
        TransferError(.responseTooLarge, url: url, detail: "more than \(limit) bytes")
    }
}
