import Foundation
import GRDB
import HTTPTypes
import SluiceConcurrency
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// A cache of texts that records what it decodes. The size is the number of characters, and a copy begins with "copy".
private func texts(
    _ cache: ResourceCache, _ decoded: Recorder<String> = Recorder(), encode: (@Sendable (String) async -> Data?)? = nil
) -> DecodedCache<String> {
    var decoder = ValueDecoder<String>(cost: \.utf8.count) { _, data, size in
        let text = String(decoding: data, as: UTF8.self)
        decoded.note(text)
        return String(text.prefix(size))
    }
    decoder.extent = \.count
    decoder.copies = ValueCopies(
        areWorthStoring: { $0.utf8.count < $1.count }, encode: encode ?? { Data("copy \($0)".utf8) })
    return DecodedCache(cache, maximumMemorySize: 1 << 20, decoder)
}

extension ResourceCache {
    /// The keys of all rows, with their states.
    fileprivate var rows: [String] {
        get async throws {
            try await disk.database.read {
                try String.fetchAll($0, sql: "SELECT key || iif(state = 0, '', ' unsettled') FROM entry ORDER BY id")
            }
        }
    }
}

private let a = "http://example.test/a"

@Suite struct `Scaled copies on disk` {
    private static let song = ClosureTransport { _, number in
        .bytes(Data("\(number)23456789".utf8), [.cacheControl: "max-age=60"])
    }

