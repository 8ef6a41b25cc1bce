import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `The keys that are known without a query` {
    private static let transport = ClosureTransport { request, _ in .bytes(Data(request.url.path.utf8)) }

    /// Opens a store in which all keys are known.
    private static func withStore(in directory: URL, _ body: (ResourceCache, DiskStore) async throws -> Void)
        async throws
    {
        try await withCache(in: directory, transport, largestInIndex: 1000) { cache in
            let store = try await cache.settledDisk
            try await store.knownKeys.load(from: store.database)
            try await body(cache, store)
        }
    }

    private static func key(_ name: String) -> ResourceKey { ResourceKey(url(name)) }

    @Test func `are all in the index, also after it was filled by earlier processes`() async throws {
        try await withDirectory { directory in
            try await Self.withStore(in: directory) { cache, store in
                #expect(!store.knownKeys.mayContain(Self.key("a")))
                for number in 0..<5000 where number % 1000 == 0 { _ = try await cache.data(for: url("\(number)")) }
                _ = try await cache.settledDisk
                #expect(store.knownKeys.mayContain(Self.key("0")))
                try await store.database.write { database in
                    for number in 0..<5000 {
                        try database.execute(
                            sql: """
                                INSERT INTO entry (key, state, bytes, digest, accessed, status, requested, received, fields)
                                VALUES (?, 0, 0, x'', 0, 200, 0, 0, '')
                                """, arguments: [Self.key("filled/\(number)").text])
                    }
                }
            }
            try await Self.withStore(in: directory) { _, store in
                #expect((0..<5000).allSatisfy { store.knownKeys.mayContain(Self.key("filled/\($0)")) })
                #expect(store.knownKeys.mayContain(Self.key("4000")) && !store.knownKeys.mayContain(Self.key("b")))
            }
        }
    }

    @Test func `a lookup of another key needs no query, and finds what another process stores`() async throws {
        try await withDirectory { directory in
            try await Self.withStore(in: directory) { own, store in
                let queries = Recorder<String>()
                try await store.database.read { $0.trace { queries.note($0.expandedDescription) } }
                queries.forget()
                #expect(try await store.find(Self.key("a"), own.policy).ready.isEmpty)
                #expect(queries.values.isEmpty)

                try await withCache(in: directory, Self.transport, largestInIndex: 1000) { other in
                    for name in ["a", "c"] { _ = try await other.data(for: url(name)) }
                    _ = try await other.settledDisk
                    #expect(try await store.find(Self.key("a"), own.policy).ready.count == 1)
                    queries.forget()
                    // The transaction has read what the other one has added.
                    #expect(try await store.find(Self.key("b"), own.policy).ready.isEmpty)
                    #expect(queries.values.isEmpty)
                    #expect(try await own.data(for: url("c")) == Data("/c".utf8))
                    #expect(own.statistics.diskHits == 1)
                }
            }
        }
    }

    @Test func `removed keys are forgotten when the index is read again`() async throws {
        try await withDirectory { directory in
            try await Self.withStore(in: directory) { cache, store in
                _ = try await cache.data(for: url("a"))
                _ = try await cache.settledDisk
                try await cache.remove(url("a"))
                #expect(store.knownKeys.mayContain(Self.key("a")))
                for number in 0..<20_000 { store.knownKeys.insert(Self.key("\(number)")) }
                #expect(store.knownKeys.needsReload)
                try await store.knownKeys.load(from: store.database)
                #expect(!store.knownKeys.mayContain(Self.key("a")) && !store.knownKeys.needsReload)
            }
        }
    }

    @Test func `a damaged index with keys that are no text makes none known, and loses nothing`() async throws {
        try await withDirectory { directory in
            try await Self.withStore(in: directory) { cache, store in
                try await cache.store(Data([1]), for: url("a"))
                try await store.database.write { database in
                    try database.execute(
                        sql:
                            "INSERT INTO entry SELECT 99, CAST(x'FFFE' AS TEXT), state, writer, bytes, digest, accessed, status, requested, received, fields, variant, body, search FROM entry"
                    )
                }
            }
            try await withCache(in: directory, Self.transport, largestInIndex: 1000) { cache in
                let store = try await cache.settledDisk
                try await store.knownKeys.load(from: store.database)
                #expect(try await cache.data(for: url("a")) == Data([1]))
            }
        }
    }
}

@Suite struct `The first hits of a process` {
    @Test(arguments: [0, 2048]) func `need no query, and their digests are checked`(largestInIndex: Int) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { request, _ in .bytes(pattern(1000, seed: request.url.path.utf8.count)) }
            try await withCache(in: directory, transport, largestInIndex: largestInIndex) { cache in
                for name in ["a", "bb", "ccc"] { _ = try await cache.data(for: url(name)) }
                // Two variants: which one is meant depends on the request.
                for language in ["de", "en"] {
                    let head = StoredResponse.Head(
                        status: 200, fields: [.vary: "Accept-Language", .cacheControl: "max-age=60"], length: 5,
                        variant: try #require(
                            Variant(
                                of: [.vary: "Accept-Language"], for: [.acceptLanguage: language], policy: cache.policy)),
                        requested: cache.now(), received: cache.now(), policy: cache.policy)
                    _ = try await cache.settledDisk.store(
                        StoredResponse(head: head, body: pattern(5)), for: ResourceKey(url("v")))
                }
                // One bit of a body is wrong.
                if largestInIndex == 0 {
                    let file = try await file(of: url("bb"), in: cache)
                    try (pattern(999, seed: 3) + [0]).write(to: file)
                } else {
                    try await cache.settledDisk.database.write {
                        try $0.execute(
                            sql: "UPDATE entry SET body = zeroblob(1000) WHERE key = ?",
                            arguments: [url("bb").absoluteString])
                    }
                }
            }
            for verification in [ResourceCache.Configuration.Verification.firstRead, .always] {
                try await withCache(
                    in: directory, transport, .init(maximumMemorySize: 0, verification: verification),
                    largestInIndex: largestInIndex
                ) { cache in
                    let store = try await cache.settledDisk
                    let queries = Recorder<String>()
                    try await store.database.read { $0.trace { queries.note($0.expandedDescription) } }
                    queries.forget()
                    for _ in 0..<2 {
                        try await expect(pattern(1000, seed: 2), from: cache, url("a"))
                        try await expect(pattern(1000, seed: 4), from: cache, url("ccc"))
                    }
                    #expect(queries.values.filter { $0.contains("key = ") && !$0.contains("count(") } == [])
                    #expect(cache.statistics.diskHits == 4, "\(queries.values)")
                    try await expect(pattern(1000, seed: 3), from: cache, url("bb"))
                    #expect(cache.statistics.damaged == (verification == .firstRead ? 1 : 0))
                }
            }
            #expect(transport.requests.values.count == 4)
        }
    }
}
