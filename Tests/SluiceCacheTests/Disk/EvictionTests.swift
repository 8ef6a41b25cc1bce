import Foundation
import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `The limit on disk` {
    /// Calls `look` after each system call that changes the directory.
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
    func `is never exceeded, even during writes by two caches on one directory`(
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
                    #expect(try await first.settledDisk.slot.number == 0)
                    #expect(try await second.settledDisk.slot.number == 1)
                    try await withThrowingTaskGroup { group in
                        for number in 0..<200 {
                            let cache = number % 2 == 0 ? first : second
                            group.addTask { _ = try await cache.data(for: url("\(number % 80)")) }
                        }
                        try await group.waitForAll()
                    }
                    await second.backlog.drain()
                    try await expectConsistent(first)
                    #expect(first.statistics.evicted + second.statistics.evicted > 0)
                    #expect(first.statistics.diskFailures + second.statistics.diskFailures == 0)
                    #expect(first.statistics.damaged + second.statistics.damaged == 0)
                }
            }
            // If small bodies are in the index, only half of them are in files.
            let least = largestInIndex == 0 ? limit / 2 : limit / 8
            #expect(sums.values.max() ?? 0 <= limit && sums.values.max() ?? 0 > least)
            await files.shutdown()
        }
    }

    @Test func `the least recently used entries are evicted first, counting uses in memory`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            // Room for ten entries of 1000 bytes with their overhead.
            let configuration = ResourceCache.Configuration(maximumDiskSize: 15_120, maximumDiskEntrySize: 1000)
            func names(_ cache: ResourceCache) async throws -> [String] {
                await cache.backlog.drain()
                return try await cache.settledDisk.database.read {
                    try String.fetchAll($0, sql: "SELECT key FROM entry ORDER BY key").map { String($0.suffix(1)) }
                }
            }
            try await withCache(in: directory, transport, configuration) { cache in
                for number in 0..<10 { _ = try await cache.data(for: url("\(number)")) }
                await cache.backlog.drain()
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

    @Test func `use times of many hits are written together`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
            let count = UseTimes.batch
            try await withCache(in: directory, transport) { cache in
                for number in 0..<count { _ = try await cache.data(for: url("\(number)")) }
            }
            try await withCache(in: directory, transport, .init(maximumMemorySize: 0)) { cache in
                func changes() async throws -> Int {
                    try await cache.settledDisk.database.read {
                        try Int.fetchOne($0, sql: "SELECT total_changes()") ?? 0
                    }
                }
                let before = try await changes()
                for number in 0..<(count - 1) { _ = try await cache.data(for: url("\(number)")) }
                #expect(try await changes() == before)
                // The lookup after the last one of the batch writes.
                for number in [count - 1, 0] { _ = try await cache.data(for: url("\(number)")) }
                #expect(try await changes() >= before + count)
            }
        }
    }

    @Test func `keeps nothing if it's zero`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(10)) }
        try await withCache(transport, .init(maximumMemorySize: 0, maximumDiskSize: 0)) { cache in
            for _ in 1...2 { try await expect(pattern(10), from: cache, url("a")) }
            #expect(cache.statistics.diskFailures == 0 && cache.memory.count == 0)
            try await expectConsistent(cache, entries: 0)
        }
        #expect(transport.requests.values.count == 2)
    }
}

// MARK: - A full disk

/// A cache on a 4 MiB file system, which Scripts/checks/full-disks.sh mounts.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["SLUICE_FULL_CACHE_DISK"] != nil))
struct `A full disk below a cache` {
    private static func server() -> ClosureTransport {
        ClosureTransport { request, _ in .bytes(body(of: request.url)) }
    }

    private static func body(of url: URL) -> Data {
        pattern(40_000, seed: url.lastPathComponent.utf8.reduce(1) { $0 &* 31 &+ Int($1) } % 251)
    }

    /// Without a memory stage, so that the disk answers.
    private static let configuration = ResourceCache.Configuration(maximumMemorySize: 0)

    /// Calls `body` with an empty directory on the small file system, and a function that fills the file system or frees the space.
    private func withSmallDisk(_ body: (URL, (_ isFull: Bool) throws -> Void) async throws -> Void) async throws {
        let disk = URL(
            filePath: try #require(ProcessInfo.processInfo.environment["SLUICE_FULL_CACHE_DISK"]),
            directoryHint: .isDirectory)
        let (directory, balloon) = (disk.appending(path: "cache"), disk.appending(path: "balloon"))
        defer { for file in [directory, balloon] { try? FileManager.default.removeItem(at: file) } }
        try await body(directory) { isFull in
            guard isFull else { return try FileManager.default.removeItem(at: balloon) }
            let descriptor = open(balloon.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            for size in [1 << 16, 4096, 1] {
                let bytes = [UInt8](repeating: 1, count: size)
                while write(descriptor, bytes, size) > 0 {}
                #expect(errno == ENOSPC)
            }
        }
    }

    private func expectAll(_ cache: ResourceCache, _ names: Range<Int>) async throws {
        for name in names { try await expect(Self.body(of: url("\(name)")), from: cache, url("\(name)")) }
    }

    @Test(.timeLimit(.minutes(15)))
    func `fails no request, loses no stored response, and stores again when there is room`() async throws {
        try await withSmallDisk { directory, fill in
            try await withCache(in: directory, Self.server(), Self.configuration) { cache in
                try await expectAll(cache, 0..<10)
                await cache.backlog.drain()
                #expect(cache.statistics.diskFailures == 0)
                try fill(true)
                try await expectAll(cache, 10..<30)
                await cache.backlog.drain()
                #expect(cache.statistics.diskFailures > 0)
                #expect(cache.statistics.lastDiskFailure?.contains(directory.path) == true)
                try await expectAll(cache, 0..<10)
                #expect(cache.statistics.diskHits == 10 && cache.statistics.damaged == 0)
                try fill(false)
                try await expectAll(cache, 10..<30)
                try await expectConsistent(cache, entries: 30)
            }
            try await withCache(in: directory, Self.server(), Self.configuration) { cache in
                try await expectConsistent(cache, entries: 30)
                try await expectAll(cache, 0..<30)
                #expect(cache.statistics.diskHits == 30)
            }
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `that is smaller than the cache's limit is used, and a restart leaves no leftovers`() async throws {
        try await withSmallDisk { directory, _ in
            for round in 0..<3 {
                try await withCache(in: directory, Self.server(), Self.configuration) { cache in
                    // 200 bodies are 8 MB.
                    try await expectAll(cache, (round * 200)..<(round * 200 + 200))
                    #expect(cache.statistics.damaged == 0)
                }
                try await CacheDirectory.withDirectory(at: directory) {
                    let result = try await $0.verify(isRepairing: false) { _ in }
                    #expect(result.problems == 0 && result.entries > 20)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `lets a cache open, or fails with the reason`() async throws {
        try await withSmallDisk { directory, fill in
            try await withCache(in: directory, Self.server(), Self.configuration) { try await expectAll($0, 0..<3) }
            try fill(true)
            do {
                try await withCache(in: directory, Self.server(), Self.configuration) { try await expectAll($0, 0..<6) }
            } catch let error as TransferError {
                #expect(error.code == .cacheUnusable && error.remedy != nil)
                #expect(error.description.contains("full") || error.description.contains("disk I/O"), "\(error)")
            } catch let error as FileError {
                #expect(error.code == .noSpace)
            }
            try fill(false)
            try await withCache(in: directory, Self.server(), Self.configuration) { cache in
                try await expectAll(cache, 0..<6)
                try await expectConsistent(cache, entries: 6)
            }
        }
    }
}
