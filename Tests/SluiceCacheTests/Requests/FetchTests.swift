import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceCache

@Suite(.timeLimit(.minutes(15))) struct `The cache's fetches` {
    @Test func `a transient failure is retried as often as configured`() async throws {
        let clock = InstantClock()
        let transport = ClosureTransport { request, number in
            switch number {
            case 1: .failure(TransferError(.connectionRefused, url: request.url))
            case 2: .response(status: .serviceUnavailable, headerFields: [.retryAfter: "7"])
            default: .bytes(pattern(10))
            }
        }
        try await withCache(transport, clock: clock) { cache in
            try await expect(pattern(10), from: cache, url("a"))
            #expect(cache.statistics.retries == 2 && cache.statistics.fetched == 1)
        }
        #expect(clock.slept.values.count == 2 && clock.slept.values.last ?? .zero > .seconds(6.9))
    }

    @Test(arguments: [404, 403, 500, 204, 206, 304, 301])
    func `an error status throws and is stored as the rules allow`(status: Int) async throws {
        let transport = ClosureTransport { _, _ in
            .response(
                status: .init(code: status), headerFields: [.cacheControl: "max-age=60"], body: [pattern(10)])
        }
        try await withCache(transport) { cache in
            let secret = try #require(URL(string: "http://example.test/a?token=secret"))
            let error = try #require(await failure { try await cache.data(for: secret) } as? TransferError)
            #expect("\(error)".contains("\(status)") && !"\(error)".contains("secret"))
            #expect(error.attempts == (status == 500 ? 3 : 1))
            // After a 304 that confirms nothing, the request is sent once more.
            #expect(transport.requests.values.count == error.attempts + (status == 304 ? 1 : 0))
            let isStored = status != 206 && status != 304
            try await expectConsistent(cache, entries: isStored ? 1 : 0)
            guard isStored else { return }
            // A stored error is thrown without a request. After a success without the resource, the request is sent again.
            let again = try #require(await failure { try await cache.data(for: secret) } as? TransferError)
            #expect(again.status?.code == status)
            #expect(transport.requests.values.count == error.attempts + (status == 204 ? 1 : 0))
        }
    }

    @Test(arguments: [(5, 10), (10, 5)])
    func `a body of the wrong length is an error and isn't stored`(announced: Int, sent: Int) async throws {
        let fields: HTTPFields = [.cacheControl: "max-age=60", .contentLength: "\(announced)"]
        let transport = ClosureTransport { _, _ in .response(headerFields: fields, body: [pattern(sent)]) }
        try await withCache(transport) { cache in
            let error = await failure { try await cache.data(for: url("a")) } as? TransferError
            #expect(error?.code == (sent < announced ? .bodyTooShort : .bodyTooLong))
            #expect(error?.message == "The server announced \(announced) bytes and sent \(sent).")
            #expect(cache.memory.count == 0)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test(arguments: [true, false])
    func `a body over the limit throws, whether its length is announced or not`(isAnnounced: Bool) async throws {
        let transport = ClosureTransport { _, _ in
            isAnnounced ? .bytes(pattern(1001)) : .response(body: [pattern(1000), pattern(1)])
        }
        try await withCache(transport, .init(maximumResponseSize: 1000)) { cache in
            let error = await failure { try await cache.data(for: url("a")) } as? TransferError
            #expect(error?.code == .responseTooLarge && error?.message.contains("1000 bytes") == true)
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `a body with an unrequested content coding throws`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(10), [.contentEncoding: "gzip"]) }
        try await withCache(transport) { cache in
            let error = await failure { try await cache.data(for: url("a")) }
            #expect("\(error as Any)".contains("gzip"))
        }
    }

    @Test func `a truncated response is never stored`() async throws {
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { request in
                request.attempt < 3
                    ? OriginResponse(
                        headerFields: [.cacheControl: "max-age=60"], announcedLength: request.attempt == 1 ? 1000 : nil,
                        steps: [.send(Array(pattern(500))), .hangUp])
                    : OriginResponse(headerFields: [.cacheControl: "max-age=60"], body: Array(pattern(1000)))
            } during: { origin in
                try await ResourceCache.withCache(directory: directory, configuration: .init(retries: .never)) {
                    cache in
                    let url = try URL(fetchable: origin.url("/a"))
                    for _ in 1...2 {
                        #expect(await failure { try await cache.data(for: url) } is TransferError)
                        try await expectConsistent(cache, entries: 0)
                    }
                    try await expect(pattern(1000), from: cache, url)
                    try await expectConsistent(cache, entries: 1)
                }
            }
        }
    }

    @Test func `the server never sees more concurrent exchanges than configured`() async throws {
        let gate = Gate()
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                await gate.pass()
                return OriginResponse(headerFields: [.cacheControl: "max-age=60"], body: Array(pattern(1000)))
            } during: { origin in
                try await ResourceCache.withCache(directory: directory, configuration: .init(concurrency: 3)) { cache in
                    try await withThrowingTaskGroup { group in
                        group.addTask { try await expect(3, heldAt: gate, by: origin) }
                        for number in 0..<60 {
                            group.addTask {
                                _ = try await cache.data(for: try URL(fetchable: origin.url("/\(number % 30)")))
                            }
                        }
                        try await group.waitForAll()
                    }
                    try await expectConsistent(cache, entries: 30)
                }
                #expect(origin.metrics.peak == 3 && origin.metrics.requests == 30)
            }
        }
    }

    @Test func `shutdown ends running fetches with an error that says so`()
        async throws
    {
        try await withDirectory { directory in
            let began = Gate()
            try await LoopbackOrigin.serve { _ in
                await began.open()
                return OriginResponse(announcedLength: 1000, steps: [.send(Array(pattern(10))), .stall])
            } during: { origin in
                let cache = ResourceCache(directory: directory)
                let url = try URL(fetchable: origin.url("/a"))
                let callers = (0..<5).map { _ in Task { try await cache.data(for: url) } }
                await began.pass()
                try await cache.shutdown()
                for caller in callers { #expect(await failure { try await caller.value } is TransferError) }
                try await ResourceCache.withCache(directory: directory) { try await expectConsistent($0, entries: 0) }
            }
        }
    }
}

