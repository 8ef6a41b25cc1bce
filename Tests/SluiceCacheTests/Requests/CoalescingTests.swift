import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite(.timeLimit(.minutes(15))) struct `Concurrent callers` {
    /// Starts callers, and returns when all of them have joined.
    private func callers(
        _ count: Int, of cache: ResourceCache, on executor: ManualExecutor
    ) -> [Task<Data, any Error>] {
        let tasks = (0..<count).map { _ in executor.spawnThrowing { try await cache.data(for: url("a")) } }
        executor.runUntilIdle()
        return tasks
    }

    /// Runs the callers after their shared flight has completed, and returns their results.
    private func results(
        _ tasks: [Task<Data, any Error>], _ executor: ManualExecutor
    ) async -> [Result<Data, any Error>] {
        await executor.run { for task in tasks { _ = await task.result } }
        var results: [Result<Data, any Error>] = []
        for task in tasks { results.append(await task.result) }
        return results
    }

    @Test func `a hundred callers make one request, even for a response that mustn't be stored`()
        async throws
    {
        for fields in [[.cacheControl: "max-age=60"], [.cacheControl: "no-store"]] as [HTTPFields] {
            let gate = Gate()
            let transport = ClosureTransport { _, number in
                await gate.pass()
                return .bytes(pattern(100, seed: number), fields)
            }
            try await withCache(transport) { cache in
                let executor = ManualExecutor()
                let tasks = callers(100, of: cache, on: executor)
                await gate.open()
                for result in await results(tasks, executor) {
                    #expect(same((try? result.get()) ?? Data(), pattern(100, seed: 1)))
                }
                #expect(transport.requests.values.count == 1)
                #expect(cache.statistics.coalesced == 99 && cache.statistics.fetched == 1)
            }
        }
    }

    @Test func `after a restart, a hundred callers verify the file once and send no request`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(100)) }
            try await withCache(in: directory, transport) { _ = try await $0.data(for: url("a")) }
            try await withCache(in: directory, transport) { cache in
                let executor = ManualExecutor()
                let tasks = callers(100, of: cache, on: executor)
                for result in await results(tasks, executor) {
                    #expect(same((try? result.get()) ?? Data(), pattern(100)))
                }
                // A caller that arrives between the verification of the file and its copy to memory reads the file, too.
                let statistics = cache.statistics
                #expect(statistics.diskHits + statistics.coalesced + statistics.memoryHits == 100)
            }
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test func `data, decoded values and responses share one exchange`() async throws {
        let gate = Gate()
        let transport = ClosureTransport { _, _ in
            await gate.pass()
            return .bytes(pattern(100))
        }
        try await withCache(transport) { (cache) async throws in
            let sizes = cache.decoded(cost: { (_: Int) in 1 }) { $0.count }
            let executor = ManualExecutor()
            let tasks = [
                executor.spawnThrowing { try await cache.data(for: url("a")).count },
                executor.spawnThrowing { try await cache.response(for: TransportRequest(url("a"))).body.count },
                executor.spawnThrowing { try await sizes.value(for: url("a")) },
            ]
            executor.runUntilIdle()
            await gate.arrivals(1)
            await gate.open()
            await executor.run { for task in tasks { _ = await task.result } }
            for task in tasks { #expect(try await task.value == 100) }
            #expect(transport.requests.values.count == 1)
        }
    }

    @Test(arguments: [10, 10_000])
    func `callers share one request, and cancelling the first doesn't affect the others`(count: Int) async throws {
        let gate = Gate()
        let transport = ClosureTransport { _, _ in
            await gate.pass()
            return .bytes(pattern(100))
        }
        try await withCache(transport) { cache in
            let executor = ManualExecutor()
            let tasks = callers(count, of: cache, on: executor)
            await gate.arrivals(1)
            tasks[0].cancel()
            executor.runUntilIdle()
            await #expect(throws: CancellationError.self) { try await tasks[0].value }
            await gate.open()
            let answers = await results(Array(tasks[1...]), executor)
            #expect(answers.allSatisfy { (try? $0.get()) == pattern(100) })
            #expect(transport.requests.values.count == 1 && cache.statistics.fetched == 1)
            try await expectConsistent(cache, entries: 1)
        }
    }

    @Test func `the fetch is cancelled at the server when the last caller leaves`() async throws {
        try await withDirectory { directory in
            // Given a body that continues after the callers have left, with more bytes than the sockets' buffers hold
            let began = Gate()
            let left = Gate()
            let wasSent = Recorder<Bool>()
            let megabyte = Array(repeating: UInt8(7), count: 1_000_000)
            try await LoopbackOrigin.serve { _ in
                let rest = Array(repeating: OriginResponse.Step.send(megabyte), count: 60)
                let held = OriginResponse.Step.perform {
                    await began.open()
                    await left.pass()
                }
                return OriginResponse(
                    announcedLength: 60_000_001,
                    steps: [.send([7]), held] + rest + [.perform { wasSent.note(true) }])
            } during: { origin in
                try await ResourceCache.withCache(directory: directory) { cache in
                    let url = try URL(fetchable: origin.url("/a"))
                    let tasks = (0..<10).map { _ in Task { try await cache.data(for: url) } }
                    await began.pass()
                    for task in tasks { task.cancel() }
                    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
                    await left.open()
                    _ = try await origin.metrics { $0.running == 0 }
                    #expect(wasSent.values.isEmpty, "the server found the connection closed")
                    #expect(cache.limiter.runningCount == 0 && cache.flights.runningCount == 0)
                    #expect(cache.statistics.fetched == 0)
                    try await expectConsistent(cache, entries: 0)
                }
            }
        }
    }

    @Test
    func `a transient failure fails no caller, and a lasting one fails all with one request`()
        async throws
    {
        try await withDirectory { directory in
            let gate = Gate()
            let transport = ClosureTransport { request, number in
                await gate.pass()
                return switch number {
                case 1: .failure(TransferError(.connectionClosed, url: request.url))
                case 2, 4: .bytes(pattern(100), [.cacheControl: "no-store"])
                default: .response(status: .notFound)
                }
            }
            try await withCache(in: directory, transport) { cache in
                let executor = ManualExecutor()
                let first = callers(10, of: cache, on: executor)
                await gate.open()
                for result in await results(first, executor) {
                    #expect(same((try? result.get()) ?? Data(), pattern(100)))
                }
                #expect(transport.requests.values.count == 2)
            }
            let second = Gate()
            let failing = ClosureTransport { _, number in
                await second.pass()
                return number == 1 ? .response(status: .notFound) : .bytes(pattern(100))
            }
            try await withCache(in: directory, failing) { cache in
                let executor = ManualExecutor()
                let tasks = callers(10, of: cache, on: executor)
                await second.open()
                for result in await results(tasks, executor) {
                    #expect(throws: TransferError.self) { try result.get() }
                }
                #expect(failing.requests.values.count == 1)
                try await expect(pattern(100), from: cache, url("a"))
            }
        }
    }

    @Test
    func `neither a joined caller nor a fetch between attempts holds a permit`()
        async throws
    {
        try await withDirectory { directory in
            let gate = Gate()
            let transport = ClosureTransport { request, number in
                if request.url == url("b") { return .bytes(pattern(50)) }
                if number == 1 { throw TransferError(.connectionRefused, url: request.url) }
                await gate.pass()
                return .bytes(pattern(100))
            }
            // There is one permit. `a` fails, and waits for its second attempt on a clock that the test controls.
            let clock = HeldClock()
            let cache = ResourceCache(
                directory: directory, configuration: .init(concurrency: 1), transport: transport, files: .shared,
                clock: clock, now: WallClock().now)
            let tasks = (0..<10).map { _ in Task { try await cache.data(for: url("a")) } }
            await clock.gate.arrivals(1)
            try await expect(pattern(50), from: cache, url("b"))
            await clock.gate.open()
            await gate.open()
            for task in tasks { #expect(same((try? await task.value) ?? Data(), pattern(100))) }
            try await cache.shutdown()
        }
    }
}

/// A clock whose sleeps end when the test opens its gate.
private final class HeldClock: Clock {
    typealias Instant = ContinuousClock.Instant
    let gate = Gate()
    var now: Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws { await gate.pass() }
}
