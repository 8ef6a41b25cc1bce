import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `The Cache-Status of a response` {
    /// Requests in order, with what the origin returns to those that reach it, and the field that the caller gets.
    private static let cases: [(request: String, fields: HTTPFields, status: String)] = [
        ("GET /a", [:], "Sluice; fwd=uri-miss; stored; ttl=60"),
        ("GET /a", [:], "Sluice; hit; ttl=60"),
        ("GET /a reload", [:], "Sluice; fwd=request; stored; ttl=60"),
        ("+70 GET /a staleIfOffline", [.ifNoneMatch: "\"x\""], "Sluice; fwd=stale; stored; ttl=60"),
        ("+70 GET /a", [:], "Sluice; fwd=stale; stored; ttl=60"),
        ("POST /a", [:], "Sluice; fwd=method"),
        ("GET /unknown cacheOnly", [:], "Sluice; detail=only-if-cached"),
        ("GET /tagged", [:], "Sluice; fwd=uri-miss; stored; ttl=60"),
        ("+70 GET /tagged", [:], "Sluice; fwd=stale; fwd-status=304; ttl=60"),
        ("GET /varying", [.acceptLanguage: "de"], "Sluice; fwd=uri-miss; stored; ttl=60"),
        ("GET /varying", [.acceptLanguage: "en"], "Sluice; fwd=vary-miss; stored; ttl=60"),
        ("GET /varying", [.acceptLanguage: "de"], "Sluice; hit; ttl=60"),
        ("GET /part", [.range: "bytes=0-4"], "Sluice; fwd=uri-miss; stored; ttl=60"),
        ("GET /part", [.range: "bytes=2-7"], "Sluice; fwd=partial; stored; ttl=60"),
        ("GET /part", [.range: "bytes=0-7"], "Sluice; hit; ttl=60"),
        ("GET /private", [:], "Sluice; fwd=uri-miss"),
        ("GET /broken", [:], "Sluice; fwd=uri-miss; stored; ttl=60"),
        ("+70 GET /broken", [:], "Sluice; fwd=stale; fwd-status=503; ttl=-10"),
        ("GET /proxied", [:], "CDN; hit, Sluice; fwd=uri-miss; stored; ttl=60"),
        ("GET /proxied", [:], "CDN; hit, Sluice; hit; ttl=60"),
    ]

    @Sendable private static func answer(_ request: TransportRequest) -> ScriptedTransport.Answer {
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        switch request.url.path {
        case "/tagged":
            fields[.eTag] = "\"a\""
            if request.headerFields[.ifNoneMatch] == "\"a\"" {
                return .response(status: .notModified, headerFields: fields)
            }
        case "/varying": fields[.vary] = "Accept-Language"
        case "/private": fields[.cacheControl] = "no-store"
        case "/proxied": fields[.cacheStatus] = "CDN; hit"
        case "/broken": fields[.cacheControl] = "max-age=60, stale-if-error=600"
        case "/part":
            fields[.eTag] = "\"a\""
            guard case .from(let first, let last) = RequestedRange(request.headerFields) else { break }
            fields[.contentRange] = "bytes \(first)-\(last)/10"
            fields[.contentLength] = "\(last - first + 1)"
            return .response(status: .partialContent, headerFields: fields, body: [pattern(Int(last - first) + 1)])
        default: break
        }
        return .bytes(pattern(10), fields)
    }

    @Test(arguments: [false, true]) func `says what the cache did`(isStreamed: Bool) async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, _ in
            let isLater = wall.now().secondsSince1970 >= 784_111_777 + 280
            return request.url.path == "/broken" && isLater
                ? .response(status: .serviceUnavailable) : Self.answer(request)
        }
        try await withCache(transport, .init(retries: RetryPolicy(maximumRetries: 0)), wall: wall) { cache in
            for (line, fields, status) in Self.cases {
                var words = line.split(separator: " ").map(String.init)
                if words[0].hasPrefix("+"), let seconds = Int64(words.removeFirst()) { wall.advance(seconds) }
                let mode: ResourceCache.LookupMode =
                    switch words.dropFirst(2).first {
                    case "reload": .reload
                    case "cacheOnly": .cacheOnly
                    case "staleIfOffline": .staleIfOffline
                    default: .useCache
                    }
                let url = try #require(URL(string: "http://example.test\(words[1])"))
                let request = TransportRequest(url, method: .init(words[0])!, headerFields: fields)
                let answer: HTTPFields
                if isStreamed {
                    let response = try await cache.bytes(for: request, mode: mode)
                    answer = response.headerFields
                    _ = try await response.body.collect(upTo: 1000)
                } else {
                    answer = try await cache.response(for: request, mode: mode).headerFields
                }
                // While a body arrives, its end may still change whether it is fresh.
                let expected =
                    isStreamed && status.contains("fwd=") && !status.contains("fwd-status")
                        && !status.contains("partial")
                    ? status.replacing("; ttl=60", with: "") : status
                #expect(answer[.cacheStatus] == expected, "\(line) \(fields)")
            }
        }
    }

    @Test func `says that another caller's request was sent`() async throws {
        let gate = Gate()
        let transport = ClosureTransport { request, _ in
            await gate.pass()
            return Self.answer(request)
        }
        try await withCache(transport) { cache in
            let executor = ManualExecutor()
            let tasks = (0..<5).map { _ in
                executor.spawnThrowing {
                    try await cache.response(for: TransportRequest(url("a"))).headerFields[.cacheStatus]
                }
            }
            executor.runUntilIdle()
            await gate.open()
            await executor.run { for task in tasks { _ = await task.result } }
            var statuses: [String] = []
            for task in tasks { statuses.append(try await task.value ?? "") }
            #expect(statuses.count { $0 == "Sluice; fwd=uri-miss; stored; ttl=60" } == 1)
            #expect(statuses.count { $0 == "Sluice; fwd=uri-miss; stored; collapsed; ttl=60" } == 4)
        }
    }

    @Test func `says that requests with credentials in the URL aren't handled`() async throws {
        try await withCache(ClosureTransport { request, _ in Self.answer(request) }) { cache in
            let secret = try #require(URL(string: "http://me:secret@example.test/b"))
            let response = try await cache.response(for: TransportRequest(secret))
            #expect(response.headerFields[.cacheStatus] == "Sluice; fwd=bypass")
        }
    }
}