// MARK: - Priorities

@Suite(.timeLimit(.minutes(15))) struct `Fetches of a cache` {
    private static let answer = ScriptedTransport.Answer.bytes(Data([1]))

    @Test func `for a visible image overtake a thousand prefetches`() async throws {
        let gate = Gate()
        let transport = ClosureTransport { _, _ in
            await gate.pass()
            return Self.answer
        }
        try await withCache(transport, .init(concurrency: 8, concurrencyPerHost: 1)) { cache in
            let prefetches = (0..<1_000).map { number in
                Task(priority: .low) { _ = try await cache.data(for: url("\(number)")) }
            }
            while cache.limiter.waitingCount != 999 { await Task.yield() }
            // A new image, and one at the end of the line that is already being prefetched.
            let visible = Task(priority: .high) { _ = try await cache.data(for: url("visible")) }
            let begun = Set(transport.requests.values.map(\.url))
            let last = try #require((0..<1_000).map { url("\($0)") }.last { !begun.contains($0) })
            // Once the caller is suspended, it has joined.
            let executor = ManualExecutor()
            let joined = executor.spawnThrowing(priority: .high) { _ = try await cache.data(for: last) }
            executor.runUntilIdle()
            #expect(cache.flights.priority(for: ResponseKey(TransportRequest(last))) == .high)
            while cache.limiter.waitingCount != 1_000 { await Task.yield() }
            await gate.open()
            await executor.run { _ = await joined.result }
            for task in prefetches + [visible, joined] { try await task.value }
            let order = transport.requests.values.map(\.url)
            #expect(order.count == 1_001)
            #expect(try #require(order.firstIndex(of: url("visible"))) <= 2)
            // The fetch gets its new position in the line soon after the caller has joined, but not instantly.
            #expect(try #require(order.firstIndex(of: last)) < 100)
        }
    }

    @Test func `for prefetching have the lowest priority and can be cancelled without harm`() async throws {
        let (isOpen, open) = Condition.makeCondition()
        let began = Gate()
        let priorities = Recorder<TaskPriority>()
        let transport = ClosureTransport { request, _ in
            priorities.note(Task.currentPriority)
            await began.pass()
            try await isOpen.waitUnlessCancelled()
            return request.url == url("1") ? .response(status: .notFound, headerFields: [:], body: []) : Self.answer
        }
        try await withCache(transport, .init(concurrency: 2)) { (cache) async throws in
            let urls = (0..<10).map { url("\($0)") }
            let prefetch = Task(priority: .high) { await cache.prefetch(urls) }
            await began.arrivals(2)
            await began.open()
            #expect(priorities.values == [.background, .background])
            // Once the caller is suspended, it has joined.
            let executor = ManualExecutor()
            let caller = executor.spawnThrowing { try await cache.data(for: urls[0]) }
            executor.runUntilIdle()
            #expect(cache.flights.priority(for: ResponseKey(TransportRequest(urls[0]))) ?? .low > .background)
            #expect(cache.flights.priority(for: ResponseKey(TransportRequest(urls[1]))) == .background)
            prefetch.cancel()
            await prefetch.value
            open.signal()
            await executor.run { _ = await caller.result }
            #expect(try await caller.value == Data([1]))
            #expect(transport.requests.values.map(\.url.lastPathComponent).sorted() == ["0", "1"])
            // A failure doesn't end the prefetch.
            await cache.prefetch(urls)
            for url in urls { #expect(try await cache.contains(url) == (url != urls[1])) }
            let images = cache.decoded(cost: { (_: Int) in 1 }) { $0.count }
            await images.prefetch(urls)
            #expect(images.valueInMemory(for: urls[9]) == 1)
        }
    }

    @Test func `are limited per host, and the hosts take turns`() async throws {
        let gate = Gate()
        let running = Guarded<[String: Int]>([:])
        let transport = ClosureTransport { request, _ in
            let host = request.url.host() ?? ""
            running.withLock { $0[host, default: 0] += 1 }
            await gate.pass()
            running.withLock { $0[host, default: 0] -= 1 }
            return Self.answer
        }
        try await withCache(transport, .init(concurrency: 5, concurrencyPerHost: 3)) { cache in
            let tasks = ["one", "ONE", "two", "three"].flatMap { host in
                (0..<10).map { number in
                    Task { _ = try await cache.data(for: URL(string: "http://\(host).test/\(number)")!) }
                }
            }
            await gate.arrivals(5)
            let counts = running.withLock { $0.mapValues { $0 } }
            #expect(counts.values.reduce(0, +) == 5)
            #expect(
                counts["one", default: 0] + counts["ONE", default: 0] <= 3 && counts.values.allSatisfy { $0 <= 3 })
            await gate.open()
            for task in tasks { try await task.value }
        }
    }

    @Test
    func `of streamed bodies are ordered by priority, and inherit later callers' priority`()
        async throws
    {
        let gate = Gate()
        let transport = ClosureTransport { _, _ in
            await gate.pass()
            return Self.answer
        }
        try await withCache(transport, .init(concurrency: 8, concurrencyPerHost: 1)) { cache in
            @Sendable func fetch(_ url: URL) async throws {
                _ = try await cache.bytes(for: TransportRequest(url)).body.collect(upTo: .max)
            }
            let prefetches = (0..<200).map { number in Task(priority: .low) { try await fetch(url("\(number)")) } }
            while cache.limiter.waitingCount != 199 { await Task.yield() }
            let begun = Set(transport.requests.values.map(\.url))
            let last = try #require((0..<200).map { url("\($0)") }.last { !begun.contains($0) })
            // Once the caller is suspended, it has joined.
            let executor = ManualExecutor()
            let joined = executor.spawnThrowing(priority: .high) { try await fetch(last) }
            executor.runUntilIdle()
            #expect(cache.flights.priority(for: ResponseKey(TransportRequest(last))) == .high)
            await gate.open()
            await executor.run { _ = await joined.result }
            for task in prefetches + [joined] { try await task.value }
            let order = transport.requests.values.map(\.url)
            #expect(order.count == 200)
            // The fetch gets its new position in the line soon after the caller has joined, but not instantly.
            #expect(try #require(order.firstIndex(of: last)) < 50)
        }
    }
}

