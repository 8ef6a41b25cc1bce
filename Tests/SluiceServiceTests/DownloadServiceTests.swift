import Foundation
import HTTPTypes
import InMemoryLogging
import Logging
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing
import UnixSignals

@testable import SluiceService

@Suite(.timeLimit(.minutes(15))) struct `A download service` {
    private let log = InMemoryLogHandler()
    private let metrics = TestMetrics()
    private let songs = HeldSongs()

    private func logger(_ level: Logger.Level = .trace) -> Logger {
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = level
        return logger
    }

    /// A service whose measurements after the first one wait until the run ends.
    private func service(
        _ downloads: DownloadCoordinator, until end: DownloadCoordinator.RunEnd = .whenCancelled
    ) -> DownloadService {
        DownloadService(downloads, until: end, logger: logger(), metrics: metrics) { _ in
            for await _ in AsyncStream<Never>.makeStream().stream {}
        }
    }

    private func withDownloads(
        _ transport: any Transport, retries: Int = 0,
        _ body: (_ downloads: DownloadCoordinator, _ directory: URL) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let downloads = DownloadCoordinator(
                store: .sqlite(at: directory.appending(path: "queue.db")), transport: transport,
                configuration: .init(retries: RetryPolicy(maximumRetries: retries), durability: .none))
            try await body(downloads, directory)
            try await downloads.close()
        }
    }

    private func messages(_ level: Logger.Level) -> [String] {
        log.entries.filter { $0.level == level }.map(\.message.description)
    }

    @Test func `a graceful shutdown stops a download, keeps its partial file, and the next run continues it`()
        async throws
    {
        // The secret is in the query, because a queue in a file refuses a password in the URL.
        let url = URL(string: "https://songs.example/song.mp3?token=secret")!
        try await withDownloads(songs) { downloads, directory in
            let group = ServiceGroup(services: [service(downloads)], logger: logger(.error))
            let running = Task { try await group.run() }
            try await downloads.enqueue([DownloadRequest(url, to: directory)])
            await songs.middle.arrivals(1)

            await group.triggerGracefulShutdown()
            try await running.value

            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.contains("song.mp3.sluice.part") && !names.contains("song.mp3"))
            #expect(try await downloads.snapshot().waiting.map(\.request.name) == ["song.mp3"])
            #expect(messages(.debug).contains("A download was stopped and waits again."))

            try await service(downloads, until: .whenEmpty).run()

            let song = directory.appending(path: "song.mp3")
            #expect(try await Data(asyncContentsOf: song).count == 2 * HeldSongs.half)
            #expect(metrics.counterTotal(label: "sluice.downloads.received_bytes") == Int64(2 * HeldSongs.half))
            #expect(try metrics.expectMeter("sluice.downloads.running").lastValue == 0)
            #expect(log.entries.allSatisfy { $0.level < .info }, "\(log.entries)")
        }
    }

    @Test func `a signal shuts down the group`() async throws {
        let downloads = DownloadCoordinator(transport: songs)
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let group = ServiceGroup(
                services: [service(downloads)], gracefulShutdownSignals: [.sigusr2], logger: logger(.error))
            let running = Task { try await group.run() }
            try await downloads.enqueue([DownloadRequest(HeldSongs.url, to: directory)])
            await songs.middle.arrivals(1)  // the group listens to the signal now

            kill(getpid(), SIGUSR2)
            try await running.value

            #expect(try await downloads.snapshot().count(in: .waiting) == 1)
        }
    }

    @Test func `a shutdown before the run, and a cancelled task, end the service without an error`() async throws {
        // Each round reopens the queue, and the cancellation comes before, during or after that.
        for _ in 0..<20 {
            try await withDownloads(songs) { downloads, _ in
                let service = service(downloads)
                try await testGracefulShutdown { trigger in
                    trigger.triggerGracefulShutdown()
                    try await service.run()
                }
            }
            try await withDownloads(songs) { downloads, _ in
                let service = service(downloads)
                let cancelled = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await service.run()
                }
                try await cancelled.value
            }
        }
        #expect(log.entries.allSatisfy { $0.level < .info }, "\(log.entries)")
    }

    @Test func `cancelling the task stops a download`() async throws {
        let downloads = DownloadCoordinator(transport: songs)
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let running = Task { try await service(downloads).run() }
            try await downloads.enqueue([DownloadRequest(HeldSongs.url, to: directory)])
            await songs.middle.arrivals(1)

            running.cancel()
            try await running.value

            #expect(try await downloads.snapshot().count(in: .waiting) == 1)
        }
    }

    @Test func `a group can shut down when the queue is empty`() async throws {
        try await withDownloads(songs) { downloads, directory in
            let worker = ServiceGroupConfiguration.ServiceConfiguration(
                service: service(downloads, until: .whenEmpty),
                successTerminationBehavior: .gracefullyShutdownGroup)
            try await ServiceGroup(configuration: .init(services: [worker], logger: logger(.error))).run()
            #expect(messages(.debug).last == "The queue has stopped.")
        }
    }

    @Test func `a failed download is one warning and a failed attempt is none, without secrets`() async throws {
        let busy = ScriptedTransport([
            HeldSongs.url: [
                .response(status: .serviceUnavailable, headerFields: [.retryAfter: "0"]), .response(status: .notFound),
            ]
        ])
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let downloads = DownloadCoordinator(
                transport: busy,
                configuration: .init(retries: RetryPolicy(maximumRetries: 1, baseDelay: .zero)))
            try await downloads.enqueue([DownloadRequest(HeldSongs.url, to: directory)])
            try await service(downloads, until: .whenEmpty).run()
        }

        #expect(log.entries.filter { $0.level > .debug }.map(\.message) == ["A download failed."])
        let failure = try #require(log.entries.first { $0.level == .warning }).metadata
        #expect(failure["download.id"] == "1" && failure["http.status"] == "404" && failure["download.attempts"] == "2")
        #expect(failure["url"] == "https://songs.example/song.mp3?…")
        let attempt = try #require(log.entries.first { $0.metadata["download.delay"] != nil })
        #expect(attempt.level == .debug && attempt.metadata["http.status"] == "503")
        let text = "\(log.entries)"
        for secret in ["secret", "password", "ann", "part"] { #expect(!text.contains(secret), "\(secret)") }
        #expect(metrics.counterTotal(label: "sluice.downloads.retries") == 1)
        #expect(try metrics.expectCounter("sluice.downloads.ended", [("outcome", "failed")]).totalValue == 1)
        #expect(try metrics.expectTimer("sluice.downloads.duration").values.isEmpty)
    }

    @Test func `a failed run is an error in the log, and throws`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "queue.db")
            try await Data("This is no database, and longer than its header would be.".utf8).asyncWrite(to: file)
            let downloads = DownloadCoordinator(store: .sqlite(at: file), transport: songs)

            await #expect(throws: QueueStoreError.self) { try await service(downloads).run() }

            #expect(messages(.error) == ["The queue stopped because of an error."])
            #expect(messages(.debug).contains("The waiting downloads couldn't be counted."))
        }
    }

    @Test func `the metrics count the outcomes, the bytes and the durations`() async throws {
        let urls = (0..<3).map { URL(string: "https://songs.example/\($0).mp3")! }
        let answer = ScriptedTransport.Answer.response(
            headerFields: [.contentLength: "1000"], body: [Data(count: 600), Data(count: 400)])
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let downloads = DownloadCoordinator(
                transport: ScriptedTransport([urls[0]: [answer], urls[1]: [answer]]),
                configuration: .init(existing: .skip))
            try await Data().asyncWrite(to: directory.appending(path: "1.mp3"))
            try await downloads.enqueue(urls.map { DownloadRequest($0, to: directory) })
            try await service(downloads, until: .whenEmpty).run()
        }

        for (outcome, count) in [("done", 1), ("skipped", 1), ("failed", 1), ("cancelled", 0)] as [(String, Int64)] {
            let counter = try metrics.expectCounter("sluice.downloads.ended", [("outcome", outcome)])
            #expect(counter.totalValue == count, "\(outcome)")
        }
        #expect(metrics.counterTotal(label: "sluice.downloads.received_bytes") == 1000)
        #expect(try metrics.expectTimer("sluice.downloads.duration").values.count == 1)
        let waiting = try metrics.expectMeter("sluice.downloads.waiting").values
        #expect(waiting.last == 0)
        #expect(try metrics.expectMeter("sluice.downloads.running").lastValue == 0)
        let dimensions = metrics.counters.flatMap(\.dimensions) + metrics.meters.flatMap(\.dimensions)
        #expect(Set(dimensions.map(\.0)) == ["outcome"])
    }

    @Test func `the waiting downloads are counted every ten seconds`() async throws {
        let sleeps = AsyncStream<Duration>.makeStream()
        let ticks = AsyncStream<Void>.makeStream()
        let downloads = DownloadCoordinator(transport: songs, limits: .init(total: 1))
        let service = DownloadService(downloads, until: .whenCancelled, logger: logger(), metrics: metrics) {
            sleeps.continuation.yield($0)
            for await _ in ticks.stream { break }
        }
        let waiting = try metrics.expectMeter("sluice.downloads.waiting")
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let running = Task { try await service.run() }
            var slept = sleeps.stream.makeAsyncIterator()
            #expect(await slept.next() == .seconds(10))
            #expect(waiting.values == [0])
            let requests = (1...3).map { DownloadRequest(HeldSongs.url, to: directory, name: "\($0)") }
            try await downloads.enqueue(requests)
            await songs.middle.arrivals(1)

            ticks.continuation.yield()
            #expect(await slept.next() == .seconds(10))

            #expect(waiting.values == [0, 2])
            #expect(try metrics.expectMeter("sluice.downloads.running").lastValue == 1)
            running.cancel()
            try await running.value
        }
    }

    @Test func `the log of a service group names the service without its contents`() {
        #expect("\(DownloadService(DownloadCoordinator()))" == "DownloadService")
    }
}

