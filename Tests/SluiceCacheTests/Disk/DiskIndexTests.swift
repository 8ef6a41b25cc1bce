import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Small bodies in the index` {
    private let transport = ClosureTransport { _, number in .bytes(pattern(1000, seed: number)) }

    private func withSmall<R>(
        _ directory: URL, _ configuration: ResourceCache.Configuration = .init(maximumMemorySize: 0),
        _ body: (ResourceCache) async throws -> R
    ) async throws -> R {
        try await withCache(in: directory, transport, configuration, largestInIndex: 1000, body)
    }

    @Test func `have no file, and are found after the next start`() async throws {
        try await withDirectory { directory in
            try await withSmall(directory) { cache in
                try await expect(pattern(1000, seed: 1), from: cache, url("a"))
                try await cache.store(pattern(1001), for: url("b"))
                try await cache.store(Data(), for: url("c"))
                await cache.backlog.drain()
                #expect(bodies(in: directory).count == 1)
                try await expectConsistent(cache, entries: 3)
            }
            try await withSmall(directory) { cache in
                for _ in 1...2 { try await expect(pattern(1000, seed: 1), from: cache, url("a")) }
                try await expect(pattern(1001), from: cache, url("b"))
                try await expect(Data(), from: cache, url("c"))
                #expect(cache.statistics.diskHits == 4 && cache.statistics.damaged == 0)
            }
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test(arguments: [
        "digest = zeroblob(32)", "body = substr(body, 1, 999)", "body = CAST(body || x'00' AS BLOB)",
        "body = zeroblob(1000)",
        "body = NULL",
        "bytes = 999",
    ])
    func `are fetched again after damage`(damage: String) async throws {
        try await withDirectory { directory in
            for _ in 1...2 {
                try await withSmall(directory) { cache in
                    _ = try await cache.data(for: url("a"))
                    try await cache.settledDisk.database.write { try $0.execute(sql: "UPDATE entry SET \(damage)") }
                }
            }
            try await withSmall(directory) { cache in
                try await expect(pattern(1000, seed: 3), from: cache, url("a"))
                #expect(cache.statistics.damaged == 1 && cache.statistics.diskFailures == 0)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `replace a body in a file, and vice versa`() async throws {
        try await withDirectory { directory in
            try await withSmall(directory) { cache in
                for count in [1001, 10, 1002, 11] {
                    try await cache.store(pattern(count), for: url("a"))
                    await cache.backlog.drain()
                    #expect(bodies(in: directory).count == (count > 1000 ? 1 : 0))
                    try await expect(pattern(count), from: cache, url("a"))
                    try await expectConsistent(cache, entries: 1)
                }
            }
            #expect(transport.requests.values.isEmpty)
        }
    }

    @Test func `are evicted in the same order as files`() async throws {
        try await withDirectory { directory in
            // Room for four entries.
            let configuration = ResourceCache.Configuration(maximumDiskSize: 6100, maximumDiskEntrySize: 1100)
            try await withSmall(directory, configuration) { cache in
                func names() async throws -> [String] {
                    try await cache.settledDisk.database.read {
                        try String.fetchAll($0, sql: "SELECT key FROM entry ORDER BY id").map { String($0.suffix(1)) }
                    }
                }
                for (name, count) in [("a", 1001), ("b", 1000), ("c", 1002), ("d", 1000), ("e", 1000)] {
                    #expect(try await cache.store(pattern(count), for: url(name)))
                }
                #expect(try await names() == ["b", "c", "d", "e"] && cache.statistics.evicted == 1)
                try await cache.store(pattern(1003), for: url("f"))
                await cache.backlog.drain()
                #expect(try await names() == ["c", "d", "e", "f"] && bodies(in: directory).count == 2)
                try await cache.trim(toBytes: 1600)
                #expect(try await names() == ["f"] && cache.statistics.evicted == 5)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `are stored by many tasks, in one process or two`() async throws {
        let transport = ClosureTransport { request, _ in .bytes(Data(request.url.path.utf8)) }
        try await withDirectory { directory in
            try await withCache(in: directory, transport, largestInIndex: 1000) { first in
                try await withCache(in: directory, transport, largestInIndex: 1000) { second in
                    try await withThrowingTaskGroup { group in
                        for number in 0..<200 {
                            let cache = number % 2 == 0 ? first : second
                            group.addTask { try await expect(Data("/\(number)".utf8), from: cache, url("\(number)")) }
                        }
                        try await group.waitForAll()
                    }
                    await second.backlog.drain()
                    #expect(first.statistics.diskFailures + second.statistics.diskFailures == 0)
                    try await expectConsistent(first, entries: 200)
                }
            }
        }
    }

    @Test func `are stored even if the task is cancelled`() async throws {
        try await withDirectory { directory in
            try await withSmall(directory) { cache in
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await cache.store(pattern(20), for: url("a"))
                }
                #expect(try await task.value)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }
}

// MARK: - Variants

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

    /// Returns the body on disk for a request.
    private static func body(_ cache: ResourceCache, _ request: HTTPFields) async throws -> Data? {
        let rows = try await cache.settledDisk.find(key, cache.policy).ready
        let request = TransportRequest(url("a"), headerFields: request)
        guard let (index, _) = cache.policy.selection(of: rows.map(\.head), for: request, at: cache.now()) else {
            return nil
        }
        guard case .found(let body) = try await cache.settledDisk.body(of: rows[index], key) else { return nil }
        return body
    }

    private static let english: HTTPFields = [.acceptLanguage: "en, de;q=0.5", .authorization: "Basic c2VjcmV0"]
    private static let german: HTTPFields = [.acceptLanguage: "de", .authorization: "Basic c2VjcmV0"]

    @Test func `variants are stored side by side and found after reopening`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.transport) { cache in
                for (seed, request) in [Self.english, Self.german, [:]].enumerated() {
                    _ = try await cache.settledDisk.store(Self.response(cache, request, seed: seed), for: Self.key)
                }
            }
            try await withCache(in: directory, Self.transport) { cache in
                try await expectConsistent(cache, entries: 3)
                #expect(try await Self.body(cache, Self.english) == pattern(100, seed: 0))
                // The same preferences, spelled differently.
                let same: HTTPFields = [.acceptLanguage: "DE; q=0.50,en", .authorization: "Basic c2VjcmV0"]
                #expect(try await Self.body(cache, same) == pattern(100, seed: 0))
                #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 1))
                #expect(try await Self.body(cache, [:]) == pattern(100, seed: 2))
                #expect(try await Self.body(cache, [.acceptLanguage: "de"]) == nil)
                try await expect(pattern(100, seed: 2), from: cache, url("a"))
            }
        }
    }

    @Test func `a newer response replaces only its own variant`() async throws {
        try await withCache(Self.transport) { cache in
            for (seed, request) in [Self.english, Self.german, Self.german].enumerated() {
                _ = try await cache.settledDisk.store(Self.response(cache, request, seed: seed), for: Self.key)
            }
            try await expectConsistent(cache, entries: 2)
            #expect(try await Self.body(cache, Self.english) == pattern(100, seed: 0))
            #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 2))
            // Bytes that are stored directly are the response to all requests.
            try await cache.store(pattern(5), for: url("a"))
            try await expectConsistent(cache, entries: 1)
            #expect(try await Self.body(cache, Self.german) == pattern(5))
        }
    }

    @Test func `the index has no request field values, and digests differ between directories`()
        async throws
    {
        func text(_ directory: URL) async throws -> String {
            try await withCache(in: directory, Self.transport) { cache in
                _ = try await cache.settledDisk.store(Self.response(cache, Self.english, seed: 0), for: Self.key)
                return try await cache.settledDisk.database.read {
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

    @Test func `parts and other statuses are restored, but never used as the resource`() async throws {
        try await withCache(Self.transport) { cache in
            let part: HTTPFields = [.contentRange: "bytes 0-99/200", .eTag: "\"a\""]
            _ = try await cache.settledDisk.store(
                Self.response(cache, Self.english, seed: 0, status: 206, part), for: Self.key)
            _ = try await cache.settledDisk.store(Self.response(cache, [:], seed: 1, status: 404), for: Self.key)
            let heads = try await cache.settledDisk.find(Self.key, cache.policy).ready.map(\.head)
            #expect(heads.map(\.status) == [206, 404])
            #expect(heads.map(\.part) == [0..<100, nil])
            #expect(try await !cache.contains(url("a")))
            let error = await failure { try await cache.data(for: url("a")) } as? TransferError
            #expect(error?.status == .notFound)
        }
    }

    @Test(arguments: ["variant = 'cookie:12'", "variant = '?'", "status = 206", "digest = zeroblob(32)"])
    func `a damaged variant is dropped, and the others stay`(change: String) async throws {
        try await withCache(Self.transport) { cache in
            _ = try await cache.settledDisk.store(Self.response(cache, [:], seed: 0), for: Self.key)
            _ = try await cache.settledDisk.store(Self.response(cache, Self.german, seed: 1), for: Self.key)
            try await cache.settledDisk.database.write {
                try $0.execute(sql: "UPDATE entry SET \(change) WHERE id = 1")
            }
            try await expect(pattern(1), from: cache, url("a"))
            #expect(cache.statistics.damaged == 1)
            try await expectConsistent(cache, entries: 2)
            #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 1))
        }
    }

    @Test func `an update that turns a row into another row's variant replaces that row`() async throws {
        try await withCache(Self.transport) { cache in
            let first = try await cache.settledDisk.store(Self.response(cache, Self.english, seed: 0), for: Self.key)
                .row
            _ = try await cache.settledDisk.store(Self.response(cache, Self.german, seed: 1), for: Self.key)
            let head = try Self.response(cache, Self.german, seed: 0).head
            #expect(try await cache.settledDisk.update(try #require(first), Self.key, head))
            try await expectConsistent(cache, entries: 1)
            #expect(try await Self.body(cache, Self.german) == pattern(100, seed: 0))
        }
    }
}

