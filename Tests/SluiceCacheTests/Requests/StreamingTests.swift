import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceCache

/// A body whose chunks a test sends one by one.
final class PushedBody: ResponseBodySource {
    private let queue = AsyncQueue<Result<Data, TransferError>>()

    func send(_ data: Data) { queue.enqueue(.success(data)) }
    func fail(_ error: TransferError) { queue.enqueue(.failure(error)) }
    func finish() { queue.finish() }

    func nextBatch() async throws -> [Data]? {
        for try await result in queue.elements { return [try result.get()] }
        try Task.checkCancellation()
        return nil
    }
}

/// A transport that returns the next of these bodies for each request.
final class PushingTransport: Transport {
    let requests = Recorder<TransportRequest>()
    let bodies: [PushedBody]
    private let fields: HTTPFields

    init(_ count: Int = 1, _ fields: HTTPFields = [.cacheControl: "max-age=60"]) {
        bodies = (0..<count).map { _ in PushedBody() }
        self.fields = fields
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        requests.note(request)
        return TransportResponse(
            status: .ok, headerFields: fields, url: request.url, body: ResponseBody(bodies[requests.values.count - 1]))
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Arriving bodies` {
    private static let request = TransportRequest(url("a"))
    private static let chunk = pattern(300_000)

    private func next(_ iterator: inout ResponseBody.Iterator) async throws -> Data? { try await iterator.next() }

    @Test func `reach the caller chunk by chunk, and are stored at the end`() async throws {
        let transport = PushingTransport()
        try await withCache(transport) { (cache) async throws in
            let response = try await cache.bytes(for: Self.request)
            #expect(response.status == .ok && response.source == .network)
            var chunks = response.body.makeAsyncIterator()
            for seed in 0..<20 {
                transport.bodies[0].send(pattern(300_000, seed: seed))
                let arrived = try await chunks.next()
                #expect(same(arrived ?? Data(), pattern(300_000, seed: seed)))
            }
            transport.bodies[0].finish()
            for _ in 0..<2 { #expect(try await chunks.next() == nil) }
            try await expectConsistent(cache, entries: 1)
            #expect(cache.memory.count == 0 && cache.statistics.fetched == 1)
            let whole = (0..<20).reduce(into: Data()) { $0 += pattern(300_000, seed: $1) }
            try await expect(whole, from: cache, url("a"))
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `come from the disk in pieces once their digest is verified`() async throws {
        try await withDirectory { directory in
            let whole = pattern(3_000_000)
            let transport = ClosureTransport { _, _ in .bytes(whole, [.cacheControl: "max-age=60", .eTag: "\"a\""]) }
            try await withCache(in: directory, transport) { _ = try await $0.data(for: url("a")) }
            try await withCache(in: directory, transport) { (cache) async throws in
                for range in [nil, "bytes=1000000-2499999"] {
                    var request = Self.request
                    request.headerFields[.range] = range
                    let response = try await cache.bytes(for: request)
                    #expect(response.source == .disk && response.status.code == (range == nil ? 200 : 206))
                    var largest = 0
                    var all = Data()
                    for try await chunk in response.body {
                        largest = max(largest, chunk.count)
                        all += chunk
                    }
                    #expect(same(all, range == nil ? whole : whole[1_000_000..<2_500_000]))
                    #expect(largest <= SharedBodyState.piece)
                }
                #expect(cache.statistics.diskHits == 2 && cache.memory.count == 0)
                // After a byte changes on disk, the resource is fetched again.
                let file = try await file(of: url("a"), in: cache)
                try await file.withRandomAccessFile(.readWrite) { try await $0.write(Data([255]), at: 2_999_000) }
            }
            try await withCache(in: directory, transport) { (cache) async throws in
                let response = try await cache.bytes(for: Self.request)
                #expect(response.source == .network && cache.statistics.damaged == 1)
                #expect(same(try await response.body.collect(upTo: .max), whole))
            }
        }
    }

    @Test(arguments: [true, false])
    func `are shared by all callers, each from the beginning`(isStored: Bool) async throws {
        let transport = PushingTransport(1, isStored ? [.cacheControl: "max-age=60"] : [.cacheControl: "no-store"])
        try await withCache(transport) { (cache) async throws in
            let first = try await cache.bytes(for: Self.request)
            var chunks = first.body.makeAsyncIterator()
            transport.bodies[0].send(Self.chunk)
            #expect(try await chunks.next() == Self.chunk)
            // Two more callers join: one reads chunks, and one wants the whole body.
            let second = try await cache.bytes(for: Self.request)
            let running = try #require(cache.running.makeReader(for: ResponseKey(Self.request)))
            // The third caller may come after the end, and then needs a stored response.
            let third = isStored ? Task { try await cache.data(for: url("a")) } : nil
            transport.bodies[0].send(Self.chunk)
            transport.bodies[0].finish()
            #expect(try await chunks.next() == Self.chunk)
            #expect(try await chunks.next() == nil)
            #expect(same(try await second.body.collect(upTo: .max), Self.chunk + Self.chunk))
            if let third { #expect(same(try await third.value, Self.chunk + Self.chunk)) }
            _ = running
            try await expectConsistent(cache, entries: isStored ? 1 : 0)
        }
        #expect(transport.requests.values.count == 1)
    }

    @Test
    func `are cancelled if released early, leave nothing, and are requested again later`()
        async throws
    {
        let transport = PushingTransport(2)
        try await withCache(transport) { (cache) async throws in
            do {
                let response = try await cache.bytes(for: Self.request)
                var chunks = response.body.makeAsyncIterator()
                transport.bodies[0].send(Self.chunk)
                _ = try await chunks.next()
            }
            for task in cache.transfers.running { await task.value }
            try await expectConsistent(cache, entries: 0)
            #expect(cache.limiter.runningCount == 0)
            let again = try await cache.bytes(for: Self.request)
            transport.bodies[1].send(Self.chunk)
            transport.bodies[1].finish()
            #expect(try await again.body.collect(upTo: .max) == Self.chunk)
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test func `continue for the other callers when one is cancelled`() async throws {
        let transport = PushingTransport()
        try await withCache(transport) { (cache) async throws in
            let one = try await cache.bytes(for: Self.request)
            let other = try await cache.bytes(for: Self.request)
            let task = Task { try await one.body.collect(upTo: .max) }
            transport.bodies[0].send(Self.chunk)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            transport.bodies[0].finish()
            #expect(try await other.body.collect(upTo: .max) == Self.chunk)
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test func `that fail deliver the bytes received and then the error`() async throws {
        let transport = PushingTransport()
        try await withCache(transport) { (cache) async throws in
            let response = try await cache.bytes(for: Self.request)
            transport.bodies[0].send(Self.chunk)
            transport.bodies[0].fail(TransferError(.connectionFailed, url: url("a")))
            var chunks = response.body.makeAsyncIterator()
            #expect(try await chunks.next() == Self.chunk)
            let error = await failure { try await next(&chunks) } as? TransferError
            #expect(error?.code == .connectionFailed)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `that are truncated are completed if they have a strong validator`() async throws {
        let whole = pattern(1_000_000)
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\"", .contentLength: "1000000"]
        let transport = ClosureTransport { request, number in
            if number == 1 {
                return .response(
                    headerFields: fields, body: [whole[..<600_000]],
                    failure: TransferError(.connectionFailed, url: request.url))
            }
            #expect(request.headerFields[.range] == "bytes=600000-")
            return .response(
                status: .partialContent,
                headerFields: [
                    .eTag: "\"a\"", .contentRange: "bytes 600000-999999/1000000", .contentLength: "400000",
                    .cacheControl: "max-age=60",
                ], body: [whole[600_000...]])
        }
        try await withCache(transport) { (cache) async throws in
            let first = try await cache.bytes(for: Self.request)
            #expect(await failure { try await first.body.collect(upTo: .max) } is TransferError)
            try await expectConsistent(cache, entries: 1)
            let second = try await cache.bytes(for: Self.request)
            #expect(same(try await second.body.collect(upTo: .max), whole))
            try await expectConsistent(cache, entries: 1)
            #expect(transport.requests.values.count == 2)
        }
    }

    @Test(arguments: [true, false])
    func `over the entry limit are passed through and not stored`(isAnnounced: Bool) async throws {
        let fields: HTTPFields = isAnnounced ? [.contentLength: "6000000"] : [:]
        let transport = PushingTransport(1, fields)
        let configuration = ResourceCache.Configuration(maximumDiskEntrySize: 4_000_000)
        try await withCache(transport, configuration) { (cache) async throws in
            let response = try await cache.bytes(for: Self.request)
            for _ in 0..<20 { transport.bodies[0].send(Self.chunk) }
            transport.bodies[0].finish()
            var count = 0
            for try await chunk in response.body { count += chunk.count }
            #expect(count == 6_000_000)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `that grow reserve more space and evict other entries`() async throws {
        let transport = PushingTransport()
        let configuration = ResourceCache.Configuration(maximumDiskSize: 8_000_000, maximumDiskEntrySize: 4_000_000)
        try await withCache(transport, configuration) { (cache) async throws in
            for name in ["b", "c"] { try await cache.store(pattern(3_000_000), for: url(name)) }
            let response = try await cache.bytes(for: Self.request)
            for _ in 0..<10 { transport.bodies[0].send(Self.chunk) }
            transport.bodies[0].finish()
            for try await _ in response.body {
                let used = try await cache.settledDisk.database.read { try DiskIndex.usedBytes(in: $0) }
                #expect(used <= 8_000_000)
            }
            try await expectConsistent(cache, entries: 2)
            #expect(cache.statistics.evicted == 1)
            cache.memory.removeAll()
            #expect(try await !cache.contains(url("b")))
        }
    }

    @Test func `reserve at most half of the directory together`() async throws {
        let transport = PushingTransport(3, [.cacheControl: "max-age=60", .contentLength: "300000"])
        let configuration = ResourceCache.Configuration(maximumDiskSize: 1_300_000, maximumDiskEntrySize: 400_000)
        try await withCache(transport, configuration) { (cache) async throws in
            var responses: [StreamedResponse] = []
            for name in ["a", "b", "c"] {
                responses.append(try await cache.bytes(for: TransportRequest(url(name))))
            }
            for (body, response) in zip(transport.bodies, responses) {
                body.send(Self.chunk)
                body.finish()
                #expect(try await response.body.collect(upTo: .max) == Self.chunk)
            }
            try await expectConsistent(cache, entries: 2)
        }
    }

    @Test func `replace a stored stale response, and a 304 keeps it`() async throws {
        let wall = WallClock()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
        let transport = ClosureTransport { request, number in
            switch number {
            case 1: .bytes(pattern(500_000, seed: 1), fields)
            case 2: .response(status: .notModified, headerFields: fields)
            default: .bytes(pattern(600_000, seed: 2), fields)
            }
        }
        try await withCache(transport, wall: wall) { (cache) async throws in
            for (source, body) in [
                (CachedResponse.Source.network, pattern(500_000, seed: 1)),
                (.validated, pattern(500_000, seed: 1)), (.network, pattern(600_000, seed: 2)),
            ] {
                let response = try await cache.bytes(for: Self.request)
                #expect(response.source == source)
                #expect(same(try await response.body.collect(upTo: .max), body))
                try await expectConsistent(cache, entries: 1)
                wall.advance(61)
            }
        }
    }

    @Test func `are retried before they begin, and error statuses are responses`() async throws {
        let transport = ClosureTransport { request, number in
            switch number {
            case 1: .failure(TransferError(.connectionRefused, url: request.url))
            case 2: .response(status: .serviceUnavailable)
            default: .response(status: .notFound, body: [Data("gone".utf8)])
            }
        }
        try await withCache(transport) { (cache) async throws in
            let response = try await cache.bytes(for: Self.request)
            #expect(response.status == .notFound && cache.statistics.retries == 2)
            #expect(try await response.body.collect(upTo: 10) == Data("gone".utf8))
        }
    }

    @Test func `that haven't begun end when the cache shuts down`() async throws {
        let gate = Gate()
        let (never, signal) = Condition.makeCondition()
        let transport = ClosureTransport { _, _ in
            await gate.pass()
            try await never.waitUnlessCancelled()
            return .bytes(Self.chunk)
        }
        try await withCache(transport) { (cache) async throws in
            let task = Task { try await cache.bytes(for: Self.request) }
            await gate.arrivals(1)
            await gate.open()
            try await cache.shutdown()
            let error = await failure { try await task.value } as? TransferError
            #expect(error?.code == .shutDown)
        }
        signal.signal()
    }

