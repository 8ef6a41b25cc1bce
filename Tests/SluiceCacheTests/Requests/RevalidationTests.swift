import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceCache

@Suite struct `Validation of stored responses` {
    private static let date = "Sun, 06 Nov 1994 07:49:37 GMT"

    @Test(arguments: [true, false])
    func `a stale response is confirmed without its body, from memory and from disk`(afterRestart: Bool) async throws {
        try await withDirectory { directory in
            let wall = WallClock()
            let transport = ClosureTransport { request, number in
                guard request.headerFields[.ifNoneMatch] == "\"a\"" else {
                    return .bytes(
                        pattern(100), [.cacheControl: "max-age=60", .eTag: "\"a\"", .lastModified: Self.date])
                }
                return .response(status: .notModified, headerFields: [.cacheControl: "max-age=100"])
            }
            func read(_ cache: ResourceCache) async throws {
                try await expect(pattern(100), from: cache, url("a"))
            }
            try await withCache(in: directory, transport, wall: wall) { cache in
                try await read(cache)
                wall.advance(60)
                if !afterRestart { try await read(cache) }
            }
            try await withCache(in: directory, transport, wall: wall) { cache in
                try await read(cache)
                #expect(cache.statistics.revalidated == (afterRestart ? 1 : 0))
                #expect(cache.statistics.fetched == 0)
                // The lifetime counts from the arrival of the confirmation.
                wall.advance(99)
                try await read(cache)
                #expect(transport.requests.values.count == 2)
                wall.advance(1)
                try await read(cache)
                #expect(transport.requests.values.count == 3)
                #expect(transport.requests.values[1].headerFields[.ifModifiedSince] == Self.date)
                try await expectConsistent(cache, entries: 1)
            }
            // The updated fields are on disk, too.
            try await withCache(in: directory, transport, wall: wall) { cache in
                wall.advance(99)
                try await read(cache)
            }
            #expect(transport.requests.values.count == 3)
        }
    }

