import HTTPTypes
import SluiceConcurrency
public import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Requests with any method and header fields, by the decisions of `CachePolicy`:
//
//      look up ─▶ decision ─┬─ stored response ─────────────▶ caller
//         ▲                 └─ exchange ─▶ outcome ─▶ store ─▶ caller
//         └───── again, or after a transient error ──┘
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
    /// Concurrent `GET` requests with the same URL, header fields and mode share one exchange. Requests with a safe method are sent again
    /// after transient errors. Responses to a URL with a user name or password aren't stored.
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
        let answer: @Sendable () async throws -> CachedResponse = {
            try await self.whileOpen(for: request.url) { try await self.answer(request, mode) }
        }
        guard request.method == .get, request.body == nil, !request.url.holdsCredentials else {
            return try await answer()
        }
        let key = ResponseKey(resource: ResourceKey(request.url), fields: request.headerFields, mode: mode)
        return try await together(responses, key, answer)
    }

    private func answer(_ request: TransportRequest, _ mode: LookupMode) async throws -> CachedResponse {
        var random = SystemRandomNumberGenerator()
        var attempt = 1
        while true {
            do {
                return try await ResponseAttempt(cache: self, request: request, mode: mode)
                    .answer(isLast: attempt > configuration.retries.maximumRetries)
            } catch var error as TransferError {
                error.attempts = attempt
                let isSafe = [.get, .head, .options, .trace].contains(request.method)
                let delay =
                    isSafe && error.isTransient && !Task.isCancelled
                    ? configuration.retries.delay(beforeRetry: attempt, retryAfter: error.retryAfter, using: &random)
                    : nil
                guard let delay else {
                    return try await ResponseAttempt(cache: self, request: request, mode: mode)
                        .stale(after: error)
                }
                try await clock.sleep(for: delay)
                count { $0.retries += 1 }
                attempt += 1
            }
        }
    }
}

/// Requests with equal keys have the same response.
struct ResponseKey: Hashable, Sendable {
    var resource: ResourceKey
    var fields: HTTPFields
    var mode: ResourceCache.LookupMode
}

/// One attempt to answer a request: the stored responses, and the exchange.
private struct ResponseAttempt {
    let cache: ResourceCache
    let request: TransportRequest
    let mode: ResourceCache.LookupMode

    /// A stored response. Its body is in memory, or in the file of `row`.
    fileprivate struct Stored: Sendable {
        var head: StoredResponse.Head
        var row: DiskIndex.Ready?
        var body: Data?
    }

    private struct Received: Sendable {
        var exchange: CachePolicy.Exchange
        var body: Data
        var wasRedirected: Bool
        /// The error that ended the body.
        var failure: TransferError?
    }

    private var key: ResourceKey { ResourceKey(request.url) }
    private var policy: CachePolicy { cache.policy }

    func answer(isLast: Bool) async throws -> CachedResponse {
        if let response = inMemory() { return response }
        var stored = try await lookUp()
        var sent = request.headerFields
        decision: while true {
            switch policy.decision(for: request, mode: mode, stored: stored.map(\.head), at: cache.now()) {
            case .serve(let index, let served):
                if let response = try await answer(served, from: &stored[index]) {
                    noteUse(of: stored[index], from: response.source, isOnly: stored.count == 1)
                    return response
                }
                // Decide again without the response whose body is lost.
                stored.remove(at: index)
                continue decision
            case .fetch: break
            case .serveAndRevalidate(let index, let served, let fields):
                if let response = try await answer(served, from: &stored[index]) {
                    noteUse(of: stored[index], from: response.source, isOnly: stored.count == 1)
                    validateInBackground(fields)
                    return response
                }
                stored.remove(at: index)
                continue decision
            case .validate(let fields), .complete(let fields): sent = fields
            case .fail: return CachedResponse(504, [:], Data(), .cache)
            }
            break
        }
        return try await send(sent, stored, isLast: isLast)
    }

    private func send(_ fields: HTTPFields, _ stored: [Stored], isLast: Bool) async throws -> CachedResponse {
        var (fields, stored) = (fields, stored)
        var isAgain = false
        while true {
            let received = try await exchange(fields, isLast: isLast)
            if let response = try await apply(received, to: &stored, isAgain: isAgain) { return response }
            (fields, stored, isAgain) = (request.headerFields, [], true)
        }
    }

    /// Validates the response that the caller gets (`stale-while-revalidate`), unless that is already happening. If the validation fails,
    /// a later request tries again.
    private func validateInBackground(_ fields: HTTPFields) {
        let responseKey = ResponseKey(resource: key, fields: request.headerFields, mode: mode)
        cache.validations.start(responseKey) {
            _ = try? await cache.whileOpen(for: request.url) {
                try await send(fields, lookUp(), isLast: true)
            }
        }
    }

