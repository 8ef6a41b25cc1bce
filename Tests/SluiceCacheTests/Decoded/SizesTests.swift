import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// Texts instead of images: the size is the number of characters.
private func texts(
    _ cache: ResourceCache, _ decoded: Recorder<String>, maximumMemorySize: Int = 1 << 20, size: Int = 100
) -> DecodedCache<String> {
    var decoder = ValueDecoder<String>(cost: \.utf8.count) { source, data, size in
        let text = String(decoding: data, as: UTF8.self)
        guard !text.hasPrefix("?") else { throw source.unexpected("it is a question") }
        decoded.note("\(size)")
        return String(text.prefix(size))
    }
    decoder.size = size
    decoder.extent = \.count
    return DecodedCache(cache, maximumMemorySize: maximumMemorySize, decoder)
}

@Suite struct `Sizes of decoded values` {
    private static func song(_ transport: Recorder<Int> = Recorder()) -> ClosureTransport {
        ClosureTransport { _, number in
            .bytes(Data("\(number)23456789".utf8), [.cacheControl: "max-age=60", .eTag: "\"\(number)\""])
        }
    }

    @Test func `are decoded once each, from one exchange`() async throws {
        let transport = Self.song()
        try await withCache(transport) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = texts(cache, decoded)
            for (size, text) in [(3, "123"), (5, "12345"), (3, "123"), (5, "12345")] {
                #expect(try await texts.value(for: url("a"), size: size) == text)
            }
            #expect(decoded.values == ["3", "5"] && transport.requests.values.count == 1)
        }
    }

    @Test func `in memory serve smaller requests until the smaller ones are decoded`() async throws {
        try await withCache(Self.song()) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = texts(cache, decoded)
            func inMemory(_ size: Int) -> String? { texts.valueInMemory(for: url("a"), size: size, orLarger: true) }
            #expect(inMemory(3) == nil)
            _ = try await texts.value(for: url("a"), size: 7)
            _ = try await texts.value(for: url("a"), size: 5)
            #expect(inMemory(3) == "12345" && inMemory(6) == "1234567" && inMemory(8) == nil)
            #expect(texts.valueInMemory(for: url("a"), size: 3) == nil)
            #expect(try await texts.value(for: url("a"), size: 3) == "123")
            #expect(inMemory(3) == "123" && decoded.values == ["7", "5", "3"])
        }
    }

    @Test func `that weren't scaled serve all larger requests`() async throws {
        try await withCache(Self.song()) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = texts(cache, decoded)
            #expect(try await texts.value(for: url("a")) == "123456789")
            for size in [9, 10, 99, 101, .max] {
                #expect(try await texts.value(for: url("a"), size: size) == "123456789")
                #expect(texts.valueInMemory(for: url("a"), size: size) == "123456789")
            }
            #expect(decoded.values == ["100"])
            #expect(try await texts.value(for: url("a"), size: 8) == "12345678")
        }
    }

    @Test func `of a confirmed response stay, and of a replaced one go together`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { _, number in
            number == 2
                ? .response(
                    status: .notModified, headerFields: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: [])
                : .bytes(Data("\(number)23456789".utf8), [.cacheControl: "max-age=60", .eTag: "\"\(number)\""])
        }
        try await withCache(transport, wall: wall) { (cache) async throws in
            let decoded = Recorder<String>()
            let texts = texts(cache, decoded)
            for size in [3, 5] { _ = try await texts.value(for: url("a"), size: size) }
            wall.advance(61)
            #expect(texts.valueInMemory(for: url("a"), size: 3, orLarger: true) == nil, "stale")
            for size in [3, 5] { _ = try await texts.value(for: url("a"), size: size) }
            #expect(decoded.values == ["3", "5"] && transport.requests.values.count == 2)
            wall.advance(61)
            #expect(try await texts.value(for: url("a"), size: 5) == "32345")
            #expect(texts.valueInMemory(for: url("a"), size: 3) == nil, "of the older response")
            #expect(texts.valueInMemory(for: url("a"), size: 3, orLarger: true) == "32345")
            #expect(try await texts.value(for: url("a"), size: 3) == "323")
        }
    }

    @Test func `are removed together`() async throws {
        try await withCache(Self.song()) { (cache) async throws in
            let texts = texts(cache, Recorder())
            for remove in [
                { try await cache.remove(url("a")) }, { try await cache.removeAll() }, { texts.removeAll() },
            ] {
                for size in [3, 5] { _ = try await texts.value(for: url("a"), size: size) }
                try await remove()
                for size in [3, 5] { #expect(texts.valueInMemory(for: url("a"), size: size) == nil) }
            }
        }
    }

    @Test func `are limited in number and cost`() async throws {
        try await withCache(Self.song()) { (cache) async throws in
            let many = texts(cache, Recorder())
            for size in 1...8 { _ = try await many.value(for: url("a"), size: size) }
            #expect((1...8).filter { many.valueInMemory(for: url("a"), size: $0) != nil } == [3, 4, 5, 6, 7, 8])
            // Room for one value with its overhead, but not for two.
            let few = texts(cache, Recorder(), maximumMemorySize: 5_180)
            for size in [5, 4] { _ = try await few.value(for: url("a"), size: size) }
            #expect(few.valueInMemory(for: url("a"), size: 4) == "1234")
            #expect(few.valueInMemory(for: url("a"), size: 5) == nil, "the newest one stays")
        }
    }
}

