import Foundation
import GRDB
import HTTPTypes
import LoopbackOrigin
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceCache

/// Servers that send too much, or not what they announce.
@Suite struct `Hostile servers` {
    private static let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]

    /// An endless body, which counts the chunks that have been read.
    private final class EndlessBody: ResponseBodySource {
        let taken = Guarded(0)

        func nextBatch() async throws -> [Data]? {
            try Task.checkCancellation()
            taken.withLock { $0 += 1 }
            return [Data(count: 1 << 16)]
        }
    }

    private struct EndlessTransport: Transport {
        var body = EndlessBody()
        var headerFields: HTTPFields

        func open(_ request: TransportRequest) async throws -> TransportResponse {
            TransportResponse(status: .ok, headerFields: headerFields, url: request.url, body: ResponseBody(body))
        }
    }

    @Test(arguments: [nil, "10", "1048576", "9223372036854775807", "99999999999999999999", "-1", "x"], [false, true])
    func `an endless body ends at the limit and leaves nothing`(announced: String?, asResponse: Bool) async throws {
        var fields = Self.fields
        fields[.contentLength] = announced
        let transport = EndlessTransport(headerFields: fields)
        let configuration = ResourceCache.Configuration(
            maximumResponseSize: 1 << 20, retries: RetryPolicy(maximumRetries: 0))
        try await withCache(transport, configuration) { cache in
            let error =
                await failure {
                    if asResponse {
                        _ = try await cache.response(for: TransportRequest(url("a")))
                    } else {
                        _ = try await cache.data(for: url("a"))
                    }
                } as? TransferError
            #expect(error?.code == .responseTooLarge && error?.isTransient == false)
            // The cache reads no more than the limit and the chunk that exceeds it.
            #expect(transport.body.taken.withLock { $0 } <= 17)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `too many header fields are an error, and the next request is answered`() async throws {
        try await LoopbackOrigin.serve { request in
            guard request.target == "/flood" else { return OriginResponse(body: Array("ok".utf8)) }
            let line = "X-Flood: " + String(repeating: "x", count: 1000) + "\r\n"
            return .verbatim("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 5000) + "\r\n")
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: .init(proxy: .none)) { transport in
                try await withCache(transport) { cache in
                    let flood = TransportRequest(try URL(fetchable: origin.url("/flood")))
                    let error = await failure { try await cache.response(for: flood) } as? TransferError
                    #expect(error?.code == .protocolViolation)
                    try await expectConsistent(cache, entries: 0)
                    let other = try await cache.data(for: URL(fetchable: origin.url("/other")))
                    #expect(other == Data("ok".utf8))
                }
            }
        }
    }

    @Test func `header fields count toward the memory limit`() async throws {
        let flood = HTTPField(name: HTTPField.Name("X-Flood")!, value: String(repeating: "x", count: 10_000))
        let transport = ClosureTransport { _, _ in
            .bytes(Data(), [.cacheControl: "max-age=60", flood.name: flood.value])
        }
        let configuration = ResourceCache.Configuration(maximumMemorySize: 200_000, maximumDiskSize: 0)
        try await withCache(transport, configuration) { cache in
            for number in 0..<40 { _ = try await cache.data(for: url("\(number)")) }
            var found = 0
            for number in 0..<40 where cache.memory.value(for: ResourceKey(url("\(number)"))) != nil { found += 1 }
            #expect(found == 19)
        }
    }

    @Test func `header fields count toward the disk limit`() async throws {
        let fields: HTTPFields = [
            .cacheControl: "max-age=60, stale-while-revalidate=60", .eTag: "\"a\"",
            HTTPField.Name("X-Flood")!: String(repeating: "x", count: 10_000),
        ]
        let transport = ClosureTransport { request, _ in
            request.headerFields[.ifNoneMatch] == nil
                ? .bytes(Data(), fields) : .response(status: .notModified, headerFields: fields)
        }
        let limit: Int64 = 100_000
        let wall = WallClock()
        try await withCache(transport, .init(maximumDiskSize: limit), wall: wall) { cache in
            for number in 0..<30 {
                _ = try await cache.response(for: TransportRequest(url("\(number)")))
                // There is room for nine entries, so each new one replaces one.
                try await expectConsistent(cache, entries: min(number + 1, 9))
            }
            // The newest entries remain.
            cache.memory.removeAll()
            #expect(try await cache.contains(url("29")))
            #expect(try await !cache.contains(url("20")))
            // A confirmation with different fields changes the entry's size.
            wall.advance(200)
            _ = try await cache.response(for: TransportRequest(url("29")))
            try await expectConsistent(cache, entries: 9)
            try await cache.removeAll()
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        "Transfer-Encoding: chunked\r\n\r\nx\r\n12345\r\n0\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
        "Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345",
        // A sender must not send both (RFC 9112, section 6.2).
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
    ])
    func `a body with a wrong length is an error and never used as a complete one`(rest: String) async throws {
        try await LoopbackOrigin.serve { _ in
            .verbatim("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"a\"\r\n\(rest)")
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: .init(proxy: .none)) { transport in
                let configuration = ResourceCache.Configuration(retries: RetryPolicy(maximumRetries: 0))
                try await withCache(transport, configuration) { cache in
                    let request = TransportRequest(try URL(fetchable: origin.url("/a")))
                    for _ in 0..<2 {
                        #expect(await failure { try await cache.response(for: request) } is TransferError)
                        #expect(await failure { try await cache.data(for: request.url) } is TransferError)
                    }
                    #expect(try await !cache.contains(request.url))
                }
            }
        }
    }

    @Test(arguments: [
        "Content-Length: 5\r\n\r\n12345678",
        "Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345HTTP/1.1 200 OK\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n678",
    ])
    func `bytes after the end of the body are ignored`(rest: String) async throws {
        try await LoopbackOrigin.serve { _ in
            .verbatim("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\(rest)")
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: .init(proxy: .none)) { transport in
                try await withCache(transport) { cache in
                    let request = TransportRequest(try URL(fetchable: origin.url("/a")))
                    for _ in 0..<2 {
                        let response = try await cache.response(for: request)
                        #expect(response.body == Data("12345".utf8))
                    }
                    #expect(origin.metrics.requests == 1)
                }
            }
        }
    }

    @Test func `endless variants replace each other`() async throws {
        let transport = ClosureTransport { request, number in
            .bytes(pattern(10, seed: number), [.cacheControl: "max-age=60", .vary: "X-\(number % 3), Cookie"])
        }
        try await withCache(transport) { cache in
            for number in 0..<50 {
                let request = TransportRequest(url("a"), headerFields: [.cookie: "\(number)"])
                _ = try await cache.response(for: request)
            }
            let count = try await cache.settledDisk.database.read {
                try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM entry WHERE state = 0") ?? 0
            }
            #expect(count == CachePolicy.maximumVariants)
            try await expectConsistent(cache, entries: count)
            // The last variant is one of them.
            let last = TransportRequest(url("a"), headerFields: [.cookie: "49"])
            #expect(try await cache.response(for: last).source != .network)
        }
    }

    @Test func `a response with Vary: * isn't stored`() async throws {
        let transport = ClosureTransport { _, number in
            .bytes(pattern(10, seed: number), [.cacheControl: "max-age=60", .vary: "Accept, *"])
        }
        try await withCache(transport) { cache in
            for number in 1...3 {
                let response = try await cache.response(for: TransportRequest(url("a")))
                #expect(response.source == .network && same(response.body, pattern(10, seed: number)))
            }
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `an unconditional 304 is retried once and not stored`() async throws {
        let transport = ClosureTransport { _, number in
            number < 3
                ? .response(status: .notModified, headerFields: Self.fields) : .bytes(pattern(10), Self.fields)
        }
        try await withCache(transport) { cache in
            #expect(try await cache.response(for: TransportRequest(url("a"))).status == .notModified)
            #expect(transport.requests.values.count == 2)
            try await expectConsistent(cache, entries: 0)
            let response = try await cache.response(for: TransportRequest(url("a")))
            #expect(response.status == .ok && same(response.body, pattern(10)))
        }
    }

    @Test func `an unrequested 206 is a part and never used as the whole`() async throws {
        let transport = ClosureTransport { request, _ in
            var fields = Self.fields
            fields[.contentRange] = "bytes 0-4/10"
            return request.headerFields[.range] == nil
                ? .response(status: .partialContent, headerFields: fields, body: [pattern(5)])
                : .failure(TransferError(.connectionRefused, url: request.url))
        }
        let configuration = ResourceCache.Configuration(retries: RetryPolicy(maximumRetries: 0))
        try await withCache(transport, configuration) { cache in
            let part = try await cache.response(for: TransportRequest(url("a")))
            #expect(part.status == .partialContent)
            let error = await failure { try await cache.data(for: url("a")) } as? TransferError
            // The cache requests the rest, and doesn't get it.
            #expect(error?.code == .connectionRefused)
            #expect(await failure { try await cache.response(for: TransportRequest(url("a"))) } is TransferError)
            #expect(try await !cache.contains(url("a")))
        }
    }

    @Test(arguments: [
        "bytes 0-9/10", "bytes 5-9/10", "bytes 5-4/10", "bytes 0-4/3", "bytes 0-4/5, bytes 5-9/10",
        "bytes 9223372036854775803-9223372036854775807/*", "items 0-4/10", "bytes */10", "0-4/10", "",
    ])
    func `a false Content-Range yields no wrong bytes`(range: String) async throws {
        let whole = pattern(10)
        let transport = ClosureTransport { request, number in
            var fields = Self.fields
            guard number == 1 else { return .bytes(whole, fields) }
            fields[.contentRange] = range
            return .response(status: .partialContent, headerFields: fields, body: [pattern(5, seed: 9)])
        }
        try await withCache(transport) { cache in
            _ = try await cache.response(for: TransportRequest(url("a"), headerFields: [.range: "bytes=0-4"]))
            let response = try await cache.response(for: TransportRequest(url("a")))
            #expect(response.status == .ok && same(response.body, whole))
            let part = TransportRequest(url("a"), headerFields: [.range: "bytes=0-4"])
            #expect(same(try await cache.response(for: part).body, whole.prefix(5)))
        }
    }

    @Test(arguments: ["key", "fields", "names", "variant"])
    func `keys, fields and variants count toward the memory limit`(part: String) async throws {
        let long = String(repeating: "x", count: 30_000)
        let transport = ClosureTransport { _, _ in
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            switch part {
            case "fields": fields[.eTag] = "\"\(long)\""
            case "names": for _ in 0..<400 { fields.append(HTTPField(name: .init("a")!, value: "")) }
            case "variant": fields[.vary] = (0..<400).map { "x\($0)" }.joined(separator: ", ")
            default: break
            }
            return .bytes(Data(), fields)
        }
        let configuration = ResourceCache.Configuration(maximumMemorySize: 4 << 20, maximumDiskSize: 0)
        try await withCache(transport, configuration) { (cache) async throws in
            let values = cache.decoded(maximumMemorySize: 4 << 20, cost: { (_: Int) in 0 }) { $0.count }
            for number in 0..<400 {
                let url = url(part == "key" ? "\(number)?\(long)" : "\(number)")
                _ = try await cache.data(for: url)
                _ = try await values.value(for: url)
            }
            // Each response takes more than 20 kB.
            #expect((1...200).contains(cache.memory.count))
            let kept = (0..<400).count {
                values.valueInMemory(for: url(part == "key" ? "\($0)?\(long)" : "\($0)")) != nil
            }
            #expect((1...200).contains(kept))
        }
    }
}

// MARK: - Numbers

@Suite(.timeLimit(.minutes(15))) struct `Numbers from servers and callers` {
    private static let numbers = [
        "9223372036854775807", "9223372036854775806", "9223372036854775300", "4611686018427387904",
        "18446744073709551616",
        "-1", "-9223372036854775808", "99999999999999999999999999999999", "1e9", "0x10", "",
    ]

    private static let dates = [
        "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT",
        "Friday, 31-Dec-99 23:59:59 GMT", "0",
    ]

    /// Responses with extreme values in one field.
    private static let responses: [HTTPFields] = {
        var all: [HTTPFields] = []
        func add(_ fields: HTTPFields) {
            var fields = fields
            if fields[.cacheControl] == nil, fields[.expires] == nil, fields[.lastModified] == nil {
                fields[.cacheControl] = "max-age=60"
            }
            if fields[.eTag] == nil { fields[.eTag] = "\"a\"" }
            all.append(fields)
        }
        for number in numbers {
            add([.contentLength: number])
            add([.age: number])
            add([.contentRange: "bytes 0-\(number)/\(number)"])
            add([.contentRange: "bytes \(number)-\(number)/*"])
            for directive in ["max-age", "stale-while-revalidate", "stale-if-error"] {
                add([.cacheControl: "max-age=1, \(directive)=\(number)"])
                add([.cacheControl: "\(directive)=\(number)", .age: "9223372036854775807"])
            }
        }
        for date in dates {
            add([.date: date])
            for other in dates {
                add([.expires: date, .date: other])
                add([.lastModified: date, .date: other])
            }
        }
        return all
    }()

    private static let requests: [HTTPFields] =
        [
            [:], [.range: "bytes=0-9223372036854775807"], [.range: "bytes=9223372036854775806-9223372036854775807"],
            [.range: "bytes=-9223372036854775807"], [.range: "bytes=99999999999999999999-"],
        ]
        + ["max-age", "max-stale", "min-fresh", "stale-if-error"].flatMap { directive in
            ["9223372036854775807", "-1"].map { [.cacheControl: "\(directive)=\($0)"] }
        }

    @Test(arguments: [
        ResourceCache.Configuration(maximumHeuristicLifetime: .seconds(Int64.max), retries: .never),
        .init(
            maximumMemorySize: .max, maximumDiskSize: .max, maximumDiskEntrySize: .max, maximumResponseSize: .max,
            maximumHeuristicLifetime: .seconds(Int64.min), retries: .never),
        .init(
            maximumMemorySize: 0, maximumDiskSize: 10_000, maximumDiskEntrySize: .max, maximumResponseSize: 0,
            retries: .never),
    ])
    func `in response fields never trap`(_ configuration: ResourceCache.Configuration) async throws {
        for status in [200, 206] {
            try await withDirectory { directory in
                let transport = ClosureTransport { request, _ in
                    let number = Int(request.url.lastPathComponent) ?? 0
                    return .response(
                        status: .init(code: status), headerFields: Self.responses[number], body: [pattern(3_000)])
                }
                let wall = WallClock()
                try await withCache(in: directory, transport, configuration, wall: wall) { cache in
                    for number in Self.responses.indices {
                        let fields = Self.requests[number % Self.requests.count]
                        let request = TransportRequest(url("\(number)"), headerFields: fields)
                        _ = try? await cache.bytes(for: request).body.collect(upTo: .max)
                        _ = try? await cache.response(for: request)
                        _ = try? await cache.data(for: request.url)
                        _ = try? await cache.response(for: request, mode: .cacheOnly)
                        _ = try await cache.contains(request.url)
                    }
                    for task in cache.transfers.running + cache.validations.running { await task.value }
                    wall.advance(1 << 38)
                    for number in Self.responses.indices {
                        _ = try? await cache.response(for: TransportRequest(url("\(number)")), mode: .staleIfOffline)
                    }
                    cache.trimMemory(toFraction: 1)
                }
                try await CacheDirectory.withDirectory(at: directory, now: wall.now) { (cache) async throws in
                    _ = try await cache.totals()
                    #expect(try await cache.verify(isRepairing: false) { _ in }.problems == 0)
                }
            }
        }
    }

    @Test func `in a caller's times and sizes never trap`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, ScriptedTransport([:]), .init(maximumMemorySize: .max)) { cache in
                for (number, seconds) in [Int64.max, .min, 0, 1 << 40].enumerated() {
                    try await cache.store(pattern(10), for: url("\(number)"), freshFor: .seconds(seconds))
                }
                cache.trimMemory(toFraction: 1)
                let values = cache.decoded(maximumMemorySize: .max, cost: { (_: Int) in .max }) { $0.count }
                #expect(try await values.value(for: url("0")) == 10)
                cache.trimMemory(toFraction: 0.5)
                try await cache.trim(toBytes: .max)
                #expect(try await cache.contains(url("0")))
                #expect(!(try await cache.contains(url("1"))))
            }
            let times = [-6e17, -1e300, -.infinity, .nan, Date.distantPast.timeIntervalSince1970]
            try await CacheDirectory.withDirectory(at: directory) { (cache) async throws in
                for time in times {
                    #expect(try await cache.removeUnused(since: Date(timeIntervalSince1970: time)) == 0)
                }
                #expect(try await cache.trim(toBytes: .max) == 0)
                #expect(try await cache.removeUnused(since: Date(timeIntervalSince1970: 1e300)) == 4)
            }
        }
    }
}

