import Foundation
import GRDB
import SluiceCache
import SluiceFiles

/// A directory with 100,000 entries. Most of them have a row but no file, because nothing touches them.
extension CacheRows {
    static var start: Row {
        Row(
            "cache/open and look up, 100,000 entries", .milliseconds, against: "10 entries", figure: .below(4)
        ) { stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                let many = try await FullDirectory(directory.appending(path: "many"), files: 10, rows: 100_000)
                let few = try await FullDirectory(directory.appending(path: "few"), files: 10, rows: 10)
                try await rounds({ try await many.start() }, { try await few.start() })
            }
        }
    }

    /// Each new entry replaces the least recently used one.
    static var eviction: Row {
        Row(
            "cache/store in a full directory of 100,000 entries", .microseconds, against: "100 entries",
            figure: .atMost(1.5)
        ) { stage, rounds in
            try await stage.withDirectory { directory in
                let count = stage.count(200, quick: 50)
                let files = count * (stage.rounds + 1)
                let many = try await FullDirectory(directory.appending(path: "many"), files: files, rows: 100_000)
                let few = try await FullDirectory(directory.appending(path: "few"), files: 100, rows: 100)
                try await many.withCache { many in
                    try await few.withCache { few in
                        try await rounds(
                            { try await FullDirectory.store(count, in: many) },
                            { try await FullDirectory.store(count, in: few) })
                    }
                }
            }
        }
    }
}

/// The directory of a full cache.
private struct FullDirectory {
    private static let size = 4 << 10
    private let directory: URL
    private let configuration: ResourceCache.Configuration

    /// Stores some entries with files, and then rows without files up to the given number.
    init(_ directory: URL, files: Int, rows: Int) async throws {
        self.directory = directory
        configuration = .init(
            maximumMemorySize: 0, maximumDiskSize: Int64(rows) * Int64(Self.size + 512),
            maximumDiskEntrySize: Int64(Self.size))
        try await withCache { cache in
            for number in 0..<files { try await Self.storeEntry(number, in: cache) }
        }
        let queue = try DatabaseQueue(path: directory.appending(path: "index.db").path)
        try await queue.write { database in
            // The rows are copies of the last one, with later uses.
            let columns = try String.fetchAll(
                database, sql: "SELECT name FROM pragma_table_info('entry') WHERE name NOT IN ('id', 'key', 'accessed')"
            ).joined(separator: ", ")
            try database.execute(
                sql: """
                    WITH RECURSIVE number(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                    INSERT INTO entry (key, accessed, \(columns))
                    SELECT 'https://example.com/pictures/large/' || n || '.jpeg', accessed + n, \(columns)
                    FROM number, (SELECT * FROM entry WHERE id = (SELECT max(id) FROM entry)) WHERE n < ?
                    """, arguments: [files, rows, rows])
            try check(try Int.fetchOne(database, sql: "SELECT count(*) FROM entry") ?? 0, rows)
        }
        try await queue.close()
    }

    func withCache(_ body: (ResourceCache) async throws -> Void) async throws {
        try await ResourceCache.withCache(directory: directory, configuration: configuration, body)
    }

    private static func url(_ number: Int) -> URL { URL(string: "https://example.com/pictures/large/\(number).jpeg")! }

    private static func storeEntry(_ number: Int, in cache: ResourceCache) async throws {
        try check(try await cache.store(Data(repeating: 1, count: size), for: url(number)) ? 1 : 0, 1)
    }

    /// Times opening the cache and the first lookup.
    func start() async throws -> Sample {
        var cache: ResourceCache?
        let sample = try await timed(1, expecting: Self.size) {
            let opened = ResourceCache(directory: directory, configuration: configuration)
            cache = opened
            return try await opened.data(for: Self.url(0)).count
        }
        try check(cache?.statistics.diskHits ?? 0, 1)
        try await cache?.shutdown()
        return sample
    }

    /// Stores new entries, each of which evicts one.
    static func store(_ count: Int, in cache: ResourceCache) async throws -> Sample {
        let (before, start) = (cache.statistics.evicted, 200_000 + cache.statistics.evicted)
        return try await timed(count, expecting: count) {
            for number in start..<start + count { try await storeEntry(number, in: cache) }
            return cache.statistics.evicted - before
        }
    }
}