    /// Returns a stale response if the rules allow it after this error, and throws the error otherwise.
    func stale(after error: TransferError) async throws -> CachedResponse {
        guard error.isTransient, error.status == nil else { throw error }
        var stored = try await lookUp()
        let stale = policy.staleResponse(
            for: request, mode: mode, stored: stored.map(\.head), at: cache.now(), isOffline: true)
        guard let (index, served) = stale,
            let response = try await answer(served, from: &stored[index])
        else { throw error }
        return response
    }

    // MARK: Stored responses

    /// The usual case, which needs no index. The memory has only responses that answer a request without header fields.
    private func inMemory() -> CachedResponse? {
        guard !request.url.holdsCredentials, let kept = cache.memory.value(for: key), kept.isOnly,
            case .serve(_, let served) = policy.decision(
                for: request, mode: mode, stored: [kept.head], at: cache.now())
        else { return nil }
        cache.count { $0.memoryHits += 1 }
        if let row = kept.row { cache.disk.uses.note(row) }
        return served.response(from: kept.body, .memory)
    }

    private func lookUp() async throws -> [Stored] {
        guard !request.url.holdsCredentials else { return [] }
        let kept = cache.memory.value(for: key)
        do {
            let found = try await cache.disk.find(key, policy)
            for row in found.garbage { try await cache.drop(row, key) }
            var stored = found.ready.map { row in
                Stored(head: row.head, row: row, body: kept?.row == row.id ? kept?.body : nil)
            }
            if let kept, kept.row == nil, !stored.contains(where: { $0.head.variant == kept.head.variant }) {
                stored.append(Stored(head: kept.head, body: kept.body))
            }
            return stored
        } catch let error as CancellationError {
            throw error
        } catch {
            cache.noteDiskFailure(error)
            return kept.map { [Stored(head: $0.head, body: $0.body)] } ?? []
        }
    }

    /// Returns the body of a stored response, or `nil` if it is lost. Removes a damaged one.
    private func body(of stored: inout Stored) async throws -> Data? {
        if let body = stored.body { return body }
        guard let row = stored.row else { return nil }
        do {
            switch try await cache.disk.body(of: row, key) {
            case .found(let body):
                stored.body = body
                return body
            case .damaged: try await cache.drop(row.id, key)
            case .missing: break
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            cache.noteDiskFailure(error)
        }
        return nil
    }

    /// Returns the answer from a stored response, or `nil` if its body is lost.
    private func answer(
        _ served: CachePolicy.Served, from stored: inout Stored, _ source: CachedResponse.Source? = nil
    ) async throws -> CachedResponse? {
        let source = source ?? stored.source
        // A 304 and the response to HEAD need no body.
        let body = served.bytes.isEmpty ? Data() : try await body(of: &stored)
        return served.response(from: body, source)
    }

    private func noteUse(of stored: Stored, from source: CachedResponse.Source, isOnly: Bool) {
        cache.count { if source == .memory { $0.memoryHits += 1 } else { $0.diskHits += 1 } }
        guard let body = stored.body else { return }
        keepInMemory(StoredResponse(head: stored.head, body: body, row: stored.row?.id, isOnly: isOnly))
    }

    private func keepInMemory(_ response: StoredResponse) {
        guard response.head.isUsableAsData, response.head.variant.matches([:], policy: policy) else { return }
        cache.keepInMemory(response, for: key)
    }

    // MARK: The exchange

    private func exchange(_ sent: HTTPFields, isLast: Bool) async throws -> Received {
        var outgoing = request
        outgoing.headerFields = sent
        let received = try await cache.limiter.run(for: request.url.host()?.lowercased() ?? "") { [outgoing] in
            try await send(outgoing)
        }
        let response = received.exchange.response
        if !isLast, RetryPolicy.isTransient(response.status), [.get, .head].contains(request.method) {
            var error = TransferError(status: response.status, url: request.url)
            error.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: cache.now())
            // If no attempt follows, the response is the answer.
            if error.retryAfter ?? .zero <= cache.configuration.retries.maximumRetryAfter { throw error }
        }
        return received
    }

