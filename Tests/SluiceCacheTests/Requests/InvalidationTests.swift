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

/// What removes the stored responses of a URL.
enum Invalidation: String, CaseIterable, CustomStringConvertible {
    case put, putWithCredentials, cutOffPut, remove, removeAll

    var description: String { rawValue }

    func perform(on cache: ResourceCache, _ url: URL) async throws {
        switch self {
        case .put, .cutOffPut:
            var request = TransportRequest(url, method: .put, body: Data([1]))
            request.headerFields[.contentType] = self == .cutOffPut ? "cut/off" : nil
            _ = try? await cache.response(for: request)
        case .putWithCredentials:
            let text = url.absoluteString.replacingOccurrences(of: "://", with: "://user:secret@")
            _ = try await cache.response(
                for: TransportRequest(URL(string: text)!, method: .put, body: Data([1])))
        case .remove: try await cache.remove(url)
        case .removeAll: try await cache.removeAll()
        }
    }
}

/// A server with one value, which each `PUT` replaces with the next one. A `GET` reads the value, and then waits at the gate.
private final class OneValue: Transport {
    private let value = Guarded(0)
    private let gate: Gate?
    /// The number of `GET` requests that wait at the gate.
    private let held: Int
    let gets = Guarded(0)
    private let fields: HTTPFields

    init(holding held: Int = 0, at gate: Gate? = nil, _ fields: HTTPFields = [.cacheControl: "max-age=60"]) {
        self.held = held
        self.gate = gate
        self.fields = fields
    }

    static func body(_ value: Int) -> Data { pattern(5_000, seed: value) }

    /// Changes the value, like another program would.
    func change() { value.withLock { $0 += 1 } }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        guard request.method == .get else {
            if request.method == .put { change() }
            let failure = TransferError(.connectionClosed, url: request.url)
            let isCutOff = request.headerFields[.contentType] == "cut/off"
            let answer = ScriptedTransport.Answer.response(body: [Data([1])], failure: isCutOff ? failure : nil)
            return try await ScriptedTransport([request.url: [answer]]).open(request)
        }
        let value = value.withLock { $0 }
        let number = gets.withLock { number in
            number += 1
            return number
        }
        if number <= held { await gate?.pass() }
        return try await ScriptedTransport([request.url: [.bytes(Self.body(value), fields)]]).open(request)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `An invalidation` {
    private func value(_ cache: ResourceCache, isStreamed: Bool = false) async throws -> Data {
        guard isStreamed else { return try await cache.data(for: url("a")) }
        return try await cache.bytes(for: TransportRequest(url("a"))).body.collect(upTo: .max)
    }

    @Test(arguments: Invalidation.allCases)
    func `removes the stored response from memory and disk`(_ invalidation: Invalidation) async throws {
        let server = OneValue()
        try await withCache(server) { cache in
            #expect(try await value(cache) == OneValue.body(0))
            server.change()
            let expected = invalidation.rawValue.lowercased().contains("put") ? 2 : 1
            try await invalidation.perform(on: cache, url("a"))
            try await expectConsistent(cache, entries: 0)
            #expect(try await value(cache) == OneValue.body(expected))
        }
    }

    /// The lookup has read the old body, but not returned it yet.
    @Test(arguments: Invalidation.allCases)
    func `isn't undone by a lookup that is reading the disk`(_ invalidation: Invalidation) async throws {
        try await withDirectory { directory in
            let server = OneValue()
            try await withCache(in: directory, server) { _ = try await value($0) }
            let held = HeldCall()
            let real = SystemCalls.system
            var calls = real
            // The body isn't read on the calling thread.
            calls.inline.open = { _ in -EAGAIN }
            calls.read = { descriptor, bytes in
                defer { held.stopIfArmed() }
                return real.read(descriptor, bytes)
            }
            let files = FileIO(calls: calls)
            try await withCache(in: directory, server, files: files) { (cache) async throws in
                held.arm()
                let lookup = Task { try await value(cache) }
                await held.arrival()
                server.change()
                try await invalidation.perform(on: cache, url("a"))
                held.release()
                #expect(try await lookup.value == OneValue.body(0), "it began before")
                #expect(cache.memory.count == 0)
                #expect(try await value(cache) != OneValue.body(0))
            }
            await files.shutdown()
        }
    }

    @Test(arguments: Invalidation.allCases, [false, true])
    func `isn't undone by a running exchange, and later requests don't join it`(
        _ invalidation: Invalidation, isStreamed: Bool
    ) async throws {
        try await withDirectory { directory in
            let gate = Gate()
            let server = OneValue(holding: 1, at: gate)
            try await withCache(in: directory, server) { (cache) async throws in
                let first = Task { try await value(cache, isStreamed: isStreamed) }
                await gate.arrivals(1)
                server.change()
                try await invalidation.perform(on: cache, url("a"))
                let second = Task { try await value(cache, isStreamed: isStreamed) }
                await gate.open()
                #expect(try await first.value == OneValue.body(0), "it began before")
                #expect(try await second.value != OneValue.body(0))
                #expect(try await value(cache, isStreamed: isStreamed) != OneValue.body(0))
            }
            try await withCache(in: directory, server) { (cache) async throws in
                #expect(try await value(cache, isStreamed: isStreamed) != OneValue.body(0), "on disk")
            }
        }
    }

    @Test func `isn't undone by a body that is still arriving`() async throws {
        let transport = PushingTransport(2)
        try await withCache(transport) { (cache) async throws in
            let old = try await cache.bytes(for: TransportRequest(url("a")))
            transport.bodies[0].send(pattern(300_000, seed: 1))
            var chunks = old.body.makeAsyncIterator()
            _ = try await chunks.next()
            try await cache.remove(url("a"))
            let new = try await cache.bytes(for: TransportRequest(url("a")))
            transport.bodies[1].send(pattern(300_000, seed: 2))
            transport.bodies[1].finish()
            #expect(try await new.body.collect(upTo: .max) == pattern(300_000, seed: 2))
            transport.bodies[0].finish()
            #expect(try await chunks.next() == nil)
            try await expectConsistent(cache, entries: 1)
            try await expect(pattern(300_000, seed: 2), from: cache, url("a"))
        }
    }

    @Test func `isn't undone by a validation in the background`() async throws {
        let gate = Gate()
        let wall = WallClock()
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=60", .eTag: "\"a\""]
        let transport = ClosureTransport { request, number in
            guard request.method == .get else { return .bytes(Data()) }
            if number == 2 { await gate.pass() }
            return .bytes(pattern(100, seed: number), fields)
        }
        try await withCache(transport, wall: wall) { (cache) async throws in
            try await expect(pattern(100, seed: 1), from: cache, url("a"))
            wall.advance(70)
            try await expect(pattern(100, seed: 1), from: cache, url("a"))
            await gate.arrivals(1)
            let running = cache.validations.running
            _ = try await cache.response(for: TransportRequest(url("a"), method: .put))
            await gate.open()
            for task in running { await task.value }
            try await expectConsistent(cache, entries: 0)
            try await expect(pattern(100, seed: 4), from: cache, url("a"))
        }
    }

