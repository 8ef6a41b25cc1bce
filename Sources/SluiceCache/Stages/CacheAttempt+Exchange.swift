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
        /// The error that ended the body.
        var failure: TransferError?
    }

    func exchange(_ sent: HTTPFields) async throws -> Received {
        var outgoing = request.transport
        outgoing.headerFields = sent
        let received = try await cache.limiter.run(for: request.url.host()?.lowercased() ?? "") { [outgoing] in
            try await exchange(outgoing)
        }
        let response = received.exchange.response
        if !isLast, request.isSafe, RetryPolicy.isTransient(response.status) {
            var error = TransferError(status: response.status, url: request.url)
            error.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: cache.now())
            // If no attempt follows, the response is the answer.
            if error.retryAfter ?? .zero <= cache.configuration.retries.maximumRetryAfter { throw error }
        }
        if received.failure == nil, response.status.code != 304 { cache.count { $0.fetched += 1 } }
        return received
    }

    private func exchange(_ outgoing: TransportRequest) async throws -> Received {
        let requested = cache.now()
        do {
            let response = try await cache.transport.open(outgoing)
            let (body, failure) = try await collect(response)
            let exchange = CachePolicy.Exchange(
                request: request.transport, mode: request.mode, sent: outgoing.headerFields,
                response: HTTPResponse(status: response.status, headerFields: response.headerFields),
                bodyLength: Int64(body.count), isComplete: failure == nil, requested: requested,
                received: cache.now())
            return Received(
                exchange: exchange, body: body, wasRedirected: response.redirectCount > 0, failure: failure)
        } catch let known where known is CancellationError || known is TransferError {
            throw known
        } catch {
            // A transport of the application may throw any error.
            throw TransferError(.connectionFailed, url: request.url, detail: "\(error)", cause: error)
        }
    }

    /// Returns what arrives of a body, and the error that ended it.
    private func collect(_ response: TransportResponse) async throws -> (Data, TransferError?) {
        let limit = cache.configuration.maximumResponseSize
        let hasBody = request.transport.method != .head && response.status.code != 304
        let announced = hasBody ? response.contentLength : nil
        if let announced, announced > limit { throw tooLarge }
        var body = Data()
        var batches = response.body.makeAsyncIterator()
        do {
            while let batch = try await batches.nextBatch() {
                for chunk in batch {
                    guard chunk.count <= limit - body.count else { throw tooLarge }
                    body.append(chunk)
                }
            }
        } catch let error as TransferError where error.code != .responseTooLarge {
            return (body, error)
        }
        if let announced, announced != Int64(body.count) {
            return (body, .length(announced: announced, received: Int64(body.count), url: request.url))
        }
        return (body, nil)
    }

    var tooLarge: TransferError {
        TransferError(
            .responseTooLarge, url: request.url,
            detail: "more than \(cache.configuration.maximumResponseSize) bytes")
    }
}
