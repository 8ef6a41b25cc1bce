import GRDB
import HTTPTypes
import SluiceConcurrency
import SluiceDatabase
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One attempt to answer a request, following the decisions of ``CachePolicy``.
///
/// ```text
/// look up ─▶ decision ─┬─ stored response ─────────────▶ caller
///    ▲                 └─ exchange ─▶ outcome ─▶ store ─▶ caller
///    └───── again, or after a transient error ──┘
/// ```
struct CacheAttempt: Sendable {
    let cache: ResourceCache
    let request: CacheRequest
    /// The attempt may store what it finds only while this visit is current.
    let visit: ResourceCache.Visit
    /// Whether this is the last attempt, so that even a response such as 503 is the answer.
    let isLast: Bool
    /// Whether the cache cancels the task when it is shut down, so that the attempt needn't watch for that.
    let isOfCache: Bool

    /// A stored response that may be the answer. Its body is in memory, or in the file of `row`.
    struct Candidate: Sendable {
        var head: StoredResponse.Head
        var row: DiskIndex.Ready?
        var body: Data?
    }

    var key: ResourceKey { visit.key }
    var policy: CachePolicy { cache.policy }

    func answer() async throws -> Answer {
        if let answer = withoutWaiting() { return answer }
        var (stored, removals) = try await lookUp()
        var mayBeEquivalent = true
        while true {
            let index: Int
            let served: CachePolicy.Served
            var background: HTTPFields?
            let decision = policy.decision(
                for: request.transport, mode: request.mode, stored: stored.map(\.head), at: cache.now())
            if mayBeEquivalent, !decision.isServed, let answer = try await ofEquivalentURL() { return answer }
            mayBeEquivalent = false
            switch decision {
            case .serve(let chosen, let answer): (index, served) = (chosen, answer)
            case .serveAndRevalidate(let chosen, let answer, let fields):
                (index, served, background) = (chosen, answer, fields)
            case .fetch: return try await send(request.headerFields, stored, removals)
            case .validate(let fields), .complete(let fields): return try await send(fields, stored, removals)
            case .fail:
                return Answer(
                    response: CachedResponse(504, [:], Data(), .cache),
                    cacheStatus: CacheStatus(detail: "only-if-cached"))
            }
            if var answer = try await answer(served, from: &stored[index]) {
                answer.cacheStatus = .hit(stored[index].head, at: cache.now())
                noteUse(of: stored[index], from: answer.response.source, total: stored.count)
                if let background { validateInBackground(background) }
                return answer
            }
            // Decide again, without the response whose body is lost.
            stored.remove(at: index)
        }
    }

    /// Returns the answer from a stored response for another URL that answers requests for this one, too, if no exchange is needed.
    private func ofEquivalentURL() async throws -> Answer? {
        guard !request.isAlone else { return nil }
        for other in try await cache.equivalents(of: key) {
            let attempt = CacheAttempt(
                cache: cache, request: request, visit: cache.memory.visit(other), isLast: isLast, isOfCache: isOfCache)
            var (stored, _) = try await attempt.lookUp()
            let decision = policy.decision(
                for: request.transport, mode: request.mode, stored: stored.map(\.head), at: cache.now())
            guard case .serve(let index, let served) = decision, SearchVariance(stored[index].head.fields) != nil,
                var answer = try await attempt.answer(served, from: &stored[index])
            else { continue }
            answer.cacheStatus = .hit(stored[index].head, at: cache.now())
            attempt.noteUse(of: stored[index], from: answer.response.source, total: stored.count)
            // It isn't stored for this URL.
            answer.stored = nil
            return answer
        }
        return nil
    }

