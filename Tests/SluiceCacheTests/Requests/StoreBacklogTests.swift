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

@Suite struct `The backlog of responses that are being stored` {
    private static func pending(_ name: String, bytes: Int = 10, _ finished: Recorder<String>) -> StoreBacklog.Pending {
        let now = HTTPDate(secondsSince1970: 0)
        let head = StoredResponse.Head(
            status: 200, fields: [:], length: Int64(bytes), requested: now, received: now, policy: CachePolicy())
        let addition = DiskStore.Addition(
            response: StoredResponse(head: head, body: Data(count: bytes)), key: ResourceKey(url(name)),
            isCurrent: { _, _ in true })
        return StoreBacklog.Pending(addition: addition) { _ in finished.note(name) }
    }

    @Test func `is stored in batches, in order, and a large response alone`() async throws {
        let (batches, finished) = (Recorder<Int>(), Recorder<String>())
        let gate = Gate()
        let backlog = StoreBacklog { additions in
            batches.note(additions.count)
            await gate.pass()
            return additions.map { _ in .success((1, 0)) }
        }
        #expect(await backlog.add(Self.pending("first", finished)))
        await gate.arrivals(1)
        for number in 0..<150 { #expect(await backlog.add(Self.pending("\(number)", finished))) }
        #expect(await backlog.add(Self.pending("large", bytes: 1 << 20, finished)))
        #expect(await backlog.add(Self.pending("last", finished)))
        #expect(await !backlog.add(Self.pending("7", finished)), "the resource is in the backlog")
        await gate.open()
        await backlog.drain()
        #expect(batches.values == [1, 100, 50, 1, 1])
        #expect(finished.values == ["first"] + (0..<150).map(String.init) + ["large", "last"])
        // It starts again.
        #expect(await backlog.add(Self.pending("7", finished)))
        await backlog.drain()
        #expect(finished.values.last == "7")
    }

    @Test(arguments: [(StoreBacklog.maximumCount, 1), (16, 1 << 20), (1, 40 << 20)])
    func `is bounded in count and in bytes while the disk stalls`(count: Int, bytes: Int) async throws {
        let finished = Recorder<String>()
        let gate = Gate()
        let backlog = StoreBacklog { additions in
            await gate.pass()
            return additions.map { _ in .success((1, 0)) }
        }
        let size = max(0, bytes - ResourceCache.memoryOverhead)
        for number in 0..<count { #expect(await backlog.add(Self.pending("\(number)", bytes: size, finished))) }
        let isAdded = Guarded(false)
        let waiting = Task {
            _ = await backlog.add(Self.pending("more", bytes: size, finished))
            isAdded.withLock { $0 = true }
        }
        waiting.cancel()
        await gate.arrivals(1)
        #expect(!isAdded.withLock { $0 })
        await gate.open()
        await waiting.value
        await backlog.drain()
        #expect(finished.values.count == count + 1)
    }

    @Test func `a lookup waits for its resource only, and a cancelled lookup doesn't`() async throws {
        let finished = Recorder<String>()
        let gate = Gate()
        let backlog = StoreBacklog { additions in
            await gate.pass()
            return additions.map { _ in .success((1, 0)) }
        }
        _ = await backlog.add(Self.pending("a", finished))
        try await backlog.waitUnlessCancelled(for: ResourceKey(url("b")))
        let waiting = Task { try await backlog.waitUnlessCancelled(for: ResourceKey(url("a"))) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await gate.open()
        await backlog.wait(for: ResourceKey(url("a")))
        #expect(finished.values == ["a"])
    }

    @Test(arguments: [false, true]) func `a shutdown waits for a stalled disk only for a while`(isCancelled: Bool) async
    {
        let (results, stored) = (Recorder<String>(), Recorder<Int>())
        let (gate, timer) = (Gate(), GatedClock())
        let backlog = StoreBacklog { additions in
            stored.note(additions.count)
            await gate.pass()
            return additions.map { _ in .success((1, 0)) }
        }
        func add(_ name: String) async {
            var pending = Self.pending(name, Recorder())
            pending = StoreBacklog.Pending(addition: pending.addition) { result in
                results.note((try? result.get()) == nil ? "\(name) refused" : "\(name) stored")
            }
            #expect(await backlog.add(pending))
        }
        await add("a")
        await gate.arrivals(1)
        await add("b")
        await add("c")
        let draining = Task {
            await backlog.drain(within: .seconds(5), clock: timer)
            results.note("drained")
        }
        if isCancelled { draining.cancel() }
        await timer.gate.arrivals(1)
        #expect(results.values.isEmpty)
        await timer.gate.open()
        // A lookup doesn't wait for a response that was refused.
        await backlog.wait(for: ResourceKey(url("c")))
        #expect(results.values == ["b refused", "c refused"])
        await gate.open()
        await draining.value
        #expect(results.values == ["b refused", "c refused", "a stored", "drained"])
        #expect(stored.values == [1])
    }
}

/// A clock whose sleeps end when the test opens its gate.
private struct GatedClock: Clock {
    let gate = Gate()

    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { await gate.pass() }
}

// MARK: - In a cache

@Suite struct `Responses that are stored behind their callers` {
    @Test(arguments: [0, 2048]) func `are found by later requests, in memory or once they are stored`(
        largestInIndex: Int
    ) async throws {
        for memory in [0, 1 << 20] {
            let transport = ClosureTransport { request, _ in .bytes(pattern(1000, seed: request.url.path.utf8.count)) }
            try await withCache(
                transport, .init(maximumMemorySize: memory), largestInIndex: largestInIndex
            ) { cache in
                try await withThrowingTaskGroup { group in
                    for number in 0..<300 {
                        group.addTask {
                            let resource = url(String(repeating: "a", count: number + 1))
                            for _ in 0..<3 {
                                try await expect(pattern(1000, seed: number + 2), from: cache, resource)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(transport.requests.values.count == 300)
                #expect(cache.statistics.memoryHits + cache.statistics.diskHits == 600)
                #expect(cache.statistics.diskFailures == 0)
                try await expectConsistent(cache, entries: 300)
            }
        }
    }

    @Test func `are on disk after the cache has been shut down`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { request, _ in .bytes(pattern(3000, seed: request.url.path.utf8.count)) }
            try await withCache(in: directory, transport) { cache in
                for number in 0..<250 { _ = try await cache.data(for: url(String(repeating: "b", count: number + 1))) }
            }
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                try await expectConsistent(cache, entries: 250)
                for number in 0..<250 {
                    try await expect(
                        pattern(3000, seed: number + 2), from: cache, url(String(repeating: "b", count: number + 1)))
                }
            }
        }
    }

    @Test(arguments: [0, 2048], Invalidation.allCases)
    fileprivate func `aren't stored if they have been removed in the meantime`(
        largestInIndex: Int, invalidation: Invalidation
    ) async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { request, _ in
                request.method == .get ? .bytes(pattern(1000)) : .response(status: .noContent)
            }
            let configuration = ResourceCache.Configuration(maximumMemorySize: 0)
            try await withCache(in: directory, transport, configuration, largestInIndex: largestInIndex) { cache in
                for _ in 0..<20 {
                    _ = try await cache.data(for: url("a"))
                    try await invalidation.perform(on: cache, url("a"))
                    #expect(try await !cache.contains(url("a")))
                }
                try await expectConsistent(cache, entries: 0)
            }
        }
    }

    @Test func `aren't stored if another process has removed responses since the request began`() async throws {
        try await withDirectory { directory in
            let gate = Gate()
            let transport = ClosureTransport { request, number in
                if number == 2 { await gate.pass() }
                return .bytes(pattern(1000))
            }
            try await withCache(in: directory, transport, .init(maximumMemorySize: 0)) { own in
                try await withCache(in: directory, transport) { other in
                    // A removal before the request has no effect on it.
                    try await other.store(pattern(10), for: url("x"))
                    try await other.remove(url("x"))
                    _ = try await own.data(for: url("before"))
                    #expect(try await own.contains(url("before")))

                    let running = Task { try await own.data(for: url("a")) }
                    await gate.arrivals(1)
                    try await other.remove(url("a"))
                    await gate.open()
                    #expect(try await same(running.value, pattern(1000)))
                    #expect(try await !own.contains(url("a")))
                    // The next request stores it.
                    _ = try await own.data(for: url("a"))
                    #expect(try await own.contains(url("a")))
                    #expect(own.statistics.diskFailures == 0)
                    try await expectConsistent(own, entries: 2)
                }
            }
        }
    }

    @Test func `full directories evict for whole batches`() async throws {
        for largestInIndex in [0, 2048] {
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            let configuration = ResourceCache.Configuration(
                concurrency: 64, concurrencyPerHost: 64, maximumDiskSize: 40_000, maximumDiskEntrySize: 2000)
            try await withCache(transport, configuration, largestInIndex: largestInIndex) { cache in
                try await withThrowingTaskGroup { group in
                    for number in 0..<400 { group.addTask { _ = try await cache.data(for: url("\(number)")) } }
                    try await group.waitForAll()
                }
                try await expectConsistent(cache, entries: 26)
                #expect(cache.statistics.evicted == 374 && cache.statistics.diskFailures == 0)
            }
        }
    }

    @Test func `each file that can't be written is a failure, and the others of its batch are stored`() async throws {
        try await withDirectory { directory in
            let real = SystemCalls.system
            var calls = real
            let (count, isCounting) = (Guarded(0), Guarded(false))
            calls.write = { descriptor, bytes in
                let number =
                    isCounting.withLock({ $0 })
                    ? count.withLock {
                        $0 += 1; return $0
                    } : 0
                return number % 3 == 1 ? -Int(ENOSPC) : real.write(descriptor, bytes)
            }
            let files = FileIO(calls: calls)
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            try await withCache(in: directory, transport, files: files) { cache in
                isCounting.withLock { $0 = true }
                try await withThrowingTaskGroup { group in
                    for number in 0..<90 { group.addTask { _ = try await cache.data(for: url("\(number)")) } }
                    try await group.waitForAll()
                }
                await cache.backlog.drain()
                let stored = try await cache.disk.database.read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM entry") ?? 0
                }
                #expect(cache.statistics.diskFailures > 0 && stored > 0)
                #expect(cache.statistics.diskFailures + stored == 90)
                try await expectConsistent(cache)
            }
            await files.shutdown()
        }
    }
}