// MARK: - Plans

/// The cost of a statement must not grow with the number of entries.
@Suite struct `Plans of the index's statements` {
    @Test func `no statement of a lookup, change, eviction or start scans or sorts the table`()
        async throws
    {
        try await withCache(ScriptedTransport([:])) { cache in
            for name in ["a", "b", "c"] { try await cache.store(pattern(10), for: url(name)) }
            let statements = Recorder<String>()
            let plans = try await cache.settledDisk.database.write {
                [policy = cache.policy, now = cache.now()] database in
                database.trace { statements.note($0.expandedDescription) }
                let key = ResourceKey(url("a"))
                let head = StoredResponse.Head(
                    status: 200, fields: [:], length: 10, requested: now, received: now, policy: policy)
                let response = StoredResponse(head: head, body: pattern(10))
                _ = try DiskIndex.find(key, policy, in: database)
                _ = try DiskIndex.isReady(1, in: database)
                _ = try DiskIndex.leastRecentlyUsed(downTo: 600, in: database)
                let digest = Data(count: 32)
                let row = try DiskIndex.insertWriting(
                    head, bytes: 10, digest: digest, key: key, writer: 0, now: 1, in: database)
                _ = try DiskIndex.makeReady(row, key: key, replacing: .rows([]), writer: 0, in: database)
                _ = try DiskIndex.insertReady(
                    response, digest: digest, key: key, replacing: .all, writer: 0, now: 1, in: database)
                _ = try DiskIndex.update(2, ResourceKey(url("b")), head, writer: 0, in: database)
                try DiskIndex.touch([2: 5], in: database)
                _ = try DiskIndex.entry(2, in: database)
                _ = try DiskIndex.keys(after: "", most: 10, in: database)
                _ = try DiskIndex.unsettledKeys(in: database)
                _ = try DiskIndex.keys(addedAfter: 1, in: database)
                _ = try DiskIndex.searches(addedAfter: 0, in: database)
                _ = try DiskIndex.keys(ofSearch: "x", most: 10, in: database)
                _ = try DiskIndex.isOnly(key, in: database)
                _ = try DiskIndex.byLastUse(after: .init(), matching: nil, most: 10, policy, in: database)
                try DiskIndex.delete([2], in: database)
                _ = try DiskIndex.unsettled(of: 0, in: database)
                _ = try DiskIndex.writersOfUnsettled(in: database)
                database.trace(options: [])
                return try statements.values.filter { $0.contains("entry") && !$0.hasPrefix("--") }.map { sql in
                    (
                        sql,
                        try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(sql)").map { $0["detail"] as String }
                    )
                }
            }
            #expect(plans.count >= 20)
            for (sql, plan) in plans {
                // The table `usage` has only one row.
                for step in plan where !step.contains("usage") {
                    // A key has so few rows that sorting them is fine.
                    let isSort = step.contains("TEMP B-TREE") && sql.contains("key = ")
                    #expect(isSort || step.contains("USING"), "\(sql): \(step)")
                }
            }
            let searches = plans.first { $0.0.contains("search IS NOT NULL") }
            #expect(searches?.1.contains { $0.contains("entry_search") } == true, "\(searches?.1 ?? [])")
            let eviction = plans.first { $0.0.hasSuffix("ORDER BY accessed") }
            #expect(eviction?.1 == ["SCAN entry USING INDEX entry_accessed"])
        }
    }
}

