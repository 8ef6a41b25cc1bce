import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `When the digest on disk is compared` {
    private func configuration(
        _ verification: ResourceCache.Configuration.Verification
    ) -> ResourceCache.Configuration {
        .init(maximumMemorySize: 0, verification: verification)
    }

    private let transport = ClosureTransport { _, _ in .bytes(pattern(5000)) }

    private func flipByte(of file: URL) throws -> Data {
        var data = try Data(contentsOf: file)
        data[500] ^= 1
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: data)
        try handle.close()
        return data
    }

    @Test func `by default at the first read by a process`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, transport, configuration(.firstRead)) { cache in
                for _ in 1...3 { try await expect(pattern(5000), from: cache, url("a")) }
                let damaged = try flipByte(of: try await file(of: url("a"), in: cache))
                try await expect(damaged, from: cache, url("a"))
                #expect(cache.statistics.diskHits == 3 && cache.statistics.damaged == 0)
            }
            // As in another process.
            try await withCache(in: directory, transport, configuration(.firstRead)) { cache in
                try await expect(pattern(5000), from: cache, url("a"))
                #expect(cache.statistics.damaged == 1)
            }
            #expect(transport.requests.values.count == 2)
        }
    }

    @Test func `or at each read`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, transport, configuration(.always)) { cache in
                for _ in 1...3 { try await expect(pattern(5000), from: cache, url("a")) }
                _ = try flipByte(of: try await file(of: url("a"), in: cache))
                try await expect(pattern(5000), from: cache, url("a"))
                #expect(cache.statistics.diskHits == 2 && cache.statistics.damaged == 1)
            }
            #expect(transport.requests.values.count == 2)
        }
    }

    @Test(arguments: ["truncated", "extended", "removed", "link"])
    func `another length or kind of file is noticed at each read`(damage: String) async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, transport, configuration(.firstRead)) { cache in
                for _ in 1...3 { try await expect(pattern(5000), from: cache, url("a")) }
                let file = try await file(of: url("a"), in: cache)
                switch damage {
                case "truncated": try pattern(4999).write(to: file)
                case "extended": try (pattern(5000) + [1]).write(to: file)
                case "removed": try FileManager.default.removeItem(at: file)
                default:
                    let copy = directory.appending(path: "copy")
                    try FileManager.default.moveItem(at: file, to: copy)
                    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: copy)
                }
                try await expect(pattern(5000), from: cache, url("a"))
                #expect(cache.statistics.damaged == 1 && cache.statistics.diskHits == 2)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test(arguments: [0, 2048]) func `a verified response is replaced and removed`(largestInIndex: Int) async throws {
        let transport = ClosureTransport { _, number in .bytes(pattern(1000, seed: number)) }
        try await withDirectory { directory in
            try await withCache(
                in: directory, transport, configuration(.firstRead), largestInIndex: largestInIndex
            ) { cache in
                for _ in 1...3 { try await expect(pattern(1000, seed: 1), from: cache, url("a")) }
                try await cache.store(pattern(1000, seed: 9), for: url("a"))
                for _ in 1...3 { try await expect(pattern(1000, seed: 9), from: cache, url("a")) }
                try await cache.remove(url("a"))
                for _ in 1...3 { try await expect(pattern(1000, seed: 2), from: cache, url("a")) }
                try await cache.trim(toBytes: 0)
                try await expect(pattern(1000, seed: 3), from: cache, url("a"))
                #expect(cache.statistics.diskHits == 7 && cache.statistics.damaged == 0)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `a verified response that becomes stale is confirmed`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, _ in
            request.headerFields[.ifNoneMatch] == nil
                ? .bytes(pattern(1000), [.cacheControl: "max-age=60", .eTag: "\"1\""])
                : .response(status: .notModified, headerFields: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        try await withDirectory { directory in
            try await withCache(in: directory, transport, configuration(.firstRead), wall: wall) { cache in
                for _ in 1...3 { try await expect(pattern(1000), from: cache, url("a")) }
                wall.advance(61)
                for _ in 1...3 { try await expect(pattern(1000), from: cache, url("a")) }
                #expect(cache.statistics.revalidated == 1 && transport.requests.values.count == 2)
            }
        }
    }

    @Test func `a verified file that another process has replaced is looked up again`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, transport, configuration(.firstRead)) { cache in
                for _ in 1...3 { try await expect(pattern(5000), from: cache, url("a")) }
                try await withCache(in: directory, transport) { other in
                    _ = try await other.store(pattern(6000), for: url("a"))
                }
                for _ in 1...2 { try await expect(pattern(6000), from: cache, url("a")) }
                #expect(cache.statistics.damaged == 0 && transport.requests.values.count == 1)
            }
        }
    }
}