    private func send(_ fields: HTTPFields, _ stored: [Candidate], _ removals: Int) async throws -> Answer {
        var (fields, stored, isAgain) = (fields, stored, false)
        let forwarding =
            request.isAlone
            ? .bypass : policy.forwarding(of: request.transport, stored: stored.map(\.head), at: cache.now())
        while true {
            let received: Received
            if request.arrives {
                switch try await stream(fields, stored, removals, forwarding) {
                case .arriving(let answer): return answer
                case .whole(let whole): received = whole
                }
            } else {
                received = try await cache.whileOpen(for: request.url, isOfCache) { [fields] in
                    try await cache.limiter.run(for: request.host) {
                        let requested = cache.now()
                        return try await receive(openExchange(fields), fields, requested: requested)
                    }
                }
            }
            if var answer = try await apply(received, to: &stored, removals, isAgain: isAgain) {
                answer.cacheStatus.forwarding = forwarding
                return answer
            }
            (fields, stored, isAgain) = (request.headerFields, [], true)
        }
    }

    /// Validates the response that the caller gets (`stale-while-revalidate`), unless a validation is already running. If it fails, a later
    /// request tries again.
    private func validateInBackground(_ fields: HTTPFields) {
        cache.validations.start(request.key) { [cache, request, key] in
            let attempt = CacheAttempt(
                cache: cache, request: request, visit: cache.memory.visit(key), isLast: true,
                isOfCache: true)
            guard let (stored, removals) = try? await attempt.lookUp() else { return }
            let answer = try? await attempt.send(fields, stored, removals)
            await answer?.drain(upTo: cache.configuration.maximumResponseSize)
        }
    }

    /// Returns a stale response if the rules allow it after this error, and throws the error otherwise.
    func stale(after error: TransferError) async throws -> Answer {
        guard error.isTransient, error.status == nil else { throw error }
        var (stored, _) = try await lookUp()
        let stale = policy.staleResponse(
            for: request.transport, mode: request.mode, stored: stored.map(\.head), at: cache.now(), isOffline: true)
        guard let (index, served) = stale, var answer = try await answer(served, from: &stored[index]) else {
            throw error
        }
        var status = CacheStatus.hit(stored[index].head, at: cache.now())
        (status.isHit, status.forwarding) = (false, .stale)
        answer.cacheStatus = status
        return answer
    }
}

// MARK: - Stored responses

// In memory and on disk. Disk errors count as disk failures, and the request continues without the disk.
extension CacheAttempt {
    /// Returns an answer that needs neither the index nor the network.
    func withoutWaiting() -> Answer? { inMemory() ?? inVerifiedFile() }

    /// Returns a part of a file that this process has verified, if the part is in the page cache.
    private func inVerifiedFile() -> Answer? {
        guard !request.isAlone, request.headerFields.contains(.range), !cache.isOutOfDate(key),
            let disk = cache.stage.storeIfOpen, let row = disk.verifiedFile(of: key),
            case .serve(_, let served) = policy.decision(
                for: request.transport, mode: request.mode, stored: [row.head], at: cache.now()),
            !served.bytes.isEmpty, served.bytes.count < row.head.length, let body = disk.part(served.bytes, of: row)
        else { return nil }
        cache.count { $0.diskHits += 1 }
        return Answer(
            response: CachedResponse(served.status, served.fields, body, .disk),
            stored: .init(head: row.head, row: row.id), cacheStatus: .hit(row.head, at: cache.now()))
    }

    /// Returns an answer from memory.
    private func inMemory() -> Answer? {
        guard !request.isAlone, let all = cache.memory.value(for: key), all.areAll else { return nil }
        let kept = all.responses
        guard
            case .serve(let index, let served) = policy.decision(
                for: request.transport, mode: request.mode, stored: kept.map(\.head), at: cache.now()),
            let response = served.response(from: kept[index].body, .memory)
        else { return nil }
        cache.noteMemoryHit(kept[index])
        return Answer(
            response: response, stored: .init(head: kept[index].head, location: kept[index].location),
            cacheStatus: .hit(kept[index].head, at: cache.now()))
    }