    @Test func `are decoded instead of their originals in later launches`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(Data("123456789".utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                let texts = texts(cache)
                for size in [3, 20, 5] { _ = try await texts.value(for: url("a"), size: size) }
                await cache.decodings.finish()
                // The whole text is no smaller copy.
                #expect(try await cache.rows == [a, "\(a)#thumbnail-3", "\(a)#thumbnail-5"])
                try await expectConsistent(cache, entries: 3)
            }
            try await withCache(in: directory, transport) { (cache) async throws in
                let decoded = Recorder<String>()
                let texts = texts(cache, decoded)
                #expect(try await texts.value(for: url("a"), size: 6) == "123456")
                #expect(try await texts.value(for: url("a"), size: 5) == "copy ")
                #expect(texts.valueInMemory(for: url("a"), size: 5) == "copy ")
                #expect(decoded.values == ["123456789", "copy 12345"])
                #expect(transport.requests.values.count == 1 && cache.statistics.diskHits == 2)
            }
        }
    }

    @Test(arguments: [
        "remove", "remove all", "trim", "replace", "store", "damage", "tool", "tool for all", "tool trims",
    ])
    func `leave with their originals`(reason: String) async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, ClosureTransport { _, _ in .bytes(Data("123456789".utf8)) }) {
                (cache) async throws in
                let texts = texts(cache)
                for size in [3, 5] { _ = try await texts.value(for: url("a"), size: size) }
                _ = try await texts.value(for: url("a0"), size: 3)
                await cache.decodings.finish()
                #expect(try await cache.rows.count == 5)
                func tool(_ body: (CacheDirectory) async throws -> Int) async throws {
                    _ = try await CacheDirectory.withDirectory(at: directory, body)
                }
                var rest = ["\(a)0", "\(a)0#thumbnail-3"]
                switch reason {
                case "remove": try await cache.remove(url("a"))
                case "remove all", "tool for all":
                    if reason == "remove all" {
                        try await cache.removeAll()
                    } else {
                        try await tool { try await $0.removeAll() }
                    }
                    rest = []
                case "trim", "tool trims":
                    // The originals are the oldest entries. The number of bytes is too small for three entries.
                    if reason == "trim" {
                        try await cache.trim(toBytes: 1_300)
                    } else {
                        try await tool { try await $0.trim(toBytes: 1_300) }
                    }
                    rest = []
                case "replace":
                    _ = try await cache.response(for: TransportRequest(url("a")), mode: .reload)
                    rest.append(a)
                case "store":
                    try await cache.store(Data("new".utf8), for: url("a"))
                    rest.append(a)
                case "damage":
                    let disk = try await cache.settledDisk
                    let found = try await disk.find(ResourceKey(url("a")), cache.policy).ready[0]
                    try Data("1234567x9".utf8).write(to: disk.file(found.id, ResourceKey(url("a"))))
                    cache.trimMemory(toFraction: 0)
                    disk.verified.remove(found.id)
                    #expect(try await texts.value(for: url("a"), size: 7) == "1234567")
                    await cache.decodings.finish()
                    rest += [a, "\(a)#thumbnail-7"]
                default: try await tool { try await $0.remove(url("a")) }
                }
                let left = try await cache.rows
                if reason.contains("trim") {
                    // Which entries are older depends on the order of the copies. None is without its original.
                    for row in left where row.contains("#") { #expect(left.contains(String(row.prefix { $0 != "#" }))) }
                    #expect(left.count <= 2)
                } else {
                    #expect(left == rest)
                }
                try await expectConsistent(cache)
            }
        }
    }

    @Test func `aren't stored if the original has been replaced or removed meanwhile`() async throws {
        for isRemoved in [false, true] {
            let transport = ClosureTransport { _, number in .bytes(Data("\(number)23456789".utf8)) }
            try await withCache(transport) { (cache) async throws in
                let gate = Gate()
                let texts = texts(cache) { text in
                    await gate.pass()
                    return Data("copy \(text)".utf8)
                }
                #expect(try await texts.value(for: url("a"), size: 3) == "123")
                await gate.arrivals(1)
                if isRemoved {
                    try await cache.remove(url("a"))
                } else {
                    _ = try await cache.response(for: TransportRequest(url("a")), mode: .reload)
                }
                await gate.open()
                await cache.decodings.finish()
                #expect(try await cache.rows == (isRemoved ? [] : [a]))
                try await expectConsistent(cache)
                #expect(try await texts.value(for: url("a"), size: 3) == "223")
            }
        }
    }

    @Test func `aren't used while their original is stale, and are when it is confirmed`() async throws {
        let validated: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
        let transport = ClosureTransport { _, number in
            switch number {
            case 1: .bytes(Data("123456789".utf8), validated)
            case 2: .response(status: .notModified, headerFields: validated, body: [])
            default: .bytes(Data("new".utf8), [.cacheControl: "max-age=60"])
            }
        }
        let wall = WallClock()
        try await withCache(transport, wall: wall) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = texts(cache, decoded)
            #expect(try await texts.value(for: url("a"), size: 3) == "123")
            await cache.decodings.finish()
            texts.removeAll()
            wall.advance(61)
            #expect(try await texts.value(for: url("a"), size: 3) == "cop")
            #expect(transport.requests.values.count == 2 && decoded.values == ["123456789", "copy 123"])
            wall.advance(61)
            #expect(try await texts.value(for: url("a"), size: 3) == "new")
            await cache.decodings.finish()
            #expect(try await cache.rows == [a])
        }
    }

    @Test func `aren't used after another process has replaced the original`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, number in .bytes(Data("\(number)23456789".utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                try await withCache(in: directory, transport) { (other) async throws in
                    let texts = texts(cache)
                    #expect(try await texts.value(for: url("a"), size: 3) == "123")
                    await cache.decodings.finish()
                    _ = try await other.response(for: TransportRequest(url("a")), mode: .reload)
                    #expect(try await other.rows == [a])
                    texts.removeAll()
                    #expect(try await texts.value(for: url("a"), size: 3) == "223")
                }
            }
        }
    }

    @Test func `of another row aren't used, even if an older program has left them`() async throws {
        let transport = ClosureTransport { _, number in .bytes(Data("\(number)23456789".utf8)) }
        try await withCache(transport) { (cache) async throws in
            let texts = texts(cache)
            #expect(try await texts.value(for: url("a"), size: 3) == "123")
            await cache.decodings.finish()
            try await cache.settledDisk.database.write {
                try $0.execute(sql: "UPDATE entry SET fields = replace(fields, 'Original:1', 'Original:9')")
            }
            texts.removeAll()
            #expect(try await texts.value(for: url("a"), size: 3) == "123", "decoded from the original")
        }
    }

    @Test func `that are damaged are removed, and the original is decoded`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data("123456789".utf8)) }
        try await withCache(transport) { (cache) async throws in
            let texts = texts(cache)
            #expect(try await texts.value(for: url("a"), size: 3) == "123")
            await cache.decodings.finish()
            let key = ResourceKey(text: "\(a)#thumbnail-3")
            let disk = try await cache.settledDisk
            let copy = try await disk.find(key, cache.policy).ready[0]
            try Data("copy 12".utf8).write(to: disk.file(copy.id, key))
            texts.removeAll()
            #expect(try await texts.value(for: url("a"), size: 3) == "123")
            #expect(cache.statistics.damaged == 1 && cache.statistics.diskFailures == 0)
            await cache.decodings.finish()
            #expect(try await cache.rows == [a, "\(a)#thumbnail-3"])
            try await expectConsistent(cache)
        }
    }

    @Test func `aren't stored for small originals, which are in the index`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data("123456789".utf8)) }
        try await withCache(transport, largestInIndex: 2048) { (cache) async throws in
            #expect(try await texts(cache).value(for: url("a"), size: 3) == "123")
            await cache.decodings.finish()
            #expect(try await cache.rows == [a])
            try await expectConsistent(cache)
        }
    }

    @Test func `keep their original from being evicted while they are used`() async throws {
        var configuration = ResourceCache.Configuration()
        configuration.maximumDiskSize = 2_500
        configuration.maximumDiskEntrySize = 500
        let transport = ClosureTransport { _, _ in .bytes(Data("123456789".utf8)) }
        try await withCache(transport, configuration) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = texts(cache, decoded)
            _ = try await texts.value(for: url("a"), size: 3)
            await cache.decodings.finish()
            for number in 0..<6 {
                texts.removeAll()
                #expect(try await texts.value(for: url("a"), size: 3) == "cop")
                _ = try await cache.data(for: url("b\(number)"))
                await cache.backlog.drain()
            }
            #expect(decoded.values.count == 7 && cache.statistics.evicted > 2)
        }
    }
}

