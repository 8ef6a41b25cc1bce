import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Hosts of the coordinator` {
    private func downloads(
        _ transport: some Transport, _ time: VirtualTime, retries: RetryPolicy = RetryPolicy(baseDelay: .zero)
    ) -> DownloadCoordinator {
        var list = ListDownloader(transport: transport, limits: .init(total: 1))
        list.configuration.retries = retries
        // A lease so long that none is renewed in these tests: every sleep is a wait for a host.
        list.configuration.lease = .seconds(360_000)
        list.configuration.circuitBreaker = .init(maximumFailures: 2, pause: .seconds(30))
        return list.coordinator(time: time)
    }

    private func enqueue(_ count: Int, _ downloads: DownloadCoordinator, in directory: URL) async throws {
        let requests = (0..<count).map { DownloadRequest(URL(string: "https://a.example/\($0)")!, to: directory) }
        try await downloads.enqueue(requests)
    }

    private func run(_ downloads: DownloadCoordinator, _ time: VirtualTime) async throws {
        try await finish(Task { try await downloads.run(until: .whenEmpty) }, of: downloads, time)
    }

    /// Waits until the queue is empty. Time passes only while the host is paused: a running clock would run ahead, because the run also
    /// sleeps between the prunings of its history.
    private func finish(_ run: Task<Void, any Error>, of downloads: DownloadCoordinator, _ time: VirtualTime)
        async throws
    {
        for try await snapshot in downloads.snapshots() {
            if snapshot.openCount == 0 { break }
            let now = Date(queueTime: time.milliseconds)
            if snapshot.count(in: .running) == 0, snapshot.hosts.contains(where: { $0.notBefore > now }) {
                time.advance(by: .seconds(30))
            }
        }
        try await run.value
    }

    @Test func `during an outage, jobs wait until one of them reaches the host`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { _, number in
                if number <= 3 {
                    throw TransferError(
                        .connectionRefused, url: URL(string: "https://a.example/")!, message: "Refused.")
                }
                return (.ok, [:])
            }
            let downloads = downloads(transport, time)
            try await enqueue(6, downloads, in: directory)
            let run = Task { try await downloads.run(until: .whenEmpty) }
            // Two failures open the circuit.
            for try await snapshot in downloads.snapshots() where !snapshot.hosts.isEmpty { break }
            #expect(transport.count.withLock { $0 } == 2)
            try await finish(run, of: downloads, time)
            #expect(transport.count.withLock { $0 } == 9)
            #expect(try await downloads.snapshot().counts == [.done: 6])
            #expect(try await downloads.snapshot().hosts == [])
        }
    }

    @Test func `a server that asks for a delay gets no request until it ends`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { _, number in
                number == 1 ? (.tooManyRequests, [.retryAfter: "20"]) : (.ok, [:])
            }
            let downloads = downloads(transport, time)
            try await enqueue(3, downloads, in: directory)
            let run = Task { try await downloads.run(until: .whenEmpty) }
            for try await snapshot in downloads.snapshots() where !snapshot.hosts.isEmpty { break }
            try await time.sleeper(until: .seconds(20))
            #expect(transport.count.withLock { $0 } == 1)
            time.advance(by: .seconds(20))
            try await run.value
            #expect(transport.count.withLock { $0 } == 4)
            #expect(try await downloads.snapshot().counts == [.done: 3])
        }
    }

    @Test func `a delay that ends at a date is measured by the server's clock`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { _, number in
                let fields: HTTPFields = [
                    .date: "Sun, 06 Nov 1994 08:49:37 GMT", .retryAfter: "Sun, 06 Nov 1994 08:49:57 GMT",
                ]
                return number == 1 ? (.tooManyRequests, fields) : (.ok, [:])
            }
            let downloads = downloads(transport, time)
            try await enqueue(1, downloads, in: directory)
            let delays = Recorder<Duration>()
            try await withRunningClock(time, step: .seconds(30)) {
                try await downloads.run(until: .whenEmpty) {
                    if case .retrying(_, _, let delay) = $0 { delays.note(delay) }
                }
            }
            #expect(delays.values == [.seconds(20)])
        }
    }

    @Test func `a delay beyond the policy's limit parks the host and costs no attempts`()
        async throws
    {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { _, number in
                number <= 5 ? (.serviceUnavailable, [.retryAfter: "600"]) : (.ok, [:])
            }
            let downloads = downloads(transport, time)
            try await enqueue(3, downloads, in: directory)
            let run = Task { try await downloads.run(until: .whenEmpty) }
            // A running clock would run ahead, because the run also sleeps between the prunings of its history.
            for number in 1...5 {
                for try await snapshot in downloads.snapshots()
                where transport.count.withLock({ $0 }) == number && snapshot.running.isEmpty && !snapshot.hosts.isEmpty
                {
                    break
                }
                time.advance(by: .seconds(600))
            }
            try await run.value
            #expect(transport.count.withLock { $0 } == 8)
            let ended = try await downloads.snapshot().ended
            #expect(ended.map(\.state) == [.done, .done, .done] && ended.allSatisfy { $0.failureCount == 0 })
        }
    }

    @Test func `a delay too long for a list's caller fails the host's downloads without a request`()
        async throws
    {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = AnsweringTransport { request, _ in
                request.url.host() == "a.example" ? (.serviceUnavailable, [.retryAfter: "90000"]) : (.ok, [:])
            }
            let downloads = downloads(transport, VirtualTime())
            let summary = try await downloads.download(
                (0..<50).map { DownloadRequest(URL(string: "https://a.example/\($0)")!, to: directory) }
                    + [DownloadRequest(URL(string: "https://b.example/b")!, to: directory)])
            #expect(summary.doneCount == 1 && summary.failures.count == 50)
            #expect(summary.failures[49]?.status == .serviceUnavailable)
            #expect(summary.failures[49]?.url == URL(string: "https://a.example/49"))
            #expect(transport.count.withLock { $0 } == 2)
        }
    }

    @Test func `a dead host's downloads wait for the breaker's patience, and then all fail`()
        async throws
    {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { request, _ in
                throw TransferError(.connectionRefused, url: request.url)
            }
            let downloads = downloads(transport, time)
            try await enqueue(300, downloads, in: directory)
            let start = time.milliseconds
            try await run(downloads, time)
            #expect(try await downloads.snapshot().counts == [.failed: 300])
            #expect(time.milliseconds - start == 3_600_000)
            // Two requests open the circuit, and one follows after each pause.
            #expect(transport.count.withLock { $0 } == 122)
        }
    }

    @Test func `a host that other workers reach doesn't fail its downloads`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let memory = MemoryQueueStore(time: time.queueTime)
            // Another worker reaches the host before each turn.
            let store = InterceptedStore(isShared: true, store: memory) { store, settlements, claim in
                var settlements = settlements
                for index in settlements.indices where settlements[index].host != nil {
                    settlements[index].host = .reached
                }
                return try await store.takeTurn(settlements, claiming: claim)
            }
            let transport = AnsweringTransport { request, number in
                if number <= 300 { throw TransferError(.connectionRefused, url: request.url) }
                return (.ok, [:])
            }
            var list = ListDownloader(transport: transport, limits: .init(total: 1))
            list.configuration.retries = RetryPolicy(maximumRetries: 1000, baseDelay: .zero)
            list.configuration.lease = .seconds(360_000)
            list.configuration.circuitBreaker = .init(maximumFailures: 2, pause: .seconds(30))
            let downloads = list.coordinator(store: store, time: time)
            try await enqueue(1, downloads, in: directory)
            try await withRunningClock(time, step: .seconds(30)) { try await downloads.run(until: .whenEmpty) }
            let ended = try await downloads.snapshot().ended
            #expect(ended.map(\.state) == [.done])
        }
    }

    @Test func `downloads from a host that returns after many pauses lose no attempts`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { request, number in
                if number <= 42 { throw TransferError(.connectionRefused, url: request.url) }
                return (.ok, [:])
            }
            let downloads = downloads(transport, time)
            try await enqueue(3, downloads, in: directory)
            try await run(downloads, time)
            let ended = try await downloads.snapshot().ended
            #expect(ended.map(\.state) == [.done, .done, .done])
            #expect(ended.reduce(0) { $0 + $1.failureCount } == 2, "only those that opened the circuit")
        }
    }
}