    /// Returns all stored responses for the URL, and the removals by other processes until now. Throws only `CancellationError`.
    private func lookUp() async throws -> (stored: [Candidate], removals: Int) {
        guard !request.isAlone else { return ([], 0) }
        let kept = cache.memory.value(for: key)?.responses ?? []
        do {
            let found = try await cache.find(key)
            let removals = try await cache.disk.knownKeys.foreignRemovals
            for row in found.garbage { try await cache.drop(row, key) }
            var stored = found.ready.map { row in
                Candidate(head: row.head, row: row, body: kept.first { $0.row == row.id }?.body)
            }
            for response in kept where response.row == nil {
                guard !stored.contains(where: { $0.head.variant == response.head.variant }) else { continue }
                stored.append(Candidate(head: response.head, body: response.body))
            }
            return (stored, removals)
        } catch let error as CancellationError {
            throw error
        } catch {
            cache.noteDiskFailure(error)
            return (kept.map { Candidate(head: $0.head, body: $0.body) }, 0)
        }
    }

    /// Returns the body of a stored response, or `nil` if it is lost. Removes it if it is damaged.
    func body(of stored: inout Candidate) async throws -> Data? {
        if let body = stored.body { return body }
        if stored.head.length == 0 {
            stored.body = Data()
            return Data()
        }
        guard let row = stored.row else { return nil }
        stored.body = try await read(row, cache.disk.body)
        return stored.body
    }