@Suite struct `Decoded files` {
    @Test func `are fresh while the file is the same`() async throws {
        try await withDirectory { directory in
            let file = directory.appending(path: "a#1.txt")
            try Data("one".utf8).write(to: file)
            try await withCache(ScriptedTransport([:])) { (cache) async throws in
                let decoded = Recorder<String>()
                let texts = texts(cache, decoded)
                for _ in 0..<2 { #expect(try await texts.value(for: file) == "one") }
                #expect(try await texts.value(for: file, size: 2) == "on")
                #expect(decoded.values == ["100", "2"] && texts.valueInMemory(for: file) == "one")
                // Another file with the same size and time.
                let status = try await FileIO.shared.status(of: file)
                let other = directory.appending(path: "b")
                try Data("two".utf8).write(to: other)
                try await FileIO.shared.setTimes(of: other, modification: status?.modificationTime)
                try await FileIO.shared.rename(other, to: file, existing: .replace)
                #expect(try await texts.value(for: file) == "two")
                #expect(texts.valueInMemory(for: file, size: 2) == nil)
                try await FileIO.shared.setTimes(of: file, modification: FileTime(seconds: 7))
                _ = try await texts.value(for: file)
                #expect(decoded.values == ["100", "2", "100", "100"], "another time")
                try await FileIO.shared.remove(file)
                let error = await #expect(throws: FileError.self) { try await texts.value(for: file) }
                #expect(error?.code == .notFound && error?.subject == file.path(percentEncoded: false))
            }
        }
    }

    @Test func `that are too large, not files or not decodable are errors`() async throws {
        try await withDirectory { directory in
            let file = directory.appending(path: "a")
            try Data(repeating: 63, count: 11).write(to: file)
            var configuration = ResourceCache.Configuration()
            configuration.maximumResponseSize = 10
            try await withCache(ScriptedTransport([:]), configuration) { (cache) async throws in
                let texts = texts(cache, Recorder())
                var error = await #expect(throws: FileError.self) { try await texts.value(for: file) }
                #expect(error?.code == .limitExceeded)
                error = await #expect(throws: FileError.self) { try await texts.value(for: directory) }
                #expect(error?.code == .isDirectory)
                try Data("?".utf8).write(to: file)
                let unexpected = await #expect(throws: TransferError.self) { try await texts.value(for: file) }
                #expect(unexpected?.code == .unexpectedContent)
                #expect("\(unexpected!)".contains("The file isn't what was asked for (it is a question)."))
                try Data("one".utf8).write(to: file)
                #expect(try await texts.value(for: file) == "one")
            }
        }
    }

    @Test func `have states like resources`() async throws {
        try await withDirectory { directory in
            let file = directory.appending(path: "a")
            try Data("one".utf8).write(to: file)
            try await withCache(ScriptedTransport([:])) { (cache) async throws in
                let texts = texts(cache, Recorder())
                for expected in ["one", "two"] {
                    try Data(expected.utf8).write(to: file)
                    try await FileIO.shared.setTimes(
                        of: file, modification: FileTime(seconds: Int64(expected.utf8.first!)))
                    var last: String?
                    for await state in texts.states(of: file) { last = state.value }
                    #expect(last == expected, "the file is looked at, even if the value is in memory")
                }
            }
        }
    }
}

@Suite struct `Values of closures` {
    @Test func `are decoded once for all callers, and stay until they are removed`() async throws {
        try await withCache(ScriptedTransport([:])) { (cache) async throws in
            let (gate, calls, decoded) = (Gate(), Recorder<Int>(), Recorder<String>())
            let texts = texts(cache, decoded)
            let data: @Sendable () async throws -> Data = {
                calls.note(1)
                await gate.pass()
                return Data("song".utf8)
            }
            let callers = (0..<10).map { _ in Task { try await texts.value(for: "a", data: data) } }
            await gate.arrivals(1)
            await gate.open()
            for caller in callers { #expect(try await caller.value == "song") }
            #expect(texts.valueInMemory(for: "a") == "song" && texts.valueInMemory(for: "b") == nil)
            #expect(decoded.values == ["100"])
            #expect(try await texts.value(for: "a", size: 2, data) == "so")
            texts.removeValue(for: "a")
            #expect(texts.valueInMemory(for: "a") == nil)
            #expect(try await texts.value(for: "a", size: 2, data) == "so")
            #expect(decoded.values == ["100", "2", "2"])
        }
    }

    @Test func `aren't those of URLs`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data("net".utf8)) }
        try await withCache(transport) { (cache) async throws in
            let texts = texts(cache, Recorder())
            let key = url("a").absoluteString
            #expect(try await texts.value(for: key) { Data("mine".utf8) } == "mine")
            #expect(texts.valueInMemory(for: url("a")) == nil && transport.requests.values.isEmpty)
            #expect(try await texts.value(for: url("a")) == "net")
            #expect(texts.valueInMemory(for: key) == "mine")
        }
    }

    @Test func `aren't kept after errors`() async throws {
        struct Missing: Error {}
        try await withCache(ScriptedTransport([:])) { (cache) async throws in
            let texts = texts(cache, Recorder())
            await #expect(throws: Missing.self) { try await texts.value(for: "a") { throw Missing() } }
            let error = await #expect(throws: TransferError.self) {
                try await texts.value(for: "album/7") { Data("?".utf8) }
            }
            #expect(
                error?.description == "album/7: The bytes for this key aren't what was asked for (it is a question). "
                    + "Check the closure that returns them.")
            #expect(try await texts.value(for: "a") { Data("song".utf8) } == "song")
            try await cache.shutdown()
            let closed = await #expect(throws: TransferError.self) { try await texts.value(for: "a") { Data() } }
            #expect(closed?.code == .shutDown && closed?.subject == "a")
        }
    }

    @Test func `are cancelled with their last caller`() async throws {
        try await withCache(ScriptedTransport([:])) { (cache) async throws in
            let (entered, enter) = Condition.makeCondition()
            let (ended, end) = Condition.makeCondition()
            let (never, signal) = Condition.makeCondition()
            let texts = texts(cache, Recorder())
            let caller = Task {
                try await texts.value(for: "a") {
                    enter.signal()
                    defer { end.signal() }
                    try await never.waitUnlessCancelled()
                    return Data()
                }
            }
            try await entered.waitUnlessCancelled()
            caller.cancel()
            await #expect(throws: CancellationError.self) { try await caller.value }
            try await ended.waitUnlessCancelled()
            signal.signal()
        }
    }
}
