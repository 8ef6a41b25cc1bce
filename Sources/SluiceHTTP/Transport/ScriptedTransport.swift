#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
import SluiceLock

/// A transport for tests that responds from memory.
///
///     let transport = ScriptedTransport([
///         url: [.failure(TransferError(.connectionRefused, url: url)), .response(body: [bytes])]
///     ])
///
/// Each request for a URL gets the URL's next answer. The last answer repeats. A URL without answers gets a 404. The transport doesn't
/// follow redirects. It records the requests it receives in ``requests``.
public final class ScriptedTransport: Transport {
    /// The answer to one request.
    public enum Answer: Sendable {
        /// A response with the chunks of `body`. After these, the body ends, or throws `failure` if there is one.
        case response(
            status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: [Data] = [],
            failure: TransferError? = nil)
        /// An error instead of a response.
        case failure(TransferError)
    }

    private struct State {
        var answers: [URL: [Answer]]
        var requests: [TransportRequest] = []
    }

    private let state: Lock<State>

    /// Creates a transport with the answers for each URL, in order.
    public init(_ answers: [URL: [Answer]]) {
        state = Lock(State(answers: answers))
    }

    /// The requests that the transport has received, in order.
    public var requests: [TransportRequest] { state.withLock { $0.requests } }

    /// Returns the next answer for the request's URL, or throws it if it is a failure.
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