    @Test func `a changed response replaces the old one`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { _, number in
            .bytes(pattern(100 * number), [.cacheControl: "max-age=60", .eTag: "\"\(number)\""])
        }
        try await withCache(transport, wall: wall) { cache in
            for number in 1...3 {
                try await expect(pattern(100 * number), from: cache, url("a"))
                wall.advance(60)
                try await expectConsistent(cache, entries: 1)
            }
            #expect(transport.requests.values.map { $0.headerFields[.ifNoneMatch] } == [nil, "\"1\"", "\"2\""])
        }
    }

    @Test func `a no-cache response is stored and validated each time`() async throws {
        let transport = ClosureTransport { request, _ in
            request.headerFields[.ifNoneMatch] == nil
                ? .bytes(pattern(100), [.cacheControl: "no-cache", .eTag: "\"a\""])
                : .response(status: .notModified)
        }
        try await withCache(transport) { cache in
            for _ in 1...3 { try await expect(pattern(100), from: cache, url("a")) }
            #expect(cache.statistics.fetched == 1 && cache.statistics.revalidated == 2)
        }
    }

    /// A 304 with a different tag or behind a redirect isn't about the stored response.
    @Test(arguments: [0, 1])
    func `a 304 for a different representation is ignored`(redirects: Int) async throws {
        let wall = WallClock()
        let transport = ClosureTransport(redirects: redirects) { request, number in
            if request.headerFields[.ifNoneMatch] != nil {
                return .response(status: .notModified, headerFields: redirects == 0 ? [.eTag: "\"b\""] : [:])
            }
            return .bytes(pattern(100, seed: number), [.cacheControl: "max-age=60", .eTag: "\"a\""])
        }
        try await withCache(transport, wall: wall) { cache in
            // Store the response as if it had arrived without a redirect.
            let head = StoredResponse.Head(
                status: 200, fields: [.eTag: "\"a\""], length: 100, requested: wall.now(),
                received: wall.now(), policy: cache.policy)
            _ = try await cache.settledDisk.store(
                StoredResponse(head: head, body: pattern(100)), for: ResourceKey(url("a")))
            try await expect(pattern(100, seed: 2), from: cache, url("a"))
            #expect(cache.statistics.revalidated == 0 && transport.requests.values.count == 2)
        }
    }

    @Test func `a 304 with no-store removes the stored response`() async throws {
        let transport = ClosureTransport { request, _ in
            request.headerFields[.ifNoneMatch] == nil
                ? .bytes(pattern(100), [.cacheControl: "no-cache", .eTag: "\"a\""])
                : .response(status: .notModified, headerFields: [.cacheControl: "no-store"])
        }
        try await withCache(transport) { cache in
            for _ in 1...2 { try await expect(pattern(100), from: cache, url("a")) }
            #expect(cache.memory.count == 0)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test(arguments: [nil, 500, 503, 404])
    func `a stale response with stale-if-error is used when its server fails`(status: Int?) async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, number in
            if number == 1 { return .bytes(pattern(100), [.cacheControl: "max-age=60, stale-if-error=30"]) }
            guard let status else { return .failure(TransferError(.hostNotFound, url: request.url)) }
            return .response(status: .init(code: status))
        }
        try await withCache(transport, .init(retries: .never), wall: wall) { cache in
            _ = try await cache.data(for: url("a"))
            wall.advance(90)
            if status == 404 {
                #expect(await failure { try await cache.data(for: url("a")) } is TransferError)
            } else {
                try await expect(pattern(100), from: cache, url("a"))
            }
            wall.advance(1)
            #expect(await failure { try await cache.data(for: url("a")) } is TransferError)
        }
    }

    @Test(arguments: [HTTPField(name: .vary, value: "Accept-Language"), HTTPField(name: .setCookie, value: "a=b")])
    func `responses with Vary or Set-Cookie are stored`(field: HTTPField) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in
                .bytes(pattern(100), [.cacheControl: "max-age=60", field.name: field.value])
            }
            for _ in 1...2 {
                try await withCache(in: directory, transport) { cache in
                    for _ in 1...2 { try await expect(pattern(100), from: cache, url("a")) }
                }
            }
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `a stale response isn't used if its server can't be reached`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, number in
            number == 1
                ? .bytes(pattern(100), [.cacheControl: "max-age=60", .eTag: "\"a\""])
                : .failure(TransferError(.hostNotFound, url: request.url))
        }
        try await withCache(transport, .init(retries: .never), wall: wall) { cache in
            _ = try await cache.data(for: url("a"))
            wall.advance(60)
            #expect(await failure { try await cache.data(for: url("a")) } is TransferError)
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test(arguments: [10, 400_000], [200, 304])
    func `in the background completes even if its callers stream their bodies`(
        size: Int, status: Int
    ) async throws {
        let wall = WallClock()
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=60", .eTag: "\"a\""]
        let transport = ClosureTransport { _, number in
            status == 304 && number > 1
                ? .response(status: .notModified, headerFields: fields)
                : .response(
                    headerFields: fields,
                    body: (0..<5).map { pattern(size / 5, seed: status == 304 ? $0 : $0 * number) })
        }
        try await withCache(transport, wall: wall) { (cache) async throws in
            func body() async throws -> Data {
                try await cache.bytes(for: TransportRequest(url("a"))).body.collect(upTo: .max)
            }
            let first = try await body()
            wall.advance(70)
            #expect(try await body() == first)
            for task in cache.validations.running + cache.transfers.running { await task.value }
            wall.advance(30)
            let second = try await body()
            #expect((second == first) == (status == 304))
            #expect(transport.requests.values.count == 2)
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test(arguments: [true, false])
    func `in the background can be awaited with a timeout`(endsInTime: Bool) async throws {
        try await withDirectory { directory in
            let wall = WallClock()
            let began = Gate()
            let (answered, answer) = Condition.makeCondition()
            let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=60", .eTag: "\"a\""]
            let transport = ClosureTransport { _, number in
                guard number > 1 else { return .bytes(pattern(10), fields) }
                await began.pass()
                try await answered.waitUnlessCancelled()
                return .response(status: .notModified, headerFields: fields)
            }
            // The instant clock's sleep ends immediately; the endless clock's never does.
            let clock: any Clock<Duration> = endsInTime ? EndlessClock() : InstantClock()
            let cache = ResourceCache(
                directory: directory, configuration: .init(), transport: transport, files: .shared, clock: clock,
                now: wall.now)
            _ = try await cache.data(for: url("a"))
            wall.advance(70)
            _ = try await cache.bytes(for: TransportRequest(url("a")))
            await began.arrivals(1)
            await began.open()
            let waiting = Task { await cache.finishValidations(within: .seconds(10)) }
            if endsInTime { answer.signal() }
            await waiting.value
            #expect(cache.validations.running.isEmpty)
            #expect(cache.statistics.revalidated == (endsInTime ? 1 : 0))
            answer.signal()
            try await cache.shutdown()
        }
    }
}

