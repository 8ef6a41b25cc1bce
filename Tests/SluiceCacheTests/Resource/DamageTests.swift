import Foundation
import GRDB
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
                try await cache.disk.database.write {
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
                    // The cache doesn't remove a file that isn't its own: the entry is kept in memory only.
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

    @Test func `a damaged version is dropped, a newer one of another process is not`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            try await withCache(in: directory, transport) { cache in
                try await cache.store(pattern(10), for: url("a"))
                let old = try await cache.disk.database.read { try Int64.fetchOne($0, sql: "SELECT id FROM entry") }
                _ = try await withCache(in: directory, transport) { try await $0.store(pattern(20), for: url("a")) }
                try await cache.disk.drop(try #require(old), ResourceKey(url("a")))
                try await expectConsistent(cache, entries: 1)
            }
        }
    }

    /// Failures of the system: which calls, and with what.
    @Test(arguments: [ENOSPC, EACCES, EIO, EDQUOT, EROFS])
    func `a disk that cannot be written fails no request, leaves nothing, and is counted`(number: CInt) async throws {
        for call in ["write", "open"] {
            try await withDirectory { directory in
                let isBroken = Recorder<Bool>()
                let files = FileIO(calls: .failing(call, with: number) { !isBroken.values.isEmpty })
                let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
                try await withCache(in: directory, transport, files: files) { cache in
                    isBroken.note(true)
                    try await expect(pattern(1000), from: cache, url("a"))
                    #expect(cache.statistics.diskFailures == 1)
                    #expect(cache.statistics.lastDiskFailure?.contains(directory.lastPathComponent) == true)
                    // In memory it is all the same.
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

    @Test func `a disk that cannot be read fails no request, and is not taken for damage`() async throws {
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
            let cache = try await ResourceCache(directory: directory, transport: transport)
            try await cache.disk.database.write { try $0.execute(sql: "DROP TABLE entry") }
            try await expect(pattern(1000), from: cache, url("a"))
            try await expect(pattern(1000), from: cache, url("a"))
            #expect(transport.requests.values.count == 1 && cache.statistics.diskFailures == 2)
            #expect(bodies(in: directory).isEmpty)
            try await cache.shutdown()
        }
    }
}

extension SystemCalls {
    /// The kernel, with one call failing on bodies while `isBroken` says so.
    fileprivate static func failing(
        _ call: String, with number: CInt, while isBroken: @escaping @Sendable () -> Bool
    ) -> SystemCalls {
        let real = SystemCalls.system
        var calls = real
        switch call {
        case "write": calls.write = { isBroken() ? -Int(number) : real.write($0, $1) }
        case "open": calls.open = { isBroken() ? -number : real.open($0, $1, $2) }
        default: calls.read = { isBroken() ? -Int(number) : real.read($0, $1) }
        }
        return calls
    }
}
