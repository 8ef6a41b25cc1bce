import Foundation
import HTTPTypes
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `The timings of an exchange` {
    @Test(arguments: TestedTransport.all)
    func `include the delay before the head, and the total once the body has ended`(tested: TestedTransport)
        async throws
    {
        let delay = Duration.milliseconds(40)
        let mayEnd = Gate()
        try await tested.exchange { _ in
            OriginResponse(
                announcedLength: 2, steps: [.send([1]), .perform { await mayEnd.pass() }, .send([2])], delay: delay)
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            let early = try #require(response.timings)
            #expect(early.firstByte >= delay && early.total == nil)
            await mayEnd.open()
            #expect(try await response.body.collect(upTo: 2).count == 2)
            let timings = try #require(response.timings)
            #expect(timings.firstByte == early.firstByte)
            #expect(try #require(timings.total) >= timings.firstByte)
        }
    }

    @Test(arguments: TestedTransport.having(.detailedTimings))
    func `distinguish a new connection from a reused one`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            OriginResponse(body: [1])
        } during: { transport, origin in
            let url = try URL(fetchable: origin.url("/a"))
            for isReused in [false, true] {
                let response = try await transport.open(.init(url))
                _ = try await response.body.collect(upTo: 1)
                let timings = try #require(response.timings)
                #expect(timings.isConnectionReused == isReused)
                #expect((timings.connection == nil) == isReused && (timings.nameLookup == nil) == isReused)
                #expect(timings.handshake == nil)
            }
        }
    }

    @Test(arguments: TestedTransport.all)
    func `are for the last exchange after a redirect`(tested: TestedTransport) async throws {
        let delay = Duration.milliseconds(40)
        try await tested.exchange { request in
            request.target == "/a" ? .redirect(to: "/b") : OriginResponse(body: [1], delay: delay)
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            #expect(response.redirectCount == 1)
            #expect(try #require(response.timings).firstByte >= delay)
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A trace of exchanges` {
    /// The traced steps as text, without timings and `Date`.
    private final class Told: Sendable {
        let steps = Recorder<String>()

        func note(_ trace: TransportTrace) {
            let step =
                switch trace.step {
                case .sent(let request): "sent \(request.method.rawValue) \(request.url.path)"
                case .answered(let head): "answered \(head.status.code)"
                case .ended(let timings): "ended \(timings?.total != nil)"
                case .failed(let error as TransferError): "failed \(error.code)"
                case .failed(let error): "failed \(error)"
                }
            steps.note("\(trace.exchange) \(step)")
        }
    }

    private func traced(
        _ handler: @escaping LoopbackOrigin.Handler, during test: @Sendable (HTTPTransport, URL) async throws -> Void
    ) async throws -> [String] {
        let told = Told()
        try await LoopbackOrigin.serve(handler) { origin in
            var configuration = HTTPTransport.Configuration(
                connectTimeout: .seconds(600), stallTimeout: .seconds(600), proxy: .none)
            configuration.trace = told.note
            try await HTTPTransport.withTransport(configuration: configuration) {
                try await test($0, URL(fetchable: origin.url("/a")))
            }
        }
        return told.steps.values
    }

    @Test func `reports each redirect and the end of the body once`() async throws {
        let steps = try await traced {
            $0.target == "/a" ? .redirect(to: "/b") : OriginResponse(body: [1])
        } during: {
            let response = try await $0.open(.init($1))
            var reader = response.body.makeAsyncIterator()
            while try await reader.next() != nil {}
            #expect(try await reader.next() == nil)
        }
        let ofRedirect = steps.filter { $0.hasPrefix("1 ") }
        #expect(ofRedirect.prefix(2) == ["1 sent GET /a", "1 answered 302"])
        // The redirect's body isn't read, but it may have arrived completely.
        #expect(["1 ended true", "1 failed CancellationError()"].contains(ofRedirect.last))
        #expect(steps.filter { $0.hasPrefix("2 ") } == ["2 sent GET /b", "2 answered 200", "2 ended true"])
        #expect(steps.count == 6)
    }

    @Test func `reports why an exchange failed, before and after its head`() async throws {
        let steps = try await traced { request in
            var response = OriginResponse(announcedLength: 9, steps: [.send([1]), .hangUp])
            if request.target == "/b" { response.verbatim = [] }
            return response
        } during: { transport, url in
            let response = try await transport.open(.init(url))
            await #expect(throws: TransferError.self) { try await response.body.collect(upTo: 9) }
            let other = try #require(URL(string: "/b", relativeTo: url)).absoluteURL
            await #expect(throws: TransferError.self) { try await transport.open(.init(other)) }
        }
        #expect(
            steps == [
                "1 sent GET /a", "1 answered 200", "1 failed connectionClosed", "2 sent GET /b",
                "2 failed connectionClosed",
            ])
    }

    @Test(arguments: [
        ("Authorization", "Basic YTpi", "(left out)"), ("Set-Cookie", "id=1", "(left out)"),
        ("X-Api-Key", "k", "(left out)"),
        ("X-Amz-Security-Token", "t", "(left out)"), ("WWW-Authenticate", "Basic realm=\"a\"", "Basic realm=\"a\""),
        ("Location", "https://u:p@a.example/b?sig=1#f", "https://a.example/b?…"), ("Location", "/b?sig=1", "/b?…"),
        ("Link", "<https://a.example/b?sig=1>; rel=next", "<https://a.example/b?…"), ("ETag", "\"key?\"", "\"key?\""),
        ("Keep-Alive", "timeout=5", "timeout=5"),
    ])
    func `hides the secrets in fields`(name: String, value: String, shown: String) throws {
        let field = HTTPField(name: try #require(HTTPField.Name(name)), value: value)
        #expect(field.redactedForDisplay == shown)
    }
}
