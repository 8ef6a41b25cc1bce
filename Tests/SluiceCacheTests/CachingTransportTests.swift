import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `A cache as a transport` {
    private static let whole = pattern(1000)

    /// A server whose resource is fresh for a minute and has an entity tag.
    private static let server: ClosureTransport.Server = { request in
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
        if request.headerFields[.ifNoneMatch] == "\"1\"" {
            return .response(status: .notModified, headerFields: fields)
        }
        return .bytes(whole, fields)
    }

    /// Calls `body` with a caching transport in front of a server.
    private func withTransport(
        _ server: @escaping ClosureTransport.Server = server, mode: ResourceCache.LookupMode = .useCache,
        _ configuration: ResourceCache.Configuration = .init(), wall: WallClock = WallClock(),
        _ body: (CachingTransport, ClosureTransport, ResourceCache) async throws -> Void
    ) async throws {
        let transport = ClosureTransport { request, _ in try await server(request) }
        try await withCache(transport, configuration, wall: wall) { cache in
            try await body(CachingTransport(cache, mode: mode), transport, cache)
        }
    }

    private func read(_ response: TransportResponse) async throws -> Data {
        try await response.body.collect(upTo: 100_000)
    }

    @Test func `answers a second request without the server`() async throws {
        try await withTransport { (transport, server, _) async throws in
            for _ in 1...2 {
                let response = try await transport.open(TransportRequest(url("a")))
                #expect(response.status == .ok && response.contentLength == 1000)
                #expect(response.url == url("a") && response.redirectCount == 0)
                #expect(try await same(read(response), Self.whole))
                // A body can be read only once.
                #expect(try await read(response).isEmpty)
            }
            #expect(server.requests.values.count == 1)
        }
    }

    struct Case: Sendable {
        var name: String
        var method = HTTPRequest.Method.get
        var fields: HTTPFields = [:]
        var status: Int
        var bytes = 0..<0
        var range: String?
    }

    /// Requests after the whole resource is stored.
    static let cases = [
        Case(
            name: "Range", fields: [.range: "bytes=100-199"], status: 206, bytes: 100..<200, range: "bytes 100-199/1000"
        ),
        Case(
            name: "Range to the end", fields: [.range: "bytes=900-"], status: 206, bytes: 900..<1000,
            range: "bytes 900-999/1000"),
        Case(
            name: "If-Range with the entity tag", fields: [.range: "bytes=400-", .ifRange: "\"1\""], status: 206,
            bytes: 400..<1000, range: "bytes 400-999/1000"),
        Case(
            name: "If-Range with an older entity tag", fields: [.range: "bytes=400-", .ifRange: "\"0\""], status: 200,
            bytes: 0..<1000),
        Case(name: "a range beyond the end", fields: [.range: "bytes=1000-"], status: 416, range: "bytes */1000"),
        Case(name: "If-None-Match", fields: [.ifNoneMatch: "\"1\""], status: 304),
        Case(name: "HEAD", method: .head, status: 200),
    ]

    @Test(arguments: cases)
    func `answers from the stored response`(testCase: Case) async throws {
        try await withTransport { (transport, server, _) async throws in
            _ = try await read(transport.open(TransportRequest(url("a"))))
            let response = try await transport.open(
                TransportRequest(url("a"), method: testCase.method, headerFields: testCase.fields))
            #expect(response.status.code == testCase.status && response.headerFields[.contentRange] == testCase.range)
            #expect(try await same(read(response), Self.whole[testCase.bytes]))
            #expect(response.headerFields[.eTag] == "\"1\"" || testCase.status == 416)
            if testCase.method == .head { #expect(response.contentLength == 1000) }
            #expect(server.requests.values.count == 1, "\(testCase.name)")
        }
    }

    @Test func `failed preconditions and unsafe methods go to the server`() async throws {
        try await withTransport({ request in
            if request.headerFields[.ifMatch] != nil { return .response(status: .preconditionFailed) }
            return request.method == .get ? try await Self.server(request) : .response(status: .noContent)
        }) { (transport, server, cache) async throws in
            _ = try await read(transport.open(TransportRequest(url("a"))))
            let failed = try await transport.open(TransportRequest(url("a"), headerFields: [.ifMatch: "\"0\""]))
            #expect(failed.status == .preconditionFailed)
            #expect(try await cache.contains(url("a")))
            let put = try await transport.open(TransportRequest(url("a"), method: .put, body: Data([1])))
            #expect(put.status == .noContent && server.requests.values.map(\.method) == [.get, .get, .put])
            #expect(server.requests.values.last?.body == Data([1]))
            #expect(try await !cache.contains(url("a")))
        }
    }

    @Test(arguments: [301, 404, 410, 500, 503])
    func `an error status is returned as a response`(status: Int) async throws {
        try await withTransport(
            { _ in .response(status: .init(code: status), headerFields: [.contentLength: "3"], body: [Data("why".utf8)])
            },
            .init(retries: RetryPolicy(maximumRetries: 0))
        ) { (transport, server, _) async throws in
            let response = try await transport.open(TransportRequest(url("a")))
            #expect(response.status.code == status)
            #expect(try await read(response) == Data("why".utf8))
            #expect(server.requests.values.count == 1)
        }
    }

    @Test func `a stale response is validated`() async throws {
        let wall = WallClock()
        try await withTransport(wall: wall) { (transport, server, cache) async throws in
            _ = try await read(transport.open(TransportRequest(url("a"))))
            wall.advance(61)
            let response = try await transport.open(TransportRequest(url("a")))
            #expect(response.status == .ok)
            #expect(try await same(read(response), Self.whole))
            #expect(server.requests.values.last?.headerFields[.ifNoneMatch] == "\"1\"")
            #expect(cache.statistics.revalidated == 1)
        }
    }

    @Test func `cacheOnly never sends a request, and reload always does`() async throws {
        try await withTransport(mode: .cacheOnly) { (transport, server, _) async throws in
            #expect(try await transport.open(TransportRequest(url("a"))).status == .gatewayTimeout)
            #expect(server.requests.values.isEmpty)
        }
        try await withTransport(mode: .reload) { (transport, server, _) async throws in
            for _ in 1...2 { _ = try await transport.open(TransportRequest(url("a"))) }
            #expect(server.requests.values.count == 2)
        }
    }

    @Test func `a body that is too large for the disk is passed through`() async throws {
        for announces in [true, false] {
            try await withTransport(
                { _ in
                    .response(
                        headerFields: announces ? [.contentLength: "1000", .cacheControl: "max-age=60"] : [:],
                        body: [Self.whole])
                }, .init(maximumDiskEntrySize: 999, maximumResponseSize: 10)
            ) { (transport, server, cache) async throws in
                let response = try await transport.open(TransportRequest(url("a")))
                #expect(try await same(read(response), Self.whole))
                #expect(server.requests.values.count == 1)
                try await expectConsistent(cache, entries: 0)
                // With other methods, the cache collects the whole body.
                let error = await failure { try await transport.open(TransportRequest(url("a"), method: .post)) }
                #expect((error as? TransferError)?.code == .responseTooLarge && server.requests.values.count == 2)
            }
        }
    }

    @Test func `the cache retries as often as configured`() async throws {
        for retries in [0, 2] {
            try await withTransport(
                { throw TransferError(.connectionClosed, url: $0.url) },
                .init(retries: RetryPolicy(maximumRetries: retries))
            ) { (transport, server, _) async throws in
                let error = await failure { try await transport.open(TransportRequest(url("a"))) } as? TransferError
                #expect(error?.code == .connectionClosed && error?.attempts == retries + 1)
                #expect(server.requests.values.count == retries + 1)
            }
        }
    }

    @Test func `a truncated body is an error, and the next request asks for the rest`() async throws {
        try await withTransport(
            { request in
                var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentLength: "1000"]
                guard request.headerFields[.range] != nil else {
                    return .response(
                        headerFields: fields, body: [Self.whole[..<400]],
                        failure: TransferError(.connectionClosed, url: request.url))
                }
                fields[.contentLength] = "600"
                fields[.contentRange] = "bytes 400-999/1000"
                return .response(status: .partialContent, headerFields: fields, body: [Self.whole[400...]])
            }, .init(retries: RetryPolicy(maximumRetries: 0))
        ) { (transport, server, _) async throws in
            let cutOff = try await transport.open(TransportRequest(url("a")))
            let error = await failure { try await read(cutOff) } as? TransferError
            #expect(error?.code == .connectionClosed)
            let response = try await transport.open(TransportRequest(url("a")))
            #expect(response.status == .ok)
            #expect(try await same(read(response), Self.whole))
            #expect(server.requests.values.last?.headerFields[.range] == "bytes=400-")
        }
    }

    @Test func `a cancelled caller returns, and the other caller gets its response`() async throws {
        let gate = Gate()
        try await withTransport({ request in
            await gate.pass()
            return try await Self.server(request)
        }) { (transport, server, _) async throws in
            let executor = ManualExecutor()
            let tasks = (1...2).map { _ in
                executor.spawnThrowing { try await transport.open(TransportRequest(url("a"))) }
            }
            executor.runUntilIdle()
            await gate.arrivals(1)
            tasks[0].cancel()
            executor.runUntilIdle()
            await #expect(throws: CancellationError.self) { _ = try await tasks[0].value }
            await gate.open()
            await executor.run { _ = await tasks[1].result }
            let response = try await tasks[1].value
            #expect(try await same(read(response), Self.whole) && server.requests.values.count == 1)
        }
    }

    @Test func `a cancelled reader of a body gets an error`() async throws {
        try await withTransport { (transport, _, _) async throws in
            let response = try await transport.open(TransportRequest(url("a")))
            let gate = Gate()
            let reader = Task {
                await gate.pass()
                return try await read(response)
            }
            reader.cancel()
            await gate.open()
            #expect(await failure { try await reader.value } is CancellationError)
        }
    }
}

extension ClosureTransport {
    typealias Server = @Sendable (TransportRequest) async throws -> ScriptedTransport.Answer
}