#if GdkPixbuf && os(Linux)
@Suite struct `Thumbnails of images` {
    @Test func `are stored for large images alone, and look like them`() async throws {
        try await withDirectory { directory in
            let large = PlatformImage(PixelImages.bmp(scale: 8), maximumPixelSize: 1000)?.data(as: .png) ?? Data()
            let transport = ClosureTransport { request, _ in
                .bytes(request.url == url("a") ? large : PixelImages.bmp())
            }
            try await withCache(in: directory, transport) { (cache) async throws in
                let images = cache.platformImages(keepsThumbnails: true)
                for name in ["a", "b"] { _ = try await images.value(for: url(name), maximumPixelSize: 48) }
                _ = try await images.value(for: url("a"), maximumPixelSize: 300)
                await cache.decodings.finish()
                #expect(try await cache.rows.sorted() == [a, "\(a)#thumbnail-48", "\(a.dropLast())b"])
            }
            try await withCache(in: directory, transport) { (cache) async throws in
                // The copy is a JPEG of the image, not the PNG itself.
                let file = try await cache.settledDisk.find(ResourceKey(text: "\(a)#thumbnail-48"), cache.policy).ready[
                    0]
                #expect(file.bytes < large.count)
                let images = cache.platformImages(keepsThumbnails: true)
                let image = try await images.value(for: url("a"), maximumPixelSize: 48)
                #expect(image.width == 48 && image.height == 32 && transport.requests.values.count == 2)
                let corner = image.withPixels { PixelImages.block(of: $0.prefix(3)) }
                #expect(corner == 0)
                try await expectConsistent(cache)
            }
        }
    }
}
#endif
