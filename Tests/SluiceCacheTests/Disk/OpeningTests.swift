import Foundation
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Opening a cache` {
    private static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    @Test func `happens when a request first needs the directory`() async throws {
        try await withDirectory { parent in
            let directory = parent.appending(path: "a/cache")
            let cache = ResourceCache(
                directory: directory, transport: ClosureTransport { _, _ in .bytes(pattern(1000)) })
            #expect(!Self.exists(directory))
            try await expect(pattern(1000), from: cache, url("a"))
            #expect(Self.exists(directory.appending(path: "index.db")))
            try await expectConsistent(cache, entries: 1)
            try await cache.shutdown()
        }
    }

    @Test func `doesn't happen if the cache isn't used, or has been shut down`() async throws {
        try await withDirectory { parent in
            let directory = parent.appending(path: "cache")
            let cache = ResourceCache(directory: directory, transport: ScriptedTransport([:]))
            try await cache.shutdown()
            let error = await #expect(throws: TransferError.self) { try await cache.open() }
            #expect(error?.code == .shutDown)
            #expect(!Self.exists(directory))
        }
    }

    @Test func `fails no request, and is tried again a second later`() async throws {
        try await withDirectory { parent in
            let directory = parent.appending(path: "cache")
            try Data().write(to: directory)
            let (transport, wall) = (ClosureTransport { _, _ in .bytes(pattern(1000)) }, WallClock())
            let cache = ResourceCache(
                directory: directory, configuration: .init(), transport: transport, files: .shared,
                clock: InstantClock(), now: wall.now)
            let error = await #expect(throws: FileError.self) { try await cache.open() }
            #expect("\(try #require(error))".contains("cache'"))

            // The responses are in memory.
            for name in ["a", "b", "a", "b"] { try await expect(pattern(1000), from: cache, url(name)) }
            #expect(transport.requests.values.count == 2)
            #expect(cache.statistics.diskFailures > 0 && cache.statistics.memoryHits == 2)
            #expect(cache.statistics.lastDiskFailure?.contains("cache'") == true)
            #expect(try await cache.contains(url("a")))
            await #expect(throws: FileError.self) { try await cache.contains(url("c")) }
            await #expect(throws: FileError.self) { try await cache.trim(toBytes: 0) }
            await #expect(throws: FileError.self) { try await cache.store(pattern(10), for: url("d")) }

            try FileManager.default.removeItem(at: directory)
            let failures = cache.statistics.diskFailures
            try await expect(pattern(1000), from: cache, url("e"))
            #expect(cache.statistics.diskFailures > failures && !Self.exists(directory))
            wall.advance(1)
            try await expect(pattern(1000), from: cache, url("f"))
            try await expectConsistent(cache, entries: 1)
            try await cache.shutdown()
        }
    }

    @Test func `removes a response that was stored before, even if the removal came first`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, number in .bytes(pattern(1000, seed: number)) }
            try await withCache(in: directory, transport) {
                try await expect(pattern(1000, seed: 1), from: $0, url("a"))
            }
            let index = directory.appending(path: "index.db")
            let (aside, wall) = (directory.appending(path: "writer-index"), WallClock())
            try FileManager.default.moveItem(at: index, to: aside)
            try Data(repeating: 0x41, count: 5000).write(to: index)
            let cache = ResourceCache(
                directory: directory, configuration: .init(), transport: transport, files: .shared,
                clock: InstantClock(), now: wall.now)
            let error = await #expect(throws: TransferError.self) { try await cache.remove(url("a")) }
            #expect(error?.code == .cacheUnusable)
            try FileManager.default.removeItem(at: index)
            try FileManager.default.moveItem(at: aside, to: index)
            wall.advance(1)
            try await expect(pattern(1000, seed: 2), from: cache, url("a"))
            try await cache.shutdown()
        }
    }

    // MARK: The stage

    private static func openStore(in directory: URL) async throws -> DiskStore {
        try await DiskStore.open(
            in: directory, limit: 1 << 20, entryLimit: 1 << 16, largestInIndex: 0, verification: .firstRead,
            files: .shared)
    }

    private static let closed = TransferError(.shutDown, url: url("closed"))

    @Test func `is one attempt for all tasks that wait for it, and they share its error`() async throws {
        let (gate, attempts, wall) = (Gate(), Recorder<Int>(), WallClock())
        let stage = DiskStage(now: wall.now, whenClosed: Self.closed) {
            attempts.note(1)
            await gate.pass()
            throw TransferError(.cacheUnusable, url: url("directory"))
        }
        let tasks = (0..<10).map { _ in Task { try await stage.store } }
        await gate.arrivals(1)
        await gate.open()
        for task in tasks {
            let error = await #expect(throws: TransferError.self) { try await task.value }
            #expect(error?.code == .cacheUnusable)
        }
        #expect(attempts.values.count == 1)
        _ = try? await stage.store
        #expect(attempts.values.count == 1, "not in the same second")
        _ = try? await stage.open()
        #expect(attempts.values.count == 2, "unless somebody asks for it")
        wall.advance(1)
        _ = try? await stage.store
        #expect(attempts.values.count == 3)
        try await stage.close()
        #expect(stage.storeIfOpen == nil && attempts.values.count == 3)
    }

    @Test func `that is cancelled isn't a failure`() async throws {
        try await withDirectory { directory in
            let (gate, attempts) = (Gate(), Recorder<Int>())
            let stage = DiskStage(now: WallClock().now, whenClosed: Self.closed) {
                attempts.note(1)
                if attempts.values.count == 1 {
                    await gate.pass()
                    try Task.checkCancellation()
                }
                return try await Self.openStore(in: directory)
            }
            let task = Task { try await stage.store }
            await gate.arrivals(1)
            task.cancel()
            await gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await stage.store.slot.number == 0)
            #expect(attempts.values.count == 2)
            try await stage.close()
        }
    }

    @Test func `that is running when the cache shuts down is waited for, and undone`() async throws {
        try await withDirectory { directory in
            let gate = Gate()
            let stage = DiskStage(now: WallClock().now, whenClosed: Self.closed) {
                await gate.pass()
                return try await Self.openStore(in: directory)
            }
            let opening = Task { try await stage.store }
            await gate.arrivals(1)
            // Also in a cancelled task.
            let closing = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await stage.close()
            }
            await gate.open()
            try await closing.value
            let store = try await opening.value
            await #expect(throws: (any Error).self) { try await store.database.read { _ in } }
            let next = try await Self.openStore(in: directory)
            #expect(next.slot.number == 0)
            try await next.close()
        }
    }
}
