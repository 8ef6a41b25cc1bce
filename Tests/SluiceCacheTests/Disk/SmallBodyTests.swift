import Foundation
import GRDB
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
                    try await cache.disk.database.write { try $0.execute(sql: "UPDATE entry SET \(damage)") }
                }
            }
            try await withSmall(directory) { cache in
                try await expect(pattern(1000, seed: 3), from: cache, url("a"))
                #expect(cache.statistics.damaged == 1 && cache.statistics.diskFailures == 0)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `replace a body in a file, and are replaced by one`() async throws {
        try await withDirectory { directory in
            try await withSmall(directory) { cache in
                for count in [1001, 10, 1002, 11] {
                    try await cache.store(pattern(count), for: url("a"))
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
                    try await cache.disk.database.read {
                        try String.fetchAll($0, sql: "SELECT key FROM entry ORDER BY id").map { String($0.suffix(1)) }
                    }
                }
                for (name, count) in [("a", 1001), ("b", 1000), ("c", 1002), ("d", 1000), ("e", 1000)] {
                    #expect(try await cache.store(pattern(count), for: url(name)))
                }
                #expect(try await names() == ["b", "c", "d", "e"] && cache.statistics.evicted == 1)
                try await cache.store(pattern(1003), for: url("f"))
                #expect(try await names() == ["c", "d", "e", "f"] && bodies(in: directory).count == 2)
                try await cache.trim(toBytes: 1600)
                #expect(try await names() == ["f"] && cache.statistics.evicted == 5)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `are stored by many tasks in one process and two`() async throws {
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
