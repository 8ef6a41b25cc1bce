import Foundation
import HTTPTypes
import LoopbackOrigin
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `Requests with a body` {
    @Test(arguments: TestedTransport.all, [HTTPRequest.Method.post, .put, .patch, .delete])
    func `send it, and each method but the idempotent ones over a new connection`(
        tested: TestedTransport, method: HTTPRequest.Method
    ) async throws {
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array("\(request.method) ".utf8) + request.body)
        } during: { origin in
            try await tested.withTransport(.init(proxy: .none)) { transport in
                for _ in 0..<3 {
                    let request = TransportRequest(try URL(fetchable: origin.url("/a")), method: method, body: body)
                    let response = try await transport.open(request)
                    let seen = try await response.body.collect(upTo: 1_000_000)
                    #expect(seen == Data("\(method.rawValue) ".utf8) + body)
                }
            }
            #expect(origin.metrics.requests == 3)
            // How often libcurl can use a connection again is its own affair.
            if tested.has(.sendsOnce), method == .post || method == .patch { #expect(origin.metrics.connections == 3) }
        }
    }

    @Test(arguments: TestedTransport.all) func `may be empty, and HEAD brings none`(tested: TestedTransport)
        async throws
    {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array("\(request.headerFields[.contentLength] ?? "-")".utf8))
        } during: { origin in
            try await tested.withTransport(.init(proxy: .none)) { transport in
                let url = try URL(fetchable: origin.url("/a"))
                let empty = try await transport.open(.init(url, method: .post, body: Data()))
                #expect(try await empty.body.collect(upTo: 10) == Data("0".utf8))
                let head = try await transport.open(.init(url, method: .head))
                #expect(head.contentLength == 1)
                #expect(try await head.body.collect(upTo: 10).isEmpty)
                let again = try await transport.open(.init(url))
                #expect(try await again.body.collect(upTo: 10) == Data("-".utf8))
            }
        }
    }
}
