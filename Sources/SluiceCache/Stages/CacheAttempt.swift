import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One attempt to answer a request, by the decisions of ``CachePolicy``.
///
/// ```text
/// look up ─▶ decision ─┬─ stored response ─────────────▶ caller
///    ▲                 └─ exchange ─▶ outcome ─▶ store ─▶ caller
///    └───── again, or after a transient error ──┘
/// ```
struct CacheAttempt: Sendable {
    let cache: ResourceCache
    let request: CacheRequest
    /// What the attempt finds may be stored only while this visit is current.
    let visit: ResourceCache.Visit
    /// Whether no attempt follows, so that a response such as 503 is the answer.
    let isLast: Bool

    /// A stored response. Its body is in memory, or in the file of `row`.
    struct Stored: Sendable {
        var head: StoredResponse.Head
        var row: DiskIndex.Ready?
        var body: Data?
    }

    var key: ResourceKey { visit.key }
    var policy: CachePolicy { cache.policy }

    func answer() async throws -> Answer {
        if let answer = inMemory() { return answer }
        var stored = try await lookUp()
        while true {
            let index: Int
            let served: CachePolicy.Served
            var background: HTTPFields?
            switch policy.decision(
                for: request.transport, mode: request.mode, stored: stored.map(\.head), at: cache.now())
            {
            case .serve(let chosen, let answer): (index, served) = (chosen, answer)
            case .serveAndRevalidate(let chosen, let answer, let fields):
                (index, served, background) = (chosen, answer, fields)
            case .fetch: return try await send(request.headerFields, stored)
            case .validate(let fields), .complete(let fields): return try await send(fields, stored)
            case .fail: return Answer(response: CachedResponse(504, [:], Data(), .cache))
            }
            if let answer = try await answer(served, from: &stored[index]) {
                noteUse(of: stored[index], from: answer.response.source, total: stored.count)
                if let background { validateInBackground(background) }
                return answer
            }
            // Decide again without the response whose body is lost.
            stored.remove(at: index)
        }
    }

    private func send(_ fields: HTTPFields, _ stored: [Stored]) async throws -> Answer {
        var (fields, stored, isAgain) = (fields, stored, false)
        while true {
            let received: Received
            if request.arrives {
                switch try await stream(fields, stored) {
                case .arriving(let answer): return answer
                case .whole(let whole): received = whole
                }
            } else {
                received = try await cache.whileOpen(for: request.url) { [fields] in try await exchange(fields) }
            }
            if let answer = try await apply(received, to: &stored, isAgain: isAgain) { return answer }
            (fields, stored, isAgain) = (request.headerFields, [], true)
        }
    }

    /// Validates the response that the caller gets (`stale-while-revalidate`), unless that is already happening. If the validation fails,
    /// a later request tries again.
    private func validateInBackground(_ fields: HTTPFields) {
        cache.validations.start(request.key) { [cache, request, key] in
            let attempt = CacheAttempt(cache: cache, request: request, visit: cache.memory.visit(key), isLast: true)
            let answer = try? await attempt.send(fields, attempt.lookUp())
            await answer?.drain(upTo: cache.configuration.maximumResponseSize)
        }
    }

    /// Returns a stale response if the rules allow it after this error, and throws the error otherwise.
    func stale(after error: TransferError) async throws -> Answer {
        guard error.isTransient, error.status == nil else { throw error }
        var stored = try await lookUp()
        let stale = policy.staleResponse(
            for: request.transport, mode: request.mode, stored: stored.map(\.head), at: cache.now(), isOffline: true)
        guard let (index, served) = stale, let answer = try await answer(served, from: &stored[index]) else {
            throw error
        }
        return answer
    }
}
