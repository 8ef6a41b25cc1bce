import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite(.timeLimit(.minutes(15))) struct `A cache of decoded values` {
    private struct NoText: Error {}

    /// Returns a cache of texts that records what it decodes.
    private static func texts(_ cache: ResourceCache, _ decoded: Recorder<String>) -> DecodedCache<String> {
        cache.decoded(cost: \.utf8.count) { data in
            let text = String(decoding: data, as: UTF8.self)
            decoded.note(text)
            guard !text.hasPrefix("?") else { throw NoText() }
            return text
        }
    }

    private static let validated: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]

    @Test func `decodes once for all callers, and keeps the value instead of the bytes`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
        try await withCache(transport) { (cache) async throws in
            let gate = Gate()
            let decoded = Recorder<Int>()
            let texts = cache.decoded(cost: \.utf8.count) { data in
                decoded.note(data.count)
                await gate.pass()
                return String(decoding: data, as: UTF8.self)
            }
            #expect(texts.valueInMemory(for: url("a")) == nil)
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { try await texts.value(for: url("a")) } }
                await gate.arrivals(1)
                await gate.open()
                for try await value in group { #expect(value == "song") }
            }
            #expect(try await texts.value(for: url("a#part")) == "song")
            #expect(texts.valueInMemory(for: url("a")) == "song")
            #expect(decoded.values == [4] && transport.requests.values.count == 1)
            #expect(cache.memory.count == 0)
            texts.removeAll()
            #expect(texts.valueInMemory(for: url("a")) == nil)
            #expect(try await texts.value(for: url("a")) == "song")
            #expect(decoded.values == [4, 4] && transport.requests.values.count == 1, "from the disk")
            texts.trim(toCost: 0)
            #expect(texts.valueInMemory(for: url("a")) == nil)
        }
    }

    @Test func `doesn't decode again after the server confirms the response`() async throws {
        let transport = ClosureTransport { request, number in
            switch number {
            case 1: .bytes(Data("one".utf8), Self.validated)
            case 2: .response(status: .notModified, headerFields: Self.validated, body: [])
            default: .bytes(Data("two".utf8), Self.validated)
            }
        }
        let wall = WallClock()
        try await withCache(transport, wall: wall) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = Self.texts(cache, decoded)
            for (expected, requests) in [("one", 1), ("one", 2), ("two", 3)] {
                for _ in 0..<2 { #expect(try await texts.value(for: url("a")) == expected) }
                #expect(transport.requests.values.count == requests)
                wall.advance(61)
                #expect(texts.valueInMemory(for: url("a")) == nil, "stale")
            }
            #expect(decoded.values == ["one", "two"])
        }
    }

    @Test func `returns a stale value if the server allows it, and validates in the background`() async throws {
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=60", .eTag: "\"a\""]
        let transport = ClosureTransport { _, number in
            guard number > 1 else { return .bytes(Data("one".utf8), fields) }
            await gate.pass()
            return .bytes(Data("two".utf8), [.cacheControl: "max-age=60"])
        }
        let wall = WallClock()
        try await withCache(transport, wall: wall) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = Self.texts(cache, decoded)
            #expect(try await texts.value(for: url("a")) == "one")
            wall.advance(70)
            for _ in 0..<3 { #expect(try await texts.value(for: url("a")) == "one") }
            #expect(try await cache.data(for: url("a")) == Data("one".utf8))
            await gate.arrivals(1)
            let running = cache.validations.running
            await gate.open()
            for task in running { await task.value }
            #expect(try await texts.value(for: url("a")) == "two")
            #expect(decoded.values == ["one", "two"] && transport.requests.values.count == 2)
        }
    }

    @Test func `keeps no value from a response that mustn't be stored`() async throws {
        let transport = ClosureTransport { _, _ in
            .bytes(Data("song".utf8), [.cacheControl: "no-store, max-age=60"])
        }
        try await withCache(transport) { (cache) async throws in
            let texts = Self.texts(cache, Recorder())
            for _ in 0..<2 { #expect(try await texts.value(for: url("a")) == "song") }
            #expect(transport.requests.values.count == 2 && texts.valueInMemory(for: url("a")) == nil)
        }
    }

    @Test func `drops a response that can't be decoded and fetches it again`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, number in .bytes(Data((number == 1 ? "?" : "song").utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                let decoded = Recorder<String>()
                let texts = Self.texts(cache, decoded)
                await #expect(throws: NoText.self) { try await texts.value(for: url("a")) }
                await cache.backlog.drain()
                #expect(bodies(in: directory).isEmpty)
                #expect(try await texts.value(for: url("a")) == "song")
                #expect(transport.requests.values.count == 2 && decoded.values == ["?", "song"])
            }
        }
    }

    @Test func `keeps nothing for a URL with credentials`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                let texts = Self.texts(cache, Recorder())
                let secret = URL(string: "http://ann:secret@example.test/a")!
                for _ in 0..<2 { #expect(try await texts.value(for: secret) == "song") }
                #expect(transport.requests.values.count == 2)
                await cache.backlog.drain()
                #expect(texts.valueInMemory(for: secret) == nil && bodies(in: directory).isEmpty)
            }
        }
    }

    @Test func `cancels decoding when its last caller is cancelled`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                let (entered, enter) = Condition.makeCondition()
                let (ended, end) = Condition.makeCondition()
                let (never, signal) = Condition.makeCondition()
                let texts = cache.decoded(cost: { (_: String) in 1 }) { _ in
                    enter.signal()
                    defer { end.signal() }
                    try await never.waitUnlessCancelled()
                    return ""
                }
                let callers = (0..<2).map { _ in Task { try await texts.value(for: url("a")) } }
                try await entered.waitUnlessCancelled()
                callers[0].cancel()
                await #expect(throws: CancellationError.self) { try await callers[0].value }
                callers[1].cancel()
                await #expect(throws: CancellationError.self) { try await callers[1].value }
                try await ended.waitUnlessCancelled()
                signal.signal()
                await cache.backlog.drain()
                #expect(bodies(in: directory).count == 1, "the bytes arrived")
            }
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `doesn't wait for a decoder that ignores cancellation, but shutdown does`()
        async throws
    {
        let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
        let gate = Gate()
        let ended = Guarded(false)
        try await withCache(transport) { (cache) async throws in
            let texts = cache.decoded(cost: { (_: String) in 1 }) { _ in
                await gate.pass()
                ended.withLock { $0 = true }
                return "song"
            }
            let caller = Task { try await texts.value(for: url("a")) }
            await gate.arrivals(1)
            caller.cancel()
            await #expect(throws: CancellationError.self) { try await caller.value }
            #expect(!ended.withLock { $0 } && texts.valueInMemory(for: url("a")) == nil)
            let shutdown = Task { try await cache.shutdown() }
            await gate.open()
            try await shutdown.value
            #expect(ended.withLock { $0 })
        }
    }

    @Test func `stops with its cache`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
        var texts: DecodedCache<String>?
        try await withCache(transport) { texts = Self.texts($0, Recorder()) }
        let error = await #expect(throws: TransferError.self) { try await texts?.value(for: url("a")) }
        #expect(error?.code == .shutDown)
    }

    @Test func `keeps a response whose decoding a shutdown interrupted`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                let (entered, enter) = Condition.makeCondition()
                let (never, signal) = Condition.makeCondition()
                let texts = cache.decoded(cost: { (_: String) in 1 }) { _ in
                    enter.signal()
                    try await never.waitUnlessCancelled()
                    return ""
                }
                let caller = Task { try await texts.value(for: url("a")) }
                try await entered.waitUnlessCancelled()
                try await cache.shutdown()
                let error = await #expect(throws: TransferError.self) { try await caller.value }
                #expect(error?.code == .shutDown)
                await cache.backlog.drain()
                #expect(bodies(in: directory).count == 1)
                signal.signal()
            }
            try await withCache(in: directory, transport) { (cache) async throws in
                #expect(try await cache.contains(url("a")))
            }
        }
    }

    @Test func `doesn't keep a value that was decoded from an older response`() async throws {
        let transport = ClosureTransport { _, number in .bytes(Data("\(number)".utf8)) }
        let gate = Gate()
        try await withCache(transport) { (cache) async throws in
            let texts = cache.decoded(cost: \.utf8.count) { data in
                let text = String(decoding: data, as: UTF8.self)
                if text == "1" { await gate.pass() }
                return text
            }
            let decoding = Task { try await texts.value(for: url("a")) }
            await gate.arrivals(1)
            _ = try await cache.response(for: TransportRequest(url("a")), mode: .reload)
            await gate.open()
            #expect(try await decoding.value == "1")
            #expect(try await texts.value(for: url("a")) == "2")
        }
    }

    @Test func `keeps a newer response when an older one can't be decoded`() async throws {
        let transport = ClosureTransport { _, number in .bytes(Data((number == 1 ? "?" : "song").utf8)) }
        let gate = Gate()
        try await withCache(transport) { (cache) async throws in
            let texts = cache.decoded(cost: \.utf8.count) { data in
                await gate.pass()
                guard data.count > 1 else { throw NoText() }
                return String(decoding: data, as: UTF8.self)
            }
            let decoding = Task { try await texts.value(for: url("a")) }
            await gate.arrivals(1)
            _ = try await cache.response(for: TransportRequest(url("a")), mode: .reload)
            await gate.open()
            await #expect(throws: NoText.self) { try await decoding.value }
            #expect(try await texts.value(for: url("a")) == "song")
            #expect(transport.requests.values.count == 2)
        }
    }
}

