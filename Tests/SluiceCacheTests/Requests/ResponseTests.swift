import Foundation
import GRDB
import HTTPTypes
import SluiceConcurrency
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Responses to requests` {
    private static func request(_ fields: HTTPFields = [:], _ method: HTTPRequest.Method = .get) -> TransportRequest {
        TransportRequest(url("a"), method: method, headerFields: fields)
    }

    @Test func `a part of a stored response doesn't have the digest of the whole message`() async throws {
        let (digest, whole) = (HTTPField.Name("Content-Digest")!, "sha-256=:mock:")
        let transport = ClosureTransport { _, _ in
            .bytes(pattern(10), [.cacheControl: "max-age=60", digest: whole, .init("Repr-Digest")!: whole])
        }
        try await withCache(transport) { cache in
            let cases: [(String?, String?)] = [(nil, whole), ("bytes=2-5", nil), ("bytes=0-9", whole)]
            for (range, expected) in cases {
                var request = TransportRequest(url("a"))
                request.headerFields[.range] = range
                let response = try await cache.response(for: request)
                #expect(response.headerFields[digest] == expected)
                #expect(response.headerFields[.init("Repr-Digest")!] == whole)
            }
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `a part of a large file is read without the rest`() async throws {
        let size = 3 << 20
        let transport = ClosureTransport { _, _ in .bytes(pattern(size)) }
        try await withDirectory { directory in
            try await withCache(in: directory, transport) { try await expect(pattern(size), from: $0, url("a")) }
            try await withCache(in: directory, transport) { cache in
                func expectPart(_ range: String, _ bytes: Range<Int>) async throws {
                    let response = try await cache.response(for: Self.request([.range: range]))
                    #expect(response.status == .partialContent && response.source == .disk)
                    #expect(same(response.body, pattern(size)[bytes]), "\(range)")
                    let expected = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(size)"
                    #expect(response.headerFields[.contentRange] == expected)
                    let streamed = try await cache.bytes(for: Self.request([.range: range]))
                    #expect(same(try await streamed.body.collect(upTo: size), pattern(size)[bytes]), "\(range)")
                }
                // The first one verifies the file.
                for _ in 0..<2 {
                    try await expectPart("bytes=0-9", 0..<10)
                    try await expectPart("bytes=1000000-1065535", 1_000_000..<1_065_536)
                    try await expectPart("bytes=-500", size - 500..<size)
                    try await expectPart("bytes=1-", 1..<size)
                }
                #expect(cache.statistics.diskHits == 16 && transport.requests.values.count == 1)
                #expect(cache.memory.count == 0, "the whole body isn't read")

                let file = try await file(of: url("a"), in: cache)
                try FileHandle(forWritingTo: file).truncate(atOffset: UInt64(size - 1))
                let response = try await cache.response(for: Self.request([.range: "bytes=0-9"]))
                #expect(response.status == .ok && same(response.body, pattern(size)))
                #expect(cache.statistics.damaged == 1 && transport.requests.values.count == 2)
            }
        }
    }

    @Test func `language variants are stored side by side and found after reopening`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { request, number in
                .bytes(pattern(100, seed: number), [.cacheControl: "max-age=60", .vary: "Accept-Language"])
            }
            for source in [CachedResponse.Source.network, .disk] {
                try await withCache(in: directory, transport) { cache in
                    for (number, language) in ["de", "en", "fr"].enumerated() {
                        let response = try await cache.response(for: Self.request([.acceptLanguage: language]))
                        #expect(response.source == source)
                        #expect(same(response.body, pattern(100, seed: number + 1)))
                    }
                    try await expectConsistent(cache, entries: 3)
                }
            }
            #expect(transport.requests.values.count == 3)
            // A request without the field is for a different variant.
            try await withCache(in: directory, transport) { cache in
                try await expect(pattern(100, seed: 4), from: cache, url("a"))
                try await expect(pattern(100, seed: 4), from: cache, url("a"))
                let german = try await cache.response(for: Self.request([.acceptLanguage: "DE"]))
                #expect(same(german.body, pattern(100, seed: 1)))
                #expect(transport.requests.values.count == 4)
            }
        }
    }

    @Test func `a response in memory doesn't hide a variant on disk`() async throws {
        let field = HTTPField.Name("X-A")!
        let transport = ClosureTransport { request, number in
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            if number == 1 { fields[.vary] = "X-A" }
            return .bytes(pattern(10, seed: number), fields)
        }
        try await withCache(transport) { cache in
            for (value, seed) in [("1", 1), ("2", 2), ("1", 1), ("2", 2), ("3", 2)] {
                let response = try await cache.response(for: Self.request([field: value]))
                #expect(same(response.body, pattern(10, seed: seed)))
            }
            #expect(transport.requests.values.count == 2)
        }
    }

    @Test func `a response has its status, its fields with Age, and its source`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
        try await withCache(transport, wall: wall) { cache in
            let first = try await cache.response(for: Self.request())
            #expect(first.status == .ok && first.source == .network)
            wall.advance(7)
            let second = try await cache.response(for: Self.request())
            #expect(second.status == .ok && second.source == .memory)
            #expect(second.headerFields[.age] == "7" && same(second.body, pattern(10)))
            try await expect(pattern(10), from: cache, url("a"))
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .init("ODD")!])
    func `a successful unsafe request removes the stored response and sends its body`(
        method: HTTPRequest.Method
    ) async throws {
        let transport = ClosureTransport { request, number in
            request.method == .get ? .bytes(pattern(10, seed: number)) : .response(status: .noContent)
        }
        try await withCache(transport) { cache in
            try await expect(pattern(10, seed: 1), from: cache, url("a"))
            var request = Self.request([:], method)
            request.body = pattern(5)
            #expect(try await cache.response(for: request).status == .noContent)
            #expect(transport.requests.values.last?.body == pattern(5))
            try await expectConsistent(cache, entries: 0)
            try await expect(pattern(10, seed: 3), from: cache, url("a"))
        }
    }

    @Test func `a response to HEAD updates the stored response, and HEAD is answered from it`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, number in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\"", .contentLength: "10"]
            return request.method == .head ? .response(headerFields: fields) : .bytes(pattern(10), fields)
        }
        try await withCache(transport, wall: wall) { cache in
            _ = try await cache.response(for: Self.request())
            let head = try await cache.response(for: Self.request([:], .head))
            #expect(head.source != .network && head.body.isEmpty && head.headerFields[.contentLength] == "10")
            wall.advance(70)
            #expect(try await cache.response(for: Self.request([.cacheControl: "no-cache"], .head)).status == .ok)
            // The response to HEAD has made the stored response fresh again.
            let response = try await cache.response(for: Self.request())
            #expect(response.source == .disk && same(response.body, pattern(10)))
        }
    }

    @Test func `a stored part is completed to the whole`() async throws {
        try await withDirectory { directory in
            let whole = pattern(1000)
            let transport = ClosureTransport { request, _ in
                let isRest = request.headerFields[.range] == "bytes=400-"
                let range = isRest ? 400..<1000 : 0..<400
                var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
                fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000"
                return .response(status: .partialContent, headerFields: fields, body: [whole[range]])
            }
            try await withCache(in: directory, transport) { cache in
                let part = try await cache.response(for: Self.request([.range: "bytes=0-399"]))
                #expect(part.status == .partialContent && same(part.body, whole[0..<400]))
            }
            try await withCache(in: directory, transport) { cache in
                let response = try await cache.response(for: Self.request())
                #expect(response.status == .ok && response.source == .validated && same(response.body, whole))
                #expect(transport.requests.values.last?.headerFields[.ifRange] == "\"a\"")
                try await expectConsistent(cache, entries: 1)
                let range = try await cache.response(for: Self.request([.range: "bytes=10-19"]))
                #expect(range.status == .partialContent && same(range.body, whole[10..<20]))
                #expect(transport.requests.values.count == 2)
            }
        }
    }

    @Test func `a truncated body is completed by the next attempt`() async throws {
        let whole = pattern(1000)
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\"", .contentLength: "1000"]
        let transport = ClosureTransport { request, number in
            guard number > 1 else {
                return .response(
                    headerFields: fields, body: [whole[0..<300]],
                    failure: TransferError(.connectionFailed, url: request.url))
            }
            var fields = fields
            fields[.contentLength] = "700"
            fields[.contentRange] = "bytes 300-999/1000"
            return .response(status: .partialContent, headerFields: fields, body: [whole[300...]])
        }
        try await withCache(transport) { cache in
            let response = try await cache.response(for: Self.request())
            #expect(same(response.body, whole))
            #expect(transport.requests.values.map { $0.headerFields[.range] } == [nil, "bytes=300-"])
        }
    }

    @Test func `each 304 makes the stored response fresh again`() async throws {
        try await withDirectory { directory in
            let wall = WallClock()
            let transport = ClosureTransport { request, _ in
                let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
                return request.headerFields[.ifNoneMatch] == "\"a\""
                    ? .response(status: .notModified, headerFields: fields) : .bytes(pattern(10), fields)
            }
            for step in 0..<4 {
                try await withCache(in: directory, transport, wall: wall) { cache in
                    let response = try await cache.response(for: Self.request())
                    #expect(response.source == (step == 0 ? .network : .validated))
                    #expect(response.status == .ok && same(response.body, pattern(10)))
                    #expect(try await cache.response(for: Self.request()).source == .memory)
                    wall.advance(61)
                }
            }
            #expect(transport.requests.values.count == 4)
        }
    }

    @Test func `without a suitable response, only-if-cached gets 504`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
        try await withCache(transport, wall: wall) { cache in
            let onlyIfCached = Self.request([.cacheControl: "only-if-cached"])
            #expect(try await cache.response(for: onlyIfCached).status == .gatewayTimeout)
            #expect(try await cache.response(for: Self.request(), mode: .cacheOnly).source == .cache)
            _ = try await cache.response(for: Self.request())
            #expect(try await cache.response(for: onlyIfCached).status == .ok)
            wall.advance(70)
            #expect(try await cache.response(for: onlyIfCached).status == .gatewayTimeout)
            // With `cacheOnly`, a stale response is better than none.
            #expect(try await cache.response(for: Self.request(), mode: .cacheOnly).status == .ok)
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `a reload asks the server, and staleIfOffline uses a stale response`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, number in
            number < 3
                ? .bytes(pattern(10, seed: number)) : .failure(TransferError(.connectionRefused, url: request.url))
        }
        try await withCache(transport, wall: wall) { cache in
            _ = try await cache.response(for: Self.request())
            let reloaded = try await cache.response(for: Self.request(), mode: .reload)
            #expect(reloaded.source == .network && same(reloaded.body, pattern(10, seed: 2)))
            #expect(try await cache.response(for: Self.request()).source == .memory)
            wall.advance(70)
            let stale = try await cache.response(for: Self.request(), mode: .staleIfOffline)
            #expect(same(stale.body, pattern(10, seed: 2)) && stale.headerFields[.age] == "70")
            let error = await failure { try await cache.response(for: Self.request()) } as? TransferError
            #expect(error?.code == .connectionRefused && error?.attempts == 3)
        }
    }

    @Test func `concurrent requests with the same fields share one exchange`() async throws {
        let gate = Gate()
        let transport = ClosureTransport { request, _ in
            await gate.pass()
            return .bytes(Data((request.headerFields[.accept] ?? "").utf8), [.cacheControl: "no-store"])
        }
        try await withCache(transport) { cache in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for accept in ["a", "b", "a", "b"] {
                    group.addTask {
                        let response = try await cache.response(for: Self.request([.accept: accept]))
                        #expect(response.body == Data(accept.utf8))
                    }
                }
                await gate.arrivals(2)
                await gate.open()
                try await group.waitForAll()
            }
            #expect(transport.requests.values.count + cache.statistics.coalesced == 4)
        }
    }

    @Test func `a response is used while it is validated in the background`() async throws {
        let wall = WallClock()
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=60", .eTag: "\"a\""]
        let transport = ClosureTransport { request, number in
            guard number > 1 else { return .bytes(pattern(10), fields) }
            await gate.pass()
            return .response(status: .notModified, headerFields: fields)
        }
        try await withCache(transport, wall: wall) { cache in
            _ = try await cache.response(for: Self.request())
            wall.advance(70)
            for _ in 0..<3 {
                let stale = try await cache.response(for: Self.request())
                #expect(stale.headerFields[.age] == "70" && same(stale.body, pattern(10)))
            }
            await gate.arrivals(1)
            let running = cache.validations.running
            #expect(running.count == 1)
            await gate.open()
            for task in running { await task.value }
            #expect(transport.requests.values.count == 2)
            #expect(cache.statistics.revalidated == 1)
            #expect(try await cache.response(for: Self.request()).headerFields[.age] == "0")
        }
    }

    @Test func `a shutdown ends a validation in the background`() async throws {
        let wall = WallClock()
        let gate = Gate()
        await gate.open()
        let (never, signal) = Condition.makeCondition()
        let transport = ClosureTransport { _, number in
            if number > 1 {
                await gate.pass()
                try await never.waitUnlessCancelled()
            }
            return .bytes(pattern(10), [.cacheControl: "max-age=60, stale-while-revalidate=60"])
        }
        try await withCache(transport, wall: wall) { cache in
            _ = try await cache.response(for: Self.request())
            wall.advance(70)
            _ = try await cache.response(for: Self.request())
            await gate.arrivals(1)
            try await cache.shutdown()
            #expect(cache.validations.running.isEmpty)
        }
        signal.signal()
    }

    @Test func `a damaged variant is fetched again, and the others stay`() async throws {
        let transport = ClosureTransport { _, number in
            .bytes(pattern(100, seed: number), [.cacheControl: "max-age=60", .vary: "Accept-Language"])
        }
        try await withCache(transport) { cache in
            for language in ["de", "en"] {
                _ = try await cache.response(for: Self.request([.acceptLanguage: language]))
            }
            await cache.backlog.drain()
            try await Data().write(to: cache.disk.file(1, ResourceKey(url("a"))))
            let german = Self.request([.acceptLanguage: "de"])
            #expect(try await cache.response(for: german, mode: .cacheOnly).status == .gatewayTimeout)
            #expect(cache.statistics.damaged == 1)
            #expect(try await cache.response(for: german).source == .network)
            #expect(try await cache.response(for: Self.request([.acceptLanguage: "en"])).source == .disk)
            try await expectConsistent(cache, entries: 2)
        }
    }

    @Test func `error statuses are stored by their rules, and data(for:) throws them`() async throws {
        let transport = ClosureTransport { _, _ in
            .response(status: .notFound, headerFields: [.cacheControl: "max-age=60"], body: [pattern(10)])
        }
        try await withCache(transport) { cache in
            for source in [CachedResponse.Source.network, .memory] {
                let response = try await cache.response(for: Self.request())
                #expect(response.status == .notFound && response.source == source)
                #expect(same(response.body, pattern(10)))
            }
            let error = await failure { try await cache.data(for: url("a")) } as? TransferError
            #expect(error?.status == .notFound && transport.requests.values.count == 1)
        }
    }

    @Test(arguments: [(nil, 3), ("3600", 1)] as [(String?, Int)])
    func `after the last attempt, a transient status is the response`(retryAfter: String?, attempts: Int) async throws {
        let transport = ClosureTransport { _, _ in
            var fields: HTTPFields = [:]
            fields[.retryAfter] = retryAfter
            return .response(status: .serviceUnavailable, headerFields: fields)
        }
        try await withCache(transport) { cache in
            let response = try await cache.response(for: Self.request())
            #expect(response.status == .serviceUnavailable)
            #expect(transport.requests.values.count == attempts)
        }
    }

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func `a request with a body isn't answered from the cache, and its response isn't stored`(
        method: HTTPRequest.Method
    ) async throws {
        let transport = ClosureTransport { request, _ in
            .bytes(
                Data("answer to ".utf8) + (request.body ?? Data()), [.cacheControl: "max-age=60", .eTag: "\"a\""])
        }
        try await withCache(transport) { (cache) async throws in
            let whole = try await cache.data(for: url("a"))
            for body in ["one", "two", ""] {
                let request = TransportRequest(url("a"), method: method, body: Data(body.utf8))
                let response = try await cache.response(for: request)
                #expect(String(decoding: response.body, as: UTF8.self) == "answer to \(body)")
                let streamed = try await cache.bytes(for: request)
                #expect(try await streamed.body.collect(upTo: .max) == response.body)
                #expect(try await cache.response(for: request, mode: .cacheOnly).status.code == 504)
            }
            #expect(transport.requests.values.count == 7)
            #expect(try await cache.data(for: url("a")) == whole && transport.requests.values.count == 7)
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .options])
    func `a cacheOnly request is never sent`(method: HTTPRequest.Method) async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
        try await withCache(transport) { (cache) async throws in
            let request = TransportRequest(url("a"), method: method)
            #expect(try await cache.response(for: request, mode: .cacheOnly).status.code == 504)
            #expect(transport.requests.values.isEmpty)
        }
    }

    @Test func `data(for:) gets the resource even if the server confirms an encoded response`() async throws {
        let transport = ClosureTransport { request, _ in
            let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: "W/\"a\""]
            if request.headerFields[.ifNoneMatch] != nil {
                return .response(status: .notModified, headerFields: fields)
            }
            guard request.headerFields[.acceptEncoding] != nil else { return .bytes(pattern(10), fields) }
            var coded = fields
            coded[.contentEncoding] = "gzip"
            return .bytes(pattern(5), coded)
        }
        try await withCache(transport) { (cache) async throws in
            _ = try await cache.response(for: Self.request([.acceptEncoding: "gzip"]))
            for _ in 0..<2 { try await expect(pattern(10), from: cache, url("a")) }
        }
    }

    @Test func `only a GET of the resource reports progress to its observers`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
        try await withCache(transport) { (cache) async throws in
            let reports = Recorder<Int64>()
            let key = ResponseKey(TransportRequest(url("a")))
            let observer = cache.progress.add(key) { progress, _ in reports.note(progress.receivedBytes) }
            for method in [HTTPRequest.Method.post, .put, .options] {
                _ = try await cache.response(for: TransportRequest(url("a"), method: method))
            }
            _ = try await cache.response(for: TransportRequest(url("a"), body: Data([1])))
            let streamed = try await cache.bytes(for: TransportRequest(url("a"), body: Data([1])))
            _ = try await streamed.body.collect(upTo: .max)
            #expect(reports.values.isEmpty)
            _ = try await cache.data(for: url("a"))
            #expect(reports.values == [1000])
            cache.progress.remove(observer, key)
        }
    }

    @Test(arguments: [false, true])
    func `a response older than the stored one doesn't replace it, even if it arrives later`(
        isStreamed: Bool
    ) async throws {
        let wall = WallClock()
        let gate = Gate()
        let transport = ClosureTransport { _, number in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .date: "\(wall.now())"]
            if number == 1 { await gate.pass() }
            return .bytes(pattern(1000, seed: number), fields)
        }
        try await withCache(transport, wall: wall) { (cache) async throws in
            let slow = Task {
                guard isStreamed else { return try await cache.data(for: url("a")) }
                return try await cache.bytes(for: Self.request()).body.collect(upTo: .max)
            }
            await gate.arrivals(1)
            wall.advance(2)
            _ = try await cache.response(for: TransportRequest(url("a")), mode: .reload)
            wall.advance(2)
            await gate.open()
            #expect(same(try await slow.value, pattern(1000, seed: 1)))
            try await expect(pattern(1000, seed: 2), from: cache, url("a"))
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test(arguments: [0, 2048])
    func `a response isn't reused if its successor couldn't be stored`(largestInIndex: Int) async throws {
        let transport = ClosureTransport { _, number in .bytes(pattern(1000, seed: number)) }
        try await withCache(transport, largestInIndex: largestInIndex) { (cache) async throws in
            try await expect(pattern(1000, seed: 1), from: cache, url("a"))
            try await cache.settledDisk.database.write {
                try $0.execute(
                    sql: "CREATE TRIGGER full BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, 'no room'); END")
            }
            _ = try await cache.response(for: TransportRequest(url("a")), mode: .reload)
            try await expect(pattern(1000, seed: 2), from: cache, url("a"))
            cache.trimMemory(toFraction: 0)
            #expect(try await cache.data(for: url("a")) != pattern(1000, seed: 1))
        }
    }
}
