import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Variants on disk` {
    private static let key = ResourceKey(url("a"))
    private static let transport = ClosureTransport { _, _ in .bytes(pattern(1)) }

    private static func response(
        _ cache: ResourceCache, _ request: HTTPFields, seed: Int, status: Int = 200, _ fields: HTTPFields = [:]
    ) throws -> StoredResponse {
        let names: HTTPFields = [.vary: "Accept-Language, Authorization", .cacheControl: "max-age=60"]
        let fields = HTTPFields(names + fields)
        let variant = try #require(Variant(of: fields, for: request, policy: cache.policy))
        let head = StoredResponse.Head(
            status: status, fields: fields, length: 100, variant: variant, requested: cache.now(),
            received: cache.now(), policy: cache.policy)
        return StoredResponse(head: head, body: pattern(100, seed: seed))
    }

    /// The body that the disk has for a request.
    private static func body(_ cache: ResourceCache, _ request: HTTPFields) async throws -> Data? {
        let rows = try await cache.disk.find(key, cache.policy).ready
        let request = TransportRequest(url("a"), headerFields: request)
        guard let (index, _) = cache.policy.selection(of: rows.map(\.head), for: request, at: cache.now()) else {
            return nil
        }
        guard case .found(let body) = try await cache.disk.body(of: rows[index], key) else { return nil }
        return body
    }

    private static let english: HTTPFields = [.acceptLanguage: "en, de;q=0.5", .authorization: "Basic c2VjcmV0"]
    private static let german: HTTPFields = [.acceptLanguage: "de", .authorization: "Basic c2VjcmV0"]

    @Test func `variants are stored side by side and found after reopening`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.transport) { cache in
                for (seed, request) in [Self.english, Self.german, [:]].enumerated() {
                    _ = try await cache.disk.store(Self.response(cache, request, seed: seed), for: Self.key)
                }
            }
            try await withCache(in: directory, Self.transport) { cache in
                try await expectConsistent(cache, entries: 3)
                #expect(try await Self.body(cache, Self.english) == pattern(100, seed: 0))
                // Another spelling of the same preferences.
                let same: HTTPFields = [.acceptLanguage: "DE; q=0.50,en", .authorization: "Basic c2VjcmV0"]
                #expect(try await Self.body(cache, same) == pattern(100, seed: 0))
                #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 1))
                #expect(try await Self.body(cache, [:]) == pattern(100, seed: 2))
                #expect(try await Self.body(cache, [.acceptLanguage: "de"]) == nil)
                try await expect(pattern(100, seed: 2), from: cache, url("a"))
            }
        }
    }

    @Test func `a newer response replaces its variant only`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.transport) { cache in
                for (seed, request) in [Self.english, Self.german, Self.german].enumerated() {
                    _ = try await cache.disk.store(Self.response(cache, request, seed: seed), for: Self.key)
                }
                try await expectConsistent(cache, entries: 2)
                #expect(try await Self.body(cache, Self.english) == pattern(100, seed: 0))
                #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 2))
                // Stored bytes are the response to all requests.
                try await cache.store(pattern(5), for: url("a"))
                try await expectConsistent(cache, entries: 1)
                #expect(try await Self.body(cache, Self.german) == pattern(5))
            }
        }
    }

    @Test func `the index contains no values of request fields, and two directories have different digests`()
        async throws
    {
        func text(_ directory: URL) async throws -> String {
            try await withCache(in: directory, Self.transport) { cache in
                _ = try await cache.disk.store(Self.response(cache, Self.english, seed: 0), for: Self.key)
                return try await cache.disk.database.read {
                    try #require(try String.fetchOne($0, sql: "SELECT variant FROM entry"))
                }
            }
        }
        try await withDirectory { one in
            try await withDirectory { other in
                let texts = try await [text(one), text(other)]
                #expect(texts[0].hasPrefix("accept-language:") && !texts[0].contains("c2VjcmV0"))
                #expect(texts[0] != texts[1])
            }
        }
    }

    @Test func `parts and other statuses are restored, and never taken for the resource`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.transport) { cache in
                let part: HTTPFields = [.contentRange: "bytes 0-99/200", .eTag: "\"a\""]
                _ = try await cache.disk.store(
                    Self.response(cache, Self.english, seed: 0, status: 206, part), for: Self.key)
                _ = try await cache.disk.store(Self.response(cache, [:], seed: 1, status: 404), for: Self.key)
                let heads = try await cache.disk.find(Self.key, cache.policy).ready.map(\.head)
                #expect(heads.map(\.status) == [206, 404])
                #expect(heads.map(\.part) == [0..<100, nil])
                #expect(try await !cache.contains(url("a")))
                let error = await failure { try await cache.data(for: url("a")) } as? TransferError
                #expect(error?.status == .notFound)
            }
        }
    }

    @Test(arguments: ["variant = 'cookie:12'", "variant = '?'", "status = 206", "digest = zeroblob(32)"])
    func `a damaged variant is dropped, and the others stay`(change: String) async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.transport) { cache in
                _ = try await cache.disk.store(Self.response(cache, [:], seed: 0), for: Self.key)
                _ = try await cache.disk.store(Self.response(cache, Self.german, seed: 1), for: Self.key)
                try await cache.disk.database.write {
                    try $0.execute(sql: "UPDATE entry SET \(change) WHERE id = 1")
                }
                try await expect(pattern(1), from: cache, url("a"))
                #expect(cache.statistics.damaged == 1)
                try await expectConsistent(cache, entries: 2)
                #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 1))
            }
        }
    }

    @Test func `an update that gives a row the variant of another one replaces that one`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.transport) { cache in
                let first = try await cache.disk.store(Self.response(cache, Self.english, seed: 0), for: Self.key).row
                _ = try await cache.disk.store(Self.response(cache, Self.german, seed: 1), for: Self.key)
                let head = try Self.response(cache, Self.german, seed: 0).head
                #expect(try await cache.disk.update(try #require(first), Self.key, head))
                try await expectConsistent(cache, entries: 1)
                #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 0))
            }
        }
    }
}
