import Foundation
import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `The limit on disk` {
    /// Checks the directory after each system call that changes it.
    private func watching(_ look: @escaping @Sendable () -> Void) -> SystemCalls {
        let real = SystemCalls.system
        var calls = real
        calls.write = { descriptor, bytes in
            defer { look() }
            return real.write(descriptor, bytes)
        }
        return calls
    }

    @Test(arguments: [0, 1000])
    func `is never exceeded, the file that is being written included, with two caches on the directory`(
        largestInIndex: Int
    ) async throws {
        try await withDirectory { directory in
            let limit = 20_000
            let sums = Recorder<Int>()
            let files = FileIO(calls: watching { sums.note(bodies(in: directory).values.reduce(0, +)) })
            let transport = ClosureTransport { request, _ in
                .bytes(pattern(request.url.path.utf8.reduce(0) { $0 &* 31 &+ Int($1) } % 2000))
            }
            let configuration = ResourceCache.Configuration(maximumMemorySize: 0, maximumDiskSize: Int64(limit))
            try await withCache(
                in: directory, transport, configuration, files: files, largestInIndex: largestInIndex
            ) { first in
                try await withCache(
                    in: directory, transport, configuration, files: files, largestInIndex: largestInIndex
                ) { second in
                    #expect(first.disk.slot.number == 0 && second.disk.slot.number == 1)
                    try await withThrowingTaskGroup { group in
                        for number in 0..<200 {
                            let cache = number % 2 == 0 ? first : second
                            group.addTask { _ = try await cache.data(for: url("\(number % 80)")) }
                        }
                        try await group.waitForAll()
                    }
                    try await expectConsistent(first)
                    #expect(first.statistics.evicted + second.statistics.evicted > 0)
                    #expect(first.statistics.diskFailures + second.statistics.diskFailures == 0)
                    #expect(first.statistics.damaged + second.statistics.damaged == 0)
                }
            }
            // Only half of the bodies are in files if small ones aren't.
            let least = largestInIndex == 0 ? limit / 2 : limit / 8
            #expect(sums.values.max() ?? 0 <= limit && sums.values.max() ?? 0 > least)
            await files.shutdown()
        }
    }

    @Test func `those that were not used for longest leave first, also if the use was in memory`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            // Ten entries of 1000 bytes and what each counts beside.
            let configuration = ResourceCache.Configuration(maximumDiskSize: 15_120, maximumDiskEntrySize: 1000)
            func names(_ cache: ResourceCache) async throws -> [String] {
                try await cache.disk.database.read {
                    try String.fetchAll($0, sql: "SELECT key FROM entry ORDER BY key").map { String($0.suffix(1)) }
                }
            }
            try await withCache(in: directory, transport, configuration) { cache in
                for number in 0..<10 { _ = try await cache.data(for: url("\(number)")) }
                #expect(cache.statistics.evicted == 0)
                _ = try await cache.data(for: url("0"))
            }
            try await withCache(in: directory, transport, configuration) { cache in
                _ = try await cache.data(for: url("1"))
                for name in ["a", "b", "c"] { _ = try await cache.data(for: url(name)) }
                #expect(try await names(cache) == ["0", "1", "5", "6", "7", "8", "9", "a", "b", "c"])
                #expect(cache.statistics.evicted == 3)
                try await cache.trim(toBytes: 15_120 / 2)
                #expect(try await names(cache) == ["0", "1", "a", "b", "c"])
                try await cache.trim(toBytes: 0)
                try await expectConsistent(cache, entries: 0)
            }
        }
    }

    @Test func `hits write their times down together`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
            let count = UseTimes.batch
            try await withCache(in: directory, transport) { cache in
                for number in 0..<count { _ = try await cache.data(for: url("\(number)")) }
            }
            try await withCache(in: directory, transport) { cache in
                func changes() async throws -> Int {
                    try await cache.disk.database.read { try Int.fetchOne($0, sql: "SELECT total_changes()") ?? 0 }
                }
                let before = try await changes()
                for number in 0..<(count - 1) { _ = try await cache.data(for: url("\(number)")) }
                #expect(try await changes() == before)
                _ = try await cache.data(for: url("\(count - 1)"))
                #expect(try await changes() >= before + count)
            }
        }
    }

    @Test func `a limit of nothing keeps nothing`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
            try await withCache(in: directory, transport, .init(maximumMemorySize: 0, maximumDiskSize: 0)) { cache in
                for _ in 1...2 { try await expect(pattern(10), from: cache, url("a")) }
                #expect(cache.statistics.diskFailures == 0 && cache.memory.count == 0)
                try await expectConsistent(cache, entries: 0)
            }
            #expect(transport.requests.values.count == 2)
        }
    }
}
