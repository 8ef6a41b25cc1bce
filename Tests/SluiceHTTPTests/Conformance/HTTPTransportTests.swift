import Foundation
import HTTPTypes
import LoopbackOrigin
import TestSupport
import Testing
import URLSessionOnLinux

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `HTTP transport` {
    static let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    func collect(_ response: TransportResponse) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in response.body { bytes += chunk }
        return bytes
    }

    @Test(arguments: TestedTransport.all) func `a body arrives complete, with its head`(tested: TestedTransport)
        async throws
    {
        try await tested.exchange { _ in
            OriginResponse(headerFields: [.eTag: "\"x\""], body: Self.body)
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            #expect(response.status == .ok)
            #expect(response.headerFields[.eTag] == "\"x\"")
            #expect(response.contentLength == 100_000)
            #expect(try await collect(response) == Self.body)
        }
    }

    @Test(arguments: TestedTransport.all) func `a buffer smaller than the body slows the server but loses nothing`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange(bufferSize: 1) { _ in
            OriginResponse(
                announcedLength: nil, steps: (0..<100).map { .send(Array(Self.body[$0 * 1000..<$0 * 1000 + 1000])) })
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            #expect(response.contentLength == nil)
            #expect(try await collect(response) == Self.body)
        }
    }

    @Test(arguments: TestedTransport.all) func `a request asks for unencoded bytes and sends its own fields`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange { request in
            OriginResponse(
                body: Array(
                    "\(request.headerFields[.acceptEncoding] ?? "-")|\(request.headerFields[.authorization] ?? "-")"
                        .utf8))
        } during: { transport, origin in
            let url = try URL(fetchable: origin.url("/a"))
            let response = try await transport.open(.init(url, headerFields: [.authorization: "Bearer x"]))
            #expect(String(decoding: try await collect(response), as: UTF8.self) == "identity|Bearer x")
        }
    }

    @Test(arguments: TestedTransport.all)
    func `redirects are followed, without fields to other origins, and a 304 isn't one`(
        tested: TestedTransport
    )
        async throws
    {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array((request.headerFields[.authorization] ?? "none").utf8))
        } during: { other in
            try await tested.exchange { request in
                switch request.target {
                case "/there": .redirect(to: other.url("/x"))
                case "/304": .redirect(to: other.url("/x"), status: 304)
                default: .redirect(to: "/loop")
                }
            } during: { transport, origin in
                let fields: HTTPFields = [.authorization: "secret"]
                let there = try await transport.open(
                    .init(URL(fetchable: origin.url("/there")), headerFields: fields))
                #expect(try await collect(there) == Array("none".utf8))
                #expect(there.url.absoluteString == other.url("/x"))
                #expect(there.redirectCount == 1)
                #expect(try await transport.open(.init(URL(fetchable: origin.url("/304")))).status.code == 304)
                let error = await #expect(throws: TransferError.self) {
                    try await transport.open(.init(URL(fetchable: origin.url("/loop"))))
                }
                #expect(error?.code == .tooManyRedirects)
            }
        }
    }

    @Test(arguments: TestedTransport.all, [301, 302, 303, 307, 308])
    func `with redirects turned off, a redirect is the response`(tested: TestedTransport, status: Int) async throws {
        try await LoopbackOrigin.serve { request in
            .redirect(to: "\(request.target)/next", status: status)
        } during: { origin in
            try await tested.withTransport(.init(redirects: .unfollowed, proxy: .none)) { transport in
                let url = try URL(fetchable: origin.url("/a"))
                let response = try await transport.open(TransportRequest(url))
                #expect(response.status.code == status && response.headerFields[.location] == "/a/next")
                #expect(response.url == url && response.redirectCount == 0)
                #expect(try await collect(response) == [])
            }
            #expect(origin.metrics.requestsByTarget == ["/a": 1])
        }
    }

    @Test(arguments: TestedTransport.having(.configuredProxies), ["", "Sluice"])
    func `a request sends the configured User-Agent or none`(tested: TestedTransport, name: String) async throws {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array((request.headerFields[.userAgent] ?? "none").utf8))
        } during: { origin in
            try await tested.withTransport(.init(userAgent: name, proxy: .none)) { transport in
                let url = try URL(fetchable: origin.url("/"))
                let expected = name.isEmpty ? "none" : name
                #expect(try await collect(transport.open(TransportRequest(url))) == Array(expected.utf8))
                let own = TransportRequest(url, headerFields: [.userAgent: "own"])
                #expect(try await collect(transport.open(own)) == Array("own".utf8))
            }
        }
    }

    @Test(arguments: TestedTransport.all, [OriginResponse.Step.hangUp, .reset])
    func `a truncated body delivers its bytes and then throws`(tested: TestedTransport, ending: OriginResponse.Step)
        async throws
    {
        // The server waits until the client has the bytes, because a reset discards bytes in flight.
        let received = Gate()
        try await tested.exchange { _ in
            OriginResponse(
                announcedLength: 100, steps: [.send([1, 2, 3]), .perform { await received.pass() }, ending])
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            var bytes: [UInt8] = []
            let error = await #expect(throws: TransferError.self) {
                for try await chunk in response.body {
                    bytes += chunk
                    if bytes.count == 3 { await received.open() }
                }
            }
            await received.open()
            #expect(error?.code == .connectionClosed)
            #expect(bytes == [1, 2, 3])
        }
    }

    @Test(arguments: TestedTransport.all) func `a silent server causes a stall error, before the head and in the body`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange(stallTimeout: .milliseconds(500)) { request in
            request.target == "/head"
                ? OriginResponse(body: [], delay: .seconds(600))
                : OriginResponse(announcedLength: 100, steps: [.send([1]), .stall])
        } during: { transport, origin in
            let head = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/head"))))
            }
            #expect(head?.code == .stalled)
            // On a busy machine, the head may also take longer than the limit. Then retry.
            var response: TransportResponse?
            while response == nil {
                do {
                    response = try await transport.open(.init(URL(fetchable: origin.url("/body"))))
                } catch let error as TransferError where error.code == .stalled {}
            }
            let opened = try #require(response)
            let body = await #expect(throws: TransferError.self) { try await collect(opened) }
            #expect(body?.code == .stalled)
            #expect(body?.description.contains("0.5 s") == true)
        }
    }

    @Test(arguments: TestedTransport.all) func `a refused connection and an unknown host throw errors that say so`(
        tested: TestedTransport
    ) async throws {
        try await tested.withTransport(.init(proxy: .none)) { transport in
            let silent = try UnheardPort()
            let refused = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: "http://127.0.0.1:\(silent.number)/")))
            }
            #expect(refused?.code == .connectionRefused)
            let unknown = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: "http://no-such-host.invalid/")))
            }
            #expect(unknown?.code == .hostNotFound)
        }
    }

    @Test(arguments: TestedTransport.all) func `cancelling ends a wait for the head or the body`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange { request in
            request.target == "/head"
                ? OriginResponse(body: [], delay: .seconds(600))
                : OriginResponse(announcedLength: 100, steps: [.send([1]), .stall])
        } during: { transport, origin in
            let head = Task { try await transport.open(.init(URL(fetchable: origin.url("/head")))) }
            head.cancel()
            await #expect(throws: CancellationError.self) { try await head.value }

            let response = try await transport.open(.init(URL(fetchable: origin.url("/body"))))
            let body = Task { try await collect(response) }
            body.cancel()
            await #expect(throws: CancellationError.self) { try await body.value }
        }
    }

    /// More than the buffers of both sockets hold. On Linux, URLSession receives all of it before it notices the cancellation.
    private static let long = OriginResponse(
        announcedLength: 24_000_000,
        steps: Array(repeating: .send([UInt8](repeating: 1, count: 1_000_000)), count: 24))

    @Test(arguments: TestedTransport.all) func `dropping an unread response ends its exchange`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange { _ in
            Self.long
        } during: { transport, origin in
            for _ in 0..<20 { _ = try await transport.open(.init(URL(fetchable: origin.url("/a")))) }
            // The server stops sending when the client does not receive: a response that is kept open would keep it waiting.
            #expect(try await origin.metrics { $0.running == 0 }.requests == 20)
        }
    }

    @Test(arguments: TestedTransport.all) func `closing a body ends its exchange`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange { _ in
            Self.long
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            var chunks = response.body.makeAsyncIterator()
            #expect(try await chunks.next() != nil)
            response.body.close()
            // The server stops sending although the response still exists.
            #expect(try await origin.metrics { $0.running == 0 }.requests == 1)
            #expect(try await chunks.next() == nil)
            #expect(try await chunks.nextBatch() == nil)
            withExtendedLifetime(response) {}
        }
    }

    @Test(arguments: TestedTransport.all)
    func `withTransport shuts down after an error, and then requests throw`(
        tested: TestedTransport
    )
        async throws
    {
        struct Failed: Error {}
        var kept: HTTPTransport?
        await #expect(throws: Failed.self) {
            try await tested.withTransport(.init(proxy: .none)) { transport in
                kept = transport
                throw Failed()
            }
        }
        let transport = try #require(kept)
        let error = await #expect(throws: TransferError.self) {
            try await transport.open(.init(URL(fetchable: "http://127.0.0.1:1/")))
        }
        #expect(error?.code == .shutDown)
    }

    @Test func `a second iterator continues where the first one stopped`() async throws {
        let url = URL(string: "http://a.example/")!
        let chunks = (0..<4).map { Data([UInt8($0)]) }
        final class Batches: ResponseBodySource {
            let batches: Guarded<[[Data]]>
            init(_ batches: [[Data]]) { self.batches = Guarded(batches) }
            func nextBatch() async throws -> [Data]? { batches.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
        }
        let response = TransportResponse(
            status: .ok, url: url, body: ResponseBody(Batches([Array(chunks[0..<3]), [Data(), chunks[3]]])))
        var first = response.body.makeAsyncIterator()
        #expect(try await first.next() == chunks[0])
        #expect(try await collect(response) == [1, 2, 3])
    }

    @Test(arguments: TestedTransport.all) func `collecting stops at its limit`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            OriginResponse(body: Self.body)
        } during: { transport, origin in
            let url = try URL(fetchable: origin.url("/a"))
            #expect(try await transport.open(.init(url)).body.collect(upTo: 100_000) == Data(Self.body))
            await #expect(throws: ResponseBody.TooLong.self) {
                try await transport.open(.init(url)).body.collect(upTo: 99_999)
            }
        }
    }

    @Test(arguments: TestedTransport.all) func `an invalid port is rejected, in a request and in a redirect`(
        tested: TestedTransport
    ) async throws {
        try await tested.exchange { _ in
            .redirect(to: "http://127.0.0.1:99999/x")
        } during: { transport, origin in
            let redirected = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            }
            #expect(redirected?.code == .redirectRefused)
            let requested = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(string: "http://127.0.0.1:99999/")!))
            }
            #expect(requested?.code == .invalidURL)
        }
    }

    @Test(
        arguments: TestedTransport.having(.exactErrors),
        [
            "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 6, 5\r\n",
            String(repeating: "X: \(String(repeating: "x", count: 1000))\r\n", count: 1000),
        ])
    func `a head that contradicts itself or never ends is an error`(
        tested: TestedTransport, fields: String
    ) async throws {
        try await tested.exchange { _ in
            .verbatim("HTTP/1.1 200 OK\r\n\(fields)\r\n123456")
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/"))))
            }
            #expect(error?.code == .protocolViolation && error?.isTransient == false)
        }
    }

    @Test(
        arguments: TestedTransport.having(.exactErrors),
        [
            "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\n", "",
        ])
    func `a connection closed within a head is an error`(tested: TestedTransport, head: String) async throws {
        try await tested.exchange { _ in
            .verbatim(head)
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/"))))
            }
            #expect(error?.code == .connectionClosed)
        }
    }

    @Test(arguments: TestedTransport.having(.exactErrors))
    func `a switch of protocols is an error`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            .verbatim("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello")
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/"))))
            }
            #expect(error?.code == .protocolViolation)
        }
    }

    /// libcurl 8.14 takes the line as a part of the reason phrase.
    @Test(arguments: TestedTransport.having(.exactErrors))
    func `a line that continues the status line is an error, or no field`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            .verbatim("HTTP/1.1 200 OK\r\n folded: 1\r\nContent-Length: 0\r\n\r\n")
        } during: { transport, origin in
            do {
                let response = try await transport.open(.init(URL(fetchable: origin.url("/"))))
                #expect(response.headerFields[.init("folded")!] == nil)
            } catch let error as TransferError {
                #expect(error.code == .protocolViolation)
            }
        }
    }

    @Test(arguments: TestedTransport.having(.exactErrors), [0, 1, 99])
    func `an invalid status is an error and doesn't crash`(tested: TestedTransport, status: Int)
        async throws
    {
        try await tested.exchange { _ in
            OriginResponse(status: status, body: [1, 2, 3])
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            }
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test func `a response can be read to its end after its transport is released`() async throws {
        let received = Gate()
        try await LoopbackOrigin.serve { _ in
            OriginResponse(
                announcedLength: 6, steps: [.send([1, 2, 3]), .perform { await received.pass() }, .send([4, 5, 6])])
        } during: { origin in
            let response = try await HTTPTransport(configuration: .init(proxy: .none)).open(
                .init(URL(fetchable: origin.url("/a"))))
            var bytes: [UInt8] = []
            for try await chunk in response.body {
                bytes += chunk
                if bytes.count == 3 { await received.open() }
            }
            #expect(bytes == [1, 2, 3, 4, 5, 6])
            // Only a transport keeps idle connections open for later requests.
            _ = try await origin.metrics { $0.openConnections == 0 }
        }
    }

    @Test func `the shared transport works, and exchanges dropped at any moment leave nothing open`()
        async throws
    {
        try await LoopbackOrigin.serve { _ in
            OriginResponse(body: Self.body)
        } during: { origin in
            let url = try URL(fetchable: origin.url("/a"))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    let task = Task {
                        let response = try await HTTPTransport.shared.open(.init(url))
                        return try await self.collect(response) == Self.body
                    }
                    group.addTask {
                        await suspend(times: number % 23)
                        if number % 3 != 0 { task.cancel() }
                        switch await task.result {
                        case .success(let isWhole): #expect(isWhole)
                        case .failure(let error): #expect(error is CancellationError && number % 3 != 0, "\(error)")
                        }
                    }
                }
            }
            _ = try await origin.metrics { $0.running == 0 }
        }
    }

    @Test func `an invalid setting traps, even if it's set later`() async {
        await #expect(processExitsWith: .failure) {
            var configuration = HTTPTransport.Configuration()
            // An empty buffer would never accept a byte.
            configuration.bufferSize = 0
            _ = HTTPTransport(configuration: configuration)
        }
        await #expect(processExitsWith: .failure) {
            var configuration = HTTPTransport.Configuration()
            configuration.connectTimeout = .seconds(-Int64.max)
            _ = HTTPTransport(configuration: configuration)
        }
    }

    @Test func `shutting down twice has no effect`() async throws {
        let transport = HTTPTransport()
        await transport.shutdown()
        await transport.shutdown()
    }

    @Test(arguments: TestedTransport.all) func `many concurrent exchanges all complete`(tested: TestedTransport)
        async throws
    {
        try await tested.exchange { request in
            OriginResponse(body: Array(request.target.utf8))
        } during: { transport, origin in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<300 {
                    group.addTask {
                        let response = try await transport.open(.init(URL(fetchable: origin.url("/\(index)"))))
                        return try await collect(response) == Array("/\(index)".utf8)
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            #expect(origin.metrics.requests == 300)
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Requests with a body` {
    @Test(arguments: TestedTransport.all, [HTTPRequest.Method.post, .put, .patch, .delete])
    func `send it, and non-idempotent methods use a new connection`(
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
            // How often libcurl reuses a connection for idempotent methods is up to libcurl.
            if tested.has(.sendsOnce), method == .post || method == .patch { #expect(origin.metrics.connections == 3) }
        }
    }

    @Test(arguments: TestedTransport.all) func `send an empty body, and HEAD gets no body`(tested: TestedTransport)
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

// MARK: - The transports under test

/// A transport that the suites test, and its capabilities. A test skips transports that lack what it needs.
struct TestedTransport: Sendable, CustomTestStringConvertible {
    enum Capability: Sendable, CaseIterable {
        /// When a reader stops, at most one buffer of bytes is held.
        case backPressure
        /// A body with an unrequested content coding arrives unchanged.
        case codedBodies
        /// Fields with the same name stay separate.
        case separateFields
        /// Informational heads (1xx) are skipped.
        case informationalHeads
        /// Errors distinguish invalid HTTP from a closed or refused connection.
        case exactErrors
        /// A request with a non-idempotent method is sent only once.
        case sendsOnce
        /// The configuration's authorities and client certificates apply, and its proxies.
        case configuredTrust, configuredProxies
        /// A server that asks for a password gets the configuration's credentials. On Linux, a task of URLSession never ends after a 401 with a
        /// challenge.
        case credentials
        /// Timings include the connection.
        case detailedTimings
    }

    var testDescription: String
    var capabilities: Set<Capability>
    private var engine: @Sendable (HTTPTransport.Configuration) -> HTTPTransport

    static let libcurl = TestedTransport(testDescription: "libcurl", capabilities: Set(Capability.allCases)) {
        HTTPTransport(configuration: $0)
    }
    /// The one in swift-corelibs-foundation. Apple's has more capabilities.
    static let urlSession = TestedTransport(testDescription: "URLSession", capabilities: []) {
        HTTPTransport(configuration: $0, engine: URLSessionEngine($0))
    }

    /// All transports, or the one that the environment variable `SLUICE_TESTED_TRANSPORT` names.
    static let all = [libcurl, urlSession].filter { only == nil || only == $0.testDescription }

    private static let only = ProcessInfo.processInfo.environment["SLUICE_TESTED_TRANSPORT"]

    /// The transports with these capabilities.
    static func having(_ needed: Capability...) -> [TestedTransport] {
        all.filter { $0.capabilities.isSuperset(of: needed) }
    }

    func has(_ capability: Capability) -> Bool { capabilities.contains(capability) }

    /// Calls `body` with a transport of this kind, and then shuts it down.
    func withTransport<Result>(
        _ configuration: HTTPTransport.Configuration, _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        try await engine(configuration).whileOpen(body)
    }

    /// Calls `test` with a transport of this kind and an origin. The transport's timeouts are long, because the machine may be busy.
    func exchange(
        stallTimeout: Duration = .seconds(600), bufferSize: Int = 256 * 1024,
        _ handler: @escaping LoopbackOrigin.Handler,
        during test: @Sendable (HTTPTransport, LoopbackOrigin) async throws -> Void
    ) async throws {
        try await LoopbackOrigin.serve(handler) { origin in
            let configuration = HTTPTransport.Configuration(
                connectTimeout: .seconds(600), stallTimeout: stallTimeout, bufferSize: bufferSize, proxy: .none)
            try await withTransport(configuration) { try await test($0, origin) }
        }
    }
}