@Suite struct `The tally of running downloads` {
    private let start = ContinuousClock.now
    private let one = QueuedDownload.ID(rawValue: 1)
    private let two = QueuedDownload.ID(rawValue: 2)

    @Test func `counts only bytes that arrive, and starts over after a new response`() {
        var tally = DownloadTally()
        #expect(tally.note(.started(download: one, attempt: 1), at: start) == .init(running: 1))
        #expect(tally.note(.responded(download: one, totalBytes: 100, resumedBytes: 40), at: start) == .init())
        #expect(tally.note(.received(download: one, receivedBytes: 70), at: start) == .init(receivedBytes: 30))
        #expect(tally.note(.responded(download: one, totalBytes: 100, resumedBytes: 0), at: start) == .init())
        #expect(tally.note(.received(download: one, receivedBytes: 100), at: start) == .init(receivedBytes: 100))
        let end = tally.note(.finished(download: one, outcome: .done(fileSize: 100)), at: start + .seconds(2))
        #expect(end == .init(running: -1, duration: .seconds(2)))
    }

    @Test func `a download that ends without having started changes nothing`() {
        var tally = DownloadTally()
        #expect(tally.note(.finished(download: one, outcome: .skipped), at: start) == .init())
        #expect(tally.note(.received(download: one, receivedBytes: 5), at: start) == .init())
    }

