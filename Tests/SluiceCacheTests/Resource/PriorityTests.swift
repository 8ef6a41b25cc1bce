import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite(.timeLimit(.minutes(5))) struct `Fetches of a cache` {
    private static let answer = ScriptedTransport.Answer.bytes(Data([1]))

    @Test func `that a visible image waits for overtake a thousand that are prefetched`() async throws {
        try await withDirectory { directory in
            let gate = Gate()
            let transport = ClosureTransport { _, _ in
                await gate.pass()
                return Self.answer
            }
            try await withCache(in: directory, transport, .init(concurrency: 8, concurrencyPerHost: 1)) { cache in
                let prefetches = (0..<1_000).map { number in
                    Task(priority: .low) { _ = try await cache.data(for: url("\(number)")) }
                }
                while cache.limiter.waitingCount != 999 { await Task.yield() }
                // One that nothing has requested before, and one that is being prefetched, at the end of the line.
                let visible = Task(priority: .high) { _ = try await cache.data(for: url("visible")) }
                let begun = Set(transport.requests.values.map(\.url))
                let last = try #require((0..<1_000).map { url("\($0)") }.last { !begun.contains($0) })
                // The caller has joined when it waits.
                let executor = ManualExecutor()
                let joined = executor.spawnThrowing(priority: .high) { _ = try await cache.data(for: last) }
                executor.runUntilIdle()
                #expect(cache.flights.priority(for: ResponseKey(TransportRequest(last))) == .high)
                while cache.limiter.waitingCount != 1_000 { await Task.yield() }
                await gate.open()
                await executor.run { _ = await joined.result }
                for task in prefetches + [visible, joined] { try await task.value }
                let order = transport.requests.values.map(\.url)
                #expect(order.count == 1_001)
                #expect(try #require(order.firstIndex(of: url("visible"))) <= 2)
                // It returns to the line with its new priority soon after the caller has joined, but not in the same moment.
                #expect(try #require(order.firstIndex(of: last)) < 100)
            }
        }
    }

    @Test func `in advance have the lowest priority, and their cancellation harms no other caller`() async throws {
        try await withDirectory { directory in
            let (isOpen, open) = Condition.makeCondition()
            let began = Gate()
            let priorities = Recorder<TaskPriority>()
            let transport = ClosureTransport { request, _ in
                priorities.note(Task.currentPriority)
                await began.pass()
                try await isOpen.waitUnlessCancelled()
                return request.url == url("1") ? .response(status: .notFound, headerFields: [:], body: []) : Self.answer
            }
            try await withCache(in: directory, transport, .init(concurrency: 2)) { (cache) async throws in
                let urls = (0..<10).map { url("\($0)") }
                let prefetch = Task(priority: .high) { await cache.prefetch(urls) }
                await began.arrivals(2)
                await began.open()
                #expect(priorities.values == [.background, .background])
                // The caller has joined when it waits.
                let executor = ManualExecutor()
                let caller = executor.spawnThrowing { try await cache.data(for: urls[0]) }
                executor.runUntilIdle()
                #expect(cache.flights.priority(for: ResponseKey(TransportRequest(urls[0]))) ?? .low > .background)
                #expect(cache.flights.priority(for: ResponseKey(TransportRequest(urls[1]))) == .background)
                prefetch.cancel()
                await prefetch.value
                open.signal()
                await executor.run { _ = await caller.result }
                #expect(try await caller.value == Data([1]))
                #expect(transport.requests.values.map(\.url.lastPathComponent).sorted() == ["0", "1"])
                // A failure doesn't end it.
                await cache.prefetch(urls)
                for url in urls { #expect(try await cache.contains(url) == (url != urls[1])) }
                let images = cache.decoded(cost: { (_: Int) in 1 }) { $0.count }
                await images.prefetch(urls)
                #expect(images.valueInMemory(for: urls[9]) == 1)
            }
        }
    }

    @Test func `are limited for each host, and the hosts take turns`() async throws {
        try await withDirectory { directory in
            let gate = Gate()
            let running = Guarded<[String: Int]>([:])
            let transport = ClosureTransport { request, _ in
                let host = request.url.host() ?? ""
                running.withLock { $0[host, default: 0] += 1 }
                await gate.pass()
                running.withLock { $0[host, default: 0] -= 1 }
                return Self.answer
            }
            try await withCache(in: directory, transport, .init(concurrency: 5, concurrencyPerHost: 3)) { cache in
                let tasks = ["one", "ONE", "two", "three"].flatMap { host in
                    (0..<10).map { number in
                        Task { _ = try await cache.data(for: URL(string: "http://\(host).test/\(number)")!) }
                    }
                }
                await gate.arrivals(5)
                let counts = running.withLock { $0.mapValues { $0 } }
                #expect(counts.values.reduce(0, +) == 5)
                #expect(
                    counts["one", default: 0] + counts["ONE", default: 0] <= 3 && counts.values.allSatisfy { $0 <= 3 })
                await gate.open()
                for task in tasks { try await task.value }
            }
        }
    }

    @Test
    func `of bodies that arrive are overtaken by later ones with a higher priority, and get that of later callers`()
        async throws
    {
        try await withDirectory { directory in
            let gate = Gate()
            let transport = ClosureTransport { _, _ in
                await gate.pass()
                return Self.answer
            }
            try await withCache(in: directory, transport, .init(concurrency: 8, concurrencyPerHost: 1)) { cache in
                @Sendable func fetch(_ url: URL) async throws {
                    _ = try await cache.bytes(for: TransportRequest(url)).body.collect(upTo: .max)
                }
                let prefetches = (0..<200).map { number in Task(priority: .low) { try await fetch(url("\(number)")) } }
                while cache.limiter.waitingCount != 199 { await Task.yield() }
                let begun = Set(transport.requests.values.map(\.url))
                let last = try #require((0..<200).map { url("\($0)") }.last { !begun.contains($0) })
                // The caller has joined when it waits.
                let executor = ManualExecutor()
                let joined = executor.spawnThrowing(priority: .high) { try await fetch(last) }
                executor.runUntilIdle()
                #expect(cache.flights.priority(for: ResponseKey(TransportRequest(last))) == .high)
                await gate.open()
                await executor.run { _ = await joined.result }
                for task in prefetches + [joined] { try await task.value }
                let order = transport.requests.values.map(\.url)
                #expect(order.count == 200)
                // It returns to the line with its new priority soon after the caller has joined, but not in the same moment.
                #expect(try #require(order.firstIndex(of: last)) < 50)
            }
        }
    }
}