@Suite struct `A cache of images` {
    @Test func `returns each image's format and size`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data(TestImage.avif(640, 480))) }
        try await withCache(transport) { (cache) async throws in
            let image = try await cache.images().value(for: url("a"))
            #expect(image.header.format == .avif && image.header.width == 640 && image.header.height == 480)
            #expect(image.data == Data(TestImage.avif(640, 480)))
        }
    }

    @Test(arguments: [
        ("\u{FEFF} <!DOCTYPE HTML><html>", "it is an HTML page"), ("<html lang=en>", "it is an HTML page"),
        ("<?xml version='1.0'?><svg/>", "it is an XML document"), ("<svg/>", "it is an XML document"),
        ("", "it is empty"), ("hello", "it isn't a PNG, JPEG, GIF, WebP, AVIF or BMP image"),
    ])
    func `refuses and drops other responses, and says what they are`(text: String, detail: String) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(Data(text.utf8)) }
            try await withCache(in: directory, transport) { (cache) async throws in
                let images = cache.images()
                let error = await #expect(throws: TransferError.self) { try await images.value(for: url("a?secret")) }
                #expect(error?.code == .unexpectedContent && error?.isTransient == false)
                #expect(
                    error?.description == "http://example.test/a?…: The response isn't what was asked for (\(detail)). "
                        + "Open the URL in a browser to see what it is.")
                await cache.backlog.drain()
                #expect(bodies(in: directory).isEmpty)
            }
        }
    }
}
