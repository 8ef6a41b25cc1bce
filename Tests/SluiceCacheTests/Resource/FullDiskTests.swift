import Foundation
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// A cache on a file system of 4 MiB, which Scripts/checks/full-disks.sh mounts.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["SLUICE_FULL_CACHE_DISK"] != nil))
struct `A full disk below a cache` {
    private static func server() -> ClosureTransport {
        ClosureTransport { request, _ in .bytes(body(of: request.url)) }
    }

    private static func body(of url: URL) -> Data {
        pattern(40_000, seed: url.lastPathComponent.utf8.reduce(1) { $0 &* 31 &+ Int($1) } % 251)
    }

    /// The memory would answer what the disk should.
    private static let configuration = ResourceCache.Configuration(maximumMemorySize: 0)

    /// Calls `body` with an empty directory on the small file system, and a function that fills the rest of it, or frees that.
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

    @Test(.timeLimit(.minutes(5)))
    func `fails no request, loses no stored response, and stores again when there is room`() async throws {
        try await withSmallDisk { directory, fill in
            try await withCache(in: directory, Self.server(), Self.configuration) { cache in
                try await expectAll(cache, 0..<10)
                #expect(cache.statistics.diskFailures == 0)
                try fill(true)
                try await expectAll(cache, 10..<30)
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

    @Test(.timeLimit(.minutes(5)))
    func `that is smaller than the limit of the cache is used, and a restart leaves no leftover`() async throws {
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

    @Test(.timeLimit(.minutes(5)))
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