// MARK: - Migrations

/// `version-1.sql` is a dump of an index with the first version of the tables. The fields of `b` and `c` were edited. `version-2.sql` is a
/// dump of that index after the second migration, without `c`. `version-3.sql` is a dump of that one after the third migration, with `c` in
/// the index.
@Suite struct `Migrations of the index` {
    @Test func `a version 1 index keeps its entries, and their Vary fields become variants`() async throws {
        try await withDirectory { directory in
            try await Self.create(version: 1, in: directory)
            let transport = ClosureTransport { request, _ in
                request.headerFields[.ifNoneMatch] == nil ? .bytes(pattern(1)) : .response(status: .notModified)
            }
            try await withCache(in: directory, transport) { cache in
                // A file's name contains its row number.
                for (name, row) in [("a", 1), ("b", 2), ("c", 3)] {
                    let file = try await cache.settledDisk.file(Int64(row), ResourceKey(url(name)))
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                    try pattern(1000).write(to: file)
                }
                for name in ["a", "b", "c"] { try await expect(pattern(1000), from: cache, url(name)) }
                #expect(transport.requests.values.map(\.url) == [url("c")])
                #expect(cache.statistics.damaged == 0 && cache.statistics.revalidated == 1)
                let variants = try await cache.settledDisk.database.read {
                    try String.fetchAll($0, sql: "SELECT variant FROM entry ORDER BY key")
                }
                #expect(variants == ["", "accept-language\ncookie\n", ""])
                #expect(try await cache.settledDisk.salt.count == 16)
                try await expectConsistent(cache, entries: 3)
            }
        }
    }