// MARK: - Redirects

@Suite struct `Redirects in the cache` {
    private static func withTransport(
        _ redirects: RedirectPolicy, _ body: (HTTPTransport) async throws -> Void
    ) async throws {
        try await HTTPTransport.withTransport(configuration: .init(redirects: redirects, proxy: .none), body)
    }

    /// `/a` redirects to `/b` with the given fields.
    private static func serve(
        _ status: Int, _ fields: HTTPFields, _ test: @Sendable (LoopbackOrigin) async throws -> Void
    ) async throws {
        try await LoopbackOrigin.serve { request in
            guard request.target == "/a" else {
                return OriginResponse(headerFields: [.cacheControl: "max-age=60"], body: Array("target".utf8))
            }
            var fields = fields
            fields[.location] = "/b"
            return OriginResponse(status: status, headerFields: fields, body: Array("moved".utf8))
        } during: { origin in
            try await test(origin)
        }
    }

    private static let modified = "Sun, 06 Nov 1994 07:49:37 GMT"

    private static let rules: [(Int, HTTPFields, Bool)] = [
        (301, [:], false), (301, [.lastModified: modified], true), (308, [.lastModified: modified], true),
        (302, [.lastModified: modified], false), (302, [.cacheControl: "max-age=60"], true),
        (303, [.cacheControl: "max-age=60"], true), (307, [.cacheControl: "max-age=60"], true),
        (301, [.cacheControl: "no-store"], false), (308, [.cacheControl: "max-age=0"], false),
    ]

