import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// `version-1.sql` is the dump of an index that the program wrote with the first version of the tables. The fields of `b` and `c` were
/// edited. `version-2.sql` is the dump of that index after the second migration, without `c`.
@Suite struct `Migrations of the index` {
    @Test func `an index of version 1 keeps its entries, and their Vary fields become variants`() async throws {
        try await withDirectory { directory in
            try await Self.create(version: 1, in: directory)
            let transport = ClosureTransport { request, _ in
                request.headerFields[.ifNoneMatch] == nil ? .bytes(pattern(1)) : .response(status: .notModified)
            }
            try await withCache(in: directory, transport) { cache in
                // The file of a row has its number in its name.
                for (name, row) in [("a", 1), ("b", 2), ("c", 3)] {
                    let file = cache.disk.file(Int64(row), ResourceKey(url(name)))
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                    try pattern(1000).write(to: file)
                }
                for name in ["a", "b", "c"] { try await expect(pattern(1000), from: cache, url(name)) }
                #expect(transport.requests.values.map(\.url) == [url("c")])
                #expect(cache.statistics.damaged == 0 && cache.statistics.revalidated == 1)
                let variants = try await cache.disk.database.read {
                    try String.fetchAll($0, sql: "SELECT variant FROM entry ORDER BY key")
                }
                #expect(variants == ["", "accept-language\ncookie\n", ""])
                #expect(cache.disk.salt.count == 16)
                try await expectConsistent(cache, entries: 3)
            }
        }
    }

    @Test func `an index of version 2 keeps its entries in files, and new small ones are in the index`() async throws {
        try await withDirectory { directory in
            try await Self.create(version: 2, in: directory)
            let transport = ClosureTransport { _, _ in .bytes(pattern(2)) }
            try await withCache(in: directory, transport, largestInIndex: 2048) { cache in
                for (name, row) in [("a", 1), ("b", 2)] {
                    let file = cache.disk.file(Int64(row), ResourceKey(url(name)))
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                    try pattern(1000).write(to: file)
                }
                for name in ["a", "b"] { try await expect(pattern(1000), from: cache, url(name)) }
                #expect(transport.requests.values.isEmpty && cache.statistics.damaged == 0)
                try await expect(pattern(2), from: cache, url("c"))
                #expect(bodies(in: directory).count == 2)
                try await expectConsistent(cache, entries: 3)
            }
        }
    }

    @Test(arguments: [1, 2]) func `a migrated index has the tables of a new one`(version: Int) async throws {
        func columns(_ directory: URL) async throws -> [String] {
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                try await cache.disk.database.read { database in
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
