import Foundation
import HTTPTypes
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite(.timeLimit(.minutes(5))) struct `Numbers from outside` {
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
    func `in fields of a response trap nowhere`(_ configuration: ResourceCache.Configuration) async throws {
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

    @Test func `in the times and sizes of a caller trap nowhere`() async throws {
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