    @Test(arguments: rules)
    func `an unfollowed redirect is stored by the rules for its status`(
        status: Int, fields: HTTPFields, isStored: Bool
    ) async throws {
        try await Self.serve(status, fields) { origin in
            try await Self.withTransport(.unfollowed) { transport in
                try await withDirectory { directory in
                    let url = try URL(fetchable: origin.url("/a"))
                    for number in 1...3 {
                        // Use a new cache each time, so that the response comes from disk.
                        try await withCache(in: directory, transport) { cache in
                            let response = try await cache.response(for: TransportRequest(url))
                            #expect(response.status.code == status && response.headerFields[.location] == "/b")
                            #expect(response.body == Data("moved".utf8))
                            #expect((response.source == .disk) == (isStored && number > 1))
                            try await expectConsistent(cache, entries: isStored ? 1 : 0)
                        }
                    }
                    #expect(origin.metrics.requestsByTarget == ["/a": isStored ? 1 : 3])
                }
            }
        }
    }

    @Test func `a stored redirect expires`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { _, _ in
            .response(status: .movedPermanently, headerFields: [.location: "/b", .cacheControl: "max-age=60"])
        }
        try await withCache(transport, wall: wall) { cache in
            for (delay, source) in [(0, CachedResponse.Source.network), (59, .memory), (1, .network)] {
                wall.advance(Int64(delay))
                let response = try await cache.response(for: TransportRequest(url("a")))
                #expect(response.source == source && response.status == .movedPermanently)
            }
        }
    }

    @Test func `a stored redirect isn't returned as its URL's data`() async throws {
        try await Self.serve(301, [.cacheControl: "max-age=60"]) { origin in
            try await Self.withTransport(.unfollowed) { transport in
                try await withCache(transport) { cache in
                    let url = try URL(fetchable: origin.url("/a"))
                    _ = try await cache.response(for: TransportRequest(url))
                    let error = await failure { try await cache.data(for: url) } as? TransferError
                    #expect(error?.code == .status && error?.status == .movedPermanently)
                    #expect(try await !cache.contains(url))
                }
            }
        }
    }

    @Test(arguments: [ResourceCache.Configuration.Policy.http, .immutable])
    func `the response after a followed redirect is stored only for immutable URLs`(
        policy: ResourceCache.Configuration.Policy
    ) async throws {
        try await Self.serve(301, [.cacheControl: "max-age=60"]) { origin in
            try await Self.withTransport(RedirectPolicy()) { transport in
                try await withCache(transport, .init(policy: policy)) { cache in
                    let url = try URL(fetchable: origin.url("/a"))
                    for _ in 0..<2 {
                        let response = try await cache.response(for: TransportRequest(url))
                        #expect(response.status == .ok && response.body == Data("target".utf8))
                    }
                    let count = policy == .immutable ? 1 : 2
                    #expect(origin.metrics.requestsByTarget == ["/a": count, "/b": count])
                    try await expectConsistent(cache, entries: policy == .immutable ? 1 : 0)
                }
            }
        }
    }
}
