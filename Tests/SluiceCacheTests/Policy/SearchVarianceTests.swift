import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// A field, and pairs of queries with the answer to whether a response with the field to the first one answers a request for the second.
private struct Case: CustomTestStringConvertible, Sendable {
    var field: String
    var queries: [(String?, String?, Bool)]

    var testDescription: String { field }
}

/// draft-ietf-httpbis-no-vary-search-05, sections 4 to 6.
private let cases: [Case] = [
    Case(
        field: "key-order",
        queries: [
            ("a=1&b=2", "b=2&a=1", true), ("a=1&b=2", "a=1", false), ("a=1&a=2", "a=2&a=1", false),
            ("b=1&a=2&b=3", "a=2&b=1&b=3", true), ("b=1&a=2&b=3", "a=2&b=3&b=1", false), ("a=1", "A=1", false),
        ]),
    Case(
        field: "key-order=?0, params=(\"a\")",
        queries: [("a=1&b=2&c=3", "b=2&c=3", true), ("b=2&c=3", "c=3&b=2", false)]),
    Case(field: "params", queries: [("a=1", "b=2", true), ("a=1", nil, true), (nil, "", true), ("a", "?&&=", true)]),
    Case(field: "params=?1", queries: [("a=1", "b=2", true)]),
    Case(field: "params;x=1", queries: [("a=1", "b=2", true)]),
    Case(
        field: "params=(\"utm_source\" \"id\")",
        queries: [
            ("q=1&utm_source=mail", "q=1", true), ("utm_source=a&q=1&id=7", "q=1&id=8", true), ("q=1", "q=2", false),
            ("q=1", "q=1&other=2", false), ("utm_source=a", nil, true), ("utm%5Fsource=a&q=1", "q=1", true),
            ("q=a+b", "q=a%20b", true), ("q=a%2Bb", "q=a+b", false), ("q", "q=", true), ("q=%zz", "q=%zz", true),
        ]),
    Case(
        field: "params, except=(\"q\")",
        queries: [
            ("q=1&x=2", "y=3&q=1", true), ("q=1", "q=2", false), ("q=1&q=2", "q=2&q=1", false), ("x=1", "", true),
        ]),
    Case(field: "params, except=(\"q\" \"p\"), key-order", queries: [("p=1&q=2", "q=2&z=1&p=1", true)]),
    Case(
        field: "params=( \"a+b\"   \"%C3%A9\" \"c%\" )",
        queries: [
            ("a%20b=1&é=2&c%25=3", nil, true), ("%C3%A9=2", nil, true), ("a+b=7&d=1", "d=1", true),
        ]),
    Case(field: "params=(\"a\"), unknown=(1 2), key-order", queries: [("b=1&c=2", "c=2&a=0&b=1", true)]),
    Case(field: "params=(\"a\"), params=(\"b\")", queries: [("b=1", nil, true), ("a=1", nil, false)]),
    Case(field: "params=(\"a\\\"\\\\b\")", queries: [("a%22%5Cb=1", nil, true)]),
]

/// Fields under which the whole query matters: none, empty, or against the syntax.
private let withoutEffect = [
    "", " ", ",", "params=?0", "key-order=?0", "params=()", "key-order=1", "key-order=(\"a\")", "params=\"a\"",
    "params=(a)", "params=(1)", "params=(\"a)", "params=(\"a\"", "params=(\"a\"\"b\")", "params=(\"a\") x",
    "params=(\"é\")", "params=(\"a\\b\")", "except=(\"a\")", "params=(\"a\"), except=(\"b\")", "params, except",
    "params,except=?1",
    "params, except=(a)", "Params", "params=", "params,", "?1", "params=?2", "=(\"a\")", "params=(\"\u{7F}\")",
]

@Suite struct `The field No-Vary-Search` {
    private static func key(_ query: String?) -> ResourceKey {
        ResourceKey(text: "https://example.test/results" + (query.map { "?\($0)" } ?? ""))
    }