    @Test func `a download that starts again after a lost lease counts once, and the end of the run forgets it`() {
        var tally = DownloadTally()
        #expect(tally.note(.started(download: one, attempt: 1), at: start) == .init(running: 1))
        #expect(tally.note(.started(download: one, attempt: 1), at: start + .seconds(1)) == .init())
        #expect(tally.note(.started(download: two, attempt: 1), at: start) == .init(running: 1))
        #expect(
            tally.note(.released(download: one), at: start + .seconds(3)) == .init(running: -1, duration: .seconds(2)))
        #expect(tally.forgetAll() == 1)
        #expect(tally.forgetAll() == 0)
    }

    @Test func `a download that is paused no longer runs`() {
        var tally = DownloadTally()
        #expect(tally.note(.started(download: one, attempt: 1), at: start) == .init(running: 1))
        #expect(
            tally.note(.paused(download: one), at: start + .seconds(1)) == .init(running: -1, duration: .seconds(1)))
        #expect(tally.note(.started(download: one, attempt: 1), at: start) == .init(running: 1))
    }
}

/// A server with one song. A response with the whole song stops in the middle until its reader is cancelled; one with the rest is complete.
final class HeldSongs: Transport {
    static let half = 400_000
    static let url = URL(string: "https://ann:password@songs.example/song.mp3?token=secret#part")!

    /// Each response with the whole song arrives here when its reader asks for the second half.
    let middle = Gate()

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let isRest = request.headerFields[.range] == "bytes=\(Self.half)-"
        var fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "\((isRest ? 1 : 2) * Self.half)"]
        if isRest { fields[.contentRange] = "bytes \(Self.half)-\(2 * Self.half - 1)/\(2 * Self.half)" }
        return TransportResponse(
            status: isRest ? .partialContent : .ok, headerFields: fields, url: request.url,
            body: ResponseBody(Half(middle: isRest ? nil : middle)))
    }

    private final class Half: ResponseBodySource {
        private let middle: Gate?
        private let isSent = Guarded(false)

        init(middle: Gate?) { self.middle = middle }

        func nextBatch() async throws -> [Data]? {
            let wasSent = isSent.withLock { isSent in
                defer { isSent = true }
                return isSent
            }
            guard wasSent else { return [Data(repeating: 1, count: HeldSongs.half)] }
            guard let middle else { return nil }
            await withTaskCancellationHandler {
                await middle.pass()
            } onCancel: {
                Task { await middle.open() }
            }
            try Task.checkCancellation()
            return nil
        }
    }
}
