import Foundation
import HTTPTypes
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `The resource cache` {
    @Test(arguments: [0, 1, 27_702, 1_000_000])
    func `fetches once, then reads from memory, and from disk after a restart`(size: Int) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(size)) }
            try await withCache(in: directory, transport) { cache in
                for _ in 0..<3 { try await expect(pattern(size), from: cache, url("a")) }
                try await expect(pattern(size), from: cache, url("a#part"))
                #expect(cache.statistics.fetched == 1 && cache.statistics.memoryHits == 3)
                try await expectConsistent(cache, entries: 1)
            }
            try await withCache(in: directory, transport) { cache in
                for _ in 0..<2 { try await expect(pattern(size), from: cache, url("a")) }
                let statistics = cache.statistics
                #expect(statistics.diskHits == 1 && statistics.memoryHits == 1 && statistics.fetched == 0)
            }
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `creates its directory and files readable only by their owner`() async throws {
        try await withDirectory { directory in
            let inner = directory.appending(path: "new/cache")
            try await withCache(in: inner, ClosureTransport { _, _ in .bytes(pattern(10)) }) { cache in
                _ = try await cache.data(for: url("a"))
                let file = try await file(of: url("a"), in: cache)
                #expect(try await FileIO.shared.status(of: inner)?.permissions == 0o700)
                #expect(try await FileIO.shared.status(of: file)?.permissions == 0o600)
                // The index contains URLs, fields and small bodies.
                let names = try FileManager.default.subpathsOfDirectory(atPath: inner.path)
                #expect(Set(["index.db", "index.db-wal", "writer-0.lock"]).isSubset(of: names))
                for name in names {
                    let status = try await FileIO.shared.status(of: inner.appending(path: name))
                    #expect((status?.permissions.rawValue ?? 0) & 0o077 == 0, "\(name)")
                }
            }
        }
    }

    /// Responses that are returned but not kept.
    @Test(
        arguments: [
            [.cacheControl: "max-age=60, no-store"], [.cacheControl: "max-age=60", .vary: "Accept, *"],
            [.cacheControl: "max-age=60", .vary: "Accept, User-Agent"],
            [:], [.cacheControl: "max-age=0"],
        ] as [HTTPFields])
    func `a response that can't be reused is requested each time`(fields: HTTPFields) async throws {
        let transport = ClosureTransport { _, number in .bytes(pattern(100, seed: number), fields) }
        try await withCache(transport) { cache in
            for number in 1...2 {
                try await expect(pattern(100, seed: number), from: cache, url("a"))
                #expect(!(try await cache.contains(url("a"))))
            }
            #expect(cache.memory.count == 0)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `the target of a redirect is kept only under the immutable policy`() async throws {
        for (policy, requests) in [(ResourceCache.Configuration.Policy.http, 2), (.immutable, 1)] {
            let transport = ClosureTransport(redirects: 1) { _, _ in .bytes(pattern(100)) }
            try await withCache(transport, .init(policy: policy)) { cache in
                for _ in 1...2 { _ = try await cache.data(for: url("a")) }
            }
            #expect(transport.requests.values.count == requests)
        }
    }

    @Test func `under the immutable policy, nothing is requested again`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(100), [:]) }
        let wall = WallClock()
        try await withCache(transport, .init(policy: .immutable), wall: wall) { cache in
            for _ in 1...3 {
                _ = try await cache.data(for: url("a"))
                wall.advance(1 << 30)
            }
        }
        #expect(transport.requests.values.count == 1)
    }

    @Test func `credentials get their own response, and a URL with credentials isn't stored`() async throws {
        let transport = ClosureTransport { request, number in
            .bytes(pattern(100, seed: request.headerFields[.authorization] == nil ? 0 : number))
        }
        try await withCache(transport) { cache in
            for number in [1, 2, 1, 2] {
                let data = try await cache.data(for: url("a"), headerFields: [.authorization: "Bearer \(number)"])
                #expect(same(data, pattern(100, seed: number)))
            }
            try await expect(pattern(100), from: cache, url("a"))
            #expect(transport.requests.values.count == 3)
            let secret = try #require(URL(string: "http://me:secret@example.test/b"))
            for _ in 1...2 { _ = try await cache.data(for: secret) }
            #expect(transport.requests.values.count == 5)
            #expect(!(try await cache.contains(secret)))
            try await expectConsistent(cache)
        }
    }

    @Test func `bytes can be stored, looked up and removed directly`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(50)) }
        let wall = WallClock()
        try await withCache(transport, wall: wall) { cache in
            #expect(try await cache.store(pattern(100), for: url("a"), freshFor: .seconds(60)))
            #expect(try await cache.store(pattern(200), for: url("a"), freshFor: .seconds(60)))
            #expect(try await cache.contains(url("a")))
            #expect(!(try await cache.contains(url("b"))))
            try await expect(pattern(200), from: cache, url("a"))
            try await expectConsistent(cache, entries: 1)
            try await cache.remove(url("a"))
            #expect(!(try await cache.contains(url("a"))))
            try await expectConsistent(cache, entries: 0)

            let secret = try #require(URL(string: "http://me:secret@example.test/b"))
            #expect(!(try await cache.store(pattern(100), for: secret)))
            try await expectConsistent(cache, entries: 0)

            for number in 0..<600 { try await cache.store(pattern(number % 3), for: url("\(number)")) }
            try await cache.removeAll()
            #expect(cache.memory.count == 0)
            try await expectConsistent(cache, entries: 0)
            #expect(transport.requests.values.isEmpty)

            try await cache.store(pattern(100), for: url("a"), freshFor: .seconds(60))
            wall.advance(60)
            #expect(!(try await cache.contains(url("a"))))
            try await expect(pattern(50), from: cache, url("a"))
        }
    }

    @Test func `a body over the disk's entry limit is returned and kept in memory`() async throws {
        let transport = ClosureTransport { _, number in .bytes(pattern(number == 1 ? 100 : 1001)) }
        let wall = WallClock()
        try await withCache(transport, .init(maximumDiskSize: 10_000), wall: wall) { cache in
            #expect(cache.configuration.maximumDiskEntrySize == 1000)
            _ = try await cache.data(for: url("a"))
            wall.advance(60)
            for _ in 1...2 { try await expect(pattern(1001), from: cache, url("a")) }
            #expect(cache.statistics.diskFailures == 0)
            // The smaller body that was stored before is out of date.
            try await expectConsistent(cache, entries: 0)
        }
        #expect(transport.requests.values.count == 2)
    }

    @Test func `after shutdown a cache throws, and a second shutdown has no effect`() async throws {
        try await withDirectory { directory in
            let cache = ResourceCache(directory: directory)
            try await cache.shutdown()
            try await cache.shutdown()
            let error = await failure { try await cache.data(for: url("a")) } as? TransferError
            guard error?.code == .shutDown else { return #expect(Bool(false), "\(error as Any)") }
            await #expect(throws: CancellationError.self) {
                try await ResourceCache.withCache(directory: directory) { _ in throw CancellationError() }
            }
        }
    }

    @Test func `a file that isn't an index is an error that names it`() async throws {
        try await withDirectory { directory in
            try Data(repeating: 0x41, count: 5000).write(to: directory.appending(path: "index.db"))
            let error = await #expect(throws: TransferError.self) {
                try await ResourceCache(directory: directory).open()
            }
            let text = "\(try #require(error))"
            #expect(text.contains("index.db") && text.contains("Move the file away"))
            let inTheWay = directory.appending(path: "index.db/cache")
            #expect(await failure { try await ResourceCache(directory: inTheWay).open() } is FileError)
            // The cache that failed to open has released its writer number.
            try FileManager.default.removeItem(at: directory.appending(path: "index.db"))
            let number = try await ResourceCache.withCache(directory: directory) {
                try await $0.settledDisk.slot.number
            }
            #expect(number == 0)
        }
    }
}
