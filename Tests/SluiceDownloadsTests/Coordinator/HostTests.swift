import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Hosts of the coordinator` {
    /// Answers requests with a closure that gets the number of the request.
    private struct NumberedTransport: Transport {
        let count = Guarded(0)
        let answer: @Sendable (Int) throws -> (status: HTTPResponse.Status, fields: HTTPFields)

        func open(_ request: TransportRequest) async throws -> TransportResponse {
            let number = count.withLock { count in
                count += 1
                return count
            }
            let (status, fields) = try answer(number)
            return try await ScriptedTransport([
                request.url: [.response(status: status, headerFields: fields, body: [Data("song".utf8)])]
            ]).open(request)
        }
    }

    private func downloads(
        _ transport: some Transport, _ time: VirtualTime, retries: RetryPolicy = RetryPolicy(baseDelay: .zero)
    ) -> DownloadCoordinator {
        var list = ListDownloader(transport: transport, limits: .init(total: 1))
        list.configuration.retries = retries
        // No lease has to be renewed in these tests: whatever sleeps waits for a host.
        list.configuration.lease = .seconds(360_000)
        list.configuration.circuitBreaker = .init(maximumFailures: 2, pause: .seconds(30))
        return list.coordinator(time: time)
    }

    private func enqueue(_ count: Int, _ downloads: DownloadCoordinator, in directory: URL) async throws {
        let requests = (0..<count).map { DownloadRequest(URL(string: "https://a.example/\($0)")!, to: directory) }
        try await downloads.enqueue(requests)
    }

    @Test func `during an outage the jobs wait for one that reaches the host`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = NumberedTransport { number in
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
            let clock = Task {
                while true {
                    try await time.sleeper(until: .seconds(30))
                    time.advance(by: .seconds(30))
                    await Task.yield()
                }
            }
            try await run.value
            clock.cancel()
            #expect(transport.count.withLock { $0 } == 9)
            #expect(try await downloads.snapshot().counts == [.done: 6])
            #expect(try await downloads.snapshot().hosts == [])
        }
    }

    @Test func `a server that asks for a delay gets no request of any job during it`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = NumberedTransport { number in
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

    @Test func `a delay that is longer than the policy waits for stops no other job`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = NumberedTransport { number in
                number == 1 ? (.serviceUnavailable, [.retryAfter: "90000"]) : (.ok, [:])
            }
            let downloads = downloads(transport, VirtualTime())
            try await enqueue(3, downloads, in: directory)
            try await downloads.run(until: .whenEmpty)
            #expect(try await downloads.snapshot().counts == [.done: 2, .failed: 1])
        }
    }
}