    /// Two responses are stored at the same time: while the first one removes its predecessor's file, the second one is stored.
    @Test func `of concurrent responses leaves memory and disk in agreement`() async throws {
        let held = HeldCall()
        let real = SystemCalls.system
        var calls = real
        calls.unlink = { path in
            held.stopIfArmed()
            return real.unlink(path)
        }
        let files = FileIO(calls: calls)
        let server = OneValue()
        try await withCache(server, files: files) { (cache) async throws in
            _ = try await value(cache)
            server.change()
            held.arm()
            let older = Task {
                try await cache.response(for: TransportRequest(url("a")), mode: .reload).body
            }
            await held.arrival()
            server.change()
            let request = TransportRequest(url("a"), headerFields: [.cacheControl: "no-cache"])
            #expect(try await cache.response(for: request).body == OneValue.body(2))
            held.release()
            #expect(try await older.value == OneValue.body(1))
            #expect(try await value(cache) == OneValue.body(2))
            try await expectConsistent(cache, entries: 1)
        }
        await files.shutdown()
    }

    @Test func `by storing bytes directly isn't undone by a running exchange`() async throws {
        let gate = Gate()
        let server = OneValue(holding: 1, at: gate)
        try await withCache(server) { (cache) async throws in
            let first = Task { try await value(cache) }
            await gate.arrivals(1)
            #expect(try await cache.store(pattern(77), for: url("a")))
            try await expect(pattern(77), from: cache, url("a"))
            await gate.open()
            #expect(try await first.value == OneValue.body(0))
            try await expect(pattern(77), from: cache, url("a"))
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test func `of a response that the disk has no room for also reaches memory`() async throws {
        let server = OneValue()
        try await withCache(server, .init(maximumDiskSize: 0)) { (cache) async throws in
            for _ in 0..<2 { #expect(try await value(cache) == OneValue.body(0)) }
            try await Invalidation.put.perform(on: cache, url("a"))
            for _ in 0..<2 { #expect(try await value(cache) == OneValue.body(1)) }
            #expect(server.gets.withLock { $0 } == 2)
        }
    }

    @Test(arguments: Invalidation.allCases + [nil])
    func `reaches decoded values, even during decoding`(_ invalidation: Invalidation?) async throws {
        let server = OneValue()
        let gate = Gate()
        let isHeld = Guarded(false)
        func invalidate(_ cache: ResourceCache) async throws {
            server.change()
            if let invalidation { return try await invalidation.perform(on: cache, url("a")) }
            try await cache.store(OneValue.body(9), for: url("a"))
        }
        try await withCache(server) { (cache) async throws in
            let values = cache.decoded(cost: \.count) { data in
                if isHeld.withLock({ $0 }) { await gate.pass() }
                return data
            }
            #expect(try await values.value(for: url("a")) == OneValue.body(0))
            try await invalidate(cache)
            #expect(values.valueInMemory(for: url("a")) == nil)
            let second = try await values.value(for: url("a"))
            #expect(second != OneValue.body(0))
            // The same while the value is being decoded.
            values.removeAll()
            isHeld.withLock { $0 = true }
            let decoding = Task { try await values.value(for: url("a")) }
            await gate.arrivals(1)
            isHeld.withLock { $0 = false }
            try await invalidate(cache)
            if invalidation == nil { try await cache.store(OneValue.body(10), for: url("a")) }
            await gate.open()
            #expect(try await decoding.value == second, "it began before")
            #expect(values.valueInMemory(for: url("a")) == nil)
            #expect(try await values.value(for: url("a")) != second)
        }
    }

    @Test(arguments: [Invalidation.put, .remove], [0, 2048])
    func `holds even if the index can't be changed, and the index catches up later`(
        _ invalidation: Invalidation, largestInIndex: Int
    ) async throws {
        try await withDirectory { directory in
            let server = OneValue()
            let configuration = ResourceCache.Configuration(maximumMemorySize: 0)
            for isStored in [false, true] {
                try await withCache(in: directory, server, configuration, largestInIndex: largestInIndex) {
                    (cache) async throws in
                    let before = try await value(cache)
                    try await cache.settledDisk.database.write {
                        for event in ["UPDATE", "DELETE", "INSERT"] {
                            try $0.execute(
                                sql: """
                                    CREATE TRIGGER full_\(event) BEFORE \(event) ON entry
                                    BEGIN SELECT RAISE(ABORT, 'no room'); END
                                    """)
                        }
                    }
                    server.change()
                    if isStored {
                        _ = try? await cache.store(pattern(60), for: url("a"))
                    } else {
                        try? await invalidation.perform(on: cache, url("a"))
                    }
                    #expect(try await value(cache) != before)
                    #expect(cache.statistics.diskFailures > 0)
                    try await cache.settledDisk.database.write {
                        for event in ["UPDATE", "DELETE", "INSERT"] {
                            try $0.execute(sql: "DROP TRIGGER full_\(event)")
                        }
                    }
                    if isStored {
                        #expect(try await cache.store(pattern(50), for: url("a")))
                        for _ in 0..<2 { try await expect(pattern(50), from: cache, url("a")) }
                    }
                    // The first request removes the old rows, and the second one stores the response.
                    let after = try await value(cache)
                    #expect(after != before)
                    #expect(try await value(cache) == after)
                    try await expectConsistent(cache, entries: 1)
                }
            }
        }
    }

    @Test func `that fails in the index doesn't stop the memory from working`() async throws {
        let transport = ClosureTransport { _, number in .bytes(pattern(1000, seed: number)) }
        try await withCache(transport) { (cache) async throws in
            _ = try await cache.data(for: url("a"))
            try await cache.settledDisk.database.write {
                for event in ["UPDATE", "DELETE", "INSERT"] {
                    try $0.execute(
                        sql: """
                            CREATE TRIGGER full_\(event) BEFORE \(event) ON entry
                            BEGIN SELECT RAISE(ABORT, 'no room'); END
                            """)
                }
            }
            try? await cache.remove(url("a"))
            for _ in 0..<3 { _ = try await cache.data(for: url("a")) }
            #expect(transport.requests.values.count == 2)
        }
    }
}

/// A point in a system call at which a thread stops until the test releases it.
///
///     let held = HeldCall()
///     calls.read = { descriptor, bytes in
///         defer { held.stopIfArmed() }
///         return real.read(descriptor, bytes)
///     }
///     held.arm()
///     …
///     await held.arrival()
///     held.release()
final class HeldCall: Sendable {
    private let isArmed = Guarded(false)
    private let released = DispatchSemaphore(value: 0)
    private let (reached, reach) = Condition.makeCondition()

    /// Makes the next call stop.
    func arm() { isArmed.withLock { $0 = true } }

    func stopIfArmed() {
        let stops = isArmed.withLock { isArmed in
            defer { isArmed = false }
            return isArmed
        }
        guard stops else { return }
        reach.signal()
        released.wait()
    }

    func arrival() async { _ = await reached.wait() }

    func release() { released.signal() }
}
