import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `The directory of a cache` {
    /// All files below a directory, with their bytes.
    private func contents(of directory: URL) throws -> [String: Data] {
        var found: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            found[name] = (try? Data(contentsOf: directory.appending(path: name))) ?? Data()
        }
        return found
    }

    private func index(in directory: URL, journal: String = "delete", _ sql: String) throws {
        let queue = try DatabaseQueue(path: directory.appending(path: "index.db").path)
        try queue.inDatabase { _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = \(journal)") }
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    enum Foreign: String, CaseIterable, Sendable {
        case nothing, otherFiles, emptyIndex, garbage, otherApplication, noApplication, noApplicationWithLog, newer,
            negativeVersion, directory

        var mention: String {
            switch self {
            case .nothing, .otherFiles, .directory: "has no index.db"
            case .garbage: "file is not a database"
            case .newer: "version 99"
            default: "isn't the directory of a cache"
            }
        }
    }

    @Test(arguments: Foreign.allCases)
    func `that belongs to something else is rejected and unchanged`(foreign: Foreign) async throws {
        try await withDirectory { directory in
            let place = directory.appending(path: "index.db")
            switch foreign {
            case .nothing: break
            case .otherFiles: try Data("x".utf8).write(to: directory.appending(path: "notes.txt"))
            case .emptyIndex: try Data().write(to: place)
            case .garbage: try Data(String(repeating: "no database ", count: 100).utf8).write(to: place)
            case .otherApplication: try index(in: directory, "CREATE TABLE t (x); PRAGMA application_id = 7")
            case .noApplication: try index(in: directory, "CREATE TABLE t (x)")
            case .noApplicationWithLog: try index(in: directory, journal: "wal", "CREATE TABLE t (x)")
            case .newer:
                try index(
                    in: directory,
                    "CREATE TABLE t (x); PRAGMA application_id = \(0x534C_5543); PRAGMA user_version = 99")
            case .negativeVersion:
                try index(
                    in: directory,
                    "CREATE TABLE t (x); PRAGMA application_id = \(0x534C_5543); PRAGMA user_version = -1")
            case .directory: try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
            }
            let before = try contents(of: directory)
            let error =
                await failure { try await CacheDirectory.withDirectory(at: directory) { _ in } } as? TransferError
            #expect(error?.code == .cacheUnusable && error?.remedy != nil && error?.isTransient == false)
            #expect(error?.message.contains(foreign.mention) == true, "\(error?.description ?? "none")")
            #expect(error?.subject.hasPrefix(directory.path) == true)
            #expect(try contents(of: directory) == before)
        }
    }

    @Test func `with damaged tables is refused with a remedy`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(100)) }
            try await withCache(in: directory, transport) { cache in
                for number in 0..<200 { try await cache.store(pattern(10), for: url("\(number)")) }
            }
            let place = directory.appending(path: "index.db")
            var bytes = try Data(contentsOf: place)
            for offset in 100..<bytes.count { bytes[offset] = 0xA5 }
            try bytes.write(to: place)
            let error = await failure { try await CacheDirectory.withDirectory(at: directory) { try await $0.size() } }
            #expect((error as? TransferError)?.code == .cacheUnusable)
            #expect(
                (error as? TransferError)?.remedy?.contains("Remove the directory") == true,
                "\(String(describing: error))")
        }
    }

    @Test func `can be read while another process uses it for the first time`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                _ = try await cache.store(pattern(10), for: url("a"))
                // The tables are only in the log.
                let header = try Data(contentsOf: directory.appending(path: "index.db"))
                #expect(header.count < 100 || header[68..<72].allSatisfy { $0 == 0 })
                let totals = try await CacheDirectory.withDirectory(at: directory) { try await $0.totals() }
                #expect(totals.entries == 1 && totals.bytes == 522)
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    @Test func `is verified without changing its entries' last use`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                for number in 0..<100 { try await cache.store(pattern(10), for: url("\(number)")) }
            }
            func uses(_ cache: CacheDirectory) async throws -> [Int64] {
                try await cache.store.database.read {
                    try Int64.fetchAll($0, sql: "SELECT accessed FROM entry ORDER BY id")
                }
            }
            let before = try await CacheDirectory.withDirectory(at: directory) { cache in
                let before = try await uses(cache)
                let result = try await cache.verify(isRepairing: true) { _ in }
                #expect(result == .init(entries: 100, bytes: 1000))
                return before
            }
            let after = try await CacheDirectory.withDirectory(at: directory) { try await uses($0) }
            #expect(after == before && Set(before).count == 100)
        }
    }

    @Test func `is repaired: rows, files and temporary files`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            let manager = FileManager.default
            try await withCache(in: directory, transport) { cache in
                for name in ["good", "row", "file"] { _ = try await cache.data(for: url(name)) }
                try await cache.settledDisk.database.write {
                    try $0.execute(sql: "UPDATE entry SET fields = 'no field' WHERE key LIKE '%row'")
                    try $0.execute(sql: "UPDATE usage SET bytes = bytes + 7")
                }
                try Data([1]).write(to: try await file(of: url("file"), in: cache))
                let good = try await file(of: url("good"), in: cache)
                let place = good.deletingLastPathComponent()
                // A wrong name for row 1, a file without a row, a temporary file, and three files that don't belong to the cache.
                for name in [
                    "\(String(repeating: "0", count: 64))-1", "\(good.lastPathComponent)7",
                    ".\(good.lastPathComponent)7.part", "notes.txt", "x-1", "\(good.lastPathComponent)-1",
                ] { try Data([1]).write(to: place.appending(path: name)) }
                try manager.createDirectory(
                    at: place.appending(path: "\(good.lastPathComponent)8"), withIntermediateDirectories: false)
                try Data([1]).write(to: directory.appending(path: "zz"))
            }
            let found = Recorder<CacheDirectory.Problem>()
            try await CacheDirectory.withDirectory(at: directory) { cache in
                let result = try await cache.verify(isRepairing: true) { found.note($0) }
                #expect(result == .init(entries: 3, bytes: 1000, problems: 7, repaired: 7))
            }
            #expect(
                found.values.map(\.kind.rawValue).sorted() == ["damaged file", "damaged row"]
                    + Array(repeating: "stray file", count: 4) + ["wrong sum"])
            try await CacheDirectory.withDirectory(at: directory) { cache in
                let result = try await cache.verify(isRepairing: false) { found.note($0) }
                #expect(result == .init(entries: 1, bytes: 1000) && found.values.count == 7)
            }
            #expect(found.values.contains { $0.detail == "4543 bytes instead of 4536" })
            #expect(bodies(in: directory).count == 4, "the other program's files stay")
        }
    }

    @Test func `with an unreadable entry doesn't count it as damaged`() async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                _ = try await cache.store(pattern(10), for: url("a"))
            }
            let isBroken = Recorder<Bool>()
            let real = SystemCalls.system
            var calls = real
            calls.read = { isBroken.values.isEmpty ? real.read($0, $1) : -Int(EIO) }
            calls.inline.read = { isBroken.values.isEmpty ? real.inline.read($0, $1, $2) : -Int(EIO) }
            let files = FileIO(calls: calls)
            let found = Recorder<CacheDirectory.Problem>()
            try await CacheDirectory.withDirectory(at: directory, using: files) { cache in
                isBroken.note(true)
                let result = try await cache.verify(isRepairing: true) { found.note($0) }
                #expect(result == .init(entries: 1, problems: 1))
                #expect(found.values[0].kind == .unreadableFile && found.values[0].detail?.contains("EIO") == true)
                isBroken.forget()
                #expect(try await cache.verify(isRepairing: false) { found.note($0) } == .init(entries: 1, bytes: 10))
            }
            await files.shutdown()
        }
    }

    @Test func `counts entries that need a request as stale`() async throws {
        let wall = WallClock()
        try await withDirectory { directory in
            let transport = ClosureTransport { request, _ in
                let control = ["a": "max-age=60", "b": "max-age=100, no-cache", "c": "max-age=600"][
                    request.url.lastPathComponent]!
                return .bytes(pattern(10), [.cacheControl: control, .eTag: "\"1\""])
            }
            try await withCache(in: directory, transport, wall: wall) { cache in
                for name in ["a", "b", "c"] { _ = try await cache.data(for: url(name)) }
            }
            wall.advance(100)
            try await CacheDirectory.withDirectory(at: directory, now: wall.now) { cache in
                let entries = try await cache.entries(after: .start).entries
                #expect(entries.map(\.isFresh) == [true, false, false])
                #expect(entries.map(\.freshFor) == [500, nil, -40] && entries.allSatisfy { $0.age == 100 })
                #expect(try await cache.totals().fresh == 1)
                wall.advance(-200)
                #expect(try await cache.entries(after: .start).entries.allSatisfy { $0.age == nil && !$0.isFresh })
                wall.advance(200)
                #expect(try await cache.removeStale() == 2)
                #expect(try await cache.entries(after: .start).entries.map(\.url) == [url("c").absoluteString])
            }
        }
    }

    @Test(arguments: [0, 2048])
    func `with long fields and URLs is healthy, and repair corrects a wrong total`(
        largestInIndex: Int
    ) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in
                .bytes(
                    pattern(1000),
                    [
                        .cacheControl: "max-age=60", .eTag: "\"\(String(repeating: "x", count: 2000))\"",
                        .vary: "accept-language",
                    ])
            }
            try await withCache(in: directory, transport, largestInIndex: largestInIndex) { cache in
                for name in ["a", "b", String(repeating: "c", count: 3000)] { _ = try await cache.data(for: url(name)) }
                try await expectConsistent(cache, entries: 3)
            }
            try await CacheDirectory.withDirectory(at: directory) { cache in
                #expect(try await cache.verify(isRepairing: true) { _ in } == .init(entries: 3, bytes: 3000))
                try await cache.store.database.write { try $0.execute(sql: "UPDATE usage SET bytes = bytes - 7000") }
                let result = try await cache.verify(isRepairing: true) { _ in }
                #expect(result == .init(entries: 3, bytes: 3000, problems: 1, repaired: 1))
            }
            try await withCache(in: directory, transport, largestInIndex: largestInIndex) { cache in
                try await expectConsistent(cache, entries: 3)
                try await cache.removeAll()
                try await expectConsistent(cache, entries: 0)
            }
        }
    }

    /// The index may belong to another program, and a user would follow the remedy.
    @Test(arguments: ["text", "zeros"])
    func `that may not be a cache isn't suggested for removal`(contents: String) async throws {
        try await withDirectory { directory in
            let index = directory.appending(path: "index.db")
            try (contents == "text" ? Data("the index of my photos".utf8) : Data(count: 8192)).write(to: index)
            let error = await failure { try await CacheDirectory.withDirectory(at: directory) { _ in } }
            let remedy = try #require((error as? TransferError)?.remedy)
            #expect(!remedy.lowercased().hasPrefix("remove"), "\(remedy)")
            #expect(remedy.hasPrefix("Check that this is the directory of a cache."), "\(remedy)")
        }
    }

    @Test(arguments: ["DROP TABLE entry", "DROP TABLE usage"])
    func `without a table fails and says what to do`(sql: String) async throws {
        try await withDirectory { directory in
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                _ = try await cache.store(pattern(10), for: url("a"))
                try await cache.settledDisk.database.write { try $0.execute(sql: sql) }
            }
            let errors = [
                await failure { try await CacheDirectory.withDirectory(at: directory) { try await $0.totals() } },
                await failure { try await withCache(in: directory, ScriptedTransport([:])) { _ in } },
            ]
            for error in errors {
                let error = try #require(error as? TransferError)
                #expect(error.code == .cacheUnusable && error.message.contains("no such table"))
                #expect(error.remedy == "Remove the directory. Its responses will be fetched again.")
            }
        }
    }
}
