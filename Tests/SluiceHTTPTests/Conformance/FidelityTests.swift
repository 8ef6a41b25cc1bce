import Foundation
import HTTPTypes
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceHTTP

/// What a transport passes on unchanged, and what it does on its own.
@Suite(.timeLimit(.minutes(15))) struct `What a transport changes` {
    @Test(arguments: TestedTransport.having(.codedBodies))
    func `a body with an unrequested content coding arrives unchanged`(tested: TestedTransport) async throws {
        // "hello" by gzip(1).
        let coded: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        try await tested.exchange { _ in
            OriginResponse(headerFields: [.contentEncoding: "gzip"], body: coded)
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            #expect(response.headerFields[.contentEncoding] == "gzip")
            #expect(try await response.body.collect(upTo: 100) == Data(coded))
        }
    }

    @Test(arguments: TestedTransport.having(.separateFields))
    func `fields with the same name stay separate and in order`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            var fields = HTTPFields()
            for value in ["a=1, b", "c=2"] { fields.append(HTTPField(name: .setCookie, value: value)) }
            return OriginResponse(headerFields: fields)
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            #expect(response.headerFields[values: .setCookie] == ["a=1, b", "c=2"])
        }
    }

    @Test(arguments: TestedTransport.having(.backPressure))
    func `a reader that stops reading stops the server's sending`(tested: TestedTransport) async throws {
        let megabyte = [UInt8](repeating: 7, count: 1 << 20)
        let sent = Recorder<Int>()
        try await tested.exchange { request in
            guard request.target == "/long" else { return OriginResponse(body: [1]) }
            return OriginResponse(
                announcedLength: 64 << 20,
                steps: (0..<64).flatMap { number in
                    [.send(megabyte), .perform { sent.note(number) }]
                })
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/long"))))
            // Meanwhile no thread of the transport is idle, so that it had every chance to receive more.
            let short = try TransportRequest(URL(fetchable: origin.url("/short")))
            for _ in 0..<300 {
                async let first = transport.open(short).body.collect(upTo: 10)
                async let second = transport.open(short).body.collect(upTo: 10)
                _ = try await (first, second)
            }
            // The buffer, and those of both sockets: net.ipv4.tcp_rmem and tcp_wmem, 10 MiB on Linux (tcp(7)).
            #expect(sent.values.count < 32)
            #expect(try await response.body.collect(upTo: 64 << 20).count == 64 << 20)
        }
    }

    @Test(arguments: TestedTransport.having(.exactErrors), ["zz\r\n", "5\r\nab\r\n0\r\n\r\n", "-1\r\n"])
    func `invalid chunks and a closed connection are different errors`(tested: TestedTransport, framing: String)
        async throws
    {
        try await tested.exchange { _ in
            .verbatim("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(framing)")
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/a")))).body.collect(upTo: 100)
            }
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test(arguments: TestedTransport.having(.informationalHeads))
    func `informational responses are skipped`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            .verbatim(
                "HTTP/1.1 103 Early Hints\r\nETag: \"early\"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        } during: { transport, origin in
            let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
            #expect(response.status == .ok && response.headerFields[.eTag] == nil)
            #expect(try await response.body.collect(upTo: 1) == Data("x".utf8))
        }
    }

    @Test(arguments: TestedTransport.all)
    func `sequential requests share a connection`(tested: TestedTransport) async throws {
        try await tested.exchange { _ in
            OriginResponse(body: [1])
        } during: { transport, origin in
            for _ in 0..<50 {
                let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
                #expect(try await response.body.collect(upTo: 1) == Data([1]))
            }
            #expect(origin.metrics.requests == 50)
            #expect(origin.metrics.connections < 50)
        }
    }

    /// The server closes a connection when a second request arrives, as it does when the connection has been idle for too long.
    @Test(arguments: TestedTransport.having(.sendsOnce), [HTTPRequest.Method.get, .post])
    func `only an idempotent request is retried over a new connection`(
        tested: TestedTransport, method: HTTPRequest.Method
    ) async throws {
        let isFirst = Guarded(true)
        try await tested.exchange { request in
            if request.target == "/first" { return OriginResponse(body: [1]) }
            let closes = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return closes ? .verbatim("") : OriginResponse(body: [2])
        } during: { transport, origin in
            let first = try await transport.open(.init(URL(fetchable: origin.url("/first"))))
            _ = try await first.body.collect(upTo: 1)
            let request = TransportRequest(try URL(fetchable: origin.url("/second")), method: method)
            if method == .get {
                #expect(try await transport.open(request).body.collect(upTo: 1) == Data([2]))
                #expect(origin.metrics.requestsByTarget["/second"] == 2)
            } else {
                let error = await #expect(throws: TransferError.self) { try await transport.open(request) }
                #expect(error?.code == .connectionClosed)
                #expect(origin.metrics.requestsByTarget["/second"] == 1)
            }
        }
    }

    /// The server reads the second request on a connection, and closes the connection without a response.
    @Test(arguments: TestedTransport.having(.sendsOnce), [5, 1_000_000])
    func `a retried request sends its body again`(tested: TestedTransport, count: Int) async throws {
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await tested.exchange { request in
            if request.target == "/first" { return OriginResponse(body: [1]) }
            return request.attempt == 1 ? .verbatim("") : OriginResponse(body: request.body)
        } during: { transport, origin in
            let first = try await transport.open(.init(URL(fetchable: origin.url("/first"))))
            _ = try await first.body.collect(upTo: 1)
            let request = TransportRequest(try URL(fetchable: origin.url("/second")), method: .put, body: body)
            #expect(try await transport.open(request).body.collect(upTo: count) == body)
            #expect(origin.metrics.requestsByTarget["/second"] == 2)
        }
    }

    /// Each loop reuses its handles and connections.
    @Test(arguments: TestedTransport.all)
    func `the credentials of one URL aren't sent with the next`(tested: TestedTransport) async throws {
        try await tested.exchange { request in
            OriginResponse(body: Array((request.headerFields[.authorization] ?? "none").utf8))
        } during: { transport, origin in
            let url = origin.url("/a")
            let basic = "Basic " + Data("ann:secret".utf8).base64EncodedString()
            for (text, expected) in [
                (url, "none"), (url.replacing("://", with: "://ann:secret@"), basic), (url, "none"),
                (url.replacing("127.0.0.1", with: "localhost"), "none"),
            ] {
                // URLSession may not send a URL's credentials at all.
                let response = try await transport.open(.init(URL(fetchable: text)))
                let seen = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
                #expect(seen == expected || seen == "none" && !tested.has(.configuredProxies))
            }
        }
    }

    @Test(
        arguments: TestedTransport.having(.informationalHeads),
        ["Endless 1xx", "Long 1xx", "Many fields", "Tiny fields", "Long field", "Endless trailers"])
    func `endless heads, 1xx responses and trailers are errors`(tested: TestedTransport, kind: String) async throws {
        let field = "A: \(String(repeating: "x", count: 1000))\r\n"
        let text =
            switch kind {
            case "Endless 1xx": String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 100_000)
            case "Long 1xx": String(repeating: "HTTP/1.1 103 Early Hints\r\n\(field)\r\n", count: 3000)
            case "Many fields": "HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 3000)
            case "Tiny fields": "HTTP/1.1 200 OK\r\n" + String(repeating: "a:\r\n", count: 70_000)
            case "Long field": "HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 3_000_000))\r\n"
            default:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
                    + String(repeating: field, count: 3000)
            }
        try await tested.exchange { _ in
            var response = OriginResponse.verbatim(text)
            response.staysOpen = true
            return response
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/a")))).body.collect(upTo: 100)
            }
            #expect(error?.code == .protocolViolation, "\(String(describing: error))")
        }
    }

    @Test(
        arguments: TestedTransport.having(.exactErrors),
        ["99999999999999999999", "-1", "1, 99999999999999999999", "1x"])
    func `an invalid Content-Length is an error`(tested: TestedTransport, length: String) async throws {
        try await tested.exchange { _ in
            .verbatim("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nx")
        } during: { transport, origin in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: origin.url("/a")))).body.collect(upTo: 100)
            }
            #expect(error?.code == .protocolViolation, "\(String(describing: error))")
        }
    }

    @Test(arguments: TestedTransport.all) func `a huge time limit works`(tested: TestedTransport) async throws {
        for limit in [Duration.seconds(Int64.max), .seconds(10_000_000_000)] {
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: [1])
            } during: { origin in
                let configuration = HTTPTransport.Configuration(
                    connectTimeout: limit, stallTimeout: limit, proxy: .none)
                try await tested.withTransport(configuration) { transport in
                    let response = try await transport.open(.init(URL(fetchable: origin.url("/a"))))
                    #expect(try await response.body.collect(upTo: 1) == Data([1]))
                }
            }
        }
    }

    /// The origin also serves `sluice demo`, to which any local process can connect.
    @Test(
        arguments: [
            [.contentLength: "-1"], [.contentLength: "9223372036854775807"], [.range: "bytes=0-9223372036854775807"],
            [.range: "bytes=9223372036854775807-"], [.range: "bytes=9223372036854775807-9223372036854775807"],
            [.range: "bytes=-5"],
        ] as [HTTPFields])
    func `the test origin survives numbers of any size`(fields: HTTPFields) async throws {
        try await LoopbackOrigin.serve { request in
            .file([1, 2, 3], request: request)
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: .init(proxy: .none)) { transport in
                let url = try URL(fetchable: origin.url("/a"))
                _ = try? await transport.open(.init(url, headerFields: fields)).body.collect(upTo: 10)
                #expect(try await transport.open(.init(url)).body.collect(upTo: 10) == Data([1, 2, 3]))
            }
        }
    }

    @Test(
        arguments: [
            (.tlsFailed, "certificateAuthorities", .init(certificateAuthorities: URL(filePath: "/a.pem"))),
            (.tlsFailed, "clientCertificate", .init(clientCertificate: URL(filePath: "/a.pem"))),
            (.proxyFailed, "proxy", .init(proxy: ProxySettings("http://a.invalid"))),
        ] as [(TransferError.Code, String, HTTPTransport.Configuration)])
    func `a setting that URLSession doesn't support is an error that names it`(
        code: TransferError.Code, setting: String, configuration: HTTPTransport.Configuration
    ) async throws {
        try await TestedTransport.urlSession.withTransport(configuration) { transport in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: "https://a.invalid/")))
            }
            #expect(error?.code == code && error?.description.contains(setting) == true)
        }
    }
}
