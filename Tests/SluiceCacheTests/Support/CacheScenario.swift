import Foundation
import GRDB
import HTTPTypes
import LoopbackOrigin
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceCache

/// Bytes that depend on their position and on the seed.
func pattern(_ count: Int, seed: Int = 0) -> Data {
    Data((0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ $0 >> 8) ^ seed &* 7) })
}

func same(_ a: Data, _ b: Data) -> Bool { a.elementsEqual(b) }

func url(_ name: String) -> URL { URL(string: "http://example.test/\(name)")! }

/// A clock whose sleeps take no time and are recorded.
final class InstantClock: Clock {
    typealias Instant = ContinuousClock.Instant
    let slept = Recorder<Duration>()
    var now: Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        slept.note(now.duration(to: deadline))
        try Task.checkCancellation()
    }
}

/// A wall clock that stands still until the test moves it.
final class WallClock: Sendable {
    private let seconds = Guarded<Int64>(784_111_777)

    var now: @Sendable () -> HTTPDate {
        { HTTPDate(secondsSince1970: self.seconds.withLock { $0 }) }
    }

    func advance(_ duration: Int64) { seconds.withLock { $0 += duration } }
}

/// A transport that calls a closure for each response, and records the requests.
final class ClosureTransport: Transport {
    let requests = Recorder<TransportRequest>()
    private let answer: @Sendable (TransportRequest, Int) async throws -> ScriptedTransport.Answer
    /// The redirects that the response reports.
    private let redirects: Int

    init(
        redirects: Int = 0,
        _ answer: @escaping @Sendable (TransportRequest, Int) async throws -> ScriptedTransport.Answer
    ) {
        self.answer = answer
        self.redirects = redirects
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        requests.note(request)
        let answer = try await answer(request, requests.values.count)
        var response = try await ScriptedTransport([request.url: [answer]]).open(request)
        response.redirectCount = redirects
        return response
    }
}

extension ScriptedTransport.Answer {
    /// A complete response that is fresh for a minute, unless its fields say otherwise.
    static func bytes(_ data: Data, _ fields: HTTPFields = [.cacheControl: "max-age=60"]) -> Self {
        var fields = fields
        fields[.contentLength] = "\(data.count)"
        return .response(headerFields: fields, body: data.isEmpty ? [] : [data])
    }
}

/// Opens a cache in a directory, with clocks that take no time. By default, small bodies are in files, too.
func withCache<R>(
    in directory: URL, _ transport: any Transport, _ configuration: ResourceCache.Configuration = .init(),
    files: FileIO = .shared, clock: InstantClock = InstantClock(), wall: WallClock = WallClock(),
    largestInIndex: Int = 0, _ body: (ResourceCache) async throws -> R
) async throws -> R {
    let cache = ResourceCache(
        directory: directory, configuration: configuration, transport: transport, files: files, clock: clock,
        now: wall.now, largestInIndex: largestInIndex)
    return try await scoped {
        try await cache.open()
        return try await body(cache)
    } finally: {
        try await cache.shutdown()
    }
}

/// Opens a cache in a temporary directory, and removes the directory afterwards.
func withCache(
    _ transport: any Transport, _ configuration: ResourceCache.Configuration = .init(), files: FileIO = .shared,
    clock: InstantClock = InstantClock(), wall: WallClock = WallClock(), largestInIndex: Int = 0,
    _ body: (ResourceCache) async throws -> Void
) async throws {
    try await withDirectory { directory in
        try await withCache(
            in: directory, transport, configuration, files: files, clock: clock, wall: wall,
            largestInIndex: largestInIndex, body)
    }
}

extension ResourceCache {
    /// The disk stage, after everything that was being stored.
    var settledDisk: DiskStore {
        get async throws {
            await backlog.drain()
            return try await disk
        }
    }
}

func withDirectory(_ body: (URL) async throws -> Void) async throws {
    try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests", body)
}

/// Returns the sizes of the body files below a directory, keyed by relative path.
func bodies(in directory: URL) -> [String: Int] {
    var found: [String: Int] = [:]
    for name in (try? FileManager.default.subpathsOfDirectory(atPath: directory.path)) ?? [] {
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory.appending(path: name).path)
        guard attributes?[.type] as? FileAttributeType == .typeRegular, name.contains("/") else { continue }
        found[name] = (attributes?[.size] as? NSNumber)?.intValue
    }
    return found
}