// MARK: - Other users

@Suite struct `Other users' responses` {
    /// A server whose response body is the value of a request field.
    private static func echo(_ name: HTTPField.Name, _ fields: HTTPFields = [.cacheControl: "max-age=60"])
        -> ClosureTransport
    {
        ClosureTransport { request, _ in .bytes(Data((request.headerFields[name] ?? "none").utf8), fields) }
    }

    @Test(arguments: [nil, "Authorization", "Accept"])
    func `a request with another Authorization never gets the response from any stage`(vary: String?) async throws {
        try await withDirectory { directory in
            var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"same for all\""]
            fields[.vary] = vary
            let transport = Self.echo(.authorization, fields)
            for round in 1...2 {
                try await withCache(in: directory, transport) { cache in
                    for user in ["ann", "ben", nil, "ann", "ben", nil] {
                        var request = TransportRequest(url("a"))
                        request.headerFields[.authorization] = user
                        let response = try await cache.response(for: request)
                        #expect(response.body == Data((user ?? "none").utf8))
                    }
                    // Without `Vary`, the server claims that the response to a request without the field is for all users.
                    let eve = TransportRequest(url("a"), headerFields: [.authorization: "eve\(round)"])
                    let response = try await cache.response(for: eve)
                    #expect(response.body == Data((vary == "Authorization" ? "eve\(round)" : "none").utf8))
                    try await expect(Data("none".utf8), from: cache, url("a"))
                }
            }
            #expect(transport.requests.values.count == (vary == "Authorization" ? 5 : 3))
        }
    }

    @Test func `another user's entity tag isn't sent`() async throws {
        let transport = ClosureTransport { request, _ in
            request.headerFields[.ifNoneMatch] == nil
                ? .bytes(
                    Data((request.headerFields[.authorization] ?? "none").utf8),
                    [.cacheControl: "no-cache", .eTag: "\"a\""])
                : .response(status: .notModified, headerFields: [.eTag: "\"a\""])
        }
        try await withCache(transport) { cache in
            for (user, source) in [
                ("ann", CachedResponse.Source.network), ("ben", .network), ("ann", .validated), ("ben", .validated),
            ] {
                let request = TransportRequest(url("a"), headerFields: [.authorization: user])
                let response = try await cache.response(for: request)
                #expect(response.body == Data(user.utf8) && response.source == source)
            }
        }
    }

    @Test func `a response to a URL with a user name isn't stored`() async throws {
        let transport = ClosureTransport { request, _ in .bytes(Data((request.url.user() ?? "none").utf8)) }
        try await withCache(transport) { cache in
            for user in ["ann", "ben", "ann"] {
                let own = URL(string: "http://\(user):secret@example.test/a")!
                #expect(try await cache.response(for: TransportRequest(own)).body == Data(user.utf8))
            }
            try await expectConsistent(cache, entries: 0)
            try await expect(Data("none".utf8), from: cache, url("a"))
            #expect(transport.requests.values.count == 4)
        }
    }

    @Test func `reflected request fields separate variants only if Vary names them`() async throws {
        let host = HTTPField.Name("X-Forwarded-Host")!
        for (vary, expected) in [("X-Forwarded-Host", "none"), ("Accept", "evil.test")] {
            let transport = Self.echo(host, [.cacheControl: "max-age=60", .vary: vary])
            try await withCache(transport) { cache in
                let poisoned = TransportRequest(url("a"), headerFields: [host: "evil.test"])
                #expect(try await cache.response(for: poisoned).body == Data("evil.test".utf8))
                let response = try await cache.response(for: TransportRequest(url("a")))
                // Without `Vary`, the server claims that all requests get this response.
                #expect(response.body == Data(expected.utf8))
            }
        }
    }

    @Test func `a stored response returns its cookies as separate fields`() async throws {
        try await withDirectory { directory in
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            for cookie in ["a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "b=2"] {
                fields.append(HTTPField(name: .setCookie, value: cookie))
            }
            let transport = ClosureTransport { [fields] _, _ in .bytes(pattern(10), fields) }
            for source in [CachedResponse.Source.network, .disk] {
                try await withCache(in: directory, transport) { cache in
                    let response = try await cache.response(for: TransportRequest(url("a")))
                    #expect(response.source == source)
                    #expect(response.headerFields[values: .setCookie] == fields[values: .setCookie])
                }
            }
        }
    }

    @Test(arguments: [HTTPField.Name.location, .contentLocation], [HTTPRequest.Method.post, .put, .delete])
    func `another origin's responses aren't removed or stored`(
        name: HTTPField.Name, method: HTTPRequest.Method
    ) async throws {
        let others = ["http://other.test/a", "https://example.test/a", "http://example.test:81/a"]
        let transport = ClosureTransport { request, number in
            guard request.method != .get else { return .bytes(pattern(10, seed: number)) }
            let other = request.headerFields[.accept] ?? ""
            return .bytes(pattern(10), [.cacheControl: "max-age=60", name: other])
        }
        try await withCache(transport) { cache in
            for (number, other) in others.enumerated() {
                let other = URL(string: other)!
                try await expect(pattern(10, seed: 2 * number + 1), from: cache, other)
                let unsafe = TransportRequest(
                    url("b"), method: method, headerFields: [.accept: other.absoluteString])
                _ = try await cache.response(for: unsafe)
                try await expect(pattern(10, seed: 2 * number + 1), from: cache, other)
            }
            try await expectConsistent(cache, entries: others.count)
        }
    }

    @Test func `a Content-Location doesn't store the response under another URL`() async throws {
        let transport = ClosureTransport { _, number in
            .bytes(pattern(10, seed: number), [.cacheControl: "max-age=60", .contentLocation: "/b"])
        }
        try await withCache(transport) { cache in
            try await expect(pattern(10, seed: 1), from: cache, url("a"))
            try await expect(pattern(10, seed: 2), from: cache, url("b"))
            try await expect(pattern(10, seed: 1), from: cache, url("a"))
        }
    }
}
