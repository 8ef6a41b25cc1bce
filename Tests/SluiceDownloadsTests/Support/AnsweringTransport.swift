import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport

/// Answers requests with a closure that gets the request and its number, from 1 on.
struct AnsweringTransport: Transport {
    typealias Answer = (status: HTTPResponse.Status, fields: HTTPFields)

    let count = Guarded(0)
    let answer: @Sendable (_ request: TransportRequest, _ number: Int) async throws -> Answer

    init(_ answer: @escaping @Sendable (_ request: TransportRequest, _ number: Int) async throws -> Answer) {
        self.answer = answer
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let (status, fields) = try await answer(request, number)
        return try await ScriptedTransport([
            request.url: [.response(status: status, headerFields: fields, body: [Data("song".utf8)])]
        ]).open(request)
    }
}

/// Moves a clock forward whenever a task waits for it, until the test is over.
func withRunningClock<Result: Sendable>(
    _ time: VirtualTime, step: Duration, _ body: () async throws -> Result
) async throws -> Result {
    let clock = Task {
        while true {
            try await time.sleeper(until: step)
            time.advance(by: step)
            await Task.yield()
        }
    }
    defer { clock.cancel() }
    return try await body()
}
