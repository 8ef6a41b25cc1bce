import Foundation
import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `An index that is lost` {
    private static func server() -> ClosureTransport { ClosureTransport { _, _ in .bytes(pattern(1000)) } }

    private static func removeIndex(in directory: URL) throws {
        for name in ["index.db", "index.db-wal", "index.db-shm"] {
            try? FileManager.default.removeItem(at: directory.appending(path: name))
        }
    }

    private static func fill(_ directory: URL, _ names: ClosedRange<Int>) async throws {
        try await withCache(in: directory, server()) { cache in
            for name in names { try await expect(pattern(1000), from: cache, url("\(name)")) }
        }
    }

    @Test func `while the files exist is replaced, and the files leave`() async throws {
        try await withDirectory { directory in
            try await Self.fill(directory, 1...20)
            let notes = directory.appending(path: "notes.txt")
            try Data("x".utf8).write(to: notes)
            try Self.removeIndex(in: directory)
            let server = Self.server()
            try await withCache(in: directory, server) { cache in
                try await expectConsistent(cache, entries: 0)
                try await expect(pattern(1000), from: cache, url("3"))
                #expect(server.requests.values.count == 1 && cache.statistics.damaged == 0)
                try await expectConsistent(cache, entries: 1)
            }
            #expect(FileManager.default.fileExists(atPath: notes.path))
        }
    }

    @Test func `while a cache has it open fails no request, neither there nor in the next process`() async throws {
        try await withDirectory { directory in
            let configuration = ResourceCache.Configuration(maximumMemorySize: 0)
            try await withCache(in: directory, Self.server(), configuration) { first in
                for name in 1...5 { try await expect(pattern(1000), from: first, url("\(name)")) }
                try Self.removeIndex(in: directory)
                try await withCache(in: directory, Self.server(), configuration) { second in
                    for name in 1...8 {
                        try await expect(pattern(1000), from: second, url("\(name)"))
                        try await expect(pattern(1000), from: first, url("\(name)"))
                    }
                }
            }
            try await CacheDirectory.withDirectory(at: directory) {
                _ = try await $0.verify(isRepairing: true) { _ in }
            }
            try await withCache(in: directory, Self.server(), configuration) { cache in
                try await expectConsistent(cache)
                for name in 1...8 { try await expect(pattern(1000), from: cache, url("\(name)")) }
                #expect(cache.statistics.damaged == 0)
            }
        }
    }

    @Test(arguments: ["newer", "foreign", "damaged"])
    func `or unknown is refused, and the files stay`(kind: String) async throws {
        try await withDirectory { directory in
            try await Self.fill(directory, 1...3)
            let index = directory.appending(path: "index.db")
            if kind == "damaged" {
                try Data(String(repeating: "no database ", count: 100).utf8).write(to: index)
            } else {
                let queue = try DatabaseQueue(path: index.path)
                let change = kind == "newer" ? "user_version = 99" : "application_id = 7"
                try await queue.write { try $0.execute(sql: "PRAGMA \(change)") }
                try queue.close()
            }
            let error = await failure { try await withCache(in: directory, Self.server()) { _ in } } as? TransferError
            #expect(error?.code == .cacheUnusable && error?.subject == index.path)
            #expect(error?.remedy?.isEmpty == false)
            #expect(bodies(in: directory).count == 3)
            guard kind != "damaged" else { return }
            let queue = try DatabaseQueue(path: index.path)
            let (version, entries) = try await queue.read { database in
                (
                    try Int.fetchOne(database, sql: "PRAGMA user_version"),
                    try Int.fetchOne(database, sql: "SELECT count(*) FROM entry")
                )
            }
            try queue.close()
            #expect(version == (kind == "newer" ? 99 : DiskIndex.schema.migrations.count) && entries == 3)
        }
    }
}
