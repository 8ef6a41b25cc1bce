import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Damage on disk` {
    enum Damage: String, CaseIterable, Sendable {
        case truncated, emptied, extended, flippedByte, missing, missingDirectory, directoryInItsPlace,
            fullDirectoryInItsPlace
        case linkInItsPlace, fifoInItsPlace, fileInPlaceOfItsDirectory, shortDigest, otherDigest, negativeLength,
            hugeLength, strangeStatus
        case strangeFields, strangeTimes

        func apply(to file: URL, _ cache: ResourceCache) async throws {
            let manager = FileManager.default
            func row(_ change: String) async throws {
                try await cache.settledDisk.database.write {
                    try $0.execute(sql: "PRAGMA ignore_check_constraints = 1")
                    try $0.execute(sql: "UPDATE entry SET \(change)")
                }
            }
            switch self {
            case .truncated: try pattern(1000).prefix(999).write(to: file)
            case .emptied: try Data().write(to: file)
            case .extended: try (pattern(1000) + [1]).write(to: file)
            case .flippedByte:
                var data = pattern(1000)
                data[500] ^= 1
                try data.write(to: file)
            case .missing: try manager.removeItem(at: file)
            case .missingDirectory: try manager.removeItem(at: file.deletingLastPathComponent())
            case .directoryInItsPlace, .fullDirectoryInItsPlace:
                try manager.removeItem(at: file)
                try manager.createDirectory(at: file, withIntermediateDirectories: false)
                if self == .fullDirectoryInItsPlace { try Data([1]).write(to: file.appending(path: "x")) }
            case .linkInItsPlace:
                try manager.removeItem(at: file)
                try manager.createSymbolicLink(at: file, withDestinationURL: file)
            case .fifoInItsPlace:
                try manager.removeItem(at: file)
                #expect(mkfifo(file.path, 0o600) == 0)
            case .fileInPlaceOfItsDirectory:
                try manager.removeItem(at: file.deletingLastPathComponent())
                try Data([1]).write(to: file.deletingLastPathComponent())
            case .shortDigest: try await row("digest = x'0011'")
            case .otherDigest: try await row("digest = zeroblob(32)")
            case .negativeLength: try await row("bytes = -5")
            case .hugeLength: try await row("bytes = 9000000000000000000")
            case .strangeStatus: try await row("status = 7")
            case .strangeFields: try await row("fields = 'no field' || char(10) || char(0) || ':'")
            case .strangeTimes: try await row("received = -9223372036854775807")
            }
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: Damage.allCases)
    func `a damaged entry is dropped and fetched again`(damage: Damage) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            try await withCache(in: directory, transport) { cache in
                try await expect(pattern(1000), from: cache, url("a"))
                try await damage.apply(to: try await file(of: url("a"), in: cache), cache)
            }
            try await withCache(in: directory, transport) { cache in
                try await expect(pattern(1000), from: cache, url("a"))
                #expect(transport.requests.values.count == 2)
                #expect(cache.statistics.damaged == 1 && cache.statistics.diskHits == 0)
                if damage == .fileInPlaceOfItsDirectory {
                    await cache.backlog.drain()
                    // The cache doesn't remove a file that isn't its own, so the entry is only in memory.
                    #expect(cache.statistics.diskFailures == 1)
                    return
                }
                #expect(cache.statistics.diskFailures == 0)
                try await expectConsistent(cache, entries: 1)
            }
            if damage == .fileInPlaceOfItsDirectory { return }
            try await withCache(in: directory, transport) { cache in
                try await expect(pattern(1000), from: cache, url("a"))
                #expect(cache.statistics.diskHits == 1 && transport.requests.values.count == 2)
            }
        }
    }

    @Test func `a damaged version is dropped, but not a newer one from another process`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            try await withCache(in: directory, transport) { cache in
                try await cache.store(pattern(10), for: url("a"))
                let old = try await cache.settledDisk.database.read {
                    try Int64.fetchOne($0, sql: "SELECT id FROM entry")
                }
                _ = try await withCache(in: directory, transport) { try await $0.store(pattern(20), for: url("a")) }
                try await cache.settledDisk.drop(try #require(old), ResourceKey(url("a")))
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test(arguments: [ENOSPC, EACCES, EIO, EDQUOT, EROFS])
    func `a disk that can't be written to fails no request, leaves nothing and is counted`(number: CInt) async throws {
        for call in ["write", "open"] {
            try await withDirectory { directory in
                let isBroken = Recorder<Bool>()
                let files = FileIO(calls: .failing(call, with: number) { !isBroken.values.isEmpty })
                let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
                try await withCache(in: directory, transport, files: files) { cache in
                    isBroken.note(true)
                    try await expect(pattern(1000), from: cache, url("a"))
                    await cache.backlog.drain()
                    #expect(cache.statistics.diskFailures == 1)
                    #expect(cache.statistics.lastDiskFailure?.contains(directory.lastPathComponent) == true)
                    // The response is still in memory.
                    try await expect(pattern(1000), from: cache, url("a"))
                    #expect(transport.requests.values.count == 1)
                    try await expectConsistent(cache, entries: 0)
                    isBroken.forget()
                    try await expect(pattern(1000), from: cache, url("b"))
                    try await expectConsistent(cache, entries: 1)
                }
                await files.shutdown()
            }
        }
    }

    @Test func `a disk that can't be read fails no request and doesn't count as damage`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            try await withCache(in: directory, transport) { try await expect(pattern(1000), from: $0, url("a")) }
            let isBroken = Recorder<Bool>()
            let files = FileIO(calls: .failing("read", with: EIO) { !isBroken.values.isEmpty })
            try await withCache(in: directory, transport, files: files) { cache in
                isBroken.note(true)
                try await expect(pattern(1000), from: cache, url("a"))
                #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 1)
            }
            await files.shutdown()
        }
    }

    @Test func `an index that breaks fails no request`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            let cache = ResourceCache(directory: directory, transport: transport)
            try await cache.settledDisk.database.write { try $0.execute(sql: "DROP TABLE entry") }
            try await expect(pattern(1000), from: cache, url("a"))
            try await expect(pattern(1000), from: cache, url("a"))
            await cache.backlog.drain()
            #expect(transport.requests.values.count == 1 && cache.statistics.diskFailures == 2)
            #expect(bodies(in: directory).isEmpty)
            try await cache.shutdown()
        }
    }
}

