import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite(.timeLimit(.minutes(15))) struct `Faults while a body arrives` {
    private static let request = TransportRequest(url("a"))

    @Test(arguments: [ENOSPC, EIO])
    func `a disk failure during a body loses no bytes for readers and is counted`(number: CInt) async throws {
        for failing in [1, 4] {
            let writes = Guarded(0)
            var calls = SystemCalls.system
            calls.randomAccess.writeAt = { descriptor, bytes, offset in
                let count = writes.withLock { count in
                    count += 1
                    return count
                }
                return count == failing
                    ? -Int(number) : SystemCalls.system.randomAccess.writeAt(descriptor, bytes, offset)
            }
            let files = FileIO(calls: calls)
            let transport = PushingTransport()
            try await withCache(transport, files: files) { (cache) async throws in
                let fast = try await cache.bytes(for: Self.request)
                let slow = try await cache.bytes(for: Self.request)
                // The slow reader starts only after the fast one has read as much as it can without the slow one.
                var chunks = fast.body.makeAsyncIterator()
                var whole = Data()
                for seed in 0..<5 {
                    transport.bodies[0].send(pattern(300_000, seed: seed))
                    whole += pattern(300_000, seed: seed)
                }
                transport.bodies[0].finish()
                var arrived = Data()
                for _ in 0..<3 { arrived += try await chunks.next() ?? Data() }
                #expect(same(try await slow.body.collect(upTo: .max), whole))
                while let chunk = try await chunks.next() { arrived += chunk }
                #expect(same(arrived, whole))
                #expect(cache.statistics.diskFailures == 1)
                try await expectConsistent(cache, entries: 0)
            }
            await files.shutdown()
        }
    }

    @Test func `a kill at any moment leaves no wrong bytes, and the next start cleans up`()
        async throws
    {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { parent in
            let directory = parent.appending(path: "cache")
            let copies = parent.appending(path: "copies")
            try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
            let snapshots = DirectoryCopies(of: directory, in: copies)
            let files = FileIO(calls: snapshots.calls)
            // Room for two entries, so that replacing and evicting happen.
            let configuration = ResourceCache.Configuration(
                maximumDiskSize: 80_000, maximumDiskEntrySize: 39_000)
            let transport = ClosureTransport { request, _ in
                .response(
                    headerFields: [.cacheControl: "max-age=60", .contentLength: "30000"],
                    body: (0..<5).map { pattern(6_000, seed: $0 + request.url.path.count) })
            }
            let whole = (0..<5).reduce(into: Data()) { $0 += pattern(6_000, seed: $1 + 2) }
            try await withCache(in: directory, transport, configuration, files: files) { (cache) async throws in
                for name in ["a", "b", "c"] {
                    let response = try await cache.bytes(for: TransportRequest(url(name)))
                    #expect(same(try await response.body.collect(upTo: .max), whole))
                }
                let again = try await cache.bytes(for: TransportRequest(url("c")), mode: .reload)
                _ = try await again.body.collect(upTo: .max)
            }
            await files.shutdown()
            #expect(snapshots.all.count > 20 && snapshots.failures.values.isEmpty)
            for copy in snapshots.all {
                try await withCache(in: copy, transport, configuration) { (cache) async throws in
                    try await expectConsistent(cache)
                    for name in ["a", "b", "c"] {
                        let response = try await cache.bytes(for: TransportRequest(url(name)))
                        #expect(same(try await response.body.collect(upTo: .max), whole))
                    }
                    #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 0)
                    try await expectConsistent(cache)
                }
            }
        }
    }

    @Test func `a body whose last write was cancelled isn't stored`() async throws {
        try await withCache(ScriptedTransport([:])) { (cache) async throws in
            let key = ResourceKey(url("a"))
            let head = StoredResponse.Head(
                status: 200, fields: [.cacheControl: "max-age=60"], length: 1200, requested: cache.now(),
                received: cache.now(), policy: cache.policy)
            let opened = try await cache.settledDisk.beginWriting(head, announced: 1200, for: key)
            let writer = try #require(opened)
            for seed in 0..<2 { #expect(try await writer.append([pattern(400, seed: seed)])) }
            let last = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await writer.append([pattern(400, seed: 2)])
            }
            await #expect(throws: CancellationError.self) { try await last.value }
            #expect(try await writer.finish(head, replacing: .rows([])) == nil)
            try await expectConsistent(cache, entries: 0)
        }
    }

    @Test func `cancelling at any moment leaves no file, reservation or row`() async throws {
        var step = 0
        var isDone = false
        while !isDone {
            step += 1
            let cancelled = step
            let wasReached = Guarded(false)
            let steps = Guarded(0)
            let victim = Guarded<Task<Data, any Error>?>(nil)
            let take: @Sendable () -> Void = {
                let isIt = steps.withLock { steps in
                    steps += 1
                    return steps == cancelled
                }
                guard isIt else { return }
                wasReached.withLock { $0 = true }
                victim.withLock { $0 }?.cancel()
            }
            let isWatched = Guarded(false)
            let real = SystemCalls.system
            var calls = real
            calls.open = { path, flags, mode in
                if isWatched.withLock({ $0 }) { take() }
                return real.open(path, flags, mode)
            }
            calls.randomAccess.writeAt = { descriptor, bytes, offset in
                if isWatched.withLock({ $0 }) { take() }
                return real.randomAccess.writeAt(descriptor, bytes, offset)
            }
            calls.rename = { source, destination in
                if isWatched.withLock({ $0 }) { take() }
                return real.rename(source, destination)
            }
            calls.unlink = { path in
                if isWatched.withLock({ $0 }) { take() }
                return real.unlink(path)
            }
            let files = FileIO(calls: calls)
            let gate = Gate()
            let transport = ClosureTransport { _, number in
                if number == 4 {
                    await gate.pass()
                    take()
                }
                return .response(
                    headerFields: [.cacheControl: "max-age=60", .contentLength: "1200"],
                    body: (0..<3).map { pattern(400, seed: $0) })
            }
            let configuration = ResourceCache.Configuration(
                maximumDiskSize: 6_000, maximumDiskEntrySize: 2_000)
            try await withCache(transport, configuration, files: files) { (cache) async throws in
                for name in ["b", "c"] { try await cache.store(pattern(2_000), for: url(name)) }
                for name in ["d", "e", "f"] { _ = try await cache.data(for: url(name)) }
                isWatched.withLock { $0 = true }
                let task = Task {
                    try await cache.bytes(for: Self.request).body.collect(upTo: .max)
                }
                victim.withLock { $0 = task }
                await gate.open()
                _ = await task.result
                for transfer in cache.transfers.running { await transfer.value }
                isWatched.withLock { $0 = false }
                try await expectConsistent(cache)
                #expect(cache.flights.runningCount == 0 && cache.limiter.runningCount == 0)
                #expect(cache.running.makeReader(for: ResponseKey(Self.request)) == nil)
                let again = try await cache.bytes(for: Self.request)
                #expect(try await again.body.collect(upTo: .max).count == 1200)
            }
            await files.shutdown()
            isDone = !wasReached.withLock { $0 }
        }
        #expect(step > 5)
    }

    /// The second reader needs bytes that are only in the file.
    @Test(arguments: ["truncated", "unreadable"])
    func `a reader whose bytes are lost on disk gets an error, and other readers aren't affected`(
        damage: String
    ) async throws {
        try await withDirectory { directory in
            let isBroken = Guarded(false)
            let real = SystemCalls.system
            var calls = real
            calls.randomAccess.readAt = { descriptor, bytes, offset in
                isBroken.withLock { $0 } ? -Int(EIO) : real.randomAccess.readAt(descriptor, bytes, offset)
            }
            calls.inline.read = { descriptor, bytes, offset in
                isBroken.withLock { $0 } ? -Int(EAGAIN) : real.inline.read(descriptor, bytes, offset)
            }
            let files = FileIO(calls: calls)
            let transport = PushingTransport()
            try await withCache(in: directory, transport, files: files) { (cache) async throws in
                let first = try await cache.bytes(for: Self.request)
                let second = try await cache.bytes(for: Self.request)
                var chunks = first.body.makeAsyncIterator()
                for seed in 0..<8 {
                    transport.bodies[0].send(pattern(300_000, seed: seed))
                    #expect(try await chunks.next() == pattern(300_000, seed: seed))
                }
                let name = try #require(bodies(in: directory).keys.first)
                if damage == "truncated" {
                    try FileHandle(forWritingTo: directory.appending(path: name)).truncate(atOffset: 0)
                } else {
                    isBroken.withLock { $0 = true }
                }
                let error = await failure { try await second.body.collect(upTo: .max) } as? TransferError
                #expect(error?.isTransient == true && error?.remedy != nil && error?.url == url("a"))
                #expect((error?.cause is FileError) == (damage == "unreadable"))
                isBroken.withLock { $0 = false }
                transport.bodies[0].send(pattern(300_000, seed: 8))
                transport.bodies[0].finish()
                #expect(try await chunks.next() == pattern(300_000, seed: 8))
                #expect(try await chunks.next() == nil)
            }
            await files.shutdown()
        }
    }

    @Test(arguments: ["truncated", "unreadable"])
    func `a stored body that is lost while being read ends with a cache error`(damage: String) async throws {
        let isBroken = Guarded(false)
        let real = SystemCalls.system
        var calls = real
        calls.randomAccess.readAt = { descriptor, bytes, offset in
            isBroken.withLock { $0 } ? -Int(EIO) : real.randomAccess.readAt(descriptor, bytes, offset)
        }
        calls.inline.read = { descriptor, bytes, offset in
            isBroken.withLock { $0 } ? -Int(EAGAIN) : real.inline.read(descriptor, bytes, offset)
        }
        let files = FileIO(calls: calls)
        let transport = ClosureTransport { _, _ in .bytes(pattern(3_000_000)) }
        try await withCache(transport, files: files) { (cache) async throws in
            _ = try await cache.bytes(for: Self.request).body.collect(upTo: .max)
            let stored = try await cache.bytes(for: Self.request)
            #expect(stored.source == .disk)
            var chunks = stored.body.makeAsyncIterator()
            _ = try await chunks.next()
            if damage == "truncated" {
                try FileHandle(forWritingTo: try await file(of: url("a"), in: cache)).truncate(atOffset: 0)
            } else {
                isBroken.withLock { $0 = true }
            }
            let error = await Self.lastError(of: &chunks) as? TransferError
            #expect(error?.isTransient == true && error?.remedy != nil && error?.url == url("a"))
            #expect(error?.message.contains("announced") == false, "The server has sent all bytes.")
        }
        await files.shutdown()
    }

    private static func lastError(of chunks: inout ResponseBody.Iterator) async -> (any Error)? {
        do {
            while try await chunks.next() != nil {}
            return nil
        } catch {
            return error
        }
    }
}
