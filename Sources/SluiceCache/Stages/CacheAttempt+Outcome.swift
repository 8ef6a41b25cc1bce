import GRDB
import HTTPTypes
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// What a response changes.
extension CacheAttempt {
    /// The body of a response to store.
    enum AddedBody: Sendable {
        case data(Data)
        /// It is in a file of the cache already.
        case written(DiskWriter)
    }

    /// Stores what the response changes, and returns the answer, or `nil` if the request must be sent again as it is.
    ///
    /// - Parameter isAgain: Whether it was sent as it is, so that any response is the answer.
    func apply(_ received: Received, to stored: inout [Stored], isAgain: Bool) async throws -> Answer? {
        let exchange = received.exchange
        let outcome = outcome(of: exchange, wasRedirected: received.wasRedirected, stored)
        if !outcome.invalidations.isEmpty { stored = [] }
        let addition = try await body(of: outcome.addition, received.body, &stored)
        if outcome.addition != nil, addition == nil { return nil }
        var answer: Answer?
        switch outcome.answer {
        case .stored(let index, let served):
            let isConfirmed = exchange.response.status.code == 304
            answer = try await self.answer(served, from: &stored[index], isConfirmed ? .validated : nil)
            if answer != nil, isConfirmed { cache.count { $0.revalidated += 1 } }
            if let head = outcome.updates[index] { answer?.stored?.head = head }
        case .addition(let served):
            answer = served.response(from: addition, .validated).map { Answer(response: $0) }
        case .again where !isAgain: break
        case .response, .again, .interim:
            answer = Answer(
                response: CachedResponse(
                    exchange.response.status.code, exchange.response.headerFields, received.body, .network))
        }
        if let kept = await settle(outcome, addition.map { .data($0) }, &stored, received.visit) {
            if case .stored = outcome.answer {} else { answer?.stored = kept }
        }
        if let failure = received.failure { throw failure }
        return answer
    }

    /// Returns what the rules say about an exchange, and what this cache and its transport add to the rules.
    func outcome(
        of exchange: CachePolicy.Exchange, wasRedirected: Bool, _ stored: [Stored]
    ) -> CachePolicy.Outcome {
        var outcome = policy.outcome(of: exchange, stored: stored.map(\.head))
        if wasRedirected, cache.configuration.policy != .immutable {
            // The response is that of another URL.
            let isForCache = exchange.response.status.code == 304 || exchange.response.status.code == 206
            let isSentAsItIs = exchange.sent == request.headerFields
            outcome = CachePolicy.Outcome(answer: isForCache && !isSentAsItIs ? .again : .response)
        }
        // The transport sets the field, and two processes may use the directory with different ones.
        let variesByTransport =
            request.headerFields[.userAgent] == nil
            && exchange.response.headerFields[.vary]?.lowercased().contains("user-agent") ?? false
        if variesByTransport { outcome.addition = nil }
        return outcome
    }

    /// Returns the body of an addition, or `nil` if there is none or a stored part of it is lost.
    private func body(
        of addition: CachePolicy.Outcome.Addition?, _ received: Data, _ stored: inout [Stored]
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

    /// Stores what an outcome changes, on disk and then in memory, so that the row of a response in memory is known. Returns the response
    /// that is stored. Doesn't throw, because the caller has its response.
    ///
    /// If the resource was invalidated since the visit began, the response isn't stored. It may be older than the invalidation.
    func settle(
        _ outcome: CachePolicy.Outcome, _ addition: AddedBody?, _ stored: inout [Stored], _ visit: ResourceCache.Visit
    ) async -> Answer.Stored? {
        guard !request.isAlone else { return nil }
        let hasAddition = outcome.addition != nil && addition != nil
        guard hasAddition || !outcome.updates.isEmpty || !outcome.removals.isEmpty else { return nil }
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
                    try mayStore(head, visit, now, isSuperseded, in: $0)
                }
                cache.count { $0.evicted += result.evicted }
                kept?.row = result.row
                if isSuperseded.withLock({ $0 }) { kept = nil }
            case (let head?, .written(let writer)):
                let row = try await writer.finish(head, replacing: .rows(removed)) {
                    try mayStore(head, visit, now, isSuperseded, in: $0)
                }
                if row == nil, !removed.isEmpty { try await cache.disk.remove(key, .rows(removed)) }
            default:
                if !removed.isEmpty { try await cache.disk.remove(key, .rows(removed)) }
            }
        } catch {
            cache.noteDiskFailure(error)
            // They are out of date, and may still be in the index.
            if !removed.isEmpty, visit.isCurrent { cache.noteRemoval(of: key, hasFailed: true) }
        }
        let rest = stored.count - outcome.removals.count
        var inMemory: StoredResponse?
        if let kept {
            inMemory = kept
        } else if case .stored(let index, _) = outcome.answer, confirmed.contains(index), let body = stored[index].body
        {
            inMemory = StoredResponse(head: stored[index].head, body: body, row: stored[index].row?.id)
        }
        cache.end(
            change, keeping: request.keepsInMemory ? inMemory : nil, of: kept == nil ? rest : rest + 1)
        if hasAddition { for cache in cache.decodedCaches.all { cache.remove(key) } }
        return kept.map { Answer.Stored(head: $0.head, row: $0.row) }
    }

    /// Whether a response may still be stored, as the transaction sees the index. It isn't if the resource was invalidated, or if another
    /// exchange of this process or another one has stored a more recent response meanwhile.
    private func mayStore(
        _ head: StoredResponse.Head, _ visit: ResourceCache.Visit, _ now: HTTPDate,
        _ isSuperseded: borrowing Lock<Bool>, in database: Database
    ) throws -> Bool {
        let isOlder = try DiskIndex.supersedes(head, key, at: now, policy, in: database)
        isSuperseded.withLock { $0 = isOlder }
        return visit.isCurrent && !isOlder
    }
}