    private func send(_ outgoing: TransportRequest) async throws -> Received {
        let requested = cache.now()
        do {
            let response = try await cache.transport.open(outgoing)
            let (body, failure) = try await collect(response)
            if failure == nil { cache.count { $0.fetched += 1 } }
            let exchange = CachePolicy.Exchange(
                request: request, mode: mode, sent: outgoing.headerFields,
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
        let hasBody = request.method != .head && response.status.code != 304
        let announced = hasBody ? response.contentLength : nil
        if let announced, announced > limit { throw cache.tooLarge(request.url) }
        var body = Data()
        do {
            for try await chunk in response.body {
                guard chunk.count <= limit - body.count else { throw cache.tooLarge(request.url) }
                body.append(chunk)
            }
        } catch let error as TransferError where error.code != .responseTooLarge {
            return (body, error)
        }
        if let announced, announced != Int64(body.count) {
            return (body, .length(announced: announced, received: Int64(body.count), url: request.url))
        }
        return (body, nil)
    }

    // MARK: The outcome

    /// Stores what the response changes, and returns the answer, or `nil` if the request must be sent again as it is.
    private func apply(
        _ received: Received, to stored: inout [Stored], isAgain: Bool
    ) async throws -> CachedResponse? {
        let exchange = received.exchange
        let isSentAsItIs = exchange.sent == request.headerFields
        var outcome = policy.outcome(of: exchange, stored: stored.map(\.head))
        if received.wasRedirected, cache.configuration.policy != .immutable {
            // The response is that of another URL.
            let isForCache = exchange.response.status.code == 304 || exchange.response.status.code == 206
            let invalidations = outcome.invalidations
            outcome = CachePolicy.Outcome(answer: isForCache && !isSentAsItIs ? .again : .response)
            outcome.invalidations = invalidations
        }
        // The transport sets the field, and two processes may use the directory with different ones.
        if request.headerFields[.userAgent] == nil,
            outcome.addition?.head.fields[.vary]?.lowercased().contains("user-agent") ?? false
        {
            outcome.addition = nil
        }
        var addition: Data?
        if let pieces = outcome.addition?.body {
            var data = Data()
            for piece in pieces {
                switch piece {
                case .response: data += received.body
                case .stored(let index, let range):
                    guard let body = try await body(of: &stored[index]) else { return nil }
                    data += body.dropFirst(Int(range.lowerBound)).prefix(range.count)
                }
            }
            addition = data
        }
        let answer: CachedResponse?
        switch outcome.answer {
        case .stored(let index, let served):
            let isConfirmed = exchange.response.status.code == 304
            answer = try await self.answer(served, from: &stored[index], isConfirmed ? .validated : nil)
            if answer != nil, isConfirmed { cache.count { $0.revalidated += 1 } }
        case .addition(let served): answer = served.response(from: addition, .validated)
        case .again where !isAgain: answer = nil
        case .response, .again, .interim:
            answer = CachedResponse(
                exchange.response.status.code, exchange.response.headerFields, received.body, .network)
        }
        if !request.url.holdsCredentials { await keep(outcome, addition, &stored) }
        if let failure = received.failure { throw failure }
        return answer
    }

    /// Doesn't throw, because the caller has its response.
    private func keep(_ outcome: CachePolicy.Outcome, _ addition: Data?, _ stored: inout [Stored]) async {
        var kept: StoredResponse?
        let rest = outcome.invalidations.contains(key) ? 0 : stored.count - outcome.removals.count
        do {
            for key in outcome.invalidations {
                cache.memory.remove(key)
                try await cache.disk.remove(key)
            }
            for (index, head) in outcome.updates {
                stored[index].head = head
                if let row = stored[index].row?.id { _ = try await cache.disk.update(row, key, head) }
            }
            let removed = outcome.removals.compactMap { stored[$0].row?.id }
            if let head = outcome.addition?.head, let addition {
                var response = StoredResponse(head: head, body: addition, isOnly: rest == 0)
                kept = response
                let result = try await cache.disk.store(response, for: key, replacing: .rows(removed))
                cache.count { $0.evicted += result.evicted }
                response.row = result.row
                kept = response
            } else if !removed.isEmpty {
                try await cache.disk.remove(key, .rows(removed))
            }
        } catch {
            cache.noteDiskFailure(error)
        }
        let hasChanged = !outcome.updates.isEmpty || !outcome.removals.isEmpty || !outcome.invalidations.isEmpty
        if kept != nil || hasChanged { cache.memory.remove(key) }
        if case .stored(let index, _) = outcome.answer, outcome.updates[index] != nil, let body = stored[index].body {
            keepInMemory(
                StoredResponse(head: stored[index].head, body: body, row: stored[index].row?.id, isOnly: rest == 1))
        }
        if let kept { keepInMemory(kept) }
    }
}

extension ResponseAttempt.Stored {
    fileprivate var source: CachedResponse.Source { body == nil ? .disk : .memory }
}

extension CachePolicy.Served {
    /// Returns the response with its bytes of a stored body, or `nil` without the body.
    fileprivate func response(from body: Data?, _ source: CachedResponse.Source) -> CachedResponse? {
        guard let body else { return nil }
        guard !bytes.isEmpty else { return CachedResponse(status, fields, Data(), source) }
        guard bytes.upperBound <= body.count else { return nil }
        let part = body.dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)
        return CachedResponse(status, fields, part.count == body.count ? body : Data(part), source)
    }
}
