#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
import SluiceLock

/// Answers from memory what a script says: a ``Transport`` for tests.
///
///     let transport = ScriptedTransport([
///         url: [.failure(TransferError(.connectionRefused, url: url)), .response(body: [bytes])]
///     ])
///
/// Each request for a URL takes the next of its answers; the last one is repeated. A URL without answers gets a 404.
/// Redirects are not followed. It keeps the requests that it saw.
public final class ScriptedTransport: Transport {
    /// One answer.
    public enum Answer: Sendable {
        /// A response whose body consists of `chunks`; after them it ends, or breaks with `failure`.
        case response(
            status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: [Data] = [],
            failure: TransferError? = nil)
        /// No response.
        case failure(TransferError)
    }

    private struct State {
        var answers: [URL: [Answer]]
        var requests: [TransportRequest] = []
    }

    private let state: Lock<State>

    /// A transport that gives these answers.
    public init(_ answers: [URL: [Answer]]) {
        state = Lock(State(answers: answers))
    }

    /// The requests so far, in order.
    public var requests: [TransportRequest] { state.withLock { $0.requests } }

    /// Gives the next answer for the request's URL.
    public func open(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        let answer: Answer = state.withLock { state in
            state.requests.append(request)
            guard var answers = state.answers[request.url], let first = answers.first else {
                return .response(status: .notFound)
            }
            if answers.count > 1 {
                answers.removeFirst()
                state.answers[request.url] = answers
            }
            return first
        }
        switch answer {
        case .failure(let error): throw error
        case .response(let status, let headerFields, let chunks, let failure):
            return TransportResponse(
                status: status, headerFields: headerFields, url: request.url,
                body: ResponseBody(ScriptedBody(chunks: chunks, failure: failure)))
        }
    }
}

private final class ScriptedBody: ResponseBodySource {
    private let rest: Lock<ArraySlice<Data>>
    private let failure: TransferError?

    init(chunks: [Data], failure: TransferError?) {
        rest = Lock(chunks[...])
        self.failure = failure
    }

    func nextBatch() async throws -> [Data]? {
        try Task.checkCancellation()
        if let chunk = rest.withLock({ $0.popFirst() }) { return [chunk] }
        if let failure { throw failure }
        return nil
    }
}