    @Test func `end when the cache shuts down`() async throws {
        try await withDirectory { directory in
            let transport = PushingTransport()
            var response: StreamedResponse?
            try await withCache(in: directory, transport) { (cache) async throws in
                response = try await cache.bytes(for: Self.request)
                transport.bodies[0].send(Self.chunk)
            }
            var chunks = try #require(response).body.makeAsyncIterator()
            let error =
                await failure {
                    while try await next(&chunks) != nil {}
                } as? TransferError
            #expect(error?.code == .shutDown)
            #expect(bodies(in: directory).isEmpty)
        }
    }

    @Test(
        arguments: [
            (limit: 512 << 20, entryLimit: 700_000), (512 << 20, 1_500_000), (2 << 20, 700_000), (1_500_000, 1_000_000),
        ] as [(limit: Int64, entryLimit: Int64)])
    func `of unknown length are stored up to the entry limit`(limit: Int64, entryLimit: Int64) async throws {
        for size in [1_000, Int(min(entryLimit, 700_000))] {
            let transport = PushingTransport(2)
            let configuration = ResourceCache.Configuration(
                maximumMemorySize: 0, maximumDiskSize: limit, maximumDiskEntrySize: entryLimit)
            try await withCache(transport, configuration) { (cache) async throws in
                for (number, size) in [size, Int(entryLimit) + 1].enumerated() {
                    let response = try await cache.bytes(for: TransportRequest(url("\(number)")))
                    let whole = pattern(size)
                    for start in stride(from: 0, to: size, by: 100_000) {
                        transport.bodies[number].send(whole[start..<min(size, start + 100_000)])
                    }
                    transport.bodies[number].finish()
                    #expect(same(try await response.body.collect(upTo: .max), whole))
                    #expect(try await cache.contains(url("\(number)")) == (number == 0))
                }
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `that aren't stored also reach a caller that wants the whole body`() async throws {
        let transport = PushingTransport(1, [.cacheControl: "no-store"])
        try await withCache(transport) { (cache) async throws in
            let first = try await cache.bytes(for: Self.request)
            let answer = try await cache.answer(to: CacheRequest(Self.request))
            #expect(cache.statistics.coalesced == 1)
            let joined = Task { try await answer.whole(of: url("a"), upTo: .max).body }
            let reading = Task { try await first.body.collect(upTo: .max) }
            for seed in 0..<10 { transport.bodies[0].send(pattern(300_000, seed: seed)) }
            transport.bodies[0].finish()
            #expect(try await reading.value.count == 3_000_000)
            #expect(try await joined.value.count == 3_000_000)
        }
    }

    @Test func `over the entry and memory limits can pass through in one chunk`() async throws {
        let transport = PushingTransport()
        let configuration = ResourceCache.Configuration(maximumDiskEntrySize: 1 << 20)
        try await withCache(transport, configuration) { (cache) async throws in
            let response = try await cache.bytes(for: Self.request)
            var chunks = response.body.makeAsyncIterator()
            transport.bodies[0].send(pattern(3 << 20))
            #expect(try await chunks.next()?.count == 3 << 20)
            transport.bodies[0].send(pattern(10))
            #expect(try await chunks.next()?.count == 10)
            transport.bodies[0].finish()
            #expect(try await chunks.next() == nil)
        }
    }

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func `are empty after a 304 and a HEAD, whatever length is announced`(
        method: HTTPRequest.Method
    ) async throws {
        let transport = ClosureTransport { _, _ in
            .response(status: .notModified, headerFields: [.contentLength: "1000", .eTag: "\"a\""])
        }
        try await withCache(transport) { (cache) async throws in
            let request = TransportRequest(url("a"), method: method, headerFields: [.ifNoneMatch: "\"a\""])
            let response = try await cache.bytes(for: request)
            #expect(response.status.code == 304)
            #expect(try await response.body.collect(upTo: .max).isEmpty)
        }
    }

    @Test func `that are truncated before an older part's end keep that part`() async throws {
        let whole = pattern(5000)
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\"", .contentLength: "5000"]
        let transport = ClosureTransport { request, number in
            let cut = TransferError(.connectionClosed, url: request.url)
            return switch number {
            case 1: .response(headerFields: fields, body: [whole.prefix(4000)], failure: cut)
            case 2: .response(headerFields: fields, body: [whole.prefix(1000)], failure: cut)
            default:
                .response(
                    status: .partialContent,
                    headerFields: [.contentRange: "bytes 4000-4999/5000", .eTag: "\"a\""],
                    body: [whole.suffix(1000)])
            }
        }
        let configuration = ResourceCache.Configuration(retries: RetryPolicy(maximumRetries: 0))
        try await withCache(transport, configuration) { (cache) async throws in
            for _ in 0..<2 {
                let response = try await cache.bytes(for: Self.request)
                await #expect(throws: TransferError.self) { try await response.body.collect(upTo: .max) }
                try await expectConsistent(cache, entries: 1)
            }
            try await expect(whole, from: cache, url("a"))
            let ranges = transport.requests.values.map { $0.headerFields[.range] }
            #expect(ranges == [nil, "bytes=4000-", "bytes=4000-"])
        }
    }
}

// MARK: - The state

@Suite struct `The state of an arriving body` {
    private static let half = Data(repeating: 1, count: SharedBodyState.window / 2)

    private func join(_ state: inout SharedBodyState) throws -> Int {
        let reader = state.join()
        return try #require(reader)
    }

    private func chunks(_ step: SharedBodyState.Step) -> [Int]? {
        if case .chunks(let chunks) = step { chunks.map(\.count) } else { nil }
    }

    private func file(_ step: SharedBodyState.Step) -> Range<Int64>? {
        if case .file(let range) = step { range } else { nil }
    }

    private func waits(_ step: SharedBodyState.Step) -> Bool {
        if case .wait = step { true } else { false }
    }

    @Test func `gives each reader all chunks, and then the end`() throws {
        var state = SharedBodyState(isSpooling: false)
        let one = try join(&state)
        _ = state.append([Data([1]), Data(), Data([2, 3])])
        #expect(chunks(state.next(one).0) == [1, 2])
        #expect(waits(state.next(one).0))
        let two = try join(&state)
        _ = state.append([Data([4])])
        #expect(chunks(state.next(two).0) == [1, 2, 1])
        _ = state.finish(CancellationError())
        _ = state.finish(nil)
        #expect(chunks(state.next(one).0) == [1])
        for reader in [one, two] {
            guard case .end(let error?) = state.next(reader).0 else {
                Issue.record("the first end counts")
                return
            }
            #expect(error is CancellationError)
        }
    }

    @Test func `without a file, the slowest reader sets the speed`() throws {
        var state = SharedBodyState(isSpooling: false)
        let fast = try join(&state)
        let slow = try join(&state)
        for _ in 0..<2 { _ = state.append([Self.half]) }
        #expect(state.fullness == nil)
        _ = state.append([Self.half])
        _ = state.next(fast)
        #expect(state.fullness != nil)
        let (step, signal) = state.next(slow)
        #expect(chunks(step)?.count == 3 && signal != nil)
        #expect(state.fullness == nil && state.windowStart == Int64(Self.half.count))
        #expect(state.join() == nil, "the beginning is lost")
    }

    @Test func `a reader that leaves no longer slows the transfer`() throws {
        var state = SharedBodyState(isSpooling: false)
        let fast = try join(&state)
        let slow = try join(&state)
        for _ in 0..<3 { _ = state.append([Self.half]) }
        _ = state.next(fast)
        #expect(state.fullness != nil)
        #expect(state.leave(slow) != nil && state.fullness == nil)
    }

    @Test func `without readers or a file, no bytes are dropped`() {
        var state = SharedBodyState(isSpooling: false)
        for _ in 0..<3 { _ = state.append([Self.half]) }
        #expect(state.fullness != nil && state.windowStart == 0)
        #expect(state.join() != nil)
    }

    @Test func `with a file, no reader slows the transfer, and a late reader reads the file`() throws {
        var state = SharedBodyState(isSpooling: true)
        let slow = try join(&state)
        for _ in 0..<8 {
            _ = state.append([Self.half])
            state.spool()
            #expect(state.fullness == nil)
        }
        #expect(state.windowStart == Int64(Self.half.count * 6))
        for reader in [slow, try join(&state)] {
            var position: Int64 = 0
            while position < state.windowStart {
                let step = state.next(reader).0
                let range = try #require(file(step))
                #expect(range.lowerBound == position && range.count <= SharedBodyState.piece)
                // A read may return fewer bytes.
                position += max(1, Int64(range.count) - 7)
                state.read(reader, upTo: position)
            }
            #expect(chunks(state.next(reader).0) == [Self.half.count, Self.half.count])
        }
    }

    @Test func `after the file fails, the slowest reader sets the speed again`() throws {
        var state = SharedBodyState(isSpooling: true)
        let slow = try join(&state)
        for _ in 0..<4 {
            _ = state.append([Self.half])
            state.spool()
        }
        state.stopSpooling()
        _ = state.append([Self.half])
        // All but the last one are in the file, so they leave memory.
        #expect(state.fullness == nil)
        for _ in 0..<2 { _ = state.append([Self.half]) }
        #expect(state.fullness != nil)
        #expect(state.join() != nil, "the file and the memory have all bytes")
        var step = state.next(slow).0
        while let range = file(step) {
            state.read(slow, upTo: range.upperBound)
            step = state.next(slow).0
        }
        #expect(chunks(step)?.count == 3)
    }

    @Test func `when the file fails, bytes that all readers have read are released`() throws {
        var state = SharedBodyState(isSpooling: true)
        let reader = try join(&state)
        _ = state.append([Data(count: SharedBodyState.window + 1)])
        _ = state.next(reader)
        state.stopSpooling()
        #expect(state.fullness == nil)
    }
}
