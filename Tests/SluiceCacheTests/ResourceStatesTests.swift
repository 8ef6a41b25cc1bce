import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite(.timeLimit(.minutes(15))) struct `The states of a resource` {
    private static func texts(_ cache: ResourceCache) -> DecodedCache<String> {
        cache.decoded(cost: \.utf8.count) { String(decoding: $0, as: UTF8.self) }
    }

    private static func describe(_ state: ResourceState<String>) -> String {
        switch state {
        case .waiting: "waiting"
        case .receiving(let progress): "\(progress.receivedBytes) of \(progress.totalBytes ?? -1)"
        case .arriving(let value, let progress): "\(value) at \(progress.receivedBytes)"
        case .ready(let value, let source): "\(value) from \(source)"
        case .failed(let error): "failed: \((error as? TransferError)?.status?.code ?? 0)"
        }
    }

    @Test func `are waiting, loading with progress, and the value with its source`() async throws {
        let transport = PushingTransport(1, [.cacheControl: "max-age=60", .contentLength: "4"])
        try await withCache(transport) { (cache) async throws in
            let texts = Self.texts(cache)
            var states = texts.states(of: url("a")).makeAsyncIterator()
            #expect(await states.next().map(Self.describe) == "waiting")
            transport.bodies[0].send(Data("so".utf8))
            let state = await states.next()
            #expect(state.map(Self.describe) == "2 of 4" && state?.progress?.fractionCompleted == 0.5)
            #expect(state?.value == nil && state?.error == nil)
            transport.bodies[0].send(Data("ng".utf8))
            #expect(await states.next().map(Self.describe) == "4 of 4")
            transport.bodies[0].finish()
            let last = await states.next()
            #expect(last.map(Self.describe) == "song from network" && last?.value == "song")
            #expect(await states.next() == nil)
            #expect(cache.progress.count == 0)
            // The first decoded cache has the value in memory. A second one decodes it again, from the disk.
            for (texts, source) in [(texts, "memory"), (Self.texts(cache), "disk")] {
                var states = texts.states(of: url("a")).makeAsyncIterator()
                var seen: [String] = []
                while let state = await states.next() { seen.append(Self.describe(state)) }
                #expect(seen.filter { $0 != "waiting" } == ["song from \(source)"])
                if source == "memory" { #expect(seen.count == 1) }
            }
        }
    }

    @Test func `show the beginning of a value that can be decoded in parts`() async throws {
        let transport = PushingTransport(1, [.cacheControl: "max-age=60", .contentLength: "20000"])
        try await withCache(transport) { (cache) async throws in
            var decoder = ValueDecoder<String>(cost: \.utf8.count) { _, data, _ in "all \(data.count)" }
            decoder.partDecoder = { _ in
                { $0.count == 9_000 ? nil : "\($0.count)" }
            }
            let texts = DecodedCache(cache, maximumMemorySize: 1 << 20, decoder)
            var states = texts.states(of: url("a")).makeAsyncIterator()
            var seen: [String] = []
            /// Sends bytes, and waits for the state that they lead to.
            func send(_ count: Int, until expected: String) async {
                transport.bodies[0].send(Data(count: count))
                while let state = await states.next().map(Self.describe) {
                    seen.append(state)
                    if state == expected { return }
                }
            }
            await send(1_000, until: "1000 of 20000")
            await send(4_000, until: "5000 at 5000")
            // Too few more bytes for another part, and then a part that can't be decoded.
            await send(1_000, until: "5000 at 6000")
            await send(3_000, until: "5000 at 9000")
            await send(5_000, until: "14000 at 14000")
            await send(6_000, until: "14000 at 20000")
            transport.bodies[0].finish()
            while let state = await states.next().map(Self.describe) { seen.append(state) }
            #expect(seen.last == "all 20000 from network" && !seen.contains { $0.hasPrefix("6000") })
            #expect(texts.valueInMemory(for: url("a")) == "all 20000")
        }
    }

    @Test func `end with a failure`() async throws {
        let transport = ClosureTransport { _, _ in .response(status: .notFound) }
        try await withCache(transport) { (cache) async throws in
            var last: ResourceState<Data>?
            for await state in cache.states(of: url("a")) { last = state }
            #expect((last?.error as? TransferError)?.status == .notFound)
        }
    }

    @Test func `cancel the request when the last observer leaves`() async throws {
        let transport = PushingTransport()
        try await withCache(transport) { (cache) async throws in
            let texts = Self.texts(cache)
            let observers = (0..<2).map { _ in
                Task {
                    var seen = 0
                    for await _ in texts.states(of: url("a")) { seen += 1 }
                    return seen
                }
            }
            var states = texts.states(of: url("a")).makeAsyncIterator()
            _ = await states.next()
            transport.bodies[0].send(Data([1]))
            _ = await states.next()
            for observer in observers { observer.cancel() }
            for observer in observers { #expect(await observer.value <= 2) }
            #expect(cache.flights.runningCount == 1)
            transport.bodies[0].finish()
            var last: ResourceState<String>?
            while let state = await states.next() { last = state }
            #expect(last?.value == "\u{1}")
        }
    }

    @MainActor @Test func `can be observed by a view`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(Data("song".utf8)) }
        try await withCache(transport) { (cache) async throws in
            let song = Latest(ResourceState<String>.waiting)
            await song.follow(Self.texts(cache).states(of: url("a")))
            #expect(song.value.value == "song" && song.failure == nil)
        }
    }
}