    @Test(arguments: cases)
    fileprivate func `says which queries are equivalent`(given: Case) throws {
        let variance = try #require(SearchVariance(field: given.field))
        for (one, other, areEquivalent) in given.queries {
            let (one, other) = (Self.key(one), Self.key(other))
            #expect(
                (variance.normalized(one) == variance.normalized(other)) == areEquivalent, "\(one.text) \(other.text)")
            #expect(variance.normalized(ResourceKey(text: "https://example.test/other")) != variance.normalized(one))
        }
    }

    @Test(arguments: withoutEffect) func `has no effect against the syntax`(field: String) {
        #expect(SearchVariance(field: field) == nil)
    }

    @Test func `isn't confused by hostile fields and queries`() {
        var random = SeededRandom(seed: 7)
        let pieces = [
            "params", "=", "(", ")", "\"", "\\", ",", ";", "except", "key-order", "?1", "%", "%4", "+", "&", "é", "\0",
            " ",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            let variance = SearchVariance(field: text)
            let query = (0..<8).map { _ in pieces.randomElement(using: &random)! }.joined()
            if let variance { #expect(variance.normalized(Self.key(query)).hasPrefix("https://example.test/results?")) }
            _ = SearchVariance(field: "params")?.normalized(Self.key(query))
        }
    }
}

@Suite struct `Responses for several queries` {
    private static let varying: HTTPFields = [
        .cacheControl: "max-age=60", .noVarySearch: "params=(\"utm\"), key-order",
    ]

    private static func transport(_ fields: HTTPFields = varying) -> ClosureTransport {
        ClosureTransport { request, number in
            request.method == .get
                ? .bytes(pattern(100, seed: number), fields) : .response(status: .noContent)
        }
    }

    @Test(arguments: [0, 1 << 20])
    func `answer requests for equivalent URLs, also in the next process`(memory: Int) async throws {
        try await withDirectory { directory in
            let transport = Self.transport()
            let configuration = ResourceCache.Configuration(maximumMemorySize: memory)
            for process in 1...2 {
                try await withCache(in: directory, transport, configuration) { cache in
                    for query in ["a=1&b=2&utm=x", "a=1&b=2", "utm=y&b=2&a=1", "b=2&utm=&a=1"] {
                        try await expect(pattern(100, seed: 1), from: cache, url("r?\(query)"))
                    }
                    #expect(transport.requests.values.count == 2 * process - 1)
                    // Another resource, and a query that matters.
                    try await expect(pattern(100, seed: 2 * process), from: cache, url("r?a=\(process + 1)"))
                    #expect(try await cache.contains(url("r?b=2&a=1")))
                    let response = try await cache.response(for: TransportRequest(url("r?b=2&a=1&utm=7")))
                    #expect(response.headerFields[.init("Cache-Status")!]?.contains("hit") == true)
                }
                #expect(transport.requests.values.count == 2 * process)
                if process == 1 { transport.requests.note(TransportRequest(url("counted"))) }
            }
        }
    }

    @Test func `aren't used when they are stale, for another variant, or not wanted`() async throws {
        let wall = WallClock()
        var fields = Self.varying
        fields[.vary] = "Accept-Language"
        let transport = Self.transport(fields)
        try await withCache(transport, wall: wall) { cache in
            func get(_ query: String, _ language: String, _ mode: ResourceCache.LookupMode = .useCache) async throws
                -> CachedResponse
            {
                try await cache.response(
                    for: TransportRequest(url("r?\(query)"), headerFields: [.acceptLanguage: language]), mode: mode)
            }
            _ = try await get("a=1", "de")
            #expect(try await get("a=1&utm=1", "de").source != .network)
            #expect(try await get("a=1&utm=1", "en").source == .network)
            #expect(try await get("a=1&utm=2", "de", .reload).source == .network)
            #expect(try await get("a=1&utm=3", "en", .cacheOnly).status == .ok)
            wall.advance(100)
            #expect(try await get("a=1&utm=4", "de").source == .network)
        }
    }

    @Test(arguments: Invalidation.allCases)
    fileprivate func `leave with a change of any of their URLs`(invalidation: Invalidation) async throws {
        let transport = Self.transport()
        try await withCache(transport) { cache in
            _ = try await cache.data(for: url("r?a=1&utm=x"))
            #expect(try await cache.contains(url("r?a=1")))
            try await invalidation.perform(on: cache, url("r?utm=y&a=1"))
            #expect(try await !cache.contains(url("r?a=1&utm=x")))
            #expect(try await !cache.contains(url("r?a=1")))
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `that another process stores are found`() async throws {
        try await withDirectory { directory in
            let transport = Self.transport()
            try await withCache(in: directory, transport) { own in
                _ = try await own.data(for: url("x"))
                _ = try await withCache(in: directory, transport) { try await $0.data(for: url("r?a=1&utm=x")) }
                try await expect(pattern(100, seed: 2), from: own, url("r?a=1"))
                #expect(transport.requests.values.count == 2)
            }
        }
    }
}