@Suite struct `Groups of responses` {
    private static func cache(
        _ body: (ResourceCache, @escaping @Sendable (String) async throws -> Bool) async throws -> Void
    ) async throws {
        let transport = ClosureTransport { request, _ in
            if request.method == .post { return .response(headerFields: [.cacheGroupInvalidation: "\"x\""]) }
            let group = request.url.path.hasSuffix("x") ? "\"x\"" : "\"y\""
            return .bytes(pattern(1000), [.cacheControl: "max-age=60", .cacheGroups: group])
        }
        try await withCache(transport) { cache in
            try await body(cache) { name in
                let count = transport.requests.values.count
                _ = try await cache.data(for: url(name))
                return transport.requests.values.count == count
            }
        }
    }

    @Test(arguments: [false, true])
    func `are removed from memory and from disk`(isInMemory: Bool) async throws {
        try await Self.cache { cache, isStored in
            for name in ["1x", "2x", "3y"] { _ = try await isStored(name) }
            if !isInMemory { cache.trimMemory(toFraction: 0) }
            _ = try await cache.response(for: TransportRequest(url("4"), method: .post))
            try await expectConsistent(cache, entries: 1)
            #expect(try await isStored("3y"))
            #expect(try await !isStored("1x"))
            #expect(try await !isStored("2x"))
        }
    }

    @Test func `stay if the response to a safe request names them`() async throws {
        let transport = ClosureTransport { request, number in
            let name: HTTPField.Name = number == 1 ? .cacheGroups : .cacheGroupInvalidation
            return .bytes(pattern(1000), [.cacheControl: "max-age=60", name: "\"x\""])
        }
        try await withCache(transport) { cache in
            for name in ["a", "b"] { _ = try await cache.data(for: url(name)) }
            #expect(try await cache.contains(url("a")))
        }
    }

    @Test func `belong to one origin`() async throws {
        try await Self.cache { cache, isStored in
            let other = try #require(URL(string: "http://other.test/1x"))
            _ = try await cache.data(for: other)
            _ = try await isStored("1x")
            _ = try await cache.response(for: TransportRequest(url("4"), method: .post))
            #expect(try await cache.contains(other))
            #expect(try await !cache.contains(url("1x")))
        }
    }

    @Test func `include responses that are arriving`() async throws {
        let gate = Gate()
        let transport = ClosureTransport { request, number in
            if request.method == .post { return .response(headerFields: [.cacheGroupInvalidation: "\"x\""]) }
            if number == 1 { await gate.pass() }
            return .bytes(pattern(1000, seed: number), [.cacheControl: "max-age=60", .cacheGroups: "\"x\""])
        }
        try await withCache(transport) { cache in
            let early = Task { try await cache.data(for: url("a")) }
            await gate.arrivals(1)
            _ = try await cache.response(for: TransportRequest(url("b"), method: .post))
            await gate.open()
            #expect(same(try await early.value, pattern(1000, seed: 1)))
            try await expect(pattern(1000, seed: 3), from: cache, url("a"))
        }
    }
}