    @Test func `a version 2 index keeps its entries in files, and stores new small ones itself`() async throws {
        try await withDirectory { directory in
            try await Self.create(version: 2, in: directory)
            let transport = ClosureTransport { _, _ in .bytes(pattern(2)) }
            try await withCache(in: directory, transport, largestInIndex: 2048) { cache in
                for (name, row) in [("a", 1), ("b", 2)] {
                    let file = try await cache.settledDisk.file(Int64(row), ResourceKey(url(name)))
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                    try pattern(1000).write(to: file)
                }
                for name in ["a", "b"] { try await expect(pattern(1000), from: cache, url(name)) }
                #expect(transport.requests.values.isEmpty && cache.statistics.damaged == 0)
                try await expect(pattern(2), from: cache, url("c"))
                await cache.backlog.drain()
                #expect(bodies(in: directory).count == 2)
                try await expectConsistent(cache, entries: 3)
            }
        }
    }

    @Test func `a version 3 index keeps its entries, and counts removals`() async throws {
        try await withDirectory { directory in
            try await Self.create(version: 3, in: directory)
            let transport = ClosureTransport { _, _ in .bytes(pattern(1)) }
            try await withCache(in: directory, transport, largestInIndex: 2048) { cache in
                try await expect(Data([1, 2, 3]), from: cache, url("c"))
                #expect(transport.requests.values.isEmpty && cache.statistics.damaged == 0)
                let store = try await cache.settledDisk
                #expect(try await store.database.read { try DiskIndex.removals(in: $0) } == 0)
                for name in ["a", "b"] { try await cache.remove(url(name)) }
                #expect(try await store.database.read { try DiskIndex.removals(in: $0) } == 2)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test(arguments: [1, 2, 3]) func `a migrated index has the same tables as a new one`(version: Int) async throws {
        func columns(_ directory: URL) async throws -> [String] {
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                try await cache.settledDisk.database.read { database in
                    try String.fetchAll(database, sql: "SELECT name FROM pragma_table_info('entry')")
                        + String.fetchAll(
                            database,
                            sql: "SELECT name || sql FROM sqlite_schema WHERE type <> 'table' AND sql <> '' ORDER BY 1")
                }
            }
        }
        try await withDirectory { new in
            try await withDirectory { old in
                try await Self.create(version: version, in: old)
                #expect(try await columns(old) == columns(new))
            }
        }
    }

    private static func create(version: Int, in directory: URL) async throws {
        let dump = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "version-\(version).sql")
        let sql = try String(contentsOf: dump, encoding: .utf8)
            .replacing("BEGIN TRANSACTION;", with: "").replacing("COMMIT;", with: "")
        let queue = try DatabaseQueue(path: directory.appending(path: "index.db").path(percentEncoded: false))
        try await queue.write { database in
            try database.execute(sql: sql)
            try database.execute(sql: "PRAGMA application_id = \(0x534C_5543); PRAGMA user_version = \(version)")
        }
        try queue.close()
    }
}