extension SystemCalls {
    /// The system's calls, except that one of them fails for bodies while `isBroken` is true.
    fileprivate static func failing(
        _ call: String, with number: CInt, while isBroken: @escaping @Sendable () -> Bool
    ) -> SystemCalls {
        let real = SystemCalls.system
        var calls = real
        switch call {
        case "write": calls.write = { isBroken() ? -Int(number) : real.write($0, $1) }
        case "open": calls.open = { isBroken() ? -number : real.open($0, $1, $2) }
        default:
            calls.read = { isBroken() ? -Int(number) : real.read($0, $1) }
            calls.inline.read = { isBroken() ? -Int(number) : real.inline.read($0, $1, $2) }
        }
        return calls
    }
}

// MARK: - Verification

@Suite struct `When a stored body's digest is verified` {
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

    @Test func `by default, on the process's first read`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, transport, configuration(.firstRead)) { cache in
                for _ in 1...3 { try await expect(pattern(5000), from: cache, url("a")) }
                let damaged = try flipByte(of: try await file(of: url("a"), in: cache))
                try await expect(damaged, from: cache, url("a"))
                #expect(cache.statistics.diskHits == 3 && cache.statistics.damaged == 0)
            }
            // A second cache, like another process.
            try await withCache(in: directory, transport, configuration(.firstRead)) { cache in
                try await expect(pattern(5000), from: cache, url("a"))
                #expect(cache.statistics.damaged == 1)
            }
            #expect(transport.requests.values.count == 2)
        }
    }

    @Test func `on request, on each read`() async throws {
        try await withCache(transport, configuration(.always)) { cache in
            for _ in 1...3 { try await expect(pattern(5000), from: cache, url("a")) }
            _ = try flipByte(of: try await file(of: url("a"), in: cache))
            try await expect(pattern(5000), from: cache, url("a"))
            #expect(cache.statistics.diskHits == 2 && cache.statistics.damaged == 1)
        }
        #expect(transport.requests.values.count == 2)
    }

    @Test(arguments: ["truncated", "extended", "removed", "link"])
    func `a file that changes its length or kind is detected on each read`(damage: String) async throws {
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
        try await withCache(transport, configuration(.firstRead), largestInIndex: largestInIndex) { cache in
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

    @Test func `a verified response that becomes stale is confirmed`() async throws {
        let wall = WallClock()
        let transport = ClosureTransport { request, _ in
            request.headerFields[.ifNoneMatch] == nil
                ? .bytes(pattern(1000), [.cacheControl: "max-age=60", .eTag: "\"1\""])
                : .response(status: .notModified, headerFields: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        try await withCache(transport, configuration(.firstRead), wall: wall) { cache in
            for _ in 1...3 { try await expect(pattern(1000), from: cache, url("a")) }
            wall.advance(61)
            for _ in 1...3 { try await expect(pattern(1000), from: cache, url("a")) }
            #expect(cache.statistics.revalidated == 1 && transport.requests.values.count == 2)
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

// MARK: - Flipped bits

/// Flips one bit at a time, in a sample of the bytes that a cache has on disk. With `SLUICE_FLIPS=all`, in every byte.
@Suite(.serialized) struct `One flipped bit on disk` {
    private static let isComplete = ProcessInfo.processInfo.environment["SLUICE_FLIPS"] == "all"

    /// Returns the offsets to flip: all, or a sample that includes both ends.
    private static func offsets(_ count: Int, sample: Int) -> [Int] {
        guard !isComplete, count > sample else { return Array(0..<count) }
        var random = SeededRandom(seed: UInt64(count))
        return [0, count - 1] + (0..<sample).map { _ in Int.random(in: 0..<count, using: &random) }
    }

    /// A server whose bodies depend on the whole URL, so that the tests detect a response for another URL.
    private static let server = ClosureTransport { request, _ in .bytes(body(of: request.url)) }

    private static func body(of url: URL) -> Data {
        pattern(300, seed: url.absoluteString.utf8.reduce(1) { ($0 &* 31 &+ Int($1)) % 1_000_003 })
    }

    private static func flipped(_ bytes: Data, at offset: Int) -> Data {
        var bytes = bytes
        bytes[bytes.startIndex + offset] ^= 1 << (offset % 8)
        return bytes
    }

    /// Without a memory stage, so that the disk answers.
    private static let configuration = ResourceCache.Configuration(
        maximumMemorySize: 0, maximumDiskSize: 2500, maximumDiskEntrySize: 1000)

    private static func expect(_ cache: ResourceCache, _ urls: [URL], _ comment: String) async throws {
        for url in urls {
            let data = try await cache.data(for: url)
            #expect(same(data, body(of: url)), "\(comment), \(url)")
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `in a file is detected, and the resource is fetched again`() async throws {
        try await withCache(Self.server, Self.configuration) { cache in
            try await Self.expect(cache, [url("a")], "at first")
            for (number, offset) in Self.offsets(300, sample: 20).enumerated() {
                let file = try await file(of: url("a"), in: cache)
                try Self.flipped(Data(contentsOf: file), at: offset).write(to: file)
                try await Self.expect(cache, [url("a")], "byte \(offset)")
                #expect(cache.statistics.damaged == number + 1 && cache.statistics.fetched == number + 2)
            }
            #expect(cache.statistics.diskHits == 0 && cache.statistics.diskFailures == 0)
            try await expectConsistent(cache, entries: 1)
        }
    }

    /// The columns that a lookup reads.
    private static let columns = [
        "key", "bytes", "digest", "accessed", "status", "requested", "received", "fields", "variant", "state",
    ]

    @Test(.timeLimit(.minutes(30)), arguments: columns)
    func `in a column of a row yields the right bytes or a new fetch`(column: String) async throws {
        try await withDirectory { directory in
            var offset = 0
            var count = 1
            while offset < count {
                try? FileManager.default.removeItem(at: directory.appending(path: "cache"))
                try await withCache(in: directory.appending(path: "cache"), Self.server, Self.configuration) { cache in
                    try await Self.expect(cache, [url("a"), url("b")], "at first")
                    let (length, changed) = try await cache.settledDisk.database.write { [offset] database in
                        try database.execute(sql: "PRAGMA ignore_check_constraints = 1")
                        return try Self.flip(column, at: offset, in: database)
                    }
                    count = length
                    var urls = [url("a"), url("b")]
                    if let changed, let url = try? URL(fetchable: changed) { urls.append(url) }
                    // `c` is new, so the cache evicts an entry.
                    try await Self.expect(cache, urls + [url("c")] + urls, "\(column), byte \(offset)")
                    #expect(cache.statistics.diskFailures == 0, "\(column), byte \(offset)")
                }
                offset += Self.isComplete ? 1 : max(1, count / 12)
            }
        }
    }

    /// Flips a bit of a value in the row of `a`. Returns the value's number of bytes, and the key if it changed.
    private static func flip(_ column: String, at offset: Int, in database: Database) throws -> (Int, String?) {
        let row = "key = 'http://example.test/a'"
        let value = try DatabaseValue.fetchOne(database, sql: "SELECT \(column) FROM entry WHERE \(row)")!
        if let number = Int64.fromDatabaseValue(value) {
            let changed = number ^ (1 << Int64(offset * 8 + offset % 8))
            try database.execute(sql: "UPDATE entry SET \(column) = ? WHERE \(row)", arguments: [changed])
            return (8, nil)
        }
        let bytes = Data.fromDatabaseValue(value) ?? Data((String.fromDatabaseValue(value) ?? "").utf8)
        guard offset < bytes.count else { return (0, nil) }
        let changed = flipped(bytes, at: offset)
        let cast = column == "digest" ? "?" : "CAST(? AS TEXT)"
        try database.execute(sql: "UPDATE entry SET \(column) = \(cast) WHERE \(row)", arguments: [changed])
        return (bytes.count, column == "key" ? String(validating: changed, as: UTF8.self) : nil)
    }

    @Test(.timeLimit(.minutes(60)))
    func `in the index yields the right bytes, or the index is refused`() async throws {
        try await withDirectory { parent in
            let original = parent.appending(path: "original")
            try await withCache(in: original, Self.server, Self.configuration) { cache in
                try await Self.expect(cache, [url("a"), url("b")], "at first")
            }
            let bytes = try Data(contentsOf: original.appending(path: "index.db"))
            var (refused, answered) = (0, 0)
            for offset in Self.offsets(bytes.count, sample: 30) {
                let directory = parent.appending(path: "copy")
                try FileManager.default.copyItem(at: original, to: directory)
                try Self.flipped(bytes, at: offset).write(to: directory.appending(path: "index.db"))
                do {
                    try await withCache(in: directory, Self.server, Self.configuration) { cache in
                        try await Self.expect(cache, [url("a"), url("b"), url("c"), url("a")], "byte \(offset)")
                    }
                    answered += 1
                } catch let error as TransferError where error.code == .cacheUnusable {
                    refused += 1
                } catch is DatabaseFailure {
                    // Thrown when the index is closed.
                    refused += 1
                }
                try FileManager.default.removeItem(at: directory)
            }
            #expect(answered > 0, "\(refused) refused")
        }
    }
}

// MARK: - A lost index

@Suite struct `A lost or unusable index` {
    private static func server() -> ClosureTransport { ClosureTransport { _, _ in .bytes(pattern(1000)) } }

    private static func removeIndex(in directory: URL) throws {
        for name in ["index.db", "index.db-wal", "index.db-shm"] {
            try? FileManager.default.removeItem(at: directory.appending(path: name))
        }
    }

    private static func fill(_ directory: URL, _ names: ClosedRange<Int>) async throws {
        try await withCache(in: directory, server()) { cache in
            for name in names { try await expect(pattern(1000), from: cache, url("\(name)")) }
        }
    }

    @Test func `is replaced if its files still exist, and the files are removed`() async throws {
        try await withDirectory { directory in
            try await Self.fill(directory, 1...20)
            let notes = directory.appending(path: "notes.txt")
            try Data("x".utf8).write(to: notes)
            try Self.removeIndex(in: directory)
            let server = Self.server()
            try await withCache(in: directory, server) { cache in
                try await expectConsistent(cache, entries: 0)
                try await expect(pattern(1000), from: cache, url("3"))
                #expect(server.requests.values.count == 1 && cache.statistics.damaged == 0)
                try await expectConsistent(cache, entries: 1)
            }
            #expect(FileManager.default.fileExists(atPath: notes.path))
        }
    }

    @Test func `fails no request while a cache has it open, there or in the next process`() async throws {
        try await withDirectory { directory in
            let configuration = ResourceCache.Configuration(maximumMemorySize: 0)
            try await withCache(in: directory, Self.server(), configuration) { first in
                for name in 1...5 { try await expect(pattern(1000), from: first, url("\(name)")) }
                try Self.removeIndex(in: directory)
                try await withCache(in: directory, Self.server(), configuration) { second in
                    for name in 1...8 {
                        try await expect(pattern(1000), from: second, url("\(name)"))
                        try await expect(pattern(1000), from: first, url("\(name)"))
                    }
                }
            }
            try await CacheDirectory.withDirectory(at: directory) {
                _ = try await $0.verify(isRepairing: true) { _ in }
            }
            try await withCache(in: directory, Self.server(), configuration) { cache in
                try await expectConsistent(cache)
                for name in 1...8 { try await expect(pattern(1000), from: cache, url("\(name)")) }
                #expect(cache.statistics.damaged == 0)
            }
        }
    }

    @Test(arguments: ["newer", "foreign", "damaged"])
    func `that is newer, foreign or damaged is refused, and the files stay`(kind: String) async throws {
        try await withDirectory { directory in
            try await Self.fill(directory, 1...3)
            let index = directory.appending(path: "index.db")
            if kind == "damaged" {
                try Data(String(repeating: "no database ", count: 100).utf8).write(to: index)
            } else {
                let queue = try DatabaseQueue(path: index.path)
                let change = kind == "newer" ? "user_version = 99" : "application_id = 7"
                try await queue.write { try $0.execute(sql: "PRAGMA \(change)") }
                try queue.close()
            }
            let error = await failure { try await withCache(in: directory, Self.server()) { _ in } } as? TransferError
            #expect(error?.code == .cacheUnusable && error?.subject == index.path)
            #expect(error?.remedy?.isEmpty == false)
            #expect(bodies(in: directory).count == 3)
            guard kind != "damaged" else { return }
            let queue = try DatabaseQueue(path: index.path)
            let (version, entries) = try await queue.read { database in
                (
                    try Int.fetchOne(database, sql: "PRAGMA user_version"),
                    try Int.fetchOne(database, sql: "SELECT count(*) FROM entry")
                )
            }
            try queue.close()
            #expect(version == (kind == "newer" ? 99 : DiskIndex.schema.migrations.count) && entries == 3)
        }
    }
}