/// A clock whose sleeps end only when they are cancelled.
private final class EndlessClock: Clock {
    typealias Instant = ContinuousClock.Instant
    var now: Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let (never, signal) = Condition.makeCondition()
        defer { withExtendedLifetime(signal) {} }
        try await never.waitUnlessCancelled()
    }
}

// MARK: - An adjusted clock

/// The wall clock is adjusted while a cache is open, and between two uses.
@Suite struct `A wall clock that is adjusted` {
    private static let day: Int64 = 86_400

    /// A server that returns a new version for each fetch, with a `Date` from its own, correct clock.
    private static func server(_ wall: WallClock) -> ClosureTransport {
        let correct = wall.now()
        return ClosureTransport { request, number in
            let date = correct.description
            return .bytes(pattern(100, seed: number), [.cacheControl: "max-age=60", .date: date])
        }
    }

    struct Step: Sendable {
        /// The seconds to add to the clock.
        var shift: Int64
        /// The expected number of fetches so far, including this step's.
        var fetches: Int
    }

    static let courses: [(String, [Step])] = [
        ("stands still", [Step(shift: 0, fetches: 1), Step(shift: 59, fetches: 1), Step(shift: 1, fetches: 2)]),
        ("set forward", [Step(shift: 3650 * day, fetches: 2), Step(shift: 0, fetches: 3), Step(shift: 0, fetches: 4)]),
        // If the clock is set back to before the response arrived, its age is unknown.
        (
            "set back",
            [
                Step(shift: -1, fetches: 2), Step(shift: 0, fetches: 2), Step(shift: -3650 * day, fetches: 3),
                Step(shift: 0, fetches: 3),
            ]
        ),
        (
            "set back and forward again",
            [Step(shift: -day, fetches: 2), Step(shift: day, fetches: 3), Step(shift: 0, fetches: 3)]
        ),
    ]

    @Test(arguments: courses.indices, [true, false])
    func `never makes a response fresher than it is`(course: Int, restarts: Bool) async throws {
        let (name, steps) = Self.courses[course]
        try await withDirectory { directory in
            let wall = WallClock()
            let server = Self.server(wall)
            func use(_ cache: ResourceCache, _ step: Step) async throws {
                wall.advance(step.shift)
                let data = try await cache.data(for: url("a"))
                #expect(server.requests.values.count == step.fetches, "\(name), \(step)")
                #expect(same(data, pattern(100, seed: step.fetches)), "\(name), \(step)")
                #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 0)
            }
            let all = [Step(shift: 0, fetches: 1)] + steps
            if restarts {
                for step in all { try await withCache(in: directory, server, wall: wall) { try await use($0, step) } }
            } else {
                try await withCache(in: directory, server, wall: wall) { cache in
                    for step in all { try await use(cache, step) }
                    try await expectConsistent(cache)
                }
            }
        }
    }

    @Test func `a stale response from the future is validated, and then fresh`() async throws {
        let wall = WallClock()
        let server = ClosureTransport { request, _ in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
            return request.headerFields[.ifNoneMatch] == nil
                ? .bytes(pattern(100), fields) : .response(status: .notModified, headerFields: fields)
        }
        try await withCache(server, wall: wall) { cache in
            for (shift, requests) in [(0, 1), (-Self.day, 2), (0, 2), (30, 2), (31, 3), (10 * Self.day, 4)] {
                wall.advance(shift)
                try await expect(pattern(100), from: cache, url("a"))
                #expect(server.requests.values.count == requests, "after \(shift)")
            }
            #expect(cache.statistics.fetched == 1 && cache.statistics.revalidated == 3)
        }
    }

    @Test func `before 1970 or after 9999 causes no failure`() async throws {
        let wall = WallClock()
        let server = ClosureTransport { _, number in .bytes(pattern(100, seed: number)) }
        try await withCache(server, wall: wall) { cache in
            for shift in [-100 * 365 * Self.day, 20_000 * 365 * Self.day, 0] {
                wall.advance(shift)
                _ = try await cache.data(for: url("a"))
                #expect(cache.statistics.diskFailures == 0)
            }
            let last = try await cache.data(for: url("a"))
            #expect(same(last, pattern(100, seed: server.requests.values.count)))
        }
    }
}
