import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// One flipped bit at a time, in each byte of what a cache has on disk. `SLUICE_FLIPS=all` flips every byte instead of a sample.
@Suite(.serialized) struct `One flipped bit on disk` {
    private static let isComplete = ProcessInfo.processInfo.environment["SLUICE_FLIPS"] == "all"

    /// The offsets to flip: all, or a sample that has the ends.
    private static func offsets(_ count: Int, sample: Int) -> [Int] {
        guard !isComplete, count > sample else { return Array(0..<count) }
        var random = SeededRandom(seed: UInt64(count))
        return [0, count - 1] + (0..<sample).map { _ in Int.random(in: 0..<count, using: &random) }
    }

    /// A server whose bodies depend on the whole URL, so that a response of another URL would be noticed.
    private static let server = ClosureTransport { request, _ in .bytes(body(of: request.url)) }

    private static func body(of url: URL) -> Data {
        pattern(300, seed: url.absoluteString.utf8.reduce(1) { ($0 &* 31 &+ Int($1)) % 1_000_003 })
    }

    private static func flipped(_ bytes: Data, at offset: Int) -> Data {
        var bytes = bytes
        bytes[bytes.startIndex + offset] ^= 1 << (offset % 8)
        return bytes
    }

    /// The memory would answer what the disk should.
    private static let configuration = ResourceCache.Configuration(
        maximumMemorySize: 0, maximumDiskSize: 2500, maximumDiskEntrySize: 1000)

    private static func expect(_ cache: ResourceCache, _ urls: [URL], _ comment: String) async throws {
        for url in urls {
            let data = try await cache.data(for: url)
            #expect(same(data, body(of: url)), "\(comment), \(url)")
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `in a file is noticed, and the resource is fetched again`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, Self.server, Self.configuration) { cache in
                try await Self.expect(cache, [url("a")], "at first")
                for (number, offset) in Self.offsets(300, sample: 20).enumerated() {
                    let file = try await file(of: url("a"), in: cache)
                    try Self.flipped(Data(contentsOf: file), at: offset).write(to: file)
                    try await Self.expect(cache, [url("a")], "byte \(offset)")
                    #expect(cache.statistics.damaged == number + 1 && cache.statistics.fetched == number + 2)
                }
                #expect(cache.statistics.diskHits == 0 && cache.statistics.diskFailures == 0)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    /// The columns that a lookup reads, with the value of the row of `a`.
    private static let columns = [
        "key", "bytes", "digest", "accessed", "status", "requested", "received", "fields", "variant", "state",
    ]

    @Test(.timeLimit(.minutes(30)), arguments: columns)
    func `in a column of a row yields the right bytes or a new fetch`(column: String) async throws {
        try await withDirectory { directory in
            var offset = 0
            var count = 1
            while offset < count {
                try? FileManager.default.removeItem(at: directory.appending(path: "cache"))
                try await withCache(in: directory.appending(path: "cache"), Self.server, Self.configuration) { cache in
                    try await Self.expect(cache, [url("a"), url("b")], "at first")
                    let (length, changed) = try await cache.disk.database.write { [offset] database in
                        try database.execute(sql: "PRAGMA ignore_check_constraints = 1")
                        return try Self.flip(column, at: offset, in: database)
                    }
                    count = length
                    var urls = [url("a"), url("b")]
                    if let changed, let url = try? URL(fetchable: changed) { urls.append(url) }
                    // A new entry makes the cache evict one.
                    try await Self.expect(cache, urls + [url("c")] + urls, "\(column), byte \(offset)")
                    #expect(cache.statistics.diskFailures == 0, "\(column), byte \(offset)")
                }
                offset += Self.isComplete ? 1 : max(1, count / 12)
            }
        }
    }

    /// Flips a bit of the value in the row of `a`. Returns the number of its bytes, and the changed key.
    private static func flip(_ column: String, at offset: Int, in database: Database) throws -> (Int, String?) {
        let row = "key = 'http://example.test/a'"
        let value = try DatabaseValue.fetchOne(database, sql: "SELECT \(column) FROM entry WHERE \(row)")!
        if let number = Int64.fromDatabaseValue(value) {
            let changed = number ^ (1 << Int64(offset * 8 + offset % 8))
            try database.execute(sql: "UPDATE entry SET \(column) = ? WHERE \(row)", arguments: [changed])
            return (8, nil)
        }
        let bytes = Data.fromDatabaseValue(value) ?? Data((String.fromDatabaseValue(value) ?? "").utf8)
        guard offset < bytes.count else { return (0, nil) }
        let changed = flipped(bytes, at: offset)
        let cast = column == "digest" ? "?" : "CAST(? AS TEXT)"
        try database.execute(sql: "UPDATE entry SET \(column) = \(cast) WHERE \(row)", arguments: [changed])
        return (bytes.count, column == "key" ? String(validating: changed, as: UTF8.self) : nil)
    }

    @Test(.timeLimit(.minutes(60)))
    func `in the index yields the right bytes, or the index is refused`() async throws {
        try await withDirectory { parent in
            let original = parent.appending(path: "original")
            try await withCache(in: original, Self.server, Self.configuration) { cache in
                try await Self.expect(cache, [url("a"), url("b")], "at first")
            }
            let bytes = try Data(contentsOf: original.appending(path: "index.db"))
            var (refused, answered) = (0, 0)
            for offset in Self.offsets(bytes.count, sample: 30) {
                let directory = parent.appending(path: "copy")
                try FileManager.default.copyItem(at: original, to: directory)
                try Self.flipped(bytes, at: offset).write(to: directory.appending(path: "index.db"))
                do {
                    try await withCache(in: directory, Self.server, Self.configuration) { cache in
                        try await Self.expect(cache, [url("a"), url("b"), url("c"), url("a")], "byte \(offset)")
                    }
                    answered += 1
                } catch let error as TransferError where error.code == .cacheUnusable {
                    refused += 1
                } catch is DatabaseFailure {
                    // Of closing the index.
                    refused += 1
                }
                try FileManager.default.removeItem(at: directory)
            }
            #expect(answered > 0, "\(refused) refused")
        }
    }
}