/// Expects that each row is ready and has a file or a body, that each file has a row, and that the sum is correct.
func expectConsistent(
    _ cache: ResourceCache, entries: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let rows = try await cache.settledDisk.database.read {
        try Row.fetchAll($0, sql: "SELECT id, key, state, bytes, fields || variant, body IS NULL FROM entry")
            .map { row in
                (
                    id: row[0] as Int64, key: row[1] as String, state: row[2] as Int, bytes: row[3] as Int,
                    texts: (row[1] as String).utf8.count + (row[4] as String).utf8.count, hasFile: row[5] as Bool
                )
            }
    }
    var expected: [String: Int] = [:]
    for row in rows {
        #expect(row.state == 0, "row \(row.id)", sourceLocation: sourceLocation)
        let path = try await cache.settledDisk.file(row.id, ResourceKey(text: row.key)).path
        if row.hasFile { expected[path.split(separator: "/").suffix(2).joined(separator: "/")] = row.bytes }
    }
    #expect(bodies(in: cache.directory) == expected, sourceLocation: sourceLocation)
    let used = try await cache.settledDisk.database.read { try DiskIndex.usedBytes(in: $0) }
    #expect(used == rows.reduce(0) { $0 + $1.bytes + max(512, $1.texts) }, sourceLocation: sourceLocation)
    if let entries { #expect(rows.count == entries, sourceLocation: sourceLocation) }
}

/// Returns the file of a URL's only entry.
func file(of url: URL, in cache: ResourceCache) async throws -> URL {
    let key = ResourceKey(url)
    let id = try await cache.settledDisk.database.read {
        try Int64.fetchOne($0, sql: "SELECT id FROM entry WHERE key = ? AND state = 0", arguments: [key.text])
    }
    return try await cache.settledDisk.file(try #require(id), key)
}

/// Returns the error of a request that should fail.
func failure(_ body: () async throws -> some Any) async -> (any Error)? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// Expects the cache to return these bytes.
func expect(
    _ expected: Data, from cache: ResourceCache, _ url: URL, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let data = try await cache.data(for: url)
    #expect(same(data, expected), sourceLocation: sourceLocation)
}

/// Waits until the gate holds as many of the origin's responses as the limit allows, expects no further request, and opens the gate.
func expect(_ limit: Int, heldAt gate: Gate, by origin: LoopbackOrigin) async throws {
    await gate.arrivals(limit)
    // A request above the limit would have been sent before these.
    try await LoopbackOrigin.serve { _ in
        OriginResponse()
    } during: { other in
        try await HTTPTransport.withTransport { transport in
            for _ in 0..<3 { _ = try await transport.open(TransportRequest(URL(fetchable: other.url("/")))) }
        }
    }
    #expect(origin.metrics.requests == limit)
    await gate.open()
}

// MARK: - Copies of a directory

/// Copies the directory at each system call that changes it: the state that a kill at that moment would leave.
final class DirectoryCopies: Sendable {
    let directory: URL
    let copies: URL
    private let count = Guarded(0)
    let failures = Recorder<any Error>()

    init(of directory: URL, in copies: URL) {
        self.directory = directory
        self.copies = copies
    }

    func take() {
        let number = count.withLock { count in
            defer { count += 1 }
            return count
        }
        do {
            try FileManager.default.copyItem(at: directory, to: copies.appending(path: "\(number)"))
        } catch {
            failures.note(error)
        }
    }

    var all: [URL] { (0..<count.withLock { $0 }).map { copies.appending(path: "\($0)") } }

    var calls: SystemCalls {
        let real = SystemCalls.system
        var calls = real
        calls.open = { path, flags, mode in
            defer { if flags & O_CREAT != 0 { self.take() } }
            return real.open(path, flags, mode)
        }
        calls.write = { descriptor, bytes in
            self.take()
            defer { self.take() }
            return real.write(descriptor, bytes)
        }
        calls.rename = { source, destination in
            self.take()
            defer { self.take() }
            return real.rename(source, destination)
        }
        calls.randomAccess.writeAt = { descriptor, bytes, offset in
            self.take()
            defer { self.take() }
            return real.randomAccess.writeAt(descriptor, bytes, offset)
        }
        calls.unlink = { path in
            self.take()
            defer { self.take() }
            return real.unlink(path)
        }
        return calls
    }
}