    /// Returns the body of a row, or `nil` if it is lost. Removes it if it is damaged. Throws only `CancellationError`.
    private func read<Body>(
        _ row: DiskIndex.Ready, _ read: (DiskIndex.Ready, ResourceKey) async throws -> DiskStore.Read<Body>
    ) async throws -> Body? {
        do {
            switch try await read(row, key) {
            case .found(let body): return body
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
    func answer(
        _ served: CachePolicy.Served, from stored: inout Candidate, _ source: CachedResponse.Source? = nil
    ) async throws -> Answer? {
        if request.isStreamed, stored.body == nil, served.bytes.count > SharedBodyState.piece {
            return try await opened(served, stored, source ?? .disk)
        }
        let source = source ?? (stored.body == nil ? .disk : .memory)
        if let part = try await partOfFile(served, stored, source) { return part }
        // A 304 and the response to HEAD need no body.
        let needsNone = served.bytes.isEmpty && stored.head.length > 0
        let body = needsNone ? Data() : try await body(of: &stored)
        return served.response(from: body, source).map {
            Answer(response: $0, stored: .init(head: stored.head, row: stored.row?.id))
        }
    }

    /// Returns the answer from a part of a large file, without reading the rest, or `nil` if this isn't such an answer, or the file is lost.
    private func partOfFile(
        _ served: CachePolicy.Served, _ stored: Candidate, _ source: CachedResponse.Source
    ) async throws -> Answer? {
        guard stored.body == nil, let row = stored.row, row.body == nil, stored.head.length > SharedBodyState.piece,
            !served.bytes.isEmpty, served.bytes.count < stored.head.length,
            let file = try await read(row, cache.disk.openBody)
        else { return nil }
        var (body, rest) = (Data(), served.bytes)
        while !rest.isEmpty {
            body += try await file.readBody(rest, of: request.url)
            rest = served.bytes.lowerBound + Int64(body.count)..<rest.upperBound
        }
        return Answer(
            response: CachedResponse(served.status, served.fields, body, source),
            stored: .init(head: stored.head, row: row.id))
    }

    /// Returns the answer from a large file, or `nil` if the file is lost.
    private func opened(
        _ served: CachePolicy.Served, _ stored: Candidate, _ source: CachedResponse.Source
    ) async throws -> Answer? {
        guard let row = stored.row, let file = try await read(row, cache.disk.openBody) else { return nil }
        return Answer(
            response: CachedResponse(served.status, served.fields, Data(), source),
            stream: .file(file, served.bytes), stored: .init(head: stored.head, row: row.id))
    }

    private func noteUse(of stored: Candidate, from source: CachedResponse.Source, total: Int) {
        cache.count { if source == .memory { $0.memoryHits += 1 } else { $0.diskHits += 1 } }
        guard let body = stored.body else { return }
        keepInMemory(StoredResponse(head: stored.head, body: body, row: stored.row?.id), of: total)
    }

    private func keepInMemory(_ response: StoredResponse, of total: Int) {
        if request.keepsInMemory { cache.keepInMemory(response, visit, of: total) }
    }
}

extension ResourceCache {
    /// Returns the responses of a URL on disk, after those that are being stored.
    func find(_ key: ResourceKey) async throws -> DiskIndex.Found {
        try await backlog.waitUnlessCancelled(for: key)
        try await removeOutOfDateRows(key)
        return try await disk.find(key, policy)
    }

    /// Returns the keys of other URLs whose stored responses may answer a request for this one. Usually none, without a query. Throws only
    /// `CancellationError`.
    func equivalents(of key: ResourceKey) async throws -> [ResourceKey] {
        guard let disk = stage.storeIfOpen, !disk.knownKeys.variances(of: key).isEmpty else { return [] }
        do {
            await backlog.drain()
            return try await disk.equivalents(of: key)
        } catch let error as CancellationError {
            throw error
        } catch {
            noteDiskFailure(error)
            return []
        }
    }

    /// Removes a damaged response, and counts it.
    func drop(_ row: Int64, _ key: ResourceKey) async throws {
        count { $0.damaged += 1 }
        try await disk.drop(row, key)
    }

    func noteDiskFailure(_ error: any Error) {
        let text = "\(error)"
        count {
            $0.diskFailures += 1
            $0.lastDiskFailure = text
        }
    }
}

extension CachePolicy.Served {
    /// Returns the response with its bytes from a stored body, or `nil` if there is no body.
    func response(from body: Data?, _ source: CachedResponse.Source) -> CachedResponse? {
        guard let body else { return nil }
        guard !bytes.isEmpty else { return CachedResponse(status, fields, Data(), source) }
        guard bytes.upperBound <= body.count else { return nil }
        let part = body.dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)
        return CachedResponse(status, fields, part.count == body.count ? body : Data(part), source)
    }
}

// MARK: - The exchange with the server, behind the limiter

extension CacheAttempt {
    struct Received: Sendable {
        var record: CachePolicy.ExchangeRecord
        var body: Data
        var wasRedirected: Bool
        /// The visit in which the response may be stored.
        var visit: ResourceCache.Visit
        /// The error that ended the body.
        var failure: TransferError?
    }

    /// Opens an exchange, which needs a permit from the limiter.
    func openExchange(_ sent: HTTPFields) async throws -> TransportResponse {
        var outgoing = request.transport
        outgoing.headerFields = sent
        do {
            return try await cache.transport.open(outgoing)
        } catch {
            throw known(error)
        }
    }

    /// Returns the error as a `TransferError`, unless it is one or a cancellation. An app's transport may throw any error.
    func known(_ error: any Error) -> any Error {
        if error is CancellationError || error is TransferError { return error }
        let detail = Redaction(of: request.transport).redacted("\(error)")
        return TransferError(.connectionFailed, url: request.url, detail: detail, cause: error)
    }

    func record(
        of response: TransportResponse, _ sent: HTTPFields, requested: HTTPDate
    ) -> CachePolicy.ExchangeRecord {
        CachePolicy.ExchangeRecord(
            request: request.transport, mode: request.mode, sent: sent,
            response: HTTPResponse(status: response.status, headerFields: response.headerFields), bodyLength: 0,
            requested: requested, received: cache.now())
    }

    /// Receives a body and returns it with its response. If another attempt follows, throws a transient status as an error.
    func receive(_ response: TransportResponse, _ sent: HTTPFields, requested: HTTPDate) async throws -> Received {
        var record = record(of: response, sent, requested: requested)
        let visit = await invalidating(by: record)
        let (body, failure) = try await collect(response)
        record.bodyLength = Int64(body.count)
        record.isComplete = failure == nil
        if !isLast, request.isSafe, RetryPolicy.isTransient(response.status) {
            var error = TransferError(status: response.status, url: request.url)
            error.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: cache.now())
            // If no attempt follows, the response is the answer.
            if error.retryAfter ?? .zero <= cache.configuration.retries.maximumRetryAfter { throw error }
        }
        if failure == nil, response.status.code != 304 { cache.count { $0.fetched += 1 } }
        return Received(
            record: record, body: body, wasRedirected: response.redirectCount > 0, visit: visit, failure: failure)
    }

    /// Removes the stored responses that a `PUT` or another unsafe request invalidates, even if the body of its response never arrives.
    /// Returns the visit in which the response itself may be stored.
    private func invalidating(by record: CachePolicy.ExchangeRecord) async -> ResourceCache.Visit {
        let keys = policy.invalidations(by: record)
        var groups = policy.groupInvalidations(by: record)
        guard !keys.isEmpty || !groups.isEmpty else { return visit }
        do {
            for key in keys { groups.formUnion(try await cache.groups(of: key)) }
        } catch {
            cache.noteDiskFailure(error)
        }
        for key in keys {
            do {
                try await cache.invalidate(key)
            } catch {
                cache.noteDiskFailure(error)
            }
        }
        do {
            try await cache.invalidate(groups, of: request.url.origin)
        } catch {
            cache.noteDiskFailure(error)
        }
        return cache.memory.visit(key)
    }

    /// The length that a response announces for its body. In a response to `HEAD` and in a 304, the field is about a different body (RFC
    /// 9110, section 8.6).
    func announcedLength(of response: TransportResponse) -> Int64? {
        request.transport.method == .head || response.status.code == 304 ? nil : response.contentLength
    }

    /// Reports the progress of a `GET` to the resource's observers.
    func report(received: Int64, of announced: Int64?, _ body: Data? = nil) {
        guard request.transport.method == .get, request.transport.body == nil else { return }
        cache.progress.report(request.key, received: received, of: announced, body)
    }

    /// Returns as much of a body as arrives, and the error that ended it.
    private func collect(_ response: TransportResponse) async throws -> (Data, TransferError?) {
        let limit = cache.configuration.maximumResponseSize
        let announced = announcedLength(of: response)
        if let announced, announced > limit { throw TransferError.tooLarge(request.url, limit: limit) }
        var body = Data()
        var batches = response.body.makeAsyncIterator()
        do {
            while let batch = try await batches.nextBatch() {
                for chunk in batch {
                    guard chunk.count <= limit - body.count else {
                        throw TransferError.tooLarge(request.url, limit: limit)
                    }
                    body.append(chunk)
                }
                report(received: Int64(body.count), of: announced, body)
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

// MARK: - What a response changes

extension CacheAttempt {
    /// The body of a response to store.
    enum AddedBody: Sendable {
        case data(Data)
        /// It is already in one of the cache's files.
        case written(DiskWriter)
    }

    /// Stores what the response changes, and returns the answer, or `nil` if the request must be resent as it is.
    ///
    /// - Parameter isAgain: Whether the request was already resent as it is, so that any response is the answer.
    private func apply(
        _ received: Received, to stored: inout [Candidate], _ removals: Int, isAgain: Bool
    ) async throws -> Answer? {
        let record = received.record
        let outcome = outcome(of: record, wasRedirected: received.wasRedirected, stored)
        if !outcome.invalidations.isEmpty { stored = [] }
        let addition = try await body(of: outcome.addition, received.body, &stored)
        if outcome.addition != nil, addition == nil { return nil }
        var answer: Answer?
        switch outcome.delivery {
        case .stored(let index, let served):
            let isConfirmed = record.response.status.code == 304
            answer = try await self.answer(served, from: &stored[index], isConfirmed ? .validated : nil)
            if answer != nil, isConfirmed { cache.count { $0.revalidated += 1 } }
            if let head = outcome.updates[index] { answer?.stored?.head = head }
        case .addition(let served):
            answer = served.response(from: addition, .validated).map { Answer(response: $0) }
        case .again where !isAgain: break
        case .response, .again, .interim:
            answer = Answer(
                response: CachedResponse(
                    record.response.status.code, record.response.headerFields, received.body, .network))
        }
        if let kept = await settle(outcome, addition.map { .data($0) }, &stored, removals, received.visit) {
            answer?.cacheStatus.isStored = true
            if case .stored = outcome.delivery {} else { answer?.stored = kept }
        }
        let status = record.response.status.code
        if let answered = answer?.response.status.code, answered != status { answer?.cacheStatus.serverStatus = status }
        if let head = answer?.stored?.head { answer?.cacheStatus.ttl = head.freshness.timeLeft(at: cache.now()) }
        if let failure = received.failure { throw failure }
        return answer
    }

    /// Returns what the rules say about an exchange, plus what this cache and its transport add to the rules.
    func outcome(
        of record: CachePolicy.ExchangeRecord, wasRedirected: Bool, _ stored: [Candidate]
    ) -> CachePolicy.Outcome {
        var outcome = policy.outcome(of: record, stored: stored.map(\.head))
        if wasRedirected, cache.configuration.policy != .immutable {
            // The response belongs to another URL.
            let isForCache = record.response.status.code == 304 || record.response.status.code == 206
            let isSentAsItIs = record.sent == request.headerFields
            outcome = CachePolicy.Outcome(delivery: isForCache && !isSentAsItIs ? .again : .response)
        }
        // The transport sets the field, and processes that share the directory may send different values.
        let variesByTransport =
            !request.headerFields.contains(.userAgent)
            && record.response.headerFields.value(of: .vary)?.lowercased().contains("user-agent") ?? false
        if variesByTransport { outcome.addition = nil }
        return outcome
    }

    /// Returns the body of an addition, or `nil` if there is none or one of its stored parts is lost.
    private func body(
        of addition: CachePolicy.Outcome.Addition?, _ received: Data, _ stored: inout [Candidate]
    ) async throws -> Data? {
        guard let pieces = addition?.body else { return nil }
        if pieces == [.response] { return received }
        var data = Data()
        for piece in pieces {
            switch piece {
            case .response: data += received
            case .stored(let index, let range):
                guard let body = try await body(of: &stored[index]) else { return nil }
                data += body.dropFirst(Int(range.lowerBound)).prefix(range.count)
            }
        }
        return data
    }

    /// Stores what an outcome changes, first on disk and then in memory, so that a response in memory knows its row. Returns the stored
    /// response. Doesn't throw, because the caller already has its response.
    ///
    /// If the resource has been invalidated since the visit began, the response isn't stored, because it may be older than the
    /// invalidation.
    func settle(
        _ outcome: CachePolicy.Outcome, _ addition: AddedBody?, _ stored: inout [Candidate], _ removals: Int,
        _ visit: ResourceCache.Visit
    ) async -> Answer.Stored? {
        guard !request.isAlone else { return nil }
        if let head = outcome.addition?.head, addition != nil, let variance = SearchVariance(head.fields) {
            cache.stage.storeIfOpen?.knownKeys.insert(variance, of: key)
        }
        let hasAddition = outcome.addition != nil && addition != nil
        guard hasAddition || !outcome.updates.isEmpty || !outcome.removals.isEmpty else { return nil }
        if stored.isEmpty, visit.isCurrent, let head = outcome.addition?.head, case .data(let body)? = addition,
            let kept = await storeBehind(StoredResponse(head: head, body: body), removals, visit)
        {
            return kept
        }
        // The rows are needed.
        await cache.backlog.wait(for: key)
        let change = cache.memory.beginChange(visit)
        let isSuperseded = Lock(false)
        let now = cache.now()
        var kept: StoredResponse?
        var confirmed: Set<Int> = []
        let removed = outcome.removals.compactMap { stored[$0].row?.id }
        do {
            for (index, head) in outcome.updates {
                stored[index].head = head
                guard let row = stored[index].row?.id else {
                    confirmed.insert(index)
                    continue
                }
                if try await cache.disk.update(row, key, head, while: { _ in visit.isCurrent }) {
                    confirmed.insert(index)
                }
            }
            switch (outcome.addition?.head, addition) {
            case (let head?, .data(let body)) where visit.isCurrent:
                let response = StoredResponse(head: head, body: body)
                kept = response
                let result = try await cache.disk.store(response, for: key, replacing: .rows(removed)) {
                    try mayStore(head, visit, removals, now, isSuperseded, in: $0)
                }
                cache.count { $0.evicted += result.evicted }
                if let row = result.row { response.location.set(row) }
                if isSuperseded.withLock({ $0 }) { kept = nil }
            case (let head?, .written(let writer)):
                let row = try await writer.finish(head, replacing: .rows(removed)) {
                    try mayStore(head, visit, removals, now, isSuperseded, in: $0)
                }
                if row == nil, !removed.isEmpty { try await cache.disk.remove(key, .rows(removed)) }
            default:
                if !removed.isEmpty { try await cache.disk.remove(key, .rows(removed)) }
            }
        } catch {
            cache.noteDiskFailure(error)
            // The removed responses are out of date, but may still be in the index.
            if !removed.isEmpty, visit.isCurrent { cache.noteRemoval(of: key, hasFailed: true) }
        }
        let rest = stored.count - outcome.removals.count
        var inMemory: StoredResponse?
        if let kept {
            inMemory = kept
        } else if case .stored(let index, _) = outcome.delivery, confirmed.contains(index),
            let body = stored[index].body
        {
            inMemory = StoredResponse(head: stored[index].head, body: body, row: stored[index].row?.id)
        }
        cache.end(
            change, keeping: request.keepsInMemory ? inMemory : nil, of: kept == nil ? rest : rest + 1)
        if hasAddition { for cache in cache.decodedCaches.all { cache.remove(key) } }
        return kept.map { Answer.Stored(head: $0.head, location: $0.location) }
    }

    /// Whether a response may still be stored, given the index that the transaction sees. It may not if the resource has been invalidated,
    /// or if another exchange, in this process or another, has stored a more recent response in the meantime.
    private func mayStore(
        _ head: StoredResponse.Head, _ visit: ResourceCache.Visit, _ removals: Int, _ now: HTTPDate,
        _ isSuperseded: borrowing Lock<Bool>, isFirst: Bool = false, in database: Database
    ) throws -> Bool {
        let isOlder = try !isFirst && DiskIndex.supersedes(head, key, at: now, policy, in: database)
        isSuperseded.withLock { $0 = isOlder }
        return visit.isCurrent && !isOlder && cache.stage.storeIfOpen?.knownKeys.foreignRemovals == removals
    }

    /// Keeps a response of a resource without stored ones in memory, and stores it behind the caller. Returns `nil`, and does neither, if
    /// another response of the resource is being stored.
    private func storeBehind(
        _ response: StoredResponse, _ removals: Int, _ visit: ResourceCache.Visit
    ) async -> Answer.Stored? {
        let isSuperseded = Lock(false)
        let now = cache.now()
        let addition = DiskStore.Addition(response: response, key: key) { database, isFirst in
            try mayStore(response.head, visit, removals, now, isSuperseded, isFirst: isFirst, in: database)
        }
        let pending = StoreBacklog.Pending(addition: addition) { [cache, key] result in
            switch result {
            case .success(let stored):
                cache.count { $0.evicted += stored.evicted }
                if let row = stored.row { response.location.set(row) }
                if isSuperseded.withLock({ $0 }) { cache.memory.supersede(key) }
            // A shutdown didn't wait for it.
            case .failure(is CancellationError): break
            case .failure(let error): cache.noteDiskFailure(error)
            }
        }
        cache.end(
            cache.memory.beginChange(visit), keeping: request.keepsInMemory ? response : nil, of: 1)
        for cache in cache.decodedCaches.all { cache.remove(key) }
        guard await cache.backlog.add(pending) else { return nil }
        return Answer.Stored(head: response.head, location: response.location)
    }
}
